"""Spark as what answers the queries of a report, with settings that suit the size of the tables."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...spark.formats.schema import spark_schema
from ...spark.pipeline.manifest import Manifest
from . import WHOLE_PACKETS, OnBatches
from .tables import frames, packets_with_payloads

SMALL = 1_000_000
"""Rows up to which tables are kept in memory, and queries are interpreted: compiling them would take longer."""
_INTERPRETED = {
    "spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.adaptive.enabled": "false",
}  # fmt: skip
"""Settings with which a query on small tables takes half the processor time."""


class SparkQueries:
    """Answers queries in a session; with `small` it keeps the tables in memory until it is closed."""

    def __init__(self, session: Any, *, small: bool = False) -> None:
        self._session = session
        self._small = small
        self._known: dict[str, dict[str, Any]] = {}
        self._kept: list[Any] = []

    def tables(self, folder: str | Path) -> Mapping[str, Any]:
        """Return the tables in a folder, as `QueryEngine` says."""
        known = self._known.get(str(folder))
        if known is None:
            read = frames(self._session, folder)
            known = {name: self._keep(frame.coalesce(1)) for name, frame in read.items()} if self._small else read
            known[WHOLE_PACKETS] = packets_with_payloads(self._session, folder)
            self._known[str(folder)] = known
        return known

    def rows(self, query: str, tables: Mapping[str, Any], given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a query, as `QueryEngine` says."""
        return [row.asDict(recursive=True) for row in self._frame(query, tables, given).collect()]

    def kept(self, query: str, tables: Mapping[str, Any]) -> Any:
        """Return a table of the rows of a query, which is made once."""
        return self._keep(self._frame(query, tables))

    def mapped(
        self, query: str, tables: Mapping[str, Any], function: OnBatches, schema: pa.Schema, *,
        together: Sequence[str] = (), order: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """Return a table of what a function makes of the rows of a query in the tasks, as `QueryEngine` says."""

        # Spark sends the function to its workers, and asks for its name.
        def read(batches: Any) -> Any:
            return function(batches)

        frame = self._frame(query, tables)
        if together:
            frame = frame.repartition(*together).sortWithinPartitions(*together, *order)
        return frame.mapInArrow(read, spark_schema(schema))

    def close(self) -> None:
        """Forget the tables that were kept."""
        for frame in self._kept:
            frame.unpersist()

    def _frame(self, query: str, tables: Mapping[str, Any], given: Mapping[str, Any] = {}) -> Any:
        return self._session.sql(query, args=dict(given), **tables)

    def _keep(self, frame: Any) -> Any:
        self._kept.append(frame.persist())
        return frame


@contextmanager
def connected(session: Any, folders: Sequence[str | Path]) -> Iterator[SparkQueries]:
    """Give what answers queries about the tables in folders until the block ends."""
    small = is_small(folders)
    with ExitStack() as stack:
        for name, value in _INTERPRETED.items() if small else ():
            stack.callback(session.conf.set, name, session.conf.get(name))
            session.conf.set(name, value)
        engine = SparkQueries(session, small=small)
        stack.callback(engine.close)
        yield engine


def is_small(folders: Sequence[str | Path]) -> bool:
    """Return whether the tables in folders have few rows; raises OutputRefused if one has no manifest."""
    return sum(sum(Manifest.in_folder(folder).rows().values()) for folder in folders) <= SMALL
