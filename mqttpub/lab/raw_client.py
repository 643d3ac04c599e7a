"""One end of a connection without any policy: bytes go out as they are given, packets come in as they are sent."""

import select
import socket
import struct
import time
from collections import deque
from typing import Any

from ..codec.stream import ConnectionStreams, Frame, LostSync
from ..live.tap import ByteObserver, Observer, PacketObserver, again, half_close
from ..spec.versions import Direction, Version

CHUNK = 65536
MOST_CHUNKS = 4
"""Chunks that are read in a row, so that a peer that never pauses leaves time for everything else."""
MOST_UNREAD_BYTES = 64 << 20
"""Bytes of packets that nobody has taken, above which nothing is read: the peer has to wait."""
_RESET = struct.pack("ii", 1, 0)


class RawClient:
    """A connected socket, the packets that came, and how the peer ended it.

    `end` is the end that this is; it may be the server as well. Nothing is answered, acknowledged or kept alive.
    """

    def __init__(
        self, sock: Any, end: Direction = Direction.CLIENT, *, version: Version = Version.V5,
        observer: Observer | None = None,
    ) -> None:  # fmt: skip
        self.sock = sock
        self.end = end
        self.peer = Direction.SERVER if end is Direction.CLIENT else Direction.CLIENT
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
        self._unread_bytes = 0
        sock.setblocking(False)

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return int(self.sock.fileno())

    @property
    def unfinished(self) -> bytes:
        """The bytes of a packet that has not come whole, or of what is no packet."""
        return self._cut.streams[self.peer].pending

    def send(self, data: bytes, until_s: float, slice_bytes: int = 0) -> bool:
        """Write bytes, `slice_bytes` at a time if that is not 0; return whether the connection took all of them.

        `until_s` is the deadline, a moment of the monotonic clock; at it, raises TimeoutError.
        """
        self._show(self.end, data)
        size = slice_bytes or max(len(data), 1)
        return all(self._write(data[at : at + size], until_s) for at in range(0, len(data), size))

    def _write(self, data: bytes, until_s: float) -> bool:
        while data and not self.ended_by_reset:
            try:
                data = data[self.sock.send(data) :]
            except OSError as error:
                if not again(error):
                    self.pump()
                    self._peer_ended(self.ended or "RST")
                    return False
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError from None
                readable, _, _ = select.select([self], [self], [], min(left_s, 1.0))
                if readable:
                    self.pump()
        return not data

    @property
    def ended_by_reset(self) -> bool:
        """Whether the peer broke the connection off."""
        return self.ended == "RST"

    def pump(self) -> bool:
        """Read what the socket has, up to some chunks; return whether anything came."""
        came = False
        for _ in range(MOST_CHUNKS):
            if self.ended or self.lost or self._unread_bytes > MOST_UNREAD_BYTES:
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
                self._peer_ended("RST" if self._is_broken() else "FIN")
                break
            self._show(self.peer, data)
        return came

    def wait(self, seconds: float) -> bool:
        """Wait for some seconds until a packet can be taken; return whether one can."""
        if not (self.came or self.pump() or self.ended or self.lost):
            select.select([self], [], [], seconds)
            self.pump()
        return bool(self.came)

    @property
    def _below(self) -> Any:
        """The socket below a WebSocket."""
        return getattr(getattr(self.sock, "line", None), "sock", self.sock)

    def _is_broken(self) -> bool:
        """Whether an end that was read is a reset, which Python's TLS does not tell apart."""
        if self.closed:
            return False
        try:
            self._below.getpeername()
        except OSError:
            return True
        return False

    def take(self) -> Frame | None:
        """Return the next packet that came; None where none has."""
        if not self.came:
            return None
        frame = self.came.popleft()
        self._unread_bytes -= len(frame.data)
        return frame

    def _show(self, end: Direction, data: bytes) -> None:
        """Cut bytes of an end into packets; those of the peer can be taken."""
        now = time.time()
        if self._bytes:
            self._bytes.passed(now, end, data)
        try:
            for frame in self._cut.feed(end, data):
                self._frame(now, end, frame)
        except LostSync as lost:
            # What this end forges may be no packet; it is shown as one.
            if end is self.peer:
                self.lost = lost
            elif self._observer:
                self._observer(now, Frame(data, lost.offset, end, self._cut.version))

    def _frame(self, now: float, end: Direction, frame: Frame) -> None:
        if self._observer:
            self._observer(now, frame)
        if end is self.peer:
            self.came.append(frame)
            self._unread_bytes += len(frame.data)

    def finish(self) -> None:
        """Close the sending side, which the peer sees as FIN; TLS has no half of a connection and closes whole."""
        self.closed = True
        if hasattr(self.sock, "unwrap"):
            self.sock.close()
        else:
            half_close(self.sock)
        self._end(self.end, "FIN")

    def reset(self) -> None:
        """Break the connection off, which the peer sees as RST."""
        self.closed = True
        below = self._below
        if below.family in (socket.AF_INET, socket.AF_INET6):
            below.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()
        self._end(self.end, "RST")

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()
        self._end(self.end, "FIN")

    def _peer_ended(self, how: str) -> None:
        self.ended = how
        self._end(self.peer, how)

    def _end(self, end: Direction, how: str) -> None:
        """Tell the observer that an end has closed, once."""
        if self._bytes and end in self._open_ends:
            self._open_ends.discard(end)
            self._bytes.closed(time.time(), end, how)
