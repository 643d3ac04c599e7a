"""The bytes of a file as they come, in big pieces."""

from collections.abc import Callable, Iterator

from ..types import BadCapture

PIECE = 1 << 16
"""Bytes that are read at a time; few enough for the cache of a processor."""


class Buffer:
    """What was read of a file and not yet used.

    `read` returns at most as many bytes as it is asked for, and none at the end. Memory grows
    with the bytes that came, never with a length that a file declared. Where `read` raises BadCapture,
    the bytes end; all in front of that place can be read first. `resume` then moves on to where `read` can go on,
    and returns False where such a place does not exist.
    """

    def __init__(self, read: Callable[[int], bytes], resume: Callable[[], bool] = bool) -> None:
        self._read = read
        self._resume = resume
        self.data = b""
        self.at = 0
        """Where in `data` the next byte stands; a reader moves it."""
        self.broken: BadCapture | None = None
        """Why the bytes end before those of the file do."""
        self._start = 0

    @property
    def offset(self) -> int:
        """Where in the file the next byte stands."""
        return self._start + self.at

    @property
    def left(self) -> int:
        """Bytes that are there without reading."""
        return len(self.data) - self.at

    def need(self, count: int, kept: int = 0) -> bool:
        """Read until so many bytes are there; False when the file ends before. So many in front of them are kept."""
        left = self.left
        if left >= count:
            return True
        begin = self.at - kept
        pieces = [self.data[begin:]]
        while left < count and (piece := self._next()):
            pieces.append(piece)
            left += len(piece)
        self._start, self.at = self._start + begin, kept
        self.data = b"".join(pieces)
        return left >= count

    def _next(self) -> bytes:
        if self.broken:
            return b""
        try:
            return self._read(PIECE)
        except BadCapture as error:
            self.broken = error
            return b""

    def go_on(self) -> bool:
        """Drop what is left of the bytes in front of a break, and go on after it; False when that cannot be."""
        self.at = len(self.data)
        if not self.broken or not self._resume():
            return False
        self.broken = None
        return True

    def skip(self, count: int) -> Iterator[bytes]:
        """Pass over so many bytes, piece by piece; over fewer when the file ends before."""
        while count and self.need(1):
            piece = self.data[self.at : self.at + count]
            self.at += len(piece)
            count -= len(piece)
            yield piece

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end of the file. Raises BadCapture where it is broken."""
        if not self.need(1):
            if self.broken:
                raise self.broken
            return b""
        piece = self.data[self.at : self.at + size]
        self.at += len(piece)
        return piece
