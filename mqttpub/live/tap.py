"""A socket that sees every byte, and sorts the packets that come in."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from ..codec.frame_runs import LONGEST_ACK_BYTES, FrameRun, take_acks, take_runs
from ..codec.stream import MAX_PACKET, ConnectionStreams, Frame, LostSync
from ..common.system import unreceived_bytes
from ..spec.versions import Direction, Version
from .failures import PeerFault
from .shield import SHIELD

FLOW_PACKETS = frozenset((3, 4, 5, 6, 7))
"""PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP: the packets of the publish flows."""
AUTH = 15
PLENTIFUL = frozenset((0x30, 0x31, 0x40, 0x50, 0x70))
"""First bytes of packets of the publish flows that come in great numbers: PUBLISH of QoS 0, PUBACK, PUBREC, PUBCOMP."""
CHUNK = 65536
MOST_CHUNKS = 4
"""Chunks that are read at once, so that a peer which never pauses leaves time for everything else."""
MOST_OTHERS = 1000
"""Packets outside the publish flows after which nothing more is read at once: each takes long."""
PINGRESP = b"\xd0\0"
MOST_FIRST = 64
"""Number of first bytes that are kept."""


class NoPayload(BlockingIOError):
    """What was read from the socket was for a layer below MQTT; there may be more to read."""


class PacketObserver(Protocol):
    """Takes packets; it may be a RunObserver, too."""

    def __call__(self, now: float, frame: Frame, /) -> None:
        """Take a whole packet, sent or received; `now` is in seconds since the epoch."""


@runtime_checkable
class RunObserver(Protocol):
    """A PacketObserver that takes packets of one type and length, which follow one another, together."""

    def together(self, now: float, runs: Sequence[FrameRun]) -> None:
        """Take packets that passed together."""


@runtime_checkable
class ByteObserver(Protocol):
    """Takes the bytes of a connection as they pass, not cut into packets, and its ends."""

    def passed(self, now: float, direction: Direction, data: bytes) -> None:
        """Take bytes of one end; `now` is in seconds since the epoch."""

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Take the end of the connection by one of its ends, FIN or RST."""


Observer = PacketObserver | ByteObserver
"""Takes packets, bytes or both. It may be a RouteObserver too, and for one connection of several an EndObserver."""


@runtime_checkable
class EndObserver(Protocol):
    """An observer of one connection that takes its end, however that comes."""

    def over(self) -> None:
        """End the connection; called after all others."""


@runtime_checkable
class Buffering(Protocol):
    """An observer that gathers packets and shows them later, so that showing does not disturb the times."""

    def show_in_s(self) -> float | None:
        """Return after how many seconds `flush` is due; None where nothing is gathered."""

    def flush(self) -> None:
        """Show what it has gathered; raises OSError where the output cannot be written."""


def buffering(observer: object) -> Buffering | None:
    """Return the observer if it gathers packets, None if it shows each packet at once."""
    return observer if isinstance(observer, Buffering) else None


