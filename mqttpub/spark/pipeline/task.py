"""The tasks after the first: each makes the tables of some buckets of connections, or pairs exchanges of some slots.

A task gets its rows sorted by bucket or slot, and by their order in it. It writes files of its own, whose names no
other attempt has, and the driver makes those of the attempts visible whose results it got.
"""

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from ...capture.text.source import BadText
from ...capture.types import BadCapture
from ...columns.exchanges.pair import Pairing
from ...columns.files import Parquet
from ...columns.read import finish
from ...columns.reassemble.reassemble import reassemble
from ...columns.reassemble.state import SOURCE_BITS, State
from ...columns.reassemble.stretches import counted, joined
from ...columns.scan.buckets import Bucket
from ..storage.files import reason
from ..storage.folder import StorageFolder
from . import checkpoint
from .job import BlobRow, Job, SourceResult, TableFile, TaskResult
from .manifest import SHARED, OutputRefused
from .route import COUNTS, RESULT, STATE, TEXT, opened, result_row
from .shuffle.clients import LAST, Outgoing, received
from .shuffle.counts import OwnSources, SourceCounts
from .sources import Source
from .states import StateFile
from .tables import SCHEMAS, TableBuilder, TableFiles
from .texts import text_frames
from .writers import FORMATS, join, to_join

UNWRITTEN = 74
"""Exit status when the output cannot be written: EX_IOERR of sysexits.h."""
JOINED = 8 << 20
"""Bytes of blobs that are read together."""


def read_buckets(job: Job, rows: Iterable[BlobRow]) -> Iterator[BlobRow]:
    """Write the tables of some buckets; yields rows for slots, and the result."""
    task = _ReadTask(job)
    yield from _caught(job, task.tag, task.run(rows))


def pair_slots(job: Job, rows: Iterable[BlobRow]) -> Iterator[BlobRow]:
    """Write the exchanges of some slots; yields the result, and those of other tasks that are among the rows."""
    task = _PairTask(job)
    yield from _caught(job, task.tag, task.run(rows))


def joins(job: Job, done: list[TaskResult]) -> list[list[TableFile]]:
    """Return the files that tasks of `join_files` are to join, once all others are done."""
    if FORMATS[job.file_format].begin is not Parquet or any(each.failure for each in done):
        return []
    return to_join((part for each in done for part in each.parts), job.target_bytes)


def join_files(job: Job, parts: list[TableFile]) -> Iterator[BlobRow]:
    """Write one file with the rows of several; yields the result."""
    tag = _tag()
    yield from _caught(job, tag, _joined(job, parts, tag))


def _joined(job: Job, parts: list[TableFile], tag: str) -> Iterator[BlobRow]:
    begun, (table, _, _, _, is_open) = time.monotonic(), parts[0]
    made = join(StorageFolder(job.staging), SCHEMAS[table], parts, job.file_tag(tag, final=not is_open))
    seconds = time.monotonic() - begun
    yield result_row(TaskResult(tag, (made,), seconds=seconds, joined=tuple(part.path for part in parts)))


def _caught(job: Job, tag: str, rows: Iterator[BlobRow]) -> Iterator[BlobRow]:
    """Yield the rows of a task; a failure to write is a result as well, as Spark would only show a trace."""
    import pyarrow as pa

    # Spark gives each task one core.
    pa.set_cpu_count(1)
    try:
        yield from rows
    except OutputRefused as error:
        yield result_row(TaskResult(tag, failure=str(error)))
    except OSError as error:
        folder = StorageFolder(job.staging)
        if not folder.is_there():
            yield result_row(TaskResult(tag, failure=_unshared(job)))
            return
        cause = os.strerror(error.errno) if error.errno else reason(error)
        name = error.filename or (os.path.dirname(job.staging) if folder.is_local else job.staging)
        yield result_row(TaskResult(tag, failure=f"the output cannot be written: {cause}: {name}", status=UNWRITTEN))


def _unshared(job: Job) -> str:
    return f"the task on {socket.gethostname()} does not find the folder {os.path.dirname(job.staging)}; {SHARED}"


def _tag() -> str:
    """Return a name that is unique to this attempt, so that two attempts at a time do not write to one file."""
    return f"{os.getpid()}-{os.urandom(6).hex()}"


class _Task:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.begun = time.monotonic()
        self.tag = _tag()
        self.files = TableFiles(job, self.tag)
        self.states = StateFile(StorageFolder(job.staging), job.state_name(self.tag))
        self.reads: list[tuple[int, int, SourceResult]] = []
        self.forgotten = 0

    def result(self) -> BlobRow:
        """Finish all files and return the result."""
        name = self.states.close()
        parts = tuple(self.files.close())
        return result_row(
            TaskResult(self.tag, parts, tuple(self.reads), name, time.monotonic() - self.begun, self.forgotten)
        )


