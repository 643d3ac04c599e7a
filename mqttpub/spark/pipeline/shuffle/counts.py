"""How many records the first tasks found in all sources, on the way to the tasks that read buckets.

These need the number of records before each source, as names and windows count on over all of them. So each gets all
counts, in a few bytes for a source; what else was found goes to one of them, which passes it on to the driver.
"""

import json
import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....columns.arrays import NO_TIME, Integers
from ....columns.reassemble.state import SOURCE_BITS
from ..job import Job, SourceResult
from ..manifest import OutputRefused

_COLUMNS = 6
"""Number of the source, first record, records read earlier, records, whether an error of the system hid more, time."""


class PartResult(NamedTuple):
    """What was found in a part of a source."""

    number: int
    """The number of the source."""
    first: int
    """Number of the first record of the part."""
    skip: int
    """Records of the source that earlier runs have read."""
    result: SourceResult


def packed_counts(reads: Sequence[PartResult]) -> bytes:
    """Return the counts of parts; sources in a row, all of whose records are read, take a byte or two each."""
    rows = [(*each[:3], each.result.records, each.result.unread, NO_TIME) for each in reads]
    columns: Integers = np.array(rows, np.int64).reshape(-1, _COLUMNS).T
    # Only the last time of all is asked for, and that is the last of some task.
    for place in np.flatnonzero(columns[3])[-1:].tolist():
        time_ns = reads[place].result.last_ns
        columns[5, place] = NO_TIME if time_ns is None else time_ns
    return zlib.compress(np.diff(columns, axis=1, prepend=0).tobytes(), 1)


class SourceCounts:
    """The counts of all sources; all of them have to be added before anything is asked."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._packed: list[Integers] = []

    def add(self, blob: bytes) -> None:
        """Add the counts of one task."""
        self._packed.append(np.frombuffer(zlib.decompress(blob), np.int64).reshape(_COLUMNS, -1).cumsum(axis=1))

    @cached_property
    def _parts(self) -> Integers:
        """The columns of parts that count, in order: none after an error of the system in the same source."""
        columns = np.concatenate([np.zeros((_COLUMNS, 0), np.int64), *self._packed], axis=1)
        columns = columns[:, np.lexsort(columns[1::-1])]
        number, unread = columns[0], columns[4]
        hidden = np.cumsum(unread) - unread
        return columns[:, hidden == hidden[np.searchsorted(number, number)]]

    @cached_property
    def _sources(self) -> tuple[Integers, Integers, Integers]:
        """The numbers of sources, their records, and what to add to record numbers so that they count on."""
        number, _, skip, records, *_ = self._parts
        found, first = np.unique(number, return_index=True)
        counts = np.add.reduceat(records, first) if len(first) else records
        skip = skip[first]
        added = np.where(counts > 0, counts - skip, 0)
        return found, counts, self._job.records + np.cumsum(added) - added - skip

    @property
    def last(self) -> tuple[int, int | None] | None:
        """The number of the last record of all sources, as `records` of State has it, and its time."""
        found, counts, _ = self._sources
        if not counts.any():
            return None
        number = int(found[counts > 0][-1])
        records = int(counts[counts > 0][-1])
        times = self._parts[5][self._parts[0] == number]
        times = times[times != NO_TIME]
        return number << SOURCE_BITS | records, int(times[-1]) if len(times) else None

    @cached_property
    def ends(self) -> dict[int, int]:
        """The number of the last record to read of sources that could not be read to their ends.

        Parts after that place may have been read, but a later run reads them again.
        """
        number, unread = self._parts[0], self._parts[4]
        found, counts, _ = self._sources
        return {each: int(counts[np.searchsorted(found, each)]) for each in number[unread > 0].tolist()}

    def before(self, source: Integers) -> Integers:
        """Return what to add to record numbers of sources, by their numbers; 0 for those of earlier runs."""
        found, _, before = self._sources
        if not len(found):
            return np.zeros_like(source)
        at = np.minimum(np.searchsorted(found, source), len(found) - 1)
        return np.where(found[at] == source, before[at], 0)


def source_results(blobs: Sequence[bytes]) -> dict[int, SourceResult]:
    """Return the results of sources by their numbers, in order; raises OutputRefused where one could not be read."""
    parts: dict[int, list[tuple[int, SourceResult]]] = {}
    for blob in blobs:
        failure, reads = json.loads(blob)
        if failure:
            raise OutputRefused(failure)
        for number, first, _, result in reads:
            parts.setdefault(number, []).append((first, SourceResult(*result)))
    return {number: _result([part for _, part in sorted(parts[number])]) for number in sorted(parts)}


def _result(parts: list[SourceResult]) -> SourceResult:
    """Return the result of a source by those of its parts, up to one that an error of the system hid the rest of."""
    hidden = next((index for index, each in enumerate(parts) if each.unread), len(parts))
    parts = parts[: hidden + 1]
    times = [each.last_ns for each in parts if each.last_ns is not None]
    problem, cut = next(((each.problem, each.cut) for each in parts if each.problem), ("", False))
    return SourceResult(
        sum(each.records for each in parts), problem, any(each.unread for each in parts), times[-1] if times else None,
        sum(each.keys for each in parts), parts[-1].end, parts[-1].before, cut,
    )  # fmt: skip