class Tap:
    """Stands between paho and its socket.

    paho calls `send`, `recv` and `close`; the session calls `write` and reads `inbox` and `others`.
    What comes in is cut into packets: those of the publish flows go to `inbox`, all others
    but AUTH are also left for paho. Everything that goes out passes one buffer, so packets never mix.
    """

    def __init__(
        self, sock: Any, version: Version, observer: Observer | None = None, *, connect: bytes | None = None,
        packet_limit: int = MAX_PACKET,
    ) -> None:  # fmt: skip
        self.sock = sock
        self.observer: PacketObserver | None = observer if callable(observer) else None
        self._bytes = observer if isinstance(observer, ByteObserver) else None
        self._open_ends = set(Direction)
        """The ends that have not closed the connection."""
        self._show_together = observer.together if observer and isinstance(observer, RunObserver) else None
        self.inbox: deque[tuple[float, Frame | FrameRun]] = deque()
        """Packets of the publish flows, with their time of arrival."""
        self.joins_acks = False
        """Whether acknowledgements that come together are put into `inbox` together."""
        self.others: deque[tuple[float, Frame]] = deque()
        """All other packets, with their time of arrival; paho gets their bytes too."""
        self.for_paho = bytearray()
        """The bytes of these, as far as paho has not taken them."""
        self.unsent = bytearray()
        """The bytes that wait for the socket."""
        self.sent_bytes = 0
        """The bytes that the socket took."""
        self.lost: LostSync | None = None
        """Set when the incoming bytes could not be cut into packets."""
        self.broken: PeerFault | None = None
        """Set when a layer below MQTT broke its protocol; nothing is read after it."""
        self.oversize = b""
        """The packet that is larger than `packet_limit`, as far as it has come; nothing is read after it."""
        self.has_more = False
        """Whether reading stopped before the socket ran dry."""
        self.first = b""
        """The first bytes, which show whether the peer speaks MQTT at all."""
        self.failed: OSError | None = None
        """The error that ended reading."""
        self.ended = False
        """The peer has closed its side."""
        self.ended_early = False
        """The peer has closed its side before it had received everything that was sent."""
        self.released = False
        """paho has given the connection up; the session closes the socket."""
        self._connect = connect
        self._packet_limit = packet_limit
        self._acknowledge = _quick_ack(sock)
        self._is_plain = _is_plain(sock)
        self._owes_ack = False
        """Whether something was read, and nothing sent since that would acknowledge it to TCP."""
        self._cut = ConnectionStreams(version)

    # what paho uses

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return int(self.sock.fileno())

    def setblocking(self, flag: bool) -> None:
        """Set the mode of the socket below."""
        self.sock.setblocking(flag)

    def send(self, data: bytes) -> int:
        """Send bytes for paho; in place of the first, its CONNECT, that of the target is sent."""
        ours, self._connect = self._connect, None
        self.write(bytes(data) if ours is None else ours)
        return len(data)

    def recv(self, count: int) -> bytes:
        """Return the next bytes of the packets that are left for paho."""
        if not self.for_paho:
            raise BlockingIOError
        data = bytes(self.for_paho[:count])
        del self.for_paho[:count]
        return data

    def close(self) -> None:
        """Note that paho is done; the socket stays open until the session has read the rest."""
        self.released = True

    # what the session uses

    @property
    def introduced(self) -> bool:
        """Whether CONNECT was sent."""
        return self._connect is None

    def write(self, data: bytes) -> None:
        """Send whole packets, as soon as the socket takes them."""
        if self._bytes:
            self._bytes.passed(time.time(), Direction.CLIENT, data)
        if self.observer:
            self._show(self.observer, data)
        self.unsent += data
        self.flush()

    def _show(self, observer: PacketObserver, data: bytes) -> None:
        now = time.time()
        if together := self._show_together:
            runs, data = take_runs(self._cut.streams[Direction.CLIENT], Direction.CLIENT, data)
            if runs:
                together(now, runs)
            if not data:
                return
        try:
            for frame in self._cut.feed(Direction.CLIENT, data):
                observer(now, frame)
        except LostSync:
            # Only bytes forged with --force cannot be cut into packets; they are shown as one.
            observer(now, Frame(data, 0, Direction.CLIENT, self._cut.version))

    def flush(self) -> None:
        """Send as much of the buffer as the socket takes."""
        while self.unsent:
            with SHIELD:
                try:
                    sent = self.sock.send(self.unsent)
                except OSError as error:
                    if not again(error):
                        raise
                    return
                del self.unsent[:sent]
                self.sent_bytes += sent
                self._owes_ack = False

    def acknowledge(self) -> None:
        """Acknowledge to TCP what was read; called before a wait."""
        if self._owes_ack and self._acknowledge:
            self._acknowledge()
        self._owes_ack = False

    def half_close(self) -> None:
        """Close the sending side, where that is possible."""
        if half_close(self.sock):
            self._end(Direction.CLIENT)

    def abort(self) -> None:
        """Close the socket."""
        self.sock.close()
        self._end(Direction.CLIENT)

    def _end(self, direction: Direction, how: str = "FIN") -> None:
        """Tell the observer that an end has closed, once."""
        if self._bytes and direction in self._open_ends:
            self._open_ends.discard(direction)
            self._bytes.closed(time.time(), direction, how)

    def give_up(self) -> None:
        """Treat the connection as lost: nothing more is sent or read."""
        self.ended = True
        self.unsent.clear()

    def pump(self) -> bool:
        """Read what the socket has; return whether anything came."""
        came = self.has_more = False
        for _ in range(MOST_CHUNKS):
            if self.ended or self.lost or self.oversize or self.broken:
                break
            try:
                data = self.sock.recv(CHUNK)
            except NoPayload:
                continue
            except PeerFault as fault:
                self.broken = fault
                came = True
                break
            except OSError as error:
                if not again(error):
                    self.failed = error
                    self._end(Direction.SERVER, "RST")
                    raise
                break
            came = self._owes_ack = True
            if not data:
                self.ended = True
                self.ended_early = _has_unreceived(self.sock)
                self._end(Direction.SERVER)
                break
            if len(self.first) < MOST_FIRST:
                self.first += data[: MOST_FIRST - len(self.first)]
            self._take(data)
            if self._is_emptied(data):
                break
            if len(self.others) > MOST_OTHERS:
                self.has_more = True
                break
        else:
            self.has_more = True
        return came

    def _is_emptied(self, data: bytes) -> bool:
        """Whether these bytes were all that the socket had, so that another read would find nothing."""
        # A TLS or WebSocket layer returns less than it has.
        return self.joins_acks and len(data) < CHUNK and self._is_plain

    def drain(self) -> None:
        """Read what the socket has, and forget it."""
        for _ in range(MOST_CHUNKS):
            try:
                data = self.sock.recv(CHUNK)
            except OSError as error:
                self.ended = not again(error)
                return
            if not data:
                self.ended = True
                self._end(Direction.SERVER)
                return
            if self._bytes:
                self._bytes.passed(time.time(), Direction.SERVER, data)

    def _take(self, data: bytes) -> None:
        now = time.time()
        if self._bytes:
            self._bytes.passed(now, Direction.SERVER, data)
        if self.joins_acks and not (data := self._without_acks(now, data)):
            return
        try:
            frames = self._cut.feed(Direction.SERVER, data)
            if self.observer is None:
                frames = self._set_plentiful_aside(now, frames)
            for frame in frames:
                self._sort(now, frame)
                if self.oversize:
                    return
        except LostSync as lost:
            self.lost = lost
        if self._cut.streams[Direction.SERVER].announced > self._packet_limit:
            self.oversize = self.unfinished

    def _without_acks(self, now: float, data: bytes) -> bytes:
        """Put the acknowledgements that come first into `inbox`, and return the other bytes."""
        stream = self._cut.streams[Direction.SERVER]
        # The bytes of a large packet would be copied again each time that more of it come.
        if self._packet_limit < LONGEST_ACK_BYTES or stream.announced > LONGEST_ACK_BYTES:
            return data
        runs, data = take_acks(stream, Direction.SERVER, data)
        if self.observer and runs:
            self._show_acks(self.observer, now, runs)
        self.inbox.extend((now, run) for run in runs)
        return data

    def _show_acks(self, observer: PacketObserver, now: float, runs: Sequence[FrameRun]) -> None:
        if self._show_together:
            self._show_together(now, runs)
            return
        for run in runs:
            for frame in run.frames:
                observer(now, frame)

    def _set_plentiful_aside(self, now: float, frames: Iterator[Frame]) -> Iterator[Frame]:
        """Put the packets that come in great numbers into `inbox`, and yield the others."""
        # This loop bounds the messages per second of subscribers and publishers (tests/benchmarks/subscribe.py and
        # publish.py).
        append, limit = self.inbox.append, self._packet_limit
        for frame in frames:
            data = frame[0]
            if data[0] in PLENTIFUL and len(data) <= limit:
                append((now, frame))
            else:
                yield frame

    def _sort(self, now: float, frame: Frame) -> None:
        if self.observer:
            self.observer(now, frame)
        if len(frame.data) > self._packet_limit:
            self.oversize = frame.data
        elif frame.data[0] >> 4 in FLOW_PACKETS:
            self.inbox.append((now, frame))
        elif frame.data != PINGRESP or not self.others or self.others[-1][1].data != PINGRESP:
            # One PINGRESP after another says nothing new.
            self.others.append((now, frame))
            # paho knows no AUTH, and would close.
            if frame.data[0] >> 4 != AUTH:
                self.for_paho += frame.data

    @property
    def unfinished(self) -> bytes:
        """The bytes of a packet from the server that has not ended."""
        return self._cut.streams[Direction.SERVER].pending