class _ReadTask(_Task):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.outgoing = Outgoing()
        self.counts = SourceCounts(job)
        """What the first tasks counted, which the first rows say."""

    def run(self, rows: Iterable[BlobRow]) -> Iterator[BlobRow]:
        """Read the rows of buckets, one bucket after another."""
        if not StorageFolder(self.job.staging).is_there():
            raise OutputRefused(_unshared(self.job))
        for bucket, own in groupby(rows, key=attrgetter("key")):
            if bucket == RESULT:
                yield from own
            elif bucket >= self.job.buckets:
                # States of slots, which came with those of buckets.
                yield from (row._replace(key=bucket - self.job.buckets, major=STATE) for row in own)
            else:
                yield from self._bucket(bucket, own)
        yield from self.outgoing.flush(above=-1)
        yield self.result()

    def _bucket(self, bucket: int, rows: Iterable[BlobRow]) -> Iterator[BlobRow]:
        own: _ReadBucket | None = None
        for row in rows:
            if row.major == COUNTS:
                self.counts.add(row.blob)
                continue
            if row.major == STATE:
                own = _ReadBucket(self, bucket, row.blob)
                continue
            own = own or _ReadBucket(self, bucket)
            if row.minor == TEXT:
                self.reads.append((row.major, 0, own.text(row.major, Source(*json.loads(bytes(row.blob))))))
            else:
                own.add(row)
            yield from self.outgoing.flush()
        if own:
            self.states.add(bucket, own.finish())
            self.forgotten += own.forgotten
            yield from self.outgoing.flush()


class _ReadBucket:
    """One bucket of connections."""

    def __init__(self, task: _ReadTask, bucket: int, state: Any = None) -> None:
        self.task = task
        self.counts = task.counts
        self.sources = OwnSources(task.counts)
        own = bucket, task.job.buckets
        if state is None:
            self.state, self.tables = State(ports=task.job.ports, bucket=own), TableBuilder()
        else:
            self.state, self.tables = checkpoint.loads(bytes(state), State, TableBuilder)
            if self.state.bucket != Bucket(*own):
                self.tables.keep(self.state.divide(*own))
        self._forgotten = self.state.reassembler.counts["forgotten"]
        self._held: list[tuple[int, memoryview]] = []
        self._size = 0
        self._begun = False

    def _begin(self) -> None:
        """Take over what was found in all sources, which is known by now."""
        if self._begun:
            return
        self._begun = True
        self.state.reassembler.before = self.sources.before
        self.tables.begin(self.task.files, self.task.outgoing, self.sources.all_before, lint=self.task.job.lint)

    def add(self, row: BlobRow) -> None:
        """Read the records of a row, sooner or later."""
        if row.minor >= self.counts.ends.get(row.major, row.minor + 1):
            return
        blob = memoryview(row.blob)
        self.sources.add(row.major, counted(blob))
        self._held.append((row.major << SOURCE_BITS, blob))
        self._size += len(row.blob)
        if self._size >= JOINED:
            self._read()

    def _read(self) -> None:
        self._begin()
        if self._held:
            self.tables.add(reassemble(joined(self._held), self.state))
        self._held, self._size = [], 0

    def text(self, number: int, source: Source) -> SourceResult:
        """Read a text, and return what was found in it."""
        self._read()
        packets, problem, unread = 0, "", False
        try:
            with opened(source) as file:
                for frames in text_frames(source, file, number):
                    self.tables.add(frames)
                    packets += len(frames)
        except BadCapture as error:
            problem = f"offset {error.offset}: {error.message}"
        except BadText as error:
            problem = f"line {error.line}, column {error.column}: {error.message}"
        except OSError as error:
            problem, unread = reason(error), True
        return SourceResult(packets, problem, unread)

    @property
    def forgotten(self) -> int:
        """The number of connections that this run dropped before they ended."""
        return self.state.reassembler.counts["forgotten"] - self._forgotten

    def finish(self) -> bytes:
        """Write the rest of the rows, and return the state, which is that before the end of all sources."""
        self._read()
        if last := self.counts.last:
            self.state.reassembler.passed(*last)
        saved = checkpoint.dumps((self.state, self.tables))
        self.tables.add(finish(self.state), last=True)
        self.tables.finish()
        return saved


class _PairTask(_Task):
    def run(self, rows: Iterable[BlobRow]) -> Iterator[BlobRow]:
        """Read the rows of slots, one slot after another."""
        some = False
        for slot, own in groupby(rows, key=attrgetter("key")):
            if slot == RESULT:
                yield from own
            else:
                self._pair(slot, own)
                some = True
        if some:
            yield self.result()

    def _pair(self, slot: int, rows: Iterable[BlobRow]) -> None:
        pairing, saved = Pairing(), False
        for window, own in groupby(rows, key=itemgetter(1)):
            if window == STATE:
                (row,) = own
                pairing = checkpoint.loads(bytes(row.blob), Pairing)
                continue
            if window == LAST:
                saved = self._save(slot, pairing)
            self.files.put("exchanges", pairing.add_chosen(*received(row.blob for row in own)), final=window != LAST)
        if not saved:
            self._save(slot, pairing)
        self.files.put("exchanges", pairing.finish(), final=False)

    def _save(self, slot: int, pairing: Pairing) -> bool:
        self.states.add(self.job.buckets + slot, checkpoint.dumps(pairing))
        return True
