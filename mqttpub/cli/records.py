"""Cutting a stream into pieces at a delimiter."""

from typing import NamedTuple

MAX_PAYLOAD = 268_435_455
"""No piece is larger, because no packet can be."""


class Record(NamedTuple):
    """One piece of the input."""

    data: bytes
    number: int
    """Counted from 1."""
    end: int
    """Offset in the input behind the piece and its delimiter."""


class LineReader:
    """Takes chunks and returns the pieces that they complete.

    An empty piece counts; what stands behind the last delimiter is a piece too. Raises
    ValueError for a piece larger than a payload can be.
    """

    def __init__(self, delimiter: bytes = b"\n") -> None:
        self._delimiter = delimiter
        self._parts: list[bytes] = []
        self._held = 0
        self._number = 0
        self.end = 0
        """Offset behind the last piece."""

    def feed(self, chunk: bytes) -> list[Record]:
        """Return the pieces that end in this chunk, or with it."""
        return [self._record(piece, len(self._delimiter)) for piece in self.split(chunk)]

    def split(self, chunk: bytes) -> list[bytes]:
        """Return the same pieces as bytes alone, for those who count them otherwise."""
        delimiter = self._delimiter
        if self._parts and len(delimiter) > 1:
            # The delimiter may have begun in what is held.
            chunk = self._parts.pop() + chunk
            self._held = sum(map(len, self._parts))
        first, *rest = chunk.split(delimiter)
        if not rest:
            self._hold(first)
            return []
        pieces = [b"".join((*self._parts, first)), *rest[:-1]]
        self._parts, self._held = [], 0
        self._hold(rest[-1])
        return pieces

    def finish(self) -> list[Record]:
        """Return what the input ended with, if it did not end with a delimiter."""
        rest = b"".join(self._parts)
        self._parts, self._held = [], 0
        return [self._record(rest, 0)] if rest else []

    def _hold(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._held += len(part)
        if self._held > MAX_PAYLOAD:
            raise ValueError(f"piece {self._number + 1} of the input has more than {MAX_PAYLOAD} bytes")

    def _record(self, data: bytes, behind: int) -> Record:
        self._number += 1
        self.end += len(data) + behind
        return Record(data, self._number, self.end)
