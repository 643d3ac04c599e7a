"""Chunks of a byte stream in, whole packets out."""

from collections.abc import Iterator
from typing import NamedTuple

from ..spec.terms import Direction, Version
from ..wire.cursor import Overlong
from .framing import connect_version, frame_length

MAX_PACKET = 268_435_455 + 5
"""The largest packet that a Remaining Length can announce."""


class Frame(NamedTuple):
    """The bytes of one whole packet."""

    data: bytes
    offset: int
    """Where it begins in its stream."""
    direction: Direction | None
    version: Version | None
    """None until a CONNECT has told it."""


class LostSync(Exception):
    """Nothing after this point can be cut into packets."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"offset {offset}: {message}")
        self.offset = offset
        self.message = message


class Stream:
    """One direction of a connection.

    `feed` yields whole packets and keeps what is unfinished; memory grows with the bytes
    that came, never with a length that a peer declared. A Remaining Length of five bytes,
    or a packet above `max_packet`, raises LostSync, now and at every later call.
    """

    def __init__(
        self, direction: Direction | None = None, version: Version | None = None, *, max_packet: int = MAX_PACKET
    ) -> None:
        self.direction = direction
        self.version = version
        self.max_packet = max_packet
        self.offset = 0
        """Bytes of the stream that were cut into packets so far."""
        self.lost: LostSync | None = None
        self._buffer = bytearray()
        self._needed = 2

    @property
    def pending(self) -> bytes:
        """The bytes of an unfinished packet."""
        return bytes(self._buffer)

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Take the next bytes and yield the packets that they complete."""
        if self.lost:
            raise self.lost
        self._buffer += chunk
        if len(self._buffer) < self._needed:
            return
        start = 0
        try:
            while (length := self._length(start)) is not None:
                frame = self._frame(start, length)
                start += length
                yield frame
        finally:
            self.offset += start
            del self._buffer[:start]

    def _length(self, start: int) -> int | None:
        buffer = self._buffer
        try:
            length = frame_length(buffer, start)
        except Overlong:
            self.lost = LostSync(self.offset + start, "Remaining Length does not end at its fourth byte")
            raise self.lost from None
        if length is not None and length > self.max_packet:
            self.lost = LostSync(self.offset + start, f"packet of {length} bytes, but {self.max_packet} are allowed")
            raise self.lost
        if length is None or length > len(buffer) - start:
            self._needed = length or 2
            return None
        return length

    def _frame(self, start: int, length: int) -> Frame:
        data = bytes(self._buffer[start : start + length])
        self.version = connect_version(data) or self.version
        return Frame(data, self.offset + start, self.direction, self.version)


class Connection:
    """Both directions of a connection; the version that CONNECT tells holds for both."""

    def __init__(self, version: Version | None = None, *, max_packet: int = MAX_PACKET) -> None:
        self.streams = {end: Stream(end, version, max_packet=max_packet) for end in Direction}

    @property
    def version(self) -> Version | None:
        """The version in use, once it is known."""
        return self.streams[Direction.CLIENT].version

    def feed(self, direction: Direction, chunk: bytes) -> Iterator[Frame]:
        """Take the next bytes of one direction and yield the packets that they complete."""
        for frame in self.streams[direction].feed(chunk):
            for stream in self.streams.values():
                stream.version = frame.version
            yield frame
