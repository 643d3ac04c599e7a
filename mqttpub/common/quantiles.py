"""Many durations in little memory."""

from collections import Counter
from math import ceil, exp, floor, log

RESOLUTION = log(1.02)
"""Durations are kept in classes that are 2 % wide, so that memory does not grow with their number."""


class Latencies:
    """Durations in nanoseconds; percentiles are at most 2 % too high, least and most are exact."""

    __slots__ = ("_classes", "count", "least", "most")

    def __init__(self) -> None:
        self._classes: Counter[int] = Counter()
        self.count = 0
        self.least = 0
        self.most = 0

    def add(self, duration: int) -> None:
        """Take one duration; one below zero, from a clock that went back, counts as zero."""
        duration = max(duration, 0)
        self._classes[floor(log(duration) / RESOLUTION) if duration else -1] += 1
        self.least = min(self.least, duration) if self.count else duration
        self.most = max(self.most, duration)
        self.count += 1

    def percentile(self, percent: float) -> int:
        """Return the duration within which so many percent of all stayed; 0 when there are none."""
        wanted = ceil(self.count * percent / 100)
        for number in sorted(self._classes):
            wanted -= self._classes[number]
            if wanted <= 0:
                bound = 0 if number < 0 else ceil(exp((number + 1) * RESOLUTION))
                return max(min(bound, self.most), self.least)
        return self.most
