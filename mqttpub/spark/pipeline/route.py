"""The first tasks: each reads some parts of the sources, and sends what it finds to the buckets of the connections."""

import json
import socket
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ...capture.containers.registry import RecordReader
from ...capture.types import BadCapture, CaptureRecord, NoKeys
from ...columns.arrays import NO_TIME
from ...columns.reassemble.divide import divided
from ...columns.scan.records import Records, gathered, reader, records
from ...columns.scan.splits import SIZE, Split, end, index
from ..storage.files import open_file, reason, size_bytes
from . import checkpoint
from .job import BlobRow, Job, SourceResult, TaskResult, Unit
from .manifest import OutputRefused
from .shuffle.clients import hash_slot
from .shuffle.counts import TaskCounts
from .sources import Source, begins_like, unseen

if TYPE_CHECKING:
    from ...capture.protocol.tls_records import PlainRecords

STATE, COUNTS = -2, -1
"""What rows that come first in their bucket hold instead of records: a state, or the counts of a task."""
RESULT = -1
"""The bucket and the slot of rows that hold the results of tasks."""
TEXT = -1
"""Stands for the first record where a row holds a text to read, rather than records."""
SMALLEST = 4 << 20
"""Bytes that a task reads at least, if there are so many."""
ROUNDS = 16
"""Tasks that read sources, for each of those that they send their counts to, at most."""
BLOCK = 16 << 20
"""Bytes of a capture that are divided by bucket at a time."""


def units(sources: Iterable[Source], job: Job) -> list[list[Unit]]:
    """Return about `job.tasks` lists of what tasks are to read, of about equal size; large captures are in parts.

    These are not known yet: of a large capture there is one unit, whose `size` is that of its parts. With keys for TLS
    each capture is read as a whole.
    """
    sources = list(sources)
    total = sum(source.size - source.start for source in sources)
    size = min(max(total // job.tasks + 1, SMALLEST), max(total // (ROUNDS * job.tasks), SIZE))
    found: list[list[Unit]] = []
    held = size
    for number, source in enumerate(sources, job.first):
        left = source.size - source.start
        head = bytes.fromhex(source.before)
        unit = Unit(number, source, source.start, None, source.skip + 1 if source.start else 1, head, left)
        if source.capture and not source.problem and not job.key_log and left > size + size // 2:
            found.append([unit._replace(size=size)])
            held = size
            continue
        if held >= size:
            found.append([])
            held = 0
        found[-1].append(unit)
        held += left
    return found


def is_large(given: Sequence[Unit]) -> bool:
    """Return whether this is a unit that has to be divided into parts."""
    return len(given) == 1 and given[0].size < given[0].source.size - given[0].source.start


def parts(unit: Unit) -> list[Unit]:
    """Return the parts of a large capture."""
    try:
        with opened(unit.source) as file:
            found = index(file, unit.source.size, size=unit.size, begin=(unit.start, unit.first, unit.head))
    except (OSError, OutputRefused):
        # Whoever reads it reports why that is not possible.
        return [unit]
    made = [
        unit._replace(start=each.start, stop=each.stop, first=each.first, head=each.head, size=each.stop - each.start)
        for each in found
    ]
    return [*made[:-1], made[-1]._replace(stop=None)]


def route(job: Job, given: Sequence[Unit]) -> Iterator[BlobRow]:
    """Read units, and yield the rows of all buckets, and the result."""
    begun = time.monotonic()
    counts = TaskCounts(given[0].number, given[0].first)
    reads: list[tuple[int, int, SourceResult]] = []
    failure = ""
    try:
        for unit in given:
            source = unit.source
            if source.problem:
                found = SourceResult(0, source.problem, unread=True)
            elif source.capture:
                found = yield from _Capture(job, unit, counts.added).rows()
            else:
                bucket = hash_slot(source.digest.encode(), job.buckets)
                yield BlobRow(bucket, unit.number, TEXT, json.dumps(source).encode())
                continue
            reads.append((unit.number, unit.first, found))
            counts = counts.plus(unit, found)
    except OutputRefused as error:
        failure = str(error)
    # The first bucket of each task that reads buckets, as these are divided by their numbers.
    for bucket in range(min(job.tasks, job.buckets)):
        yield BlobRow(bucket, COUNTS, counts.number, counts.packed())
    tag, seconds = f"{counts.number}-{counts.first}", time.monotonic() - begun
    yield result_row(TaskResult(tag, reads=tuple(reads), seconds=seconds, failure=failure))


def result_row(result: TaskResult) -> BlobRow:
    """Return the row of a result, which all later tasks pass on."""
    return BlobRow(RESULT, 0, 0, checkpoint.dumps(result.plain()))


class _Capture:
    """Reads one capture, or a part of it."""

    def __init__(self, job: Job, unit: Unit, before: int) -> None:
        self._others = before - unit.source.skip
        """What comes before the source in what the task reads, without what earlier runs have read of it."""
        self.number, self.source = unit.number, unit.source
        self.unit = unit
        self.resumable = job.resumable
        self.key_log = job.key_log
        self.plain: PlainRecords | None = None
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
        if self.plain and not problem:
            problem = self.plain.problem
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
        if self.unit.stop is not None or self.key_log:
            return 0, ""
        found = end(file, Split(self.unit.start, self.source.size, self.unit.first, self.unit.head))
        return (found[0], found[2].hex()) if found and found[1] == self.count + 1 else (0, "")

    def _records(self, file: BinaryIO) -> Iterator[Records]:
        unit = self.unit
        if self.key_log:
            return gathered(self._decrypted(file), BLOCK)
        if unit.stop is None and not unit.start:
            return records(reader(file), self.secrets, block=BLOCK)
        stop = self.source.size if unit.stop is None else unit.stop
        return Split(unit.start, stop, unit.first, unit.head).records(file, self.secrets, block=BLOCK)

    def _decrypted(self, file: BinaryIO) -> Iterator[CaptureRecord]:
        """Yield the records with what is within TLS; raises OutputRefused where that cannot be read here at all."""
        from ...capture.protocol.tls import decrypted
        from ...capture.protocol.tls_records import PlainRecords
        from ...capture.reading import on_disk

        with ExitStack() as stack:
            capture = stack.enter_context(on_disk(file, grows=self.resumable))
            try:
                keys = stack.enter_context(on_disk(stack.enter_context(open_file(self.key_log))))
                found = stack.enter_context(closing(decrypted(Path(capture.name), Path(keys.name))))
            except OSError as error:
                host = socket.gethostname()
                raise OutputRefused(
                    f"the task on {host} cannot open the key log '{self.key_log}': {reason(error)}"
                ) from None
            except NoKeys as error:
                raise OutputRefused(f"the task on {socket.gethostname()}: {error}") from None
            self.plain = PlainRecords(iter(RecordReader(capture)), found)
            yield from self.plain

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
            for bucket, blob in divided(found, before + skip, self.buckets, self._others):
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
