"""Chunks of a byte stream to whole packets."""

from collections.abc import Iterator
from typing import NamedTuple

from ..spec.packets import Connect
from ..spec.versions import Direction, Version
from ..wire.cursor import Overlong
from .connect_version import answer_form, connect_version
from .framing import frame_length

MAX_PACKET = 268_435_455 + 5
"""Bytes of the largest packet that a Remaining Length can announce."""


class Frame(NamedTuple):
    """The bytes of one whole packet."""

    data: bytes
    offset: int
    """Offset of its first byte in its stream."""
    direction: Direction | None
    version: Version | None
    """None until a CONNECT has announced it."""


_new = tuple.__new__
"""Builds a Frame without its constructor, as one is built for each packet (tests/benchmarks/decode.py)."""


class LostSync(Exception):
    """The bytes from `offset` on cannot be cut into packets."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"offset {offset}: {message}")
        self.offset = offset
        self.message = message


class Stream:
    """One direction of a connection.

    `feed` yields whole packets and keeps the bytes of an unfinished one; memory grows with the bytes received, never
    with a length that a peer declared. A Remaining Length of five bytes, or a packet of more than `max_packet` bytes,
    raises LostSync, then and at every later call.
    """

    def __init__(
        self, direction: Direction | None = None, version: Version | None = None, *, max_packet: int = MAX_PACKET
    ) -> None:
        self.direction = direction
        self.version = version
        self.max_packet = max_packet
        self.offset = 0
        """Bytes of the stream cut into packets so far."""
        self.lost: LostSync | None = None
        self._buffer = bytearray()
        self._needed = 2

    @property
    def pending(self) -> bytes:
        """The bytes of the unfinished packet."""
        return bytes(self._buffer)

    @property
    def announced(self) -> int:
        """Length in bytes of the unfinished packet, according to its header; 2 while it is not known."""
        return self._needed

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Add the next bytes and yield the packets that they complete.

        Raises LostSync for bytes that cannot be cut into packets, and at every later call.
        """
        if self.lost:
            raise self.lost
        self._buffer += chunk
        if len(self._buffer) >= self._needed:
            self._needed = 2
            yield from self._frames(bytes(self._buffer))

    def pass_over(self, size_bytes: int) -> None:
        """Note that the caller cut `size_bytes` of the stream into whole packets itself, from `pending` on."""
        self.offset += size_bytes
        self._buffer.clear()
        self._needed = 2

    def _frames(self, data: bytes) -> Iterator[Frame]:
        # This loop runs once for each packet, so it reads the usual Remaining Length of one byte itself
        # (tests/benchmarks/decode.py).
        size, offset, start = len(data), self.offset, 0
        try:
            while start + 1 < size:
                begin, length = start, data[start + 1] + 2
                if length > 0x81 or length > self.max_packet:
                    length = self._length(data, start)
                if length > size - start:
                    self._needed = length
                    break
                start += length
                if data[begin] >> 4 == Connect.code:
                    self.version = connect_version(data[begin:start]) or self.version
                yield _new(Frame, (data[begin:start], offset + begin, self.direction, self.version))
        finally:
            self.offset += start
            del self._buffer[:start]

    def _length(self, data: bytes, start: int) -> int:
        """Return the length of a packet, or one byte more than there are if its header is cut; raises LostSync."""
        try:
            length = frame_length(data, start)
        except Overlong:
            self.lost = LostSync(self.offset + start, "Remaining Length does not end at its fourth byte")
            raise self.lost from None
        if length is None:
            return len(data) - start + 1
        if length > self.max_packet:
            self.lost = LostSync(self.offset + start, f"packet of {length} bytes, but {self.max_packet} are allowed")
            raise self.lost
        return length


class ConnectionStreams:
    """Both directions of a connection; the version that CONNECT announces holds for both.

    Only the server's first packet may have the form of an older version (see `answer_form`).
    """

    def __init__(self, version: Version | None = None, *, max_packet: int = MAX_PACKET) -> None:
        self.streams = {end: Stream(end, version, max_packet=max_packet) for end in Direction}

    @property
    def version(self) -> Version | None:
        """The version in use; None while it is unknown."""
        return self.streams[Direction.CLIENT].version

    def feed(self, direction: Direction, chunk: bytes) -> Iterator[Frame]:
        """Add the next bytes of one direction and return an iterator over the packets that they complete.

        The iterator raises LostSync.
        """
        stream = self.streams[direction]
        # Once the version is settled, what a server sends changes nothing.
        if direction is Direction.SERVER and stream.offset:
            return stream.feed(chunk)
        return self._feed(stream, direction, chunk)

    def _feed(self, stream: Stream, direction: Direction, chunk: bytes) -> Iterator[Frame]:
        for frame in stream.feed(chunk):
            for each in self.streams.values():
                each.version = frame.version
            if frame.offset == 0 and frame.version and direction is Direction.SERVER:
                frame = frame._replace(version=answer_form(frame.data, frame.version))
            yield frame
