"""DuckDB as what answers the queries of a report, in its own SQL, to which sqlglot translates that of Spark.

Queries must not order structs that contain null, which the two do differently.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from ...common.extras import missing, needs
from ...spark.pipeline.manifest import Manifest, table_files
from ...spark.pipeline.tables import SCHEMAS
from ...spark.pipeline.writers import partition_values
from ...spark.storage.folder import StorageFolder
from . import WHOLE_PACKETS, OnBatches
from .tables import columns_of

PACKAGES = ("duckdb", "sqlglot")
FORMATS = ("parquet", "orc")
"""Formats of files that hold all types, so that DuckDB gets the columns as Spark would."""
FUNCTIONS = {"octet_length": "strlen", "timestamp_micros": "make_timestamptz", "xxhash64": "hash"}
"""Functions of Spark that sqlglot does not know, and what DuckDB calls them."""
BATCH = 10_000
"""Rows that a function gets at a time."""
_TABLE = re.compile(r"\{(\w+)\}")
_MAGIC = re.compile(r"([*?\[])")
MEMORY = "2GB"
"""What the rows of queries take at most in memory; the rest is spilled to a temporary folder."""
SETTINGS = {"memory_limit": MEMORY, "autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def refusal(folder: str | Path) -> str:
    """Return why DuckDB cannot answer queries about the tables in a folder; empty if it can.

    Raises OutputRefused if the folder has no manifest.
    """
    if lacking := missing(*PACKAGES):
        return needs("a query without Spark", lacking, "summary")
    other = {part.path.rpartition(".")[2] for part in Manifest.in_folder(folder).parts} - {*FORMATS}
    return f"without Spark, queries need tables in Parquet or ORC, not in {min(other).upper()}" if other else ""


def failures() -> tuple[Any, ...]:
    """Return the exceptions that queries raise."""
    import duckdb
    from sqlglot.errors import SqlglotError

    return duckdb.Error, SqlglotError, pa.ArrowException


@contextmanager
def connected() -> Iterator["DuckQueries"]:
    """Give what answers queries until the block ends."""
    import duckdb

    with (
        TemporaryDirectory(prefix="mqttpub-duckdb-") as folder,
        duckdb.connect(config={**SETTINGS, "temp_directory": folder}) as connection,
    ):
        connection.execute("SET TimeZone = 'UTC'")
        yield DuckQueries(connection)


class DuckQueries:
    """Answers queries in this process; tables are Arrow data sets, or the names of tables and views that it made."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._names = (f"made_{number}" for number in count())

    def tables(self, folder: str | Path) -> Mapping[str, Any]:
        """Return the tables in a folder, as `QueryEngine` says."""
        files, place = table_files(folder), StorageFolder(folder)
        found = {name: self._table(place, name, files.get(name, [])) for name in SCHEMAS}
        return {**found, WHOLE_PACKETS: self._table(place, "packets", files.get("packets", []), binary=True)}

    def rows(self, query: str, tables: Mapping[str, Any], given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a query, as `QueryEngine` says."""
        with self._cursor(query, tables) as (cursor, sql):
            found = cursor.execute(sql, dict(given) or None)
            names = [each[0] for each in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def kept(self, query: str, tables: Mapping[str, Any]) -> Any:
        """Return a table of the rows of a query, which is made once."""
        name = next(self._names)
        with self._cursor(query, tables) as (cursor, sql):
            cursor.execute(f"CREATE TABLE {name} AS {sql}")
        return name

    def mapped(
        self, query: str, tables: Mapping[str, Any], function: OnBatches, schema: pa.Schema, *,
        together: Sequence[str] = (), order: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """Return a table of what a function makes of the rows of a query, as `QueryEngine` says."""
        if together:
            query = f"SELECT * FROM ({query}) ORDER BY {', '.join(f'`{name}`' for name in (*together, *order))}"

        def rows() -> Iterator[pa.RecordBatch]:
            with self._cursor(query, tables) as (cursor, sql):
                yield from function(iter(cursor.sql(sql).to_arrow_reader(BATCH)))

        return _Mapped(schema, rows)

    def _table(self, folder: StorageFolder, name: str, files: list[str], *, binary: bool = False) -> Any:
        """Return the rows of files, which are read as far as a query needs them."""
        schema = pa.schema(columns_of(name, binary=binary))
        if not files:
            return schema.empty_table()
        if folder.is_local and all(path.endswith(".parquet") and not partition_values(path) for path in files):
            return self._view([folder.place(path) for path in files], schema)
        return _dataset(folder, schema, files)

    def _view(self, paths: list[str], schema: pa.Schema) -> str:
        """Return a view of Parquet files, which DuckDB itself reads in a tenth of the time and memory of Arrow.

        The empty table gives it the types of the schema, and the columns that files of an earlier version lack.
        """
        empty, name = self.kept("SELECT * FROM {rows}", {"rows": schema.empty_table()}), next(self._names)
        columns = "|".join(schema.names)
        places = ", ".join(_literal(_MAGIC.sub(r"[\1]", os.path.abspath(path))) for path in paths)
        self._connection.execute(f"""
            CREATE VIEW {name} AS SELECT * FROM {empty} UNION ALL BY NAME
            SELECT COLUMNS('^({columns})$')
            FROM read_parquet([{places}], union_by_name = true, hive_partitioning = false)
        """)
        return name

    @contextmanager
    def _cursor(self, query: str, tables: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
        """Give a cursor that knows the tables of a query, as each thread needs one of its own, and its SQL."""
        with self._connection.cursor() as cursor:
            for name, table in tables.items():
                if isinstance(table, str):
                    query = query.replace(f"{{{name}}}", table)
                else:
                    cursor.register(name, table)
            yield cursor, translated(query)


class _Mapped:
    """Rows that are made anew for each query that reads them, as a table of all would be large."""

    def __init__(self, schema: pa.Schema, rows: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._schema = schema
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as Arrow's interface for streams, by which DuckDB reads them."""
        return pa.RecordBatchReader.from_batches(self._schema, self._rows()).__arrow_c_stream__(requested_schema)


@lru_cache(maxsize=256)
def translated(query: str) -> str:
    """Return a query of Spark in the SQL of DuckDB; a name in braces stands for the table of that name."""
    import sqlglot
    from sqlglot import expressions as exp

    def changed(node: Any) -> Any:
        if isinstance(node, exp.CountIf):
            # That of DuckDB returns null where all conditions are null.
            return exp.Count(this=exp.Case().when(node.this, exp.Literal.number(1)))
        if isinstance(node, exp.Anonymous) and (name := FUNCTIONS.get(node.name.lower())):
            return exp.Anonymous(this=name, expressions=node.expressions)
        return node

    query = _TABLE.sub(r"\1", query)
    return str(sqlglot.parse_one(query, read="spark").transform(changed).sql("duckdb"))


def _literal(text: str) -> str:
    """Return a text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _dataset(folder: StorageFolder, schema: pa.Schema, files: list[str]) -> Any:
    """Return the rows of files on any storage, in each format, and divided by columns or not."""
    from pyarrow import dataset

    kinds: dict[str, list[str]] = {}
    for path in files:
        kinds.setdefault(path.rpartition(".")[2], []).append(path)
    found = [
        dataset.FileSystemDataset.from_paths(
            [f"{folder.at.path}/{path}" for path in paths], schema, _format(kind), folder.at.system,
            partitions=[_place(path, schema) for path in paths],
        )
        for kind, paths in kinds.items()
    ]  # fmt: skip
    return found[0] if len(found) == 1 else dataset.UnionDataset(schema, found)


def _format(kind: str) -> Any:
    from pyarrow import dataset

    if kind == "orc":
        return dataset.OrcFileFormat()
    return dataset.ParquetFileFormat()


def _place(path: str, schema: pa.Schema) -> Any:
    """Return what the names of the folders of a file say about all of its rows."""
    from pyarrow import dataset

    known = dataset.scalar(True)
    for name, value in partition_values(path).items():
        if name in schema.names:
            column = dataset.field(name)
            known &= column.is_null() if value is None else column == pa.scalar(value).cast(schema.field(name).type)
    return known
