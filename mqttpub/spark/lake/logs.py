"""Bringing the log of a table in line with the files that the table has."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ...common.extras import missing, needs
from ..storage.files import is_url, reason
from .content import LakeError, LoggedTable

LOGGED = {"delta": "deltalake", "iceberg": "pyiceberg"}
"""Formats with a log, and the package that writes it. Their files are Parquet."""
STORES = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs")
"""Schemes of URLs to which both packages write."""
_LISTED = f"{', '.join(f'{each}://' for each in STORES[:-1])} or {STORES[-1]}://"
ATTEMPTS = 5
"""Times that a commit is tried while others write to the same log."""
CONFLICTS = ("CommitFailedError", "CommitFailedException", "ValidationException")
_NOISE = re.compile(r"\x1b\[[0-9;]*m| 0: <unknown>.*")
"""Colours and the calls of Rust, which the messages of delta-rs have in them."""


class LogNotWritten(Exception):
    """The log of a table could not be brought in line; the message is a part of a sentence."""


def check(table_format: str, place: str, tables: Iterable[LoggedTable]) -> None:
    """Raise LakeError if the logs of these tables of a folder, by its path or URL, could not be written."""
    if lacking := missing(LOGGED[table_format]):
        raise LakeError(needs(f"--format {table_format}", lacking, table_format))
    scheme = place.partition(":")[0].lower()
    if is_url(place) and scheme not in STORES:
        raise LakeError(f"{table_format} tables cannot be on {scheme}://, only in a folder or on {_LISTED}")
    for table in tables:
        with _reading(table_format, table.name):
            _module(table_format).check(table)


def follow(table_format: str, table: LoggedTable) -> None:
    """Bring a log in line in one commit, which readers see completely or not at all; raises LogNotWritten.

    A table without files gets no log, but keeps the one that it has.
    """
    for left in reversed(range(ATTEMPTS)):
        try:
            _module(table_format).follow(table)
            return
        except Exception as error:
            # Somebody else wrote to the log at the same time, so what it says is to be read again.
            if left and type(error).__name__ in CONFLICTS:
                continue
            raise LogNotWritten(f"the {table_format} log of {table.name} cannot be written: {_why(error)}") from error


def files(table_format: str, place: str, name: str) -> list[str]:
    """Return the files that the log of a table of a folder names, below the folder of the table; raises LakeError."""
    with _reading(table_format, name):
        found = _module(table_format).files(place, name)
    if away := next((path for path in found if is_url(path) or path.startswith("/")), ""):
        raise LakeError(f"the {table_format} log of {name} names a file outside of its folder: {away}")
    return list(found)


@contextmanager
def _reading(table_format: str, name: str) -> Iterator[None]:
    """Raise LakeError for whatever fails in the block, which reads the log of a table."""
    try:
        yield
    except LakeError:
        raise
    except Exception as error:
        # These packages, and those that they use, have no class for all that can fail.
        raise LakeError(f"the {table_format} log of {name} cannot be read: {_why(error)}") from None


def _why(error: Exception) -> str:
    return _NOISE.sub("", reason(error))


def _module(table_format: str) -> Any:
    if table_format == "delta":
        from . import delta

        return delta
    from . import iceberg

    return iceberg
