"""The tables of a folder as data frames with the types of the schema, from any of the formats.

Tables of an earlier version may have fewer columns; the cells of the others are null.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...spark.formats.schema import spark_schema
from ...spark.pipeline.manifest import Manifest, OutputRefused, table_files
from ...spark.pipeline.tables import SCHEMAS
from ...spark.pipeline.writers import partition_values
from ...spark.storage.files import is_url, open_file
from ...spark.storage.folder import StorageFolder

MOST_TASKS = 64
"""Tasks that read the files of a table at a URL, at most."""
_NO_TEXT = "\0null\0"
"""Stands for null when CSV is read, so that an empty text stays empty; no field contains it."""
READ_WITH = {
    "parquet": {},
    "orc": {},
    "csv": {"header": "true", "multiLine": "true", "escape": '"', "mode": "FAILFAST", "nullValue": _NO_TEXT},
    "json": {"mode": "FAILFAST"},
}
"""Options with which Spark reads the files of the pipeline."""
_TYPED = ("parquet", "orc")
"""Formats that hold all types."""
_MAGIC = re.compile(r"([\\*?\[\]{}])")
_KEY = re.compile(r"([^/=]+)=")


def frames(spark: Any, folder: str | Path) -> dict[str, Any]:
    """Return a Spark DataFrame for each table, by name; an empty one for a table that no run wrote.

    Reads only files that count, without binary columns. Raises OutputRefused if there is no manifest, and LakeError.
    """
    files = table_files(folder)
    return {name: _table(spark, folder, name, files.get(name, [])) for name in SCHEMAS}


def packets_with_payloads(spark: Any, folder: str | Path) -> Any:
    """Return a Spark DataFrame of the table packets, as `frames` does, with its binary columns."""
    return _table(spark, folder, "packets", table_files(folder).get("packets", []), binary=True)


def has(folder: str | Path, table: str) -> bool:
    """Return whether any run wrote that table."""
    return any(part.table == table for part in Manifest.in_folder(folder).parts)


def _table(spark: Any, folder: str | Path, name: str, files: list[str], *, binary: bool = False) -> Any:
    shown = columns_of(name, binary=binary)
    kinds: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for path in files:
        place, _, form = path.rpartition(".")
        header = _header(Path(folder, path)) if form == "csv" and not is_url(str(folder)) else ()
        kinds.setdefault((form, tuple(_KEY.findall(place)), header), []).append(path)
    found = [_kind(spark, folder, name, shown, *kind, paths) for kind, paths in kinds.items()]
    whole = found[0] if found else spark.createDataFrame([], spark_schema(pa.schema(shown)))
    for other in found[1:]:
        whole = whole.unionByName(other)
    return whole


def _kind(
    spark: Any, folder: str | Path, name: str, shown: list[Any], form: str, divided: tuple[str, ...],
    header: tuple[str, ...], paths: list[str],
) -> Any:  # fmt: skip
    """Return the columns `shown` of files of one format, one partitioning, and for CSV one header."""
    from pyspark.sql import functions as F  # noqa: N812

    if is_url(str(folder)):
        return _at_url(spark, StorageFolder(folder), shown, form, paths)
    folder = Path(folder)
    fields = list(SCHEMAS[name])
    if form == "csv":
        # Its columns are identified by position, and those in the names of folders come last.
        known = {field.name: field for field in fields}
        fields = [known.get(each, pa.field(each, pa.string())) for each in (*header, *divided)]
    schema = spark_schema(pa.schema([(field.name, _type(field.type, form)) for field in fields]))
    reader = (
        spark.read.format(form).schema(schema).options(**READ_WITH[form], basePath=f"file:{(folder / name).absolute()}")
    )
    frame = reader.load([_place(folder / path) for path in paths])
    nested, present = spark_schema(SCHEMAS[name]), {field.name for field in fields}

    def column(field: Any) -> Any:
        if field.name not in present:
            return F.lit(None).cast(nested[field.name].dataType).alias(field.name)
        if form not in _TYPED and pa.types.is_binary(field.type):
            return F.unhex(field.name).alias(field.name)
        if form == "csv" and pa.types.is_list(field.type):
            return F.from_json(field.name, nested[field.name].dataType).alias(field.name)
        return F.col(field.name)

    return frame.select(*map(column, shown))


def _at_url(spark: Any, folder: StorageFolder, shown: list[Any], form: str, paths: list[str]) -> Any:
    """Return the rows of files that tasks open themselves, as Spark may not know the storage; raises OutputRefused."""
    if form not in _TYPED:
        raise OutputRefused(f"reports on tables at a URL need Parquet or ORC, and {folder} has {form}")
    schema = pa.schema(shown)

    def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch.column(0).to_pylist():
                yield from _rows(folder, path, schema)

    files = spark.createDataFrame([(path,) for path in paths], "path string")
    return files.repartition(min(len(paths), MOST_TASKS)).mapInArrow(rows, spark_schema(schema))


def _rows(folder: StorageFolder, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet or ORC file, with the columns that are in the names of its folders."""
    place = partition_values(path)
    with open_file(folder.place(path)) as source:
        inside = [field.name for field in schema if field.name not in place]
        for batch in _batches(source, path, inside):
            yield pa.record_batch([_column(batch, field, place) for field in schema], schema=schema)


def _column(batch: pa.RecordBatch, field: pa.Field, place: Mapping[str, str | None]) -> pa.Array:
    """Return a column from the rows of a file, from the names of its folders, or of nulls."""
    if field.name in batch.schema.names:
        return batch[field.name].cast(field.type)
    if field.name in place:
        return pa.array([place[field.name]] * len(batch), pa.string()).cast(field.type)
    return pa.nulls(len(batch), field.type)


def _batches(source: Any, path: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with those of the columns that it has."""
    if path.endswith(".parquet"):
        from pyarrow.parquet import ParquetFile

        yield from ParquetFile(source).iter_batches(columns=columns)
        return
    from pyarrow.orc import ORCFile

    file = ORCFile(source)
    there = [name for name in columns if name in file.schema.names]
    for stripe in range(file.nstripes):
        yield file.read_stripe(stripe, columns=there)


def _header(path: Path) -> tuple[str, ...]:
    """Return the names in the first line of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file), ()))


def columns_of(name: str, *, binary: bool) -> list[Any]:
    """Return the columns of a table, binary ones only if asked, as they can be large."""
    return [field for field in SCHEMAS[name] if binary or not pa.types.is_binary(field.type)]


def _type(kind: Any, form: str) -> Any:
    """Return the type of a column in a format: bytes are hexadecimal text in JSON and CSV, lists are JSON in CSV."""
    if form in _TYPED:
        return kind
    return pa.string() if pa.types.is_binary(kind) or (form == "csv" and pa.types.is_list(kind)) else kind


def _place(path: Path) -> str:
    """Return the URL of a path for Hadoop, with the characters of globs escaped."""
    return "file:" + _MAGIC.sub(r"\\\1", str(path.absolute()))
