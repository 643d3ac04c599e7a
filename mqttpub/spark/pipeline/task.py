"""What tasks do: those that read go through all sources, each for its bucket of connections; the others pair exchanges.

Each reading task scans every capture, which costs less than moving packets between tasks as long as
there are few tasks. Only packets that take part in exchanges are moved, since all connections of a
client have to meet.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from ...capture.text.parse import BadText
from ...capture.types import BadCapture
from ...columns.exchanges.pair import Pairing
from ..storage.files import is_url, open_file, reason, size_bytes
from ..storage.folder import StorageFolder
from . import checkpoint
from .job import Job, SourceResult, TaskResult
from .manifest import SHARED, OutputRefused
from .reading import SourceFrames, SourceReader
from .shuffle import LAST, ShuffleWriter, merged, shuffle_files
from .sources import Source, unseen
from .tables import TableBuilder, TableFiles

UNWRITTEN = 74
"""Exit status when the output cannot be written: EX_IOERR of sysexits.h."""
PROGRESS_INTERVAL_S = 0.25
"""Seconds between two updates of the file that says how far a task has come."""


def read_bucket(job: Job, bucket: int) -> TaskResult:
    """Write the rows of one bucket of connections. May run again after a failure, even twice at a time."""
    import pyarrow as pa

    # Spark gives each task one core.
    pa.set_cpu_count(1)
    return _caught(job, bucket, lambda: _ReadTask(job, bucket).run())


def pair_slot(job: Job, slot: int, read: Sequence[TaskResult]) -> TaskResult:
    """Write the exchanges of one slot of clients, from what all reading tasks left for it. May run again."""
    return _caught(job, job.buckets + slot, lambda: _pair(job, slot, read))


def _caught(job: Job, bucket: int, task: Callable[[], TaskResult]) -> TaskResult:
    """Return the result of a task; a failure to write is returned as well, as Spark would only show a trace."""
    if not is_url(job.staging) and not os.path.isdir(job.staging):
        folder = os.path.dirname(job.staging)
        unshared = f"the task on {socket.gethostname()} does not find the folder {folder}; {SHARED}"
        return TaskResult(bucket, (), (), failure=unshared, status=OutputRefused.status)
    try:
        return task()
    except OutputRefused as error:
        return TaskResult(bucket, (), (), failure=str(error), status=error.status)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else reason(error)
        name = error.filename or (job.staging if is_url(job.staging) else os.path.dirname(job.staging))
        return TaskResult(
            bucket, (), (), failure=f"the output cannot be written: {why}: {name}", status=UNWRITTEN
        )  # fmt: skip


def _pair(job: Job, slot: int, read: Sequence[TaskResult]) -> TaskResult:
    begun, tag, folder = time.monotonic(), _tag(slot), StorageFolder(job.staging)
    pairing = checkpoint.load(job.states[job.buckets + slot], Pairing) if job.states else Pairing()
    files, state = TableFiles(job, read[0].places, tag), job.state_name(tag)
    for step, packets, closed in merged(
        [folder.place(shuffle_files(f"{job.run}-{each.tag}", job.slots)[slot]) for each in read]
    ):
        if step == LAST:
            _write(job, state, checkpoint.dumps(pairing))
        files.put_continuous("exchanges", pairing.add(packets, closed), final=step != LAST)
    files.put_continuous("exchanges", pairing.finish(), final=False)
    return TaskResult(job.buckets + slot, tuple(files.close()), (), state, time.monotonic() - begun)


def _write(job: Job, name: str, data: bytes) -> None:
    with StorageFolder(job.staging).create(name) as file:
        file.write(data)


def _tag(bucket: int) -> str:
    """Return a name that is unique to this attempt, so that two attempts at a time do not write to one file."""
    return f"{bucket:05}-{os.getpid()}-{os.urandom(4).hex()}"


def progress_of(job: Job, bucket: int) -> int:
    """Return how many bytes of the sources a task has read."""
    try:
        return int(_progress(job, bucket).read_bytes() or 0)
    except (OSError, ValueError):
        return 0


def _progress(job: Job, bucket: int) -> Path:
    return Path(job.staging, f"progress-{bucket}")


class _ReadTask:
    def __init__(self, job: Job, bucket: int) -> None:
        self.job = job
        self.bucket = bucket
        self.begun = time.monotonic()
        self.tag = _tag(bucket)
        self.read_bytes = 0
        """Size of the sources before the current one."""
        self.problem = ""
        """Why the current source ended early."""
        self.unread = False
        """Whether an error of the system hid the rest of the current source."""
        self.noted_at = self.begun
        """When the progress was last written."""
        if job.states:
            self.reader, self.tables = checkpoint.load(job.states[bucket], SourceReader, TableBuilder)
        else:
            self.reader = SourceReader(bucket, job.buckets, job.ports, job.balance)
            self.tables = TableBuilder()
        self.files = TableFiles(job, self.reader.offsets, self.tag)
        self.shuffle = ShuffleWriter(StorageFolder(job.staging), f"{job.run}-{self.tag}", job.slots)
        self.tables.begin(self.files, self.shuffle, lint=job.lint)

    def run(self) -> TaskResult:
        """Read all sources and return the result."""
        reads = tuple(self._source(source) for source in self.job.sources)
        # The state is that before the end of all sources, which a later run moves.
        state = self.job.state_name(self.tag)
        _write(self.job, state, checkpoint.dumps((self.reader, self.tables)))
        for batch in self.reader.finish():
            self.tables.add(batch)
        self.tables.finish()
        self.shuffle.close()
        parts, seconds = tuple(self.files.close()), time.monotonic() - self.begun
        return TaskResult(self.bucket, parts, reads, state, seconds, self.tag, self.reader.offsets)

    def _source(self, source: Source) -> SourceResult | None:
        """Read one source; an error in it ends this source only."""
        if source.problem:
            return SourceResult(0, source.problem, unread=True)
        self.reader.begin(source)
        if not self.reader.reads(source):
            return None
        packets = 0
        with self._opened(source) as file:
            for batch, at in self._batches(source, file):
                self.tables.add(batch)
                packets += len(batch.frames)
                self._note(at)
        problem = self.problem or self.reader.left_out()
        self.read_bytes += source.size
        return SourceResult(self.reader.records() if source.capture else packets, problem, self.unread)

    @staticmethod
    def _opened(source: Source) -> BinaryIO:
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

    def _batches(self, source: Source, file: BinaryIO) -> Iterator[tuple[SourceFrames, int]]:
        """Yield the frames of a source, and how many bytes were read for them; errors in it end up in `problem`."""
        self.problem, self.unread = "", False
        try:
            for batch in self.reader.batches(source, file):
                yield batch, file.tell()
        except BadCapture as error:
            self.problem = f"offset {error.offset}: {error.message}"
        except BadText as error:
            self.problem = f"line {error.line}, column {error.column}: {error.message}"
        except OSError as error:
            self.problem, self.unread = reason(error), True

    def _note(self, at: int) -> None:
        """Write now and then how many bytes were read."""
        if is_url(self.job.staging):
            return
        if (now := time.monotonic()) > self.noted_at + PROGRESS_INTERVAL_S:
            _progress(self.job, self.bucket).write_text(str(self.read_bytes + at))
            self.noted_at = now
