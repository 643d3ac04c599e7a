"""Records in, the bytes of TCP connections out."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from struct import Struct, error
from typing import Any, NamedTuple

from ..types import CaptureRecord, Chunk, End, Piece
from .connections import FlowTable
from .ip import IpPayload, IpReassembler
from .link import PPPOE, SNAP, NotTcp
from .tcp_side import ACK, FARTHEST_BEHIND, FIN, MASK, NOT_IN_TURN, RST, SYN, Segment, TcpSide

MAX_FLOWS = 12_288
"""TCP connections that are remembered at once."""
MAX_HELD = 8 << 20
"""Bytes of one side that wait for missing ones, at most."""
MAX_HELD_TOGETHER = 32 << 20
"""The same of all sides."""

_HALF = 1 << 31
_HEADER = Struct(">4sIIH").unpack_from
_TYPE_AT = {0: 0, 1: 12, 108: 0, 113: 14, 276: 0}
"""Offset of the protocol in records of a link type; tags may follow."""
_PPPOE = PPPOE.to_bytes(2)
_SHAPES = 4
"""Shapes that are tried for each link type before a record is parsed header by header."""

_new = tuple.__new__
"""Builds a Chunk without the keyword handling of NamedTuple (tests/benchmarks/decode.py)."""


class _Shape(NamedTuple):
    """The offsets of the fields of records whose IP header has neither options nor fragments."""

    unpack: Callable[[bytes], tuple[Any, ...]]
    mark: bytes
    """The bytes that identify the protocol, up to the first byte of the IP header."""
    tcp: int
    """Offset of the TCP header."""
    origin: int
    """Offset from which the length in the IP header counts."""
    begin: int
    """Offset of the mark."""


@lru_cache(64)
def _shape(at: int, mark: bytes, begin: int) -> _Shape:
    """Return the shape of records whose IP header is at `at`, where the mark ends."""
    cut = at + 1 - begin - len(mark)
    size = 3 if cut else len(mark)
    skipped = f">{at + 1 - size}x{size}s"
    four = mark[-1] >> 4 == 4
    unpack = Struct(f"{skipped}xHxxI2x12sIIHH" if four else f"{skipped}3xHBx36sIIHH").unpack_from
    tcp, origin = (at + 20, at) if four else (at + 40, at + 40)
    if not cut:
        return _Shape(unpack, mark, tcp, origin, begin)

    def in_two(data: bytes) -> tuple[Any, ...]:
        found, *fields = unpack(data)
        return data[begin : at - 2 - cut] + found, *fields

    return _Shape(in_two, mark, tcp, origin, begin)


_NOT_PLAIN = 0x3FFF_00FF
"""In the word with the fragment field and the protocol of IPv4, and in the Next Header of IPv6."""
_PLAIN = 6


class Reassembler:
    """Turns the TCP segments of records into the bytes of each direction, in sequence.

    Bytes that arrive twice are yielded once, the first copy. Missing bytes become a Missing as soon as the other side
    acknowledges later ones, or when `max_held` bytes of one side or `max_together` of all sides wait for them, or
    when the connection ends. Each flow ends with an End of each of its sides, or with one End without a side.

    A flow without SYN begins with its first payload; earlier bytes that arrive later are left out, and so is a
    keep-alive probe: a byte that was acknowledged before, or a lone zero. After RST, bytes of the other side are
    still yielded. Between two records the object can be pickled.
    """

    def __init__(
        self, *, max_flows: int = MAX_FLOWS, max_held: int = MAX_HELD, max_together: int = MAX_HELD_TOGETHER
    ) -> None:
        self.skipped: Counter[str] = Counter()
        """The number of records without a TCP segment, by reason: `not TCP`, `of link type 147, ...`."""
        self.counts: Counter[str] = Counter()
        """The number of segments that were `repeated` (in whole or part), `contradicted` by other bytes, or `stray`."""
        self.max_held = max_held
        self.max_together = max_together
        self.flows = FlowTable(self.counts, max_flows=max_flows)
        """The connections that are remembered."""
        self._recent = self.flows.recent
        self._internet = IpReassembler(self.skipped)
        self._shapes: dict[int, tuple[_Shape, ...]] = {}
        self._held: OrderedDict[TcpSide, int] = OrderedDict()
        self.held_bytes = 0
        """Bytes of memory that wait for missing ones in all sides."""
        self._last: CaptureRecord | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the bytes of the last record, which are not used again, and the shapes, which are a cache."""
        return {**vars(self), "_last": self._last and self._last._replace(data=b""), "_shapes": {}}

    def feed(self, record: CaptureRecord) -> tuple[Piece, ...]:
        """Return the pieces that the next record completes, for each side in the order of its bytes."""
        # Nearly all records are finished here: an acknowledgement, or bytes in their turn. A record that only looks
        # like a shape has no known flow where a shape has its addresses.
        self._last = record
        number, time_ns, link, data, _ = record
        try:
            for unpack, mark, tcp, origin, _ in self._shapes[link]:
                found, total, kind, key, seq, ack, bits, window = unpack(data)
                if found != mark:
                    continue
                side = self._recent.get(key)
                if side is None or kind & _NOT_PLAIN != _PLAIN or bits & 0x17 != ACK or bits < 0x5000:
                    break
                start, end = tcp + (bits >> 10 & 0x3C), origin + total
                length, peer, next = end - start, side.peer, side.next
                # The first acknowledgement ends the handshake, and without a window somebody has to count.
                if peer.waiting is not None or (acked := peer.acked) is None or not window:
                    break
                if not length or (seq == next and 0 < length <= len(data) - start):
                    # As `acknowledge` does, whose call would take longer (tests/benchmarks/decode.py).
                    if ack - acked & MASK < _HALF:
                        peer.acked = ack
                    if not length:
                        return ()
                    side.next = seq + length & MASK
                    return (_new(Chunk, (side.flow, side.number, time_ns, number, data[start:end])),)
                if 0 < length <= (next - seq & MASK) <= FARTHEST_BEHIND and next != NOT_IN_TURN:
                    side.repeat(length, next - seq & MASK)
                    peer.acknowledge(ack)
                    return ()
                break
        except (KeyError, error):
            pass
        return tuple(self._look(record))

    def passed(self, number: int, time_ns: int | None) -> None:
        """Record the number and time of a later record that does not matter here, or that columns have read."""
        self._last = CaptureRecord(number, time_ns, 0, b"", 0)

    def finish(self) -> Iterator[Piece]:
        """Yield the bytes that still wait, and the end of all flows that have not ended."""
        self._internet.finish()
        for side in self.flows.all():
            yield from self._forget(side)

    def _look(self, record: CaptureRecord) -> Iterator[Piece]:
        try:
            packet = self._internet.packet(record)
            if packet is None:
                return
            key, segment = read_segment(packet, record)
        except NotTcp as skipped:
            self.skipped[skipped.reason] += 1
            return
        if packet.plain is not None:
            self._learn(record, packet.plain)
        yield from self._follow(key, segment)

    def follow(self, key: bytes, segment: Segment) -> Iterator[Piece]:
        """Yield the pieces that a segment completes whose headers were read elsewhere."""
        self._last = CaptureRecord(segment.record, segment.time_ns, 0, b"", 0)
        side = self.flows.recent.get(key)
        if side is None or side.peer.waiting is not None or side.peer.acked is None or not segment.window:
            return self._follow(key, segment)
        # As in `feed`, which reads the same headers in records.
        peer, behind = side.peer, side.next - segment.seq & MASK
        if not segment.length:
            peer.acknowledge(segment.ack)
            return iter(())
        if segment.seq == side.next:
            peer.acknowledge(segment.ack)
            side.next = segment.seq + segment.length & MASK
            return iter((Chunk(side.flow, side.number, segment.time_ns, segment.record, segment.data),))
        if segment.length <= behind <= FARTHEST_BEHIND and side.next != NOT_IN_TURN:
            side.repeat(segment.length, behind)
            peer.acknowledge(segment.ack)
            return iter(())
        return self._follow(key, segment)

    def _follow(self, key: bytes, segment: Segment) -> Iterator[Piece]:
        side = yield from self._side(key, segment)
        if side is not None:
            yield from self._take(side, segment)

    def _learn(self, record: CaptureRecord, at: int) -> None:
        """Add the shape of a record, so that records like it take the fast path."""
        data = record.data
        begin = min(_TYPE_AT.get(record.link, at), max(at - 2, 0))
        mark = data[begin : at + 1]
        if data[at - 8 : at - 2] == SNAP:
            begin, mark = at - 8, data[at - 8 : at + 1]
        elif data[at - 10 : at - 8] == _PPPOE:
            # The length, which differs from record to record, comes before the protocol.
            mark = data[begin : at - 4] + data[at - 2 : at + 1]
        shape = _shape(at, mark, begin)
        known = self._shapes.get(record.link, ())
        if shape not in known:
            self._shapes[record.link] = (shape, *known)[:_SHAPES]

    def _side(self, key: bytes, segment: Segment) -> Generator[Piece, None, TcpSide | None]:
        """Return the side that sent a segment; None if it belongs to no flow and cannot begin one."""
        side = self.flows.find(key)
        if side is not None and _begins_another(side, segment):
            yield from self._forget(side)
            side = None
        if side is None and (side := self._begin(key, segment)):
            for excess in self.flows.excess():
                if not (excess.ended and excess.peer.ended):
                    self.counts["forgotten"] += 1
                yield from self._forget(excess)
        return side

    def _begin(self, key: bytes, segment: Segment) -> TcpSide | None:
        other = opposite(key)
        if segment.flags & RST or not (segment.flags & SYN or segment.length):
            return None
        if segment.flags & (SYN | ACK) == SYN | ACK:
            opener = self.flows.open(other, key, opened=True)
            opener.begin(segment.ack - 1 & MASK)
            return opener.peer
        return self.flows.open(key, other, opened=bool(segment.flags & SYN))

    def _take(self, side: TcpSide, segment: Segment) -> Iterator[Piece]:
        if segment.flags & SYN:
            segment = segment._replace(seq=segment.seq + 1 & MASK)
            side.shake(segment)
            if side.before is None:
                side.begin(segment.seq - 1 & MASK)
        elif segment.flags & ACK:
            side.shake(segment)
        if (segment.length or segment.flags & (FIN | SYN | RST)) and side.stray(segment):
            self.counts["stray"] += 1
            return
        if not (segment.window or segment.flags & (SYN | FIN | RST)):
            side.figures.zero_windows += 1
        peer = side.peer
        if segment.flags & ACK:
            peer.acknowledge(segment.ack)
            if peer.waiting:
                yield from self._weighed(peer, peer.settle())
        if segment.flags & RST:
            yield from self._reset(side, segment)
            return
        yield from self._weighed(side, side.receive(segment))
        if side.waiting:
            yield from self._relieve(side)
        if side.ended and peer.ended:
            self.flows.close(side)

    def _reset(self, side: TcpSide, segment: Segment) -> Iterator[Piece]:
        if side.ended == "RST":
            return
        yield from self._weighed(side, side.give_up(segment.time_ns, segment.record))
        while side.peer.waiting:
            yield from self._weighed(side.peer, side.peer.pass_over())
        yield side.end("RST", segment.time_ns, segment.record)
        self.flows.close(side)

    def _forget(self, side: TcpSide) -> Iterator[Piece]:
        """Yield the rest of a flow, and its end."""
        self.flows.forget(side)
        time_ns, record = (self._last.time_ns, self._last.number) if self._last else (None, 0)
        for each in (side, side.peer):
            yield from self._weighed(each, each.give_up(time_ns, record))
        if not (side.ended and side.peer.ended):
            yield End(side.flow, None, time_ns, record, "end", side.counted())
        # Without the reference circle the memory is free at once.
        peer = side.peer
        del side.peer
        if peer is not side:
            del peer.peer

    def _weighed(self, side: TcpSide, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Yield the pieces of a side, and then count the bytes that still wait there."""
        yield from pieces
        cost = side.cost
        self.held_bytes += cost - self._held.get(side, 0)
        if cost:
            self._held[side] = cost
        else:
            self._held.pop(side, None)

    def _relieve(self, side: TcpSide) -> Iterator[Piece]:
        """Give up missing bytes where too many wait for them: in one side, or in all, the longest wait first."""
        while side.cost > self.max_held:
            yield from self._weighed(side, side.pass_over())
        while self.held_bytes > self.max_together:
            longest = next(iter(self._held))
            yield from self._weighed(longest, longest.pass_over())


def read_segment(packet: IpPayload, record: CaptureRecord) -> tuple[bytes, Segment]:
    """Return the segment of a packet and the key of the side that sent it; raises NotTcp."""
    data, start, end = packet.data, packet.start, packet.end
    try:
        ports, seq, ack, bits = _HEADER(data, start)
    except error:
        raise NotTcp("cut short within the TCP header") from None
    payload = start + (bits >> 10 & 0x3C)
    if payload < start + 20 or payload > end:
        raise NotTcp("TCP segments with a broken header")
    # The capture may have cut it off, and then it is not known to be 0.
    cut = data[start + 14 : start + 16]
    window = int.from_bytes(cut) if len(cut) == 2 else 1
    segment = Segment(seq, ack, bits & 0x3F, data[payload:end], end - payload, record.time_ns, record.number, window)
    return packet.source + packet.target + ports, segment


def opposite(key: bytes) -> bytes:
    """Return addresses and ports in the order of packets of the other end."""
    half = len(key) // 2 - 2
    return key[half:-4] + key[:half] + key[-2:] + key[-4:-2]


def _begins_another(side: TcpSide, segment: Segment) -> bool:
    """Whether a segment is of another connection that uses the same addresses and ports again."""
    if not segment.flags & SYN:
        return segment.length > 0 and side.stray(segment) and side.restarts(segment)
    if side.before is None:
        return not (side.flow.opened or segment.flags & ACK)
    return side.before != segment.seq