def again(error: OSError) -> bool:
    """Whether an error only means that the socket is not ready."""
    return isinstance(error, BlockingIOError) or type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError")


def half_close(sock: Any) -> bool:
    """Close the sending side, unless the layers or a loss forbid it; return whether it was closed.

    TLS would lose what is still to be read.
    """
    import socket

    if hasattr(sock, "unwrap"):
        return False
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        return False  # the connection is lost, which the next read reports
    return True


def _is_plain(sock: Any) -> bool:
    """Whether a socket has no layer above that of the system."""
    import socket

    return type(sock) is socket.socket


def _has_unreceived(sock: Any) -> bool:
    """Whether the peer closed before its system had received all that was written, as far as ours knows.

    The segment that closes also acknowledges, so what is not acknowledged by now came too late.
    """
    # Our own close, which counts as a byte, need not have arrived; that of a WebSocket has more.
    return unreceived_bytes(sock) > int(getattr(sock, "parting_bytes", 1))


def _quick_ack(sock: Any) -> Callable[[], None] | None:
    """Return a function that makes the system send TCP acknowledgements at once, where it can.

    Otherwise a broker that waits for one before its next small packet delays each answer but the
    first by 40 ms.
    """
    import socket

    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None or getattr(sock, "family", None) not in (socket.AF_INET, socket.AF_INET6):
        return None
    return lambda: sock.setsockopt(socket.IPPROTO_TCP, option, 1)
