"""A table in the format of Apache Iceberg, in the catalog that pyiceberg's own configuration names.

Its namespace is the name of the folder of tables. The metadata, below the folder of the table, says which files a table
has, and the catalog says which metadata is the newest.
"""

import os
import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table, TableProperties
from pyiceberg.typedef import Record

from ..storage.files import is_url, reason
from .content import LakeError, LoggedFile, LoggedTable

_NAMESPACE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_METRICS = (
    "column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds",
    "key_metadata", "split_offsets", "equality_ids", "sort_order_id",
)  # fmt: skip
"""What a log may say about a file, and does not have to: readers find statistics in the file too."""


def check(place: str, tables: Iterable[str]) -> None:
    """Raise LakeError unless these tables of a folder can be in the catalog."""
    namespace = _namespace(place)
    if not _NAMESPACE.fullmatch(namespace):
        raise LakeError(
            "--format iceberg takes the name of the folder as the namespace of the tables, and "
            f"'{namespace}' is not of letters, digits and underscores"
        )
    try:
        catalog = _catalog()
        for name in tables:
            if (found := _loaded(catalog, f"{namespace}.{name}")) and found.location() != _location(place, name):
                raise LakeError(f"the catalog has a table {namespace}.{name} already, at {found.location()}")
    except LakeError:
        raise
    except Exception as error:
        if "URI missing" in str(error):
            raise LakeError(
                "--format iceberg needs a catalog: PYICEBERG_CATALOG__DEFAULT__URI names one, or ~/.pyiceberg.yaml"
            ) from None
        # Each catalog has exceptions of its own.
        raise LakeError(f"--format iceberg needs a catalog that pyiceberg can open: {reason(error)}") from None


def follow(table: LoggedTable) -> None:
    """Commit which files a table has now and had not before, and the other way round."""
    place, _, name = table.place.rpartition("/")
    identifier = f"{_namespace(place)}.{name}"
    catalog = _catalog()
    log = _loaded(catalog, identifier)
    if log is None:
        if not table.files:
            return
        catalog.create_namespace_if_not_exists(_namespace(place))
        log = _created(catalog, identifier, table)
    location = _location(place, name)
    known = {task.file.file_path: task.file for task in log.scan().plan_files()}
    wanted = {f"{location}/{each.path}": each for each in table.files}
    added = [_added(log, table, path, each) for path, each in wanted.items() if path not in known]
    removed = [each for path, each in known.items() if path not in wanted]
    if not added and not removed:
        return
    with log.transaction() as changes:
        about = {"mqttpub.run": table.run}
        producer = changes.update_snapshot(snapshot_properties=about)
        with producer.overwrite() if removed else producer.fast_append() as update:
            for each in added:
                update.append_data_file(each)
            for each in removed:
                update.delete_data_file(each)


def _catalog() -> Catalog:
    """Return the catalog, which reaches the storage as the tasks do."""
    given = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
    return load_catalog(**{name: os.environ[each] for name, each in given.items() if each in os.environ})


def _created(catalog: Catalog, identifier: str, table: LoggedTable) -> Table:
    place, _, name = table.place.rpartition("/")
    with catalog.create_table_transaction(identifier, table.schema, _location(place, name)) as begun:
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


def _namespace(place: str) -> str:
    return os.path.basename(place.rstrip("/"))


def _location(place: str, name: str) -> str:
    return f"{place if is_url(place) else f'file://{os.path.abspath(place)}'}/{name}"
