"""What the log of a table has to say, whatever its format."""

from typing import NamedTuple

import pyarrow as pa


class LakeError(ValueError):
    """A format cannot be used here; the message is one sentence."""

    status = 2


class LoggedFile(NamedTuple):
    """A Parquet file of a table."""

    path: str
    """Below the folder of the table."""
    rows: int
    size_bytes: int
    values: tuple[str | None, ...]
    """The values of the columns that partition the table, as texts."""


class LoggedTable(NamedTuple):
    """What the log of a table has to say."""

    name: str
    place: str
    """The absolute path or the URL of its folder."""
    schema: pa.Schema
    """With the columns that partition it."""
    partition_by: tuple[str, ...]
    files: tuple[LoggedFile, ...]
    run: str
    """The run that the log names as the writer of its commit."""
