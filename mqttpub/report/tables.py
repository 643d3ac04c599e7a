"""The tables of a folder as data frames with the types of the schema, from any of the formats."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..spark.formats.schema import spark_schema
from ..spark.pipeline.job import TableFile
from ..spark.pipeline.manifest import MANIFEST, Manifest
from ..spark.pipeline.tables import SCHEMAS

_NO_TEXT = "\0null\0"
"""Stands for null when CSV is read, so that an empty text stays empty; no field contains it."""
READ_WITH = {
    "parquet": {},
    "csv": {"header": "true", "multiLine": "true", "escape": '"', "mode": "FAILFAST", "nullValue": _NO_TEXT},
    "json": {"mode": "FAILFAST"},
}
"""Options with which Spark reads the files of the pipeline."""
_MAGIC = re.compile(r"([\\*?\[\]{}])")
_KEY = re.compile(r"([^/=]+)=")


def frames(spark: Any, folder: Path) -> dict[str, Any]:
    """Return a data frame for each table, empty if it was never written; raises OutputRefused without a manifest.

    Only files of the manifest are read, and of their columns all but those of bytes.
    """
    parts = Manifest.load(folder / MANIFEST).parts
    return {name: _table(spark, folder, name, [each for each in parts if each.table == name]) for name in SCHEMAS}


def has(folder: Path, table: str) -> bool:
    """Return whether any run wrote that table."""
    return any(part.table == table for part in Manifest.load(folder / MANIFEST).parts)


def _table(spark: Any, folder: Path, name: str, parts: list[TableFile]) -> Any:
    kinds: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for part in parts:
        place, _, form = part.path.rpartition(".")
        kinds.setdefault((form, tuple(_KEY.findall(place))), []).append(part.path)
    found = [_kind(spark, folder, name, form, divided, paths) for (form, divided), paths in kinds.items()]
    whole = found[0] if found else spark.createDataFrame([], spark_schema(pa.schema(_shown(name))))
    for other in found[1:]:
        whole = whole.unionByName(other)
    return whole


def _kind(spark: Any, folder: Path, name: str, form: str, divided: Iterable[str], paths: list[str]) -> Any:
    """Return the rows of files of one format and one partitioning."""
    from pyspark.sql import functions as F  # noqa: N812

    # CSV columns are identified by position, so those in the names of folders come last.
    fields = sorted(SCHEMAS[name], key=lambda field: field.name in divided)
    schema = spark_schema(pa.schema([(field.name, _type(field.type, form)) for field in fields]))
    reader = (
        spark.read.format(form).schema(schema).options(**READ_WITH[form], basePath=f"file:{(folder / name).absolute()}")
    )
    frame = reader.load([_place(folder / path) for path in paths])
    lists = [field.name for field in _shown(name) if form == "csv" and pa.types.is_list(field.type)]
    nested = spark_schema(SCHEMAS[name])
    return frame.select(
        *(
            F.from_json(field.name, nested[field.name].dataType).alias(field.name)
            if field.name in lists
            else field.name
            for field in _shown(name)
        )
    )


def _shown(name: str) -> list[Any]:
    """Return the columns that reports may query."""
    return [field for field in SCHEMAS[name] if not pa.types.is_binary(field.type)]


def _type(kind: Any, form: str) -> Any:
    """Return the type of a column in a format: bytes are hexadecimal text in JSON and CSV, lists are JSON in CSV."""
    if form == "parquet":
        return kind
    return pa.string() if pa.types.is_binary(kind) or (form == "csv" and pa.types.is_list(kind)) else kind


def _place(path: Path) -> str:
    """Return the URL of a path for Hadoop, with the characters of globs escaped."""
    return "file:" + _MAGIC.sub(r"\\\1", str(path.absolute()))
