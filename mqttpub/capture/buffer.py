"""The bytes of a file as they come, in big pieces."""

from collections.abc import Callable, Iterator

PIECE = 1 << 16
"""Bytes that are read at a time; few enough for the cache of a processor."""


class Buffer:
    """What was read of a file and not yet used.

    `read` returns at most as many bytes as it is asked for, and none at the end. Memory grows
    with the bytes that came, never with a length that a file declared.
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self.data = b""
        self.at = 0
        """Where in `data` the next byte stands; a reader moves it."""
        self._start = 0

    @property
    def offset(self) -> int:
        """Where in the file the next byte stands."""
        return self._start + self.at

    @property
    def left(self) -> int:
        """Bytes that are there without reading."""
        return len(self.data) - self.at

    def need(self, count: int) -> bool:
        """Read until so many bytes are there; False when the file ends before."""
        left = self.left
        if left >= count:
            return True
        pieces = [self.data[self.at :]]
        while left < count and (piece := self._read(PIECE)):
            pieces.append(piece)
            left += len(piece)
        self._start, self.at = self.offset, 0
        self.data = b"".join(pieces)
        return left >= count

    def skip(self, count: int) -> Iterator[bytes]:
        """Pass over so many bytes, piece by piece; over fewer when the file ends before."""
        while count and self.need(1):
            piece = self.data[self.at : self.at + count]
            self.at += len(piece)
            count -= len(piece)
            yield piece

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end of the file."""
        if not self.need(1):
            return b""
        piece = self.data[self.at : self.at + size]
        self.at += len(piece)
        return piece
