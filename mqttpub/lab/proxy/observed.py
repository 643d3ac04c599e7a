"""What passes on a connection, shown to its observer as bytes and as packets."""

import time

from ...codec.frame_runs import take_runs
from ...codec.stream import ConnectionStreams, Frame, LostSync
from ...live.net.dial import Route, RouteObserver
from ...live.tap import ByteObserver, EndObserver, Observer, PacketObserver, RunObserver
from ...spec.versions import Direction, Version


class ObservedBytes:
    """Shows an observer what both ends of a connection send.

    Bytes of an incomplete packet come in Frames too, once no more can follow.
    """

    def __init__(self, observer: Observer, version: Version) -> None:
        """`version` is the one to take where no CONNECT says it."""
        self._observer = observer
        self._bytes = observer if isinstance(observer, ByteObserver) else None
        self._packets: PacketObserver | None = observer if callable(observer) else None
        self._together = observer.together if isinstance(observer, RunObserver) else None
        self._cut = ConnectionStreams(version)
        self._open_ends = set(Direction)

    def connected(self, route: Route) -> None:
        """Begin the connection."""
        if isinstance(self._observer, RouteObserver):
            self._observer.connected(route)

    def passed(self, direction: Direction, data: bytes) -> None:
        """Show the next bytes of one end."""
        now = time.time()
        if self._bytes:
            self._bytes.passed(now, direction, data)
        if self._packets:
            self._show(self._packets, now, direction, data)

    def ended(self, direction: Direction, how: str) -> None:
        """Show the end of the connection by one of its ends, FIN or RST; more than once does nothing."""
        if direction not in self._open_ends:
            return
        self._open_ends.discard(direction)
        now = time.time()
        if self._packets and (rest := self._cut.streams[direction].pending):
            self._no_packet(self._packets, now, direction, rest)
        if self._bytes:
            self._bytes.closed(now, direction, how)

    def over(self) -> None:
        """Show that the connection is over."""
        if isinstance(self._observer, EndObserver):
            self._observer.over()

    def _show(self, observer: PacketObserver, now: float, direction: Direction, data: bytes) -> None:
        stream = self._cut.streams[direction]
        if stream.lost is not None:
            self._no_packet(observer, now, direction, data)
            return
        if self._together:
            runs, data = take_runs(stream, direction, data)
            if runs:
                self._together(now, runs)
            if not data:
                return
        try:
            for frame in self._cut.feed(direction, data):
                observer(now, frame)
        except LostSync:
            self._no_packet(observer, now, direction, stream.pending)

    def _no_packet(self, observer: PacketObserver, now: float, direction: Direction, data: bytes) -> None:
        stream = self._cut.streams[direction]
        observer(now, Frame(data, stream.offset, direction, self._cut.version))
        stream.pass_over(len(data))
