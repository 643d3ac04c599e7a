"""How many records the first tasks found, on the way to the tasks that read buckets.

These need the number of records before each source, as names and windows count on over all of them. Each row of a
source says how many come before it in what the same task reads; here is how many all tasks read before that, in as many
bytes for a task with thousands of sources as for one with one.
"""

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import NamedTuple

import numpy as np

from ....columns.arrays import NO_TIME, Integers
from ....columns.reassemble.state import SOURCE_BITS, UNUSED_KEYS
from ..job import Job, SourceResult, Unit

_PACKED = Struct("<6q")


class TaskCounts(NamedTuple):
    """What one of the first tasks counted: in some sources, or in a part of one."""

    number: int
    """The number of its first source."""
    first: int
    """Number of the first record of that, or of the part."""
    added: int = 0
    """Records that no earlier run has read."""
    unread: bool = False
    """Whether an error of the system hid the rest of its part, so that those after it do not count."""
    last: int = -1
    """The number of the last record, as `records` of State has it; -1 without one."""
    time_ns: int = NO_TIME
    """Its time."""

    def plus(self, unit: Unit, found: SourceResult) -> "TaskCounts":
        """Return the counts with those of what comes next."""
        counts = self._replace(unread=found.unread and unit.stop is not None)
        if not found.records:
            return counts
        # The first part of a file that has grown counts what earlier runs have read.
        is_first = unit.start == unit.source.start
        return counts._replace(
            added=self.added + found.records - (unit.source.skip if is_first else 0),
            last=unit.number << SOURCE_BITS | found.records + (0 if is_first else unit.first - 1),
            time_ns=NO_TIME if found.last_ns is None else found.last_ns,
        )

    def packed(self) -> bytes:
        """Return it as bytes."""
        return _PACKED.pack(*self)


class SourceCounts:
    """The counts of all first tasks; all of them have to be added before anything is asked."""

    def __init__(self, job: Job) -> None:
        self._records = job.records
        self._added: list[TaskCounts] = []

    def add(self, blob: bytes) -> None:
        """Add the counts of one task."""
        self._added.append(TaskCounts(*_PACKED.unpack(blob)))

    @cached_property
    def _tasks(self) -> list[TaskCounts]:
        """Those that count, in order: none after an error of the system in the same source."""
        found: list[TaskCounts] = []
        for each in sorted(self._added):
            if not found or not found[-1].unread or found[-1].number != each.number:
                found.append(each)
        return found

    @cached_property
    def _begun(self) -> tuple[list[int], list[int]]:
        """The first sources of tasks, and the number of records before each."""
        count, sources, before = self._records, list[int](), list[int]()
        for each in self._tasks:
            if not sources or each.number != sources[-1]:
                sources.append(each.number)
                before.append(count)
            count += each.added
        return sources, before

    @property
    def last(self) -> tuple[int, int | None] | None:
        """The number of the last record of all sources, as `records` of State has it, and its time."""
        last = max((each.last for each in self._tasks), default=-1)
        if last < 0:
            return None
        times = [each.time_ns for each in self._tasks if each.last >> SOURCE_BITS == last >> SOURCE_BITS]
        return last, next((time for time in reversed(times) if time != NO_TIME), None)

    @cached_property
    def ends(self) -> dict[int, int]:
        """The number of the last record to read of sources whose parts could not be read to their ends.

        Parts after that place may have been read, but a later run reads them again.
        """
        return {
            each.number: each.last & (1 << SOURCE_BITS) - 1 if each.last >= 0 else each.first - 1
            for each in self._tasks if each.unread
        }  # fmt: skip

    def before(self, source: int) -> int:
        """Return the number of records in all that tasks read before the one that begins with a source, or has it."""
        sources, before = self._begun
        return before[bisect_right(sources, source) - 1]


class OwnSources:
    """The sources that the rows of one bucket of connections are of."""

    def __init__(self, counts: SourceCounts) -> None:
        self._counts = counts
        self.before: dict[int, int] = {}
        """What to add to their record numbers so that they count on, by the numbers of the sources."""

    def add(self, source: int, others: int) -> None:
        """Add a source, which `others` records come before in what the same task reads."""
        if source not in self.before:
            self.before[source] = self._counts.before(source) + others

    def all_before(self, sources: Integers) -> Integers:
        """Return what to add to record numbers, by the numbers of sources; 0 for those of earlier runs."""
        found, places = np.unique(sources, return_inverse=True)
        return np.array([self.before.get(each, 0) for each in found.tolist()], np.int64)[places]


def source_results(parts: Iterable[tuple[int, int, SourceResult]]) -> dict[int, SourceResult]:
    """Return the results of sources by their numbers, in order, from those of their parts."""
    in_order = sorted(parts, key=itemgetter(0, 1))
    return {number: _result([part for *_, part in some]) for number, some in groupby(in_order, key=itemgetter(0))}


def _result(parts: list[SourceResult]) -> SourceResult:
    """Return the result of a source by those of its parts, up to one that an error of the system hid the rest of."""
    hidden = next((index for index, each in enumerate(parts) if each.unread), len(parts))
    parts = parts[: hidden + 1]
    times = [each.last_ns for each in parts if each.last_ns is not None]
    problem, cut = next(((each.problem, each.cut) for each in parts if each.problem), ("", False))
    keys = sum(each.keys for each in parts)
    return SourceResult(
        sum(each.records for each in parts), problem or (UNUSED_KEYS if keys else ""),
        any(each.unread for each in parts), times[-1] if times else None, keys, parts[-1].end, parts[-1].before, cut,
    )  # fmt: skip
