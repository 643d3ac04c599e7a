"""Bringing the log of a table in line with the files that the table has."""

import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

from ..storage.files import is_url, reason
from .content import LakeError, LoggedTable

LOGGED = {"delta": "deltalake", "iceberg": "pyiceberg"}
"""Formats with a log, and the package that writes it. Their files are Parquet."""
STORES = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs")
"""Schemes of URLs to which both packages write."""
_LISTED = f"{', '.join(f'{each}://' for each in STORES[:-1])} or {STORES[-1]}://"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What the messages of delta-rs have in them."""


class LogNotWritten(Exception):
    """The log of a table could not be brought in line; the message is a part of a sentence."""


def check(table_format: str, place: str, tables: Iterable[str]) -> None:
    """Raise LakeError if the logs of these tables of a folder, by its path or URL, could not be written."""
    package = LOGGED[table_format]
    if find_spec(package) is None:
        raise LakeError(f"the package {package} is missing: pip install 'mqttpub[{table_format}]'")
    scheme = place.partition(":")[0].lower()
    if is_url(place) and scheme not in STORES:
        raise LakeError(f"{table_format} tables cannot be on {scheme}://, only in a folder or on {_LISTED}")
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
