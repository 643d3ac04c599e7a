"""What the driver gives its tasks, and what they give back: values that pickle, without behaviour."""

from typing import Any, NamedTuple

from .row_filter import RowFilter
from .sources import Source

STATE = "_state"
"""The folder of states, among the tables."""
MOST_SLOTS = 16
"""Tasks that pair exchanges, at most: each task that reads writes a file for each of them."""


class Job(NamedTuple):
    """The settings that all tasks of a run share."""

    sources: tuple[Source, ...]
    """In the order in which they were captured."""
    buckets: int
    """The number of buckets that the connections are divided into; each is read by one task."""
    staging: str
    """The path or URL of the folder to write to, which all tasks and the driver reach."""
    run: str
    """The name of the run, which is in the names of all files."""
    file_format: str = "parquet"
    partition_by: tuple[str, ...] = ()
    row_filter: RowFilter = RowFilter()
    lint: bool = False
    ports: tuple[int, ...] = ()
    balance: bytes = b""
    """Which hash slot of connections is in which bucket; empty in a resumed run, whose states say it."""
    states: tuple[str, ...] = ()
    """State files of an earlier run: one for each bucket, then one for each slot; empty for a new run."""

    def state_name(self, tag: str) -> str:
        """Return the name of the file for the state of a task."""
        return f"{STATE}/{self.run}-{tag}"

    @property
    def slots(self) -> int:
        """The number of tasks that pair exchanges, each for a hash slot of the clients."""
        return min(self.buckets, MOST_SLOTS)


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
    """What a task found in one source."""

    records: int
    """Records of the capture, whichever connection they belong to; packets of a text."""
    problem: str = ""
    """Why not all of it was read, as a sentence."""
    unread: bool = False
    """Whether an error of the system hid the rest, so that a later run tries again."""


class TaskResult(NamedTuple):
    """What a task returns: the files it wrote, and what it read for them. Sorts by bucket."""

    bucket: int
    """The bucket of a task that reads; `Job.buckets` + the slot of a task that pairs."""
    parts: tuple[TableFile, ...]
    reads: tuple[SourceResult | None, ...]
    """For each source, in their order; None for those that another task reads."""
    state: str = ""
    """File with the state for a later run, named like `TableFile.path`."""
    seconds: float = 0.0
    tag: str = ""
    """The part of a file's name by which tasks that pair find this task's files."""
    places: Any = None
    """The `SourceOffsets` after reading, for tasks that pair."""
    failure: str = ""
    """Why the task could not write, as a sentence; the run then ends."""
    status: int = 0
    """Exit status of the program for that failure."""

    def plain(self) -> tuple[Any, ...]:
        """Return it as nested tuples without classes of this module."""
        parts, reads = map(tuple, self.parts), (each and tuple(each) for each in self.reads)
        return tuple({**self._asdict(), "parts": tuple(parts), "reads": tuple(reads)}.values())

    @classmethod
    def of(cls, values: Any) -> "TaskResult":
        """Return the result that `plain` took apart; raises TypeError for anything else."""
        result = cls(*values)
        return result._replace(
            parts=tuple(TableFile(*each) for each in result.parts),
            reads=tuple(each and SourceResult(*each) for each in result.reads),
        )
