"""Bytes that came in no order, until what is before them comes."""

from bisect import bisect_right
from typing import NamedTuple

OVERHEAD = 256
"""What a stretch costs in memory besides its bytes."""


class ByteRange(NamedTuple):
    """Bytes with their place; `data` is shorter than from `start` to `end` when the capture cut it off."""

    start: int
    end: int
    data: bytes
    time_ns: int | None
    record: int

    def part(self, start: int, end: int) -> "ByteRange":
        """Return what lies between two places within."""
        return self._replace(start=start, end=end, data=self.data[start - self.start : end - self.start])


class ReorderBuffer:
    """Stretches in order and without overlap: of bytes that come twice the first copy stays."""

    __slots__ = ("_kept", "_starts", "cost", "covered")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._kept: list[ByteRange] = []
        self.covered = 0
        """Bytes from start to end of all stretches."""
        self.cost = 0
        """Bytes of memory."""

    def __bool__(self) -> bool:
        return bool(self._kept)

    @property
    def first(self) -> ByteRange:
        """The stretch with the lowest start."""
        return self._kept[0]

    @property
    def last(self) -> ByteRange:
        """The stretch with the highest start."""
        return self._kept[-1]

    def add(self, new: ByteRange) -> bool:
        """Keep what is not covered yet of a stretch; True if it differs where it is covered."""
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

    def pop(self) -> ByteRange:
        """Remove and return the first stretch."""
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
    """Tell whether two stretches have other bytes where both have bytes."""
    start = max(one.start, other.start)
    end = min(one.start + len(one.data), other.start + len(other.data))
    if start >= end:
        return False
    return one.data[start - one.start : end - one.start] != other.data[start - other.start : end - other.start]
