"""What answers the queries of a report: Spark, or DuckDB in this process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

WHOLE_PACKETS = "whole_packets"
"""The name in SQL of the table of packets with its binary columns; `packets` is without them, as they can be large."""
OnBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class QueryEngine(Protocol):
    """Answers queries in the SQL of Spark, in which names in braces stand for tables.

    What a table is depends on the engine; those that it made live until it is closed.
    """

    def tables(self, folder: str | Path) -> Mapping[str, Any]:
        """Return the tables in a folder by their names in SQL; an empty one for a table that no run wrote.

        Only files that count are read. Raises OutputRefused if there is no manifest, and LakeError.
        """

    def rows(self, query: str, tables: Mapping[str, Any], given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a query by the names of columns; names after a colon stand for the values `given`."""

    def kept(self, query: str, tables: Mapping[str, Any]) -> Any:
        """Return a table of the rows of a query, which is made once."""

    def mapped(
        self, query: str, tables: Mapping[str, Any], function: OnBatches, schema: pa.Schema, *,
        together: Sequence[str] = (), order: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """Return a table of what a function makes of the rows of a query, of the columns of a schema.

        Rows that are equal in the columns `together` come one after the other, by `order`.
        """
