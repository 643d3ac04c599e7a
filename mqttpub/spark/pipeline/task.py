"""What tasks do: first all captures, from first to last, each for its share of the connections; then exchanges.

Everything is scanned by every task, which costs less than moving packets between tasks as long as
these are few. Only what takes part in exchanges crosses over, as all connections of a client have to meet.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...capture.text.parse import BadText
from ...capture.types import BadCapture
from ...columns.exchanges.pair import Pairing
from . import checkpoint as saved
from .manifest import SHARED, Read, Refused, Row
from .reading import Piece, Reader
from .row_filter import Choice
from .shuffle import LAST, Outbox, boxes, merged
from .sources import Source, unseen
from .tables import Files, Tables

MOST_TARGETS = 16
"""Tasks that pair, at most; each task that reads writes a file for each."""
UNWRITTEN = 74
"""Exit status when the output cannot be written, as sysexits.h has it."""
TELL = 0.25
"""Seconds between two notes of how far a task has come."""


class Job(NamedTuple):
    """What all tasks of a run have in common."""

    sources: tuple[Source, ...]
    """In the order in which they were captured."""
    buckets: int
    """Into how many shares the connections are divided."""
    staging: str
    """The folder to write to, which all tasks and the driver reach."""
    form: str = "parquet"
    divided: tuple[str, ...] = ()
    choice: Choice = Choice()
    lint: bool = False
    ports: tuple[int, ...] = ()
    shares: bytes = b""
    """Which connections are in which share, see columns.shares; what an earlier run left tells it, too."""
    states: tuple[str, ...] = ()
    """What an earlier run left: a file for each bucket, then one for each target; empty to begin anew."""

    @property
    def targets(self) -> int:
        """How many tasks pair."""
        return min(self.buckets, MOST_TARGETS)


def work(job: Job, bucket: int) -> Row:
    """Write the rows of one share and return what was written; can be done again, and by several at once."""
    import pyarrow as pa

    # Each task has one core.
    pa.set_cpu_count(1)
    return _told(job, bucket, lambda: _Work(job, bucket).row())


def pair(job: Job, target: int, rows: Sequence[Row]) -> Row:
    """Write the exchanges of one share of the clients, of what the tasks before left for it; can be done again."""
    return _told(job, job.buckets + target, lambda: _pair(job, target, rows))


def _told(job: Job, bucket: int, task: Callable[[], Row]) -> Row:
    """Return what a task does; a row that says why where it cannot write, as Spark would only show a trace."""
    if not os.path.isdir(job.staging):
        folder = os.path.dirname(job.staging)
        reason = f"the task on {socket.gethostname()} does not find the folder {folder}; {SHARED}"
        return Row(bucket, (), (), failure=reason, status=Refused.status)
    try:
        return task()
    except Refused as error:
        return Row(bucket, (), (), failure=str(error), status=error.status)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        name = error.filename or os.path.dirname(job.staging)
        return Row(bucket, (), (), failure=f"the output cannot be written: {reason}: {name}", status=UNWRITTEN)


def _pair(job: Job, target: int, rows: Sequence[Row]) -> Row:
    begun, tag, folder = time.monotonic(), _tag(target), Path(job.staging)
    pairing = saved.load(Path(job.states[job.buckets + target]), Pairing) if job.states else Pairing()
    files, state = Files(job, rows[0].places, tag), f"pairing-{tag}"
    for step, packets, closed in merged([boxes(folder, row.tag, job.targets)[target] for row in rows]):
        if step == LAST:
            (folder / state).write_bytes(saved.dumps(pairing))
        files.put_counted_on("exchanges", pairing.add(packets, closed), over=step != LAST)
    files.put_counted_on("exchanges", pairing.finish(), over=False)
    return Row(job.buckets + target, tuple(files.close()), (), state, time.monotonic() - begun)


def _tag(bucket: int) -> str:
    """Return a name of its own for each attempt, so that two at the same time do not write to one file."""
    return f"{bucket:05}-{os.getpid()}-{os.urandom(4).hex()}"


def progress_of(job: Job, bucket: int) -> int:
    """Return how many bytes of the sources a task has read."""
    try:
        return int(_progress(job, bucket).read_bytes() or 0)
    except (OSError, ValueError):
        return 0


def _progress(job: Job, bucket: int) -> Path:
    return Path(job.staging, f"progress-{bucket}")


class _Work:
    def __init__(self, job: Job, bucket: int) -> None:
        self.job = job
        self.bucket = bucket
        self.begun = time.monotonic()
        self.tag = _tag(bucket)
        self.read = 0
        """Bytes of the sources before the one that is being read."""
        self.problem = ""
        """Why the source that is being read, or was last, ended before its end."""
        self.unread = False
        """Whether it was the system that gave no more of it."""
        self.told = self.begun
        """When it was noted last how far it had come."""
        if job.states:
            self.reader, self.tables = saved.load(Path(job.states[bucket]), Reader, Tables)
        else:
            self.reader, self.tables = Reader(bucket, job.buckets, job.ports, job.shares), Tables()
        self.files = Files(job, self.reader.places, self.tag)
        self.outbox = Outbox(Path(job.staging), self.tag, job.targets)
        self.tables.begin(self.files, self.outbox, lint=job.lint)

    def row(self) -> Row:
        """Do all and return what was done."""
        reads = tuple(self._source(source) for source in self.job.sources)
        state = f"state-{self.tag}"
        Path(self.job.staging, state).write_bytes(saved.dumps((self.reader, self.tables)))
        for piece in self.reader.finish():
            self.tables.take(piece)
        self.tables.end()
        self.outbox.close()
        parts, seconds = tuple(self.files.close()), time.monotonic() - self.begun
        return Row(self.bucket, parts, reads, state, seconds, self.tag, self.reader.places)

    def _source(self, source: Source) -> Read | None:
        """Read one source; what is wrong with it ends it, and nothing else."""
        if source.problem:
            return Read(0, source.problem, unread=True)
        self.reader.begin(source)
        if not self.reader.reads(source):
            return None
        packets = 0
        with self._opened(source) as file:
            for piece, at in self._pieces(source, file):
                self.tables.take(piece)
                packets += len(piece.frames)
                self._note(at)
        problem = self.problem or self.reader.left_out()
        self.read += source.size
        return Read(self.reader.records() if source.capture else packets, problem, self.unread)

    @staticmethod
    def _opened(source: Source) -> BinaryIO:
        """Open a source, which the driver has seen; raises Refused where it is another one here, or none."""
        try:
            file = open(source.path, "rb")  # noqa: SIM115
        except OSError as error:
            raise Refused(unseen(source, error)) from None
        if os.fstat(file.fileno()).st_size < source.size:
            file.close()
            raise Refused(f"{source.name} changed while it was read")
        return file

    def _pieces(self, source: Source, file: BinaryIO) -> Iterator[tuple[Piece, int]]:
        """Yield what a source holds, and how many bytes were read for it; only what goes wrong here is its problem."""
        self.problem, self.unread = "", False
        try:
            for piece in self.reader.pieces(source, file):
                yield piece, file.tell()
        except BadCapture as error:
            self.problem = f"offset {error.offset}: {error.message}"
        except BadText as error:
            self.problem = f"line {error.line}, column {error.column}: {error.message}"
        except OSError as error:
            self.problem, self.unread = error.strerror or str(error), True

    def _note(self, at: int) -> None:
        """Note now and then how far a source was read."""
        if (now := time.monotonic()) > self.told + TELL:
            _progress(self.job, self.bucket).write_text(str(self.read + at))
            self.told = now
