"""Percentiles of many durations in little memory."""

from collections import Counter
from collections.abc import Sequence
from math import ceil, exp, floor, log

RESOLUTION = log(1.02)
"""Durations are counted in classes 2 % wide, so memory does not grow with their number."""


def _class_of(duration_ns: int) -> int:
    return floor(log(duration_ns) / RESOLUTION) if duration_ns else -1


class Latencies:
    """Durations in nanoseconds. Percentiles are at most 2 % too high; `least` and `most` are exact."""

    __slots__ = ("classes", "count", "least", "most")

    def __init__(self) -> None:
        self.classes: Counter[int] = Counter()
        """Durations by class; class n ends at 1.02 to the power of n + 1 nanoseconds, class -1 is zero."""
        self.count = 0
        self.least = 0
        self.most = 0

    def add(self, duration_ns: int) -> None:
        """Count one duration; a negative one, from a clock that was set back, counts as zero."""
        if duration_ns < 0:
            duration_ns = 0
        if duration_ns < self.least or not self.count:
            self.least = duration_ns
        if duration_ns > self.most:
            self.most = duration_ns
        self.count += 1
        # Last, so that `merge` in another thread never sees a class whose bounds are not known yet.
        self.classes[_class_of(duration_ns)] += 1

    def extend(self, durations_ns: Sequence[int]) -> None:
        """Count durations, at least one; the same as `add` for each."""
        least = min(durations_ns)
        if least < 0:
            least, durations_ns = 0, [max(each, 0) for each in durations_ns]
        if least < self.least or not self.count:
            self.least = least
        self.most = max(self.most, max(durations_ns))
        self.count += len(durations_ns)
        self.classes.update(map(_class_of, durations_ns))

    def merge(self, other: "Latencies") -> None:
        """Count all durations of `other`, to which another thread may still add."""
        # dict() copies in one step of the interpreter; a loop over the Counter could see it change.
        classes = dict(other.classes)
        if not classes:
            return
        self.least = min(self.least, other.least) if self.count else other.least
        self.most = max(self.most, other.most)
        self.count += sum(classes.values())
        self.classes.update(classes)

    def percentile(self, percent: float) -> int:
        """Return the duration that `percent` of all do not exceed; 0 if there are none."""
        wanted = ceil(self.count * percent / 100)
        for number in sorted(self.classes):
            wanted -= self.classes[number]
            if wanted <= 0:
                bound = 0 if number < 0 else ceil(exp((number + 1) * RESOLUTION))
                return max(min(bound, self.most), self.least)
        return self.most

    def histogram(self, rows: int) -> list[tuple[float, int]]:
        """Return upper bounds in nanoseconds, evenly spaced on a logarithmic scale, each with its count."""
        low, high = log(max(self.least, 1)), log(max(self.most, 1))
        step = max((high - low) / rows, RESOLUTION)
        counts = [0] * rows
        for number, count in self.classes.items():
            at = int((number * RESOLUTION - low) / step)
            counts[min(max(at, 0), rows - 1)] += count
        return [(exp(low + row * step), count) for row, count in enumerate(counts, 1)]
