"""One direction of a TCP connection: segments in any order in, bytes in sequence out."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...common.words import plural
from ...traffic.events import TcpFigures
from ..types import Chunk, End, Flow, Missing, Piece
from .out_of_order import ByteRange, ReorderBuffer

FIN, SYN, RST, ACK = 1, 2, 4, 16

MASK = 0xFFFF_FFFF
_HALF = 1 << 31

FARTHEST_AHEAD = 1 << 30
"""No window is larger (RFC 7323, section 2.3), so no segment of the connection is further ahead, in bytes."""
FARTHEST_BEHIND = 1 << 26
"""No sender buffers more, so no retransmission is further back, in bytes."""

USUAL_RTT_NS = 3_000_000
"""How long a segment that was overtaken may take, where the handshake does not say how long that is (as Wireshark)."""

NOT_IN_TURN = -1
"""A sequence number that no segment has."""

_new = tuple.__new__
"""Builds a Chunk without the keyword handling of NamedTuple (tests/benchmarks/decode.py)."""


class Segment(NamedTuple):
    """A TCP segment, with the time and the number of its record."""

    seq: int
    ack: int
    flags: int
    data: bytes
    length: int
    """Bytes of the payload as it was sent; above that of `data` if the capture cut it off."""
    time_ns: int | None
    record: int
    window: int = 1
    """As it was sent, without a scale; 1 where only that it is not 0 is known."""


class WaitingBytes:
    """Bytes that arrived before their turn. Places are sequence numbers that do not wrap."""

    __slots__ = ("fin", "next", "stretches")

    def __init__(self, next: int) -> None:
        self.next = next
        self.stretches = ReorderBuffer()
        self.fin: ByteRange | None = None
        """An empty range after the last byte, once FIN has arrived."""

    def place(self, sequence: int) -> int:
        """Return the place with a sequence number that is nearest to the next place."""
        return self.next + _signed(sequence - self.next)

    @property
    def end(self) -> int:
        """The place after the last byte, or FIN, that is known."""
        last = self.stretches.last.end if self.stretches else self.next
        return max(last, self.fin.end + 1) if self.fin else last

    @property
    def following(self) -> ByteRange | None:
        """The first range after the next byte."""
        if self.stretches and not (self.fin and self.fin.start < self.stretches.first.start):
            return self.stretches.first
        return self.fin


class SideFigures:
    """How TCP carried what one side sent."""

    __slots__ = ("end_ns", "handshake_ns", "out_of_order", "retransmissions", "syn_ns", "zero_windows")

    def __init__(self) -> None:
        self.retransmissions = self.out_of_order = self.zero_windows = 0
        self.syn_ns: int | None = None
        """Time of the last SYN, if this side opened the connection."""
        self.handshake_ns: int | None = None
        self.end_ns: int | None = None
        """Time of the last byte that came before its turn."""

    def late(self, time_ns: int | None, rtt_ns: int | None) -> None:
        """Count a segment with new bytes that come before others that were captured earlier."""
        since = None if time_ns is None or self.end_ns is None else time_ns - self.end_ns
        if since is not None and since < (USUAL_RTT_NS if rtt_ns is None else rtt_ns):
            self.out_of_order += 1
        else:
            self.retransmissions += 1


class TcpSide:
    """One direction of a flow. Its generators must be used up before the next call."""

    __slots__ = (
        "_counts", "_stray", "acked", "before", "ended", "figures", "flow", "key", "next", "number", "peer", "waiting",
    )  # fmt: skip

    flow: Flow
    peer: "TcpSide"

    def __init__(self, number: int, key: bytes, counts: Counter[str]) -> None:
        self.number = number
        self.key = key
        """Addresses and ports in the order of packets from this side."""
        self.next = NOT_IN_TURN
        """The sequence number of the next byte; NOT_IN_TURN where that alone does not decide."""
        self.acked: int | None = None
        """The latest Acknowledgment Number that the other side sent."""
        self.before: int | None = None
        """The sequence number before the first byte, that of the SYN; None until the side sends."""
        self.ended = ""
        """`FIN` or `RST` once this side has sent it."""
        self.waiting: WaitingBytes | None = None
        """Bytes that arrived before their turn, if any."""
        self.figures = SideFigures()
        self._stray: int | None = None
        self._counts = counts

    @property
    def cost(self) -> int:
        """Bytes of memory that wait for their turn."""
        return self.waiting.stretches.cost if self.waiting else 0

    def begin(self, before: int) -> None:
        """Start after sequence number `before`: the first byte of this side has the next one."""
        self.before = before
        self.next = (before + 1) & MASK

    def acknowledge(self, ack: int) -> None:
        """Record an Acknowledgment Number of the other side; an older one changes nothing."""
        if self.acked is None or _signed(ack - self.acked) > 0:
            self.acked = ack

    def repeat(self, length: int, late: int) -> None:
        """Count a segment that begins `late` bytes before the next one; a keep-alive probe is no retransmission."""
        self._counts["repeated"] += 1
        if length > 1 or late > 1:
            self.figures.retransmissions += 1

    def shake(self, segment: Segment) -> None:
        """Record the times of the handshake; comes before `begin` and `acknowledge`."""
        figures = self.figures
        if segment.flags & SYN:
            # The Sequence Number is already that of the byte after SYN.
            if self.before is not None and segment.seq == (self.before + 1) & MASK:
                figures.retransmissions += 1
            if not segment.flags & ACK:
                figures.syn_ns = segment.time_ns
            return
        syn_ns, peer = figures.syn_ns, self.peer
        if syn_ns is not None and segment.time_ns is not None and peer.acked is None and peer.before is not None:
            figures.handshake_ns = segment.time_ns - syn_ns

    def stray(self, segment: Segment) -> bool:
        """Whether a segment is outside any possible window."""
        if self.before is None or self.ended:
            return False
        distance = _signed(segment.seq - self._expected())
        return not -FARTHEST_BEHIND <= distance <= FARTHEST_AHEAD

    def restarts(self, segment: Segment) -> bool:
        """Whether a stray segment continues the last stray one, so that another connection must have begun."""
        again = segment.seq == self._stray
        self._stray = (segment.seq + segment.length) & MASK
        return again

    def receive(self, segment: Segment) -> Iterator[Piece]:
        """Yield the bytes whose turn has come with a segment."""
        if self.ended or not (segment.length or segment.flags & FIN):
            if self.ended and (segment.length > 1 or segment.flags & FIN):
                self.figures.retransmissions += 1
            return
        if self.before is None:
            if self._probe(segment):
                return
            self.begin((segment.seq - 1) & MASK)
        if self.waiting is None and not segment.flags & FIN:
            late = _signed(self.next - segment.seq)
            if 0 <= late < segment.length:
                self.next = (segment.seq + segment.length) & MASK
                if late:
                    self.repeat(segment.length, late)
                yield from self._pieces(segment.data[late:], segment.length - late, segment.time_ns, segment.record)
                return
        yield from self._sort_in(segment, self.waiting or WaitingBytes(self.next))

    def _sort_in(self, segment: Segment, waiting: WaitingBytes) -> Iterator[Piece]:
        start = waiting.place(segment.seq)
        stretch = ByteRange(start, start + segment.length, segment.data, segment.time_ns, segment.record)
        self._count(waiting, stretch, bool(segment.flags & FIN))
        if segment.flags & FIN and stretch.end >= waiting.next and not waiting.fin:
            waiting.fin = stretch._replace(start=stretch.end, data=b"")
        if start < waiting.next:
            self._counts["repeated"] += 1
        if stretch.end > waiting.next and waiting.stretches.add(stretch):
            self._counts["contradicted"] += 1
        self.waiting = waiting
        yield from self.settle()

    def _count(self, waiting: WaitingBytes, stretch: ByteRange, fin: bool) -> None:
        """Count a segment that is not in its turn, unless it goes on after all others."""
        known, figures = waiting.end, self.figures
        if stretch.end + fin > known:
            figures.end_ns = stretch.time_ns
        if stretch.start >= known or (stretch.end - stretch.start <= 1 and stretch.start == known - 1 and not fin):
            return
        if stretch.end <= waiting.next or waiting.stretches.holds(stretch):
            figures.retransmissions += 1
        else:
            rtt = figures.handshake_ns
            figures.late(stretch.time_ns, self.peer.figures.handshake_ns if rtt is None else rtt)

    def settle(self) -> Iterator[Piece]:
        """Yield the bytes whose turn has come, and a gap for bytes that the other side acknowledged."""
        while waiting := self.waiting:
            yield from self._in_turn(waiting)
            following = waiting.following
            if following is None or (waiting.fin and waiting.fin.end <= waiting.next):
                yield from self._leave(waiting)
            elif self.acked is not None and waiting.place(self.acked) >= following.start:
                yield self._gap(waiting, following)
            else:
                self.next = NOT_IN_TURN
                return

    def pass_over(self) -> Iterator[Piece]:
        """Give up the first missing bytes."""
        if self.waiting and (following := self.waiting.following):
            yield self._gap(self.waiting, following)
            yield from self.settle()

    def give_up(self, time_ns: int | None, record: int) -> Iterator[Piece]:
        """Yield everything that waits, and the gaps between and after it."""
        while self.waiting:
            yield from self.pass_over()
        if self.before is None or self.ended or self.acked is None:
            return
        length = _signed(self.acked - self.next)
        # A difference of one is the FIN, which counts as a byte.
        if 1 < length <= FARTHEST_AHEAD:
            self.next = self.acked
            yield self._missing(length, time_ns, record)

    def end(self, how: str, time_ns: int | None, record: int) -> End:
        """Return the end of this side."""
        self.ended = how
        self.next = NOT_IN_TURN
        self.waiting = None
        return End(self.flow, self.number, time_ns, record, how, self.counted())

    def counted(self) -> TcpFigures:
        """Return how TCP carried the flow so far."""
        sides = (self, self.peer) if not self.number else (self.peer, self)
        one, other = (side.figures for side in sides)
        return TcpFigures(
            (one.retransmissions, other.retransmissions), (one.out_of_order, other.out_of_order),
            (one.zero_windows, other.zero_windows),
            other.handshake_ns if one.handshake_ns is None else one.handshake_ns,
        )  # fmt: skip

    def _expected(self) -> int:
        return self.waiting.next if self.waiting else self.next

    def _probe(self, segment: Segment) -> bool:
        """Whether the first payload is a keep-alive probe: a byte that was acknowledged, or a lone zero."""
        if segment.length != 1 or segment.flags & FIN:
            return False
        return (segment.seq + 1) & MASK == self.acked or segment.data == b"\0"

    def _in_turn(self, waiting: WaitingBytes) -> Iterator[Piece]:
        while waiting.stretches and waiting.stretches.first.start <= waiting.next:
            start, end, data, time_ns, record = waiting.stretches.pop()
            late, length = waiting.next - start, end - waiting.next
            if length > 0:
                waiting.next = end
                yield from self._pieces(data[late:], length, time_ns, record)

    def _pieces(self, data: bytes, length: int, time_ns: int | None, record: int) -> Iterator[Piece]:
        """Yield the next bytes, and a gap if they are fewer than `length`."""
        if data:
            yield _new(Chunk, (self.flow, self.number, time_ns, record, data))
        if length > len(data):
            cut = length - len(data)
            message = f"{cut} {plural(cut, 'byte is', 'bytes are')} cut off by the snap length"
            yield Missing(self.flow, self.number, time_ns, record, cut, message)

    def _leave(self, waiting: WaitingBytes) -> Iterator[Piece]:
        """Stop waiting, because nothing is out of order any more."""
        self.waiting = None
        self.next = waiting.next & MASK
        if waiting.fin:
            yield self.end("FIN", waiting.fin.time_ns, waiting.fin.record)

    def _gap(self, waiting: WaitingBytes, following: ByteRange) -> Missing:
        length, waiting.next = following.start - waiting.next, following.start
        return self._missing(length, following.time_ns, following.record)

    def _missing(self, length: int, time_ns: int | None, record: int) -> Missing:
        message = f"{length} {plural(length, 'byte is', 'bytes are')} missing from the capture"
        return Missing(self.flow, self.number, time_ns, record, length, message)


def _signed(difference: int) -> int:
    """Return a difference of sequence numbers, modulo 2**32, as the value nearest to 0."""
    return ((difference + _HALF) & MASK) - _HALF
