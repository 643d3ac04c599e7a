"""One end of a connection without any policy: bytes go out as they are given, packets come in as they are sent."""

import selectors
import time
from collections import deque
from typing import Any

from ..codec.stream import ConnectionStreams, Frame, LostSync
from ..live.tap import ByteObserver, Observer, PacketObserver, again, half_close
from ..spec.versions import Direction, Version
from .serving.ending import is_broken, resets

CHUNK = 65536
MOST_CHUNKS = 4
"""Chunks that are read in a row, so that a peer that never pauses leaves time for everything else."""
FRAME_BYTES = 256
"""Memory that a packet takes besides its own bytes; most packets are a few bytes long."""
MOST_UNREAD_BYTES = 64 << 20
"""Memory of packets that nobody has taken, above which nothing is read: the peer has to wait."""
_Selector: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)
"""The selector that takes no descriptor of its own, where there is one that knows all descriptors too."""
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


def wait_for(sock: Any, events: int, seconds: float) -> int:
    """Return which events of `selectors` a socket is ready for, after some seconds at most; 0 for none."""
    with _Selector() as selector:
        selector.register(sock, events)
        return next((ready for _, ready in selector.select(seconds)), 0)


class RawClient:
    """A connected socket, the packets that came, and how the peer ended it.

    `end` is the end that this is; it may be the server as well. Nothing is answered, acknowledged or kept alive. The
    observer gets every byte of both ends; what is not a whole packet comes in Frames too, once nothing can follow.
    """

    def __init__(
        self, sock: Any, end: Direction = Direction.CLIENT, *, version: Version = Version.V5,
        observer: Observer | None = None,
    ) -> None:  # fmt: skip
        self.sock = sock
        self.end = end
        self.peer = end.other
        self.came: deque[Frame] = deque()
        """The packets that came and were not taken."""
        self.lost: LostSync | None = None
        """Set when the bytes that came could not be cut into packets."""
        self.ended = ""
        """How the peer ended the connection: FIN or RST; empty while it has not."""
        self.closed = False
        """Whether this end has closed its side."""
        self._observer: PacketObserver | None = observer if callable(observer) else None
        self._bytes = observer if isinstance(observer, ByteObserver) else None
        self._open_ends = set(Direction)
        """The ends that have not closed the connection."""
        self._cut = ConnectionStreams(version)
        self._rest = bytearray()
        """What came and is not a packet."""
        self._unread_bytes = 0
        self.unsent = bytearray()
        """What was posted and waits for the socket."""
        sock.setblocking(False)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return int(self.sock.fileno())

    @property
    def unfinished(self) -> bytes:
        """The bytes of a packet that has not come whole, or of what is not a packet."""
        return bytes(self._rest) or self._cut.streams[self.peer].pending

    @property
    def reads(self) -> bool:
        """Whether what the peer sends is read: not after its end, nor while too much waits to be taken."""
        return not self.ended and self._unread_bytes <= MOST_UNREAD_BYTES and self.fileno() >= 0

    def send(self, data: bytes, until_s: float, slice_bytes: int = 0) -> bool:
        """Write bytes, `slice_bytes` at a time if that is not 0; return whether the connection took all of them.

        `until_s` is the deadline, a moment of the monotonic clock; at it, raises TimeoutError.
        """
        self._show(self.end, data)
        size = slice_bytes or max(len(data), 1)
        return all(self._write(data[at : at + size], until_s) for at in range(0, len(data), size))

    def _write(self, data: bytes, until_s: float) -> bool:
        left = bytearray(data)
        while left and not self.ended_by_reset:
            try:
                del left[: self.sock.send(left)]
            except OSError as error:
                if not again(error):
                    self.pump()
                    self._peer_ended("RST")
                    return False
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError from None
                if wait_for(self, _WRITE | (_READ if self.reads else 0), min(left_s, 1.0)) & _READ:
                    self.pump()
        return not left

    def post(self, data: bytes) -> None:
        """Write bytes as far as the socket takes them at once; `flush` writes the rest, for a loop that cannot wait."""
        self._show(self.end, data)
        self.unsent += data
        self.flush()

    def flush(self) -> None:
        """Write what was posted, as far as the socket takes it."""
        try:
            while self.unsent and not self.ended_by_reset and self.fileno() >= 0:
                del self.unsent[: self.sock.send(self.unsent)]
        except OSError as error:
            if not again(error):
                self.pump()
                self._peer_ended("RST")

    @property
    def ended_by_reset(self) -> bool:
        """Whether the peer broke the connection off."""
        return self.ended == "RST"

    def pump(self) -> bool:
        """Read what the socket has, up to some chunks; return whether anything came."""
        came = False
        for _ in range(MOST_CHUNKS):
            if not self.reads:
                break
            try:
                data = self.sock.recv(CHUNK)
            except OSError as error:
                if again(error):
                    break
                self._peer_ended("RST")
                return True
            came = True
            if not data:
                self._peer_ended("RST" if not self.closed and is_broken(self.sock) else "FIN")
                break
            self._show(self.peer, data)
            if self.lost:
                # Whoever waits learns of it before an end that came with it.
                break
        return came

    def wait(self, seconds: float) -> bool:
        """Wait for some seconds until a packet can be taken; return whether one can."""
        if not (self.came or self.pump() or self.ended or self.lost):
            wait_for(self, _READ, seconds)
            self.pump()
        return bool(self.came)

    def take(self) -> Frame | None:
        """Return the next packet that came; None where none has."""
        if not self.came:
            return None
        frame = self.came.popleft()
        self._unread_bytes -= len(frame.data) + FRAME_BYTES
        return frame

    def take_bytes(self, wanted: bytes) -> bool:
        """Take bytes that are not a whole packet; return whether just these are the next that came."""
        if self.came or not wanted or not self.unfinished.startswith(wanted):
            return False
        if self._rest:
            self._unread_bytes -= len(wanted)
            del self._rest[: len(wanted)]
            return True
        stream = self._cut.streams[self.peer]
        data, offset = stream.pending, stream.offset
        stream.pass_over(len(wanted))
        if self._observer:
            self._observer(time.time(), Frame(wanted, offset, self.peer, self._cut.version))
        self._cut_packets(self.peer, data[len(wanted) :])
        return True

    def drop(self) -> None:
        """Take everything that came, and keep nothing of it but a packet that is not whole."""
        self.came.clear()
        self._rest.clear()
        self._unread_bytes = 0

    def _show(self, end: Direction, data: bytes) -> None:
        """Cut bytes of an end into packets; those of the peer can be taken."""
        if self._bytes:
            self._bytes.passed(time.time(), end, data)
        self._cut_packets(end, data)

    def _cut_packets(self, end: Direction, data: bytes) -> None:
        now, stream = time.time(), self._cut.streams[end]
        if stream.lost is None:
            try:
                for frame in self._cut.feed(end, data):
                    self._frame(now, end, frame)
                return
            except LostSync as lost:
                if end is self.peer:
                    self.lost = lost
                data = stream.pending
        self._no_packet(end, data)

    def _frame(self, now: float, end: Direction, frame: Frame) -> None:
        if self._observer:
            self._observer(now, frame)
        if end is self.peer:
            self.came.append(frame)
            self._unread_bytes += len(frame.data) + FRAME_BYTES

    def _no_packet(self, end: Direction, data: bytes) -> None:
        """Take the next bytes of an end, which are not a whole packet and will not become one."""
        stream = self._cut.streams[end]
        if self._observer and data:
            self._observer(time.time(), Frame(data, stream.offset, end, self._cut.version))
        stream.pass_over(len(data))
        if end is self.peer:
            self._rest += data
            self._unread_bytes += len(data)

    def _no_more(self, end: Direction) -> None:
        self._no_packet(end, self._cut.streams[end].pending)

    def _peer_ended(self, how: str) -> None:
        if not self.ended:
            self.ended = how
            self._no_more(self.peer)
            self._end(self.peer, how)

    def finish(self) -> None:
        """Close the sending side, which the peer sees as FIN; TLS has no half of a connection and closes whole."""
        self.closed = True
        if hasattr(self.sock, "unwrap"):
            self.close()
        else:
            self._no_more(self.end)
            half_close(self.sock)
        self._end(self.end, "FIN")

    def reset(self) -> None:
        """Break the connection off, which the peer sees as RST."""
        self.closed = True
        resets(self.sock)
        self._end(self.end, "RST")
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._no_more(self.end)
        self._no_more(self.peer)
        self.sock.close()
        self._end(self.end, "FIN")

    def _end(self, end: Direction, how: str) -> None:
        """Tell the observer that an end has closed, once."""
        if self._bytes and end in self._open_ends:
            self._open_ends.discard(end)
            self._bytes.closed(time.time(), end, how)
