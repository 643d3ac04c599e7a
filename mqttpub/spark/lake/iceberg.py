"""A table in the format of Apache Iceberg, in the catalog that pyiceberg's own configuration names.

Its namespace is the name of the folder of tables. The metadata, below the folder of the table, says which files a table
has, and the catalog says which metadata is the newest.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table, TableProperties
from pyiceberg.typedef import Record

from ..storage.files import is_url
from .content import OPEN, LakeError, LoggedFile, LoggedTable, change, check_columns

_SHOWN = "mqttpub.run-number"
"""The property of a table that says which run its log shows last; snapshots may expire."""
_NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_METRICS = (
    "column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds",
    "key_metadata", "split_offsets", "equality_ids", "sort_order_id",
)  # fmt: skip
"""What a log may say about a file, and does not have to: readers find statistics in the file too."""


def check(table: LoggedTable) -> None:
    """Raise LakeError unless a table can be in the catalog, with the columns that mqttpub writes."""
    namespace, location = _namespace(table), _location(table)
    if not _NAMESPACE.fullmatch(namespace):
        raise LakeError(
            "--format iceberg takes the name of the folder as the namespace of the tables, and "
            f"'{namespace}' is not of letters, digits and underscores"
        )
    with _catalog() as catalog:
        log = _loaded(catalog, f"{namespace}.{table.name}")
    if log is None:
        return
    if log.location() != location:
        raise LakeError(f"the catalog has a table {namespace}.{table.name} already, at {log.location()}")
    if table.runs:
        check_columns(table, log.schema().column_names, (field.name for field in log.spec().fields))


def follow(table: LoggedTable) -> None:
    """Commit what the log of a table does not say yet; raises CommitFailedException if another writer was quicker."""
    with _catalog() as catalog:
        _follow(catalog, table)


def _follow(catalog: Catalog, table: LoggedTable) -> None:
    identifier = f"{_namespace(table)}.{table.name}"
    log = _loaded(catalog, identifier)
    changed = change(table, 0 if log is None else int(log.properties.get(_SHOWN, 0)))
    if changed is None or (log is None and not changed.added):
        return
    if log is None:
        catalog.create_namespace_if_not_exists(_namespace(table))
        log = _created(catalog, identifier, table)
    location = _location(table)
    removed = list(_replaced(log, changed.replaces)) if changed.replaces else []
    if not changed.added and not removed:
        return
    with log.transaction() as changes:
        changes.set_properties({_SHOWN: str(changed.run.number)})
        producer = changes.update_snapshot(snapshot_properties={"mqttpub.run": changed.run.name})
        with producer.overwrite() if removed else producer.fast_append() as update:
            for each in changed.added:
                update.append_data_file(_added(log, table, f"{location}/{each.path}", each))
            for file in removed:
                update.delete_data_file(file)


def files(place: str, name: str) -> list[str]:
    """Return the files that the log of a table of a folder names, below the folder of the table or as URLs."""
    table = LoggedTable(name, f"{place}/{name}", pa.schema([]), ())
    with _catalog() as catalog:
        log = _loaded(catalog, f"{_namespace(table)}.{name}")
        tasks = list(log.scan().plan_files()) if log else []
    if any(task.delete_files for task in tasks):
        raise LakeError(f"the table {name} in {place} has delete files; rewriting its data files removes them")
    return [task.file.file_path.removeprefix(f"{_location(table)}/") for task in tasks]


def _replaced(log: Table, which: str) -> Iterator[DataFile]:
    """Yield the files that go."""
    at = [field.name for field in log.spec().fields].index(OPEN)
    for task in log.scan().plan_files():
        if which == "all" or task.file.partition[at]:
            yield task.file


def _catalog() -> Catalog:
    """Return the catalog, which reaches the storage as the tasks do; raises LakeError where none is named."""
    given = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
    try:
        return load_catalog(**{name: os.environ[each] for name, each in given.items() if each in os.environ})
    except ValueError as error:
        if "URI missing" not in str(error):
            raise
        raise LakeError(
            "--format iceberg needs a catalog: PYICEBERG_CATALOG__DEFAULT__URI names one, or ~/.pyiceberg.yaml"
        ) from None


def _created(catalog: Catalog, identifier: str, table: LoggedTable) -> Table:
    with catalog.create_table_transaction(identifier, table.schema, _location(table)) as begun:
        with begun.update_spec() as divided:
            for column in table.partition_by:
                divided.add_identity(column)
        names = begun.table_metadata.schema().name_mapping.model_dump_json()
        begun.set_properties({TableProperties.DEFAULT_NAME_MAPPING: names})
    return catalog.load_table(identifier)


def _loaded(catalog: Catalog, identifier: str) -> Table | None:
    try:
        return catalog.load_table(identifier)
    except NoSuchTableError:
        return None


def _added(log: Table, table: LoggedTable, path: str, file: LoggedFile) -> DataFile:
    kinds = [table.schema.field(name).type for name in table.partition_by]
    added = DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET, record_count=file.rows,
        file_size_in_bytes=file.size_bytes, partition=Record(*map(_value, file.values, kinds)),
        **dict.fromkeys(_METRICS),
    )  # fmt: skip
    added.spec_id = log.spec().spec_id
    return added


def _value(text: str | None, kind: pa.DataType) -> Any:
    """Return a value as a log holds it: dates in days, times in microseconds since 1970."""
    value = pa.scalar(text, pa.string()).cast(kind)
    if pa.types.is_date(kind):
        return value.cast(pa.int32()).as_py()
    return value.value if pa.types.is_timestamp(kind) else value.as_py()


def _namespace(table: LoggedTable) -> str:
    return os.path.basename(os.path.dirname(table.place))


def _location(table: LoggedTable) -> str:
    return table.place if is_url(table.place) else f"file://{table.place}"
