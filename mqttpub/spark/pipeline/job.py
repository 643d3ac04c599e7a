"""What the driver gives its tasks, and what they give back: values that pickle, without behaviour."""

from typing import Any, NamedTuple

from .row_filter import RowFilter
from .sources import Source

STATE = "_state"
"""The folder of states, among the tables."""
BUCKETS, MOST_BUCKETS = 16, 4096
"""Parts that all connections are divided into, at least and at most, by a hash of their addresses and ports.

Few cores have few buckets, as each costs about 15 ms, however little is in it.
"""
FIRST_BUCKETS = 256
"""How many there are in tables whose manifest does not say it."""
SLOTS = 32
"""Parts that all clients are divided into for pairing exchanges, by a hash of the Client Identifier."""

TARGET_BYTES = 128_000_000
"""The size of the files that small files of a run are joined to."""


def buckets_for(tasks: int) -> int:
    """Return how many buckets so many tasks share: a power of two, two for each task where that is allowed."""
    return int(min(max(BUCKETS, 1 << (2 * tasks - 1).bit_length()), MOST_BUCKETS))


class Unit(NamedTuple):
    """Something that one task reads in one go: a source, or a part of a large capture."""

    number: int
    """The number of the source, which counts on over all runs."""
    source: Source
    start: int = 0
    """Where its records begin in the file."""
    stop: int | None = None
    """Where they end; None for the end of the file."""
    first: int = 1
    """Number of the first of them, counted from 1."""
    head: bytes = b""
    """The bytes to read before them."""
    size: int = 0
    """Bytes to read, about."""


class BlobRow(NamedTuple):
    """What is moved between tasks: a blob for one bucket or slot, and its place in the order of that."""

    key: int
    major: int
    minor: int
    blob: Any
    """Bytes, or a view or Arrow buffer of them."""


class Job(NamedTuple):
    """The settings that all tasks of a run share."""

    staging: str
    """The path or URL of the folder to write to, which all tasks and the driver reach."""
    run: str
    """The name of the run, which is in the names of all files."""
    file_format: str = "parquet"
    partition_by: tuple[str, ...] = ()
    target_bytes: int = TARGET_BYTES
    """The size of the files that small files of the run are joined to."""
    row_filter: RowFilter = RowFilter()
    lint: bool = False
    ports: tuple[int, ...] = ()
    key_log: str = ""
    """Path or URL of the file with keys for TLS; the keys themselves never leave a task."""
    first: int = 0
    """Number of the first source, which is how many earlier runs have read."""
    records: int = 0
    """Number of records in these."""
    tasks: int = 1
    """Tasks among which buckets are divided, at most."""
    states: tuple[str, ...] = ()
    """State files of an earlier run; empty for a new run."""
    buckets: int = BUCKETS
    """A power of two; tasks take several buckets each."""
    buckets_before: int = BUCKETS
    """That of the earlier run, which `buckets` is a multiple of."""
    resumable: bool = False
    """Whether to find out where files that grow are to be read on."""

    def state_name(self, tag: str) -> str:
        """Return the name of the file for the state of a task."""
        return f"{STATE}/{self.run}-{tag}"

    def file_tag(self, tag: str, *, final: bool) -> str:
        """Return what the names of the tables' files of a task begin with."""
        return f"{'part' if final else 'open'}-{self.run}-{tag}"


class TableFile(NamedTuple):
    """A file that a task wrote. The manifest holds these fields by name."""

    table: str
    path: str
    """Below the folder that the task writes to, and below the folder of tables."""
    rows: int
    bytes: int
    open: bool = False
    """Whether its rows may still change, so that a resumed run replaces the file."""


class SourceResult(NamedTuple):
    """What tasks found in one source, or in a part of it."""

    records: int
    """Records of the capture, whichever connection they belong to; packets of a text."""
    problem: str = ""
    """Why not all of it was read, as a sentence."""
    unread: bool = False
    """Whether an error of the system hid the rest, so that a later run tries again."""
    last_ns: int | None = None
    """Time of the last record."""
    keys: int = 0
    """Key lines for TLS that it holds."""
    end: int = 0
    """Where the next record begins if the file grows; 0 where a later run has to read it from the beginning."""
    before: str = ""
    """The bytes to read before that, in hexadecimal."""
    cut: bool = False
    """Whether the problem is only that the end is missing, which may still be written."""


class TaskResult(NamedTuple):
    """What a task returns: the files it wrote, and what was read for them."""

    tag: str
    """A name that is unique to this attempt at the task."""
    parts: tuple[TableFile, ...] = ()
    reads: tuple[tuple[int, int, SourceResult], ...] = ()
    """What it found in parts of sources, by the number of the source and of the first record."""
    state: str = ""
    """File with the states for a later run, named like `TableFile.path`."""
    seconds: float = 0.0
    forgotten: int = 0
    """Connections that were dropped before they ended, as too many were open in their bucket."""
    joined: tuple[str, ...] = ()
    """Files of other tasks that are in its own instead, named like `TableFile.path`."""
    failure: str = ""
    """Why the task could not write, as a sentence; the run then ends."""
    status: int = 2
    """Exit status of the program for that failure."""

    def plain(self) -> tuple[Any, ...]:
        """Return it as nested tuples without classes of this module."""
        reads = tuple((number, first, tuple(each)) for number, first, each in self.reads)
        return tuple({**self._asdict(), "parts": tuple(map(tuple, self.parts)), "reads": reads}.values())

    @classmethod
    def of(cls, values: Any) -> "TaskResult":
        """Return the result that `plain` took apart; raises TypeError for anything else."""
        result = cls(*values)
        return result._replace(
            parts=tuple(TableFile(*each) for each in result.parts),
            reads=tuple((number, first, SourceResult(*each)) for number, first, each in result.reads),
        )
