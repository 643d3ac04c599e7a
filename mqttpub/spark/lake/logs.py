"""Bringing the log of a table in line with the files that the table has."""

import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any, NamedTuple

import pyarrow as pa

from ..storage.files import reason

LOGGED = {"delta": "deltalake", "iceberg": "pyiceberg"}
"""Formats with a log, and the package that writes it. Their files are Parquet."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What the messages of delta-rs have in them."""


class LakeError(ValueError):
    """A format cannot be used here; the message is one sentence."""

    status = 2


class LogNotWritten(Exception):
    """The log of a table could not be brought in line; the message is a part of a sentence."""


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


def check(table_format: str, place: str, tables: Iterable[str]) -> None:
    """Raise LakeError if the logs of these tables of a folder, by its path or URL, could not be written."""
    package = LOGGED[table_format]
    if find_spec(package) is None:
        raise LakeError(f"the package {package} is missing: pip install 'mqttpub[{table_format}]'")
    if table_format == "iceberg":
        from . import iceberg

        iceberg.check(place, tables)


def follow(table_format: str, table: LoggedTable) -> None:
    """Bring a log in line in one commit, which readers see completely or not at all; raises LogNotWritten.

    A table without files gets no log, but keeps the one that it has.
    """
    try:
        _follower(table_format)(table)
    except Exception as error:
        # These packages, and those that they use, have no class for all that can fail.
        why = _COLOUR.sub("", reason(error))
        raise LogNotWritten(f"the {table_format} log of {table.name} cannot be written: {why}") from error


def _follower(table_format: str) -> Callable[[LoggedTable], Any]:
    if table_format == "delta":
        from . import delta

        return delta.follow
    from . import iceberg

    return iceberg.follow
