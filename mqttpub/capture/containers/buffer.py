"""The bytes of a file as they arrive, in large pieces."""

from collections.abc import Callable, Iterator

from ..types import BadCapture

PIECE = 1 << 16
"""Bytes that are read at a time; few enough for a processor's cache."""


class Buffer:
    """The bytes that were read from a file and are not used yet.

    `read` returns at most as many bytes as it is asked for, and none at the end. Memory grows with the bytes that
    arrive, never with a length that a file declares. Where `read` raises BadCapture, the bytes end once all before
    that place are used; `resume` then skips to the next place that `read` can read, and returns False if there is
    none.
    """

    def __init__(self, read: Callable[[int], bytes], resume: Callable[[], bool] = bool, *, start: int = 0) -> None:
        """Set `start` if the first byte has another offset in the file than 0."""
        self._read = read
        self._resume = resume
        self.data = b""
        self.at = 0
        """Index of the next byte in `data`; readers advance it."""
        self.broken: BadCapture | None = None
        """Why the bytes end before the end of the file."""
        self._start = start

    @property
    def offset(self) -> int:
        """Offset of the next byte in the file."""
        return self._start + self.at

    @property
    def left(self) -> int:
        """The number of bytes that are available without reading."""
        return len(self.data) - self.at

    def need(self, count: int, kept: int = 0) -> bool:
        """Read until `count` bytes are available; False if the file ends before.

        The last `kept` bytes before them stay in `data`.
        """
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

    def resume_after_break(self) -> bool:
        """Drop the bytes that are left before a break, and continue after it; False if that is impossible."""
        self.at = len(self.data)
        if not self.broken or not self._resume():
            return False
        self.broken = None
        return True

    def skip(self, count: int) -> Iterator[bytes]:
        """Skip `count` bytes and yield them piece by piece; fewer if the file ends before."""
        while count and self.need(1):
            piece = self.data[self.at : self.at + count]
            self.at += len(piece)
            count -= len(piece)
            yield piece

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end of the file. Raises BadCapture at a break."""
        if not self.need(1):
            if self.broken:
                raise self.broken
            return b""
        piece = self.data[self.at : self.at + size]
        self.at += len(piece)
        return piece
