"""What the runs on a folder have to say to the log of a table, whatever its format."""

from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa

from ...common.errors import UserError

OPEN = "open"
"""The column that keeps rows which a resumed run replaces in files of their own, whoever rewrites these files."""


class LakeError(UserError):
    """A format cannot be used here."""


class LoggedFile(NamedTuple):
    """A Parquet file of a table."""

    path: str
    """Below the folder of the table."""
    rows: int
    size_bytes: int
    values: tuple[str | None, ...]
    """The values of the columns that partition the table, as texts."""
    run: str
    """The run that wrote it."""


class LoggedRun(NamedTuple):
    """A run on the folder of a table."""

    name: str
    number: int
    """Its number among all runs on the folder, counted from 1."""
    mode: str
    """What it does to the rows that were there: overwrite replaces all, and resume those in OPEN."""


class LoggedTable(NamedTuple):
    """What the log of a table has to say."""

    name: str
    place: str
    """The absolute path or the URL of its folder."""
    schema: pa.Schema
    """With the columns that partition it."""
    partition_by: tuple[str, ...]
    """The last of them is OPEN."""
    files: tuple[LoggedFile, ...] = ()
    runs: tuple[LoggedRun, ...] = ()
    """In their order."""


class LogChange(NamedTuple):
    """What the log of a table does not say yet."""

    added: tuple[LoggedFile, ...]
    replaces: str
    """The files that go: "all", "open" for those with the value true in OPEN, or "" for none."""
    run: LoggedRun
    """The last run that the log will show."""


def change(table: LoggedTable, shown: int) -> LogChange | None:
    """Return what the runs after the number `shown` changed; None if no file is added or replaced.

    What others did to the log in between, such as a compaction, stays: files of earlier runs are never added again.
    """
    new = [run for run in table.runs if run.number > shown]
    names = {run.name for run in new}
    # A manifest forgets the oldest runs, and a log without any of them has none of their files.
    added = tuple(file for file in table.files if not shown or file.run in names)
    modes = {run.mode for run in new}
    replaces = "all" if "overwrite" in modes else "open" if "resume" in modes else ""
    return LogChange(added, replaces, new[-1]) if added or replaces else None


def check_columns(table: LoggedTable, names: Iterable[str], partition_by: Iterable[str]) -> None:
    """Raise LakeError where somebody changed the columns of a table, or those that divide it."""
    there, divided = set(names), list(partition_by)
    if missing := [name for name in table.schema.names if name not in there]:
        raise LakeError(
            f"the log of {table.name} at {table.place} lacks the column {missing[0]}, which mqttpub writes: "
            "add it again, or choose a new folder"
        )
    if divided != list(table.partition_by):
        raise LakeError(
            f"the log of {table.name} at {table.place} divides it by {','.join(divided) or 'no column'}, and mqttpub "
            f"by {','.join(table.partition_by)}: choose a new folder"
        )
