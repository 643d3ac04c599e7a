"""Bytes that arrived out of order, until those before them arrive."""

from bisect import bisect_right
from typing import NamedTuple

OVERHEAD = 256
"""Bytes of memory that a range takes besides its data."""


class ByteRange(NamedTuple):
    """Bytes from `start` to `end` of a stream; `data` is shorter than that if the capture cut it off."""

    start: int
    end: int
    data: bytes
    time_ns: int | None
    record: int

    def part(self, start: int, end: int) -> "ByteRange":
        """Return the part between two places of the range."""
        return self._replace(start=start, end=end, data=self.data[start - self.start : end - self.start])


class ReorderBuffer:
    """Ranges in order and without overlap; of bytes that arrive twice the first copy is kept."""

    __slots__ = ("_kept", "_starts", "cost", "covered")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._kept: list[ByteRange] = []
        self.covered = 0
        """The sum of the lengths from start to end."""
        self.cost = 0
        """Bytes of memory that the ranges take."""

    def __bool__(self) -> bool:
        return bool(self._kept)

    @property
    def first(self) -> ByteRange:
        """The range with the lowest start."""
        return self._kept[0]

    @property
    def last(self) -> ByteRange:
        """The range with the highest start."""
        return self._kept[-1]

    def add(self, new: ByteRange) -> bool:
        """Keep the parts of a range that are not covered yet; True if it differs where it is covered."""
        differs, start = False, new.start
        index = bisect_right(self._starts, start)
        if index:
            differs = _differ(self._kept[index - 1], new)
            start = max(start, self._kept[index - 1].end)
        while start < new.end:
            if index == len(self._kept) or self._starts[index] >= new.end:
                self._insert(index, new.part(start, new.end))
                break
            if start < self._starts[index]:
                self._insert(index, new.part(start, self._starts[index]))
                index += 1
            differs |= _differ(self._kept[index], new)
            start = self._kept[index].end
            index += 1
        return differs

    def holds(self, other: ByteRange) -> bool:
        """Return whether all bytes of a range are kept."""
        start, index = other.start, bisect_right(self._starts, other.start) - 1
        while 0 <= index < len(self._kept) and self._kept[index].start <= start < self._kept[index].end:
            start, index = self._kept[index].end, index + 1
        return start >= other.end

    def pop(self) -> ByteRange:
        """Remove and return the first range."""
        stretch = self._kept.pop(0)
        del self._starts[0]
        self.covered -= stretch.end - stretch.start
        self.cost -= len(stretch.data) + OVERHEAD
        return stretch

    def _insert(self, index: int, stretch: ByteRange) -> None:
        self._starts.insert(index, stretch.start)
        self._kept.insert(index, stretch)
        self.covered += stretch.end - stretch.start
        self.cost += len(stretch.data) + OVERHEAD


def _differ(one: ByteRange, other: ByteRange) -> bool:
    """Whether two ranges have different bytes where both have bytes."""
    start = max(one.start, other.start)
    end = min(one.start + len(one.data), other.start + len(other.data))
    if start >= end:
        return False
    return one.data[start - one.start : end - one.start] != other.data[start - other.start : end - other.start]
