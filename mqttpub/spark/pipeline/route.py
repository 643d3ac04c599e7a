"""The first tasks: each reads some parts of the sources, and sends what it finds to the buckets of the connections."""

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cached_property
from typing import BinaryIO

import numpy as np

from ...capture.types import BadCapture
from ...columns.arrays import NO_TIME, Integers
from ...columns.reassemble.divide import divided
from ...columns.reassemble.state import SOURCE_BITS
from ...columns.scan.records import Records, reader, records
from ...columns.scan.splits import SIZE, Split, end, index
from ..storage.files import open_file, reason, size_bytes
from .job import BlobRow, Job, SourceResult, Unit
from .manifest import OutputRefused
from .shuffle import hash_slot
from .sources import Source, begins_like, unseen

STATE, COUNTS = -2, -1
"""What rows that come first in their bucket hold instead of records: a state, or results of sources."""
SMALLEST = 4 << 20
"""Bytes that a task reads at least, if there are so many."""
BLOCK = 16 << 20
"""Bytes of a capture that are divided by bucket at a time."""


def units(job: Job, tasks: int) -> list[list[Unit]]:
    """Return about `tasks` lists of what tasks are to read, of about equal size; large captures are in parts.

    These are not known yet: of a large capture there is one unit, whose `size` is that of its parts.
    """
    total = sum(source.size - source.start for source in job.sources)
    size = min(max(total // tasks + 1, SMALLEST), SIZE)
    found: list[list[Unit]] = []
    held = size
    for number, source in enumerate(job.sources):
        left = source.size - source.start
        unit = Unit(
            number, source.start, None, source.skip + 1 if source.start else 1, bytes.fromhex(source.before), left
        )
        if source.capture and not source.problem and left > size + size // 2:
            found.append([unit._replace(size=size)])
            held = size
            continue
        if held >= size:
            found.append([])
            held = 0
        found[-1].append(unit)
        held += left
    return found


def is_large(job: Job, given: Sequence[Unit]) -> bool:
    """Return whether this is a unit that has to be divided into parts."""
    source = job.sources[given[0].source]
    return len(given) == 1 and given[0].size < source.size - source.start


def parts(job: Job, unit: Unit) -> list[Unit]:
    """Return the parts of a large capture."""
    source = job.sources[unit.source]
    try:
        with opened(source) as file:
            found = index(file, source.size, size=unit.size, begin=(unit.start, unit.first, unit.head))
    except (OSError, OutputRefused):
        # Whoever reads it reports why that is not possible.
        return [unit]
    made = [Unit(unit.source, each.start, each.stop, each.first, each.head, each.stop - each.start) for each in found]
    return [*made[:-1], made[-1]._replace(stop=None)]


def route(job: Job, given: Iterable[Unit]) -> Iterator[BlobRow]:
    """Read units, and yield the rows of all buckets."""
    reads: list[tuple[int, int, SourceResult]] = []
    failure = ""
    try:
        for unit in given:
            source = job.sources[unit.source]
            if source.capture and not source.problem:
                reads.append((unit.source, unit.first, (yield from _Capture(job, unit).rows())))
            elif source.problem:
                reads.append((unit.source, 0, SourceResult(0, source.problem, unread=True)))
            else:
                bucket = hash_slot(source.digest.encode(), job.buckets)
                yield BlobRow(bucket, job.number(unit.source), 0, b"")
    except OutputRefused as error:
        failure = str(error)
    blob = json.dumps([failure, reads]).encode()
    first = reads[0][:2] if reads else (0, 0)
    for bucket in range(job.buckets):
        yield BlobRow(bucket, COUNTS, first[0] << 32 | first[1], blob)


class SourceCounts:
    """What the first tasks found in all sources; all of it has to be added before anything is asked."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._parts: dict[int, list[tuple[int, SourceResult]]] = {}

    def add(self, blob: bytes) -> None:
        """Add what one task found; raises OutputRefused where it could not read a source."""
        failure, reads = json.loads(blob)
        if failure:
            raise OutputRefused(failure)
        for source, first, result in reads:
            self._parts.setdefault(source, []).append((first, SourceResult(*result)))

    @cached_property
    def results(self) -> dict[int, SourceResult]:
        """The results of sources by their indices, in order."""
        return {source: _result([part for _, part in sorted(self._parts[source])]) for source in sorted(self._parts)}

    @property
    def last(self) -> tuple[int, int | None] | None:
        """The number of the last record of all sources, as `records` of State has it, and its time."""
        read = [(index, each) for index, each in self.results.items() if each.records]
        return (
            (self._job.number(read[-1][0]) << SOURCE_BITS | read[-1][1].records, read[-1][1].last_ns) if read else None
        )

    @cached_property
    def ends(self) -> dict[int, int]:
        """The number of the last record to read of sources that could not be read to their ends.

        Parts after that place may have been read, but a later run reads them again.
        """
        return {self._job.number(source): result.records for source, result in self.results.items() if result.unread}

    @cached_property
    def before(self) -> dict[int, int]:
        """What to add to the record numbers of each source, so that they count on over all sources."""
        total, found = self._job.records, {}
        for source, result in self.results.items():
            skip = self._job.sources[source].skip
            found[self._job.number(source)] = total - skip
            total += result.records - skip if result.records else 0
        return found

    def continuous(self, source: Integers) -> Integers:
        """Return `before` for numbers of sources; 0 for those of earlier runs."""
        first = len(self._job.before)
        return np.where(source >= first, self._table[np.maximum(source - first, 0)], 0)

    @cached_property
    def _table(self) -> Integers:
        numbers = map(self._job.number, range(len(self._job.sources)))
        return np.array([self.before.get(number, 0) for number in numbers], np.int64)


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


class _Capture:
    """Reads one capture, or a part of it."""

    def __init__(self, job: Job, unit: Unit) -> None:
        self.number = job.number(unit.source)
        self.source = job.sources[unit.source]
        self.unit = unit
        self.resumable = job.resumable
        self.buckets = job.buckets
        self.count = unit.first - 1
        """Number of the last record that was read."""
        self.time = NO_TIME
        self.secrets: Counter[str] = Counter()

    def rows(self) -> Generator[BlobRow, None, SourceResult]:
        """Yield the rows of its records; returns what was found."""
        problem, unread, cut = "", False, False
        place = 0, ""
        try:
            with opened(self.source) as file:
                try:
                    for found in self._records(file):
                        yield from self._divided(found)
                except BadCapture as error:
                    problem, cut = f"offset {error.offset}: {error.message}", error.cut
                place = self._end(file)
        except OSError as error:
            problem, unread = reason(error), True
        keys = self.secrets["TLS key log"]
        last = None if self.time == NO_TIME else int(self.time)
        # The first part of a file that has grown counts what earlier runs have read.
        earlier = 0 if self.unit.start == self.source.start else self.unit.first - 1
        # What is still being compressed may not hold yet all that was read before.
        count = self.count - earlier if earlier else max(self.count, self.source.skip)
        return SourceResult(count, problem, unread, last, keys, *place, cut)

    def _end(self, file: BinaryIO) -> tuple[int, str]:
        """Return where to read on when the file has grown, and what to read before; zero if that is to be found.

        Raises OutputRefused where a ring has put another file in its place, or begun it anew.
        """
        if not self.resumable:
            return 0, ""
        if not begins_like(self.source, file):
            raise OutputRefused(f"{self.source.name} was replaced while it was read")
        if self.unit.stop is not None:
            return 0, ""
        found = end(file, Split(self.unit.start, self.source.size, self.unit.first, self.unit.head))
        return (found[0], found[2].hex()) if found and found[1] == self.count + 1 else (0, "")

    def _records(self, file: BinaryIO) -> Iterator[Records]:
        unit = self.unit
        if unit.stop is None and not unit.start:
            return records(reader(file), self.secrets, block=BLOCK)
        stop = self.source.size if unit.stop is None else unit.stop
        return Split(unit.start, stop, unit.first, unit.head).records(file, self.secrets, block=BLOCK)

    def _divided(self, found: Records) -> Iterator[BlobRow]:
        before = self.count
        self.count += len(found)
        if len(found):
            self.time = found.time[-1]
        skip = min(max(self.source.skip - before, 0), len(found))
        if skip:
            columns = (found.start, found.end, found.length, found.time, found.link)
            found = Records(found.data, *(column[skip:] for column in columns))
        if len(found):
            for bucket, blob in divided(found, before + skip, self.buckets):
                yield BlobRow(bucket, self.number, before + skip, blob)


def opened(source: Source) -> BinaryIO:
    """Open a source that the driver has seen; raises OutputRefused where it differs or is missing here."""
    try:
        file = open_file(source.path)
        size = size_bytes(file)
    except OSError as error:
        raise OutputRefused(unseen(source, error)) from None
    file.seek(0)
    if size < source.size:
        file.close()
        raise OutputRefused(f"{source.name} changed while it was read")
    return file
