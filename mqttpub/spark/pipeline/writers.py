"""Tables as files, written by the task that has the rows, in several formats, and partitioned by columns.

The task writes them itself because Spark's own writer would first move all rows through the JVM.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.files import ROWS, Parquet
from ...columns.schema import coded, plain
from ..lake.logs import LOGGED
from ..storage.files import open_file
from ..storage.folder import StorageFolder
from .job import TableFile
from .manifest import OutputRefused

MOST_OPEN = 64
"""Open files of one table, at most; beyond, the least recently used is closed, and later rows begin a new one."""
MOST_HELD = 32 << 20
"""Approximate bytes of rows that wait for one file, or to be divided among files; a number of rows
would bound nothing, as payloads can be long."""
MOST_HELD_BY_ALL = 128 << 20
"""Bytes of rows that wait for all files of one table."""
FEW = 8
"""Small files that a folder may have without being joined: a small run on one machine writes no more."""
LONGEST_NAME = 255
"""Bytes in the name of a folder, at most, on nearly all file systems."""


class DerivedColumn(NamedTuple):
    """A column to partition by that comes from the time in UTC."""

    length: int
    """How much of a time such as `2026-01-31T23:59:59` its values have."""
    type: pa.DataType


DERIVED = {"date": DerivedColumn(10, pa.date32()), "hour": DerivedColumn(13, pa.string())}
_SPECIAL = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")
"""Characters that Hive escapes; letters outside of ASCII stay unchanged."""
ORC_STRIPE = 8 << 20
"""Bytes that an ORC file buffers before it writes them; there can be many files."""
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""Stands for null in the name of a folder, as in Hive and Spark."""


class _File(Protocol):
    def write(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class _Csv:
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        import pyarrow.csv

        self._writer = pyarrow.csv.CSVWriter(out, pa.schema([(field.name, _flat(field.type)) for field in schema]))
        self.close = self._writer.close

    def write(self, table: pa.Table) -> None:
        table = plain(table)
        columns = [_flattened(column, field.type) for column, field in zip(table.columns, table.schema, strict=True)]
        self._writer.write_table(pa.table(columns, names=table.column_names))


class _RowsAsJson:
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        self._out = out

    def close(self) -> None:
        pass

    def write(self, table: pa.Table) -> None:
        for batch in plain(table).to_batches(max_chunksize=4096):
            self._out.write("".join(map(_line, batch.to_pylist())).encode())


class _Orc:
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        from pyarrow.orc import ORCWriter

        self._writer = ORCWriter(out, compression="zstd", stripe_size=ORC_STRIPE)
        # Without a write there would be no schema.
        self._writer.write(schema.empty_table())
        self.close = self._writer.close

    def write(self, table: pa.Table) -> None:
        self._writer.write(plain(table))


class FileFormat(NamedTuple):
    """How a format writes a file."""

    suffix: str
    begin: Callable[[Any, pa.Schema], _File]
    """Begins a file in a stream, for rows of a schema."""


FORMATS = {
    "parquet": FileFormat("parquet", Parquet),
    "orc": FileFormat("orc", _Orc),
    "csv": FileFormat("csv", _Csv),
    "json": FileFormat("json", _RowsAsJson),
    **dict.fromkeys(LOGGED, FileFormat("parquet", Parquet)),
}
"""Formats by name."""


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, default=_plain, separators=(",", ":")) + "\n"


def _plain(value: Any) -> str:
    """Return bytes in hex and times in ISO 8601, which JSON has no type for."""
    if isinstance(value, bytes):
        return value.hex()
    return str(value.isoformat()).replace("+00:00", "Z")


def _flat(kind: pa.DataType) -> pa.DataType:
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
    return kind if plain else pa.string()


def _flattened(column: pa.ChunkedArray, kind: pa.DataType) -> Any:
    """Return a column as CSV can hold it: bytes in hex, lists in JSON."""
    if _flat(kind) == kind or pa.types.is_string(kind):
        return column
    if pa.types.is_timestamp(kind):
        return pc.binary_join_element_wise(_iso(column), "Z", "")
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.string())
    texts = [None if value is None else _line(value).rstrip() for value in column.to_pylist()]
    return pa.array(texts, pa.string())


class TableWriter:
    """Writes the rows of one table, each to the folder of its values in the columns `partition_by`.

    `tag` must differ between writers, as the names of the files contain it.
    """

    def __init__(
        self, folder: StorageFolder, table: str, schema: pa.Schema, *, file_format: str, partition_by: Sequence[str],
        tag: str, open_rows: bool = False,
    ) -> None:  # fmt: skip
        self._folder = folder
        self._table = table
        self._partition_by = dividing(schema, partition_by)
        columns = [field for field in schema if field.name not in self._partition_by]
        self._schema = pa.schema(columns, metadata=schema.metadata)
        self._file_format = file_format
        self._tag = tag
        self._open_rows = open_rows
        self._undivided: list[pa.Table] = []
        """Rows that wait to be divided among folders; few large shares are quicker than many small ones."""
        self._undivided_bytes = 0
        self._files: OrderedDict[str, _Pending] = OrderedDict()
        self._parts: list[TableFile] = []
        self._count = 0
        self._held = 0
        """Bytes of rows that wait for all files."""

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add rows, which must have all columns of the schema."""
        if not batch.num_rows:
            return
        rows = pa.table(batch)
        if not self._partition_by:
            self._add("", rows)
            return
        self._undivided.append(rows)
        self._undivided_bytes += rows.nbytes
        if self._undivided_bytes > MOST_HELD:
            self._divide()

    def close(self) -> list[TableFile]:
        """Write the rows that wait and return all files."""
        self._divide()
        while self._files:
            self._end(next(iter(self._files)))
        return self._parts

    def _divide(self) -> None:
        """Hand the rows that wait to the files of their folders."""
        if not self._undivided:
            return
        rows = pa.concat_tables(self._undivided).unify_dictionaries()
        self._undivided, self._undivided_bytes = [], 0
        places = pc.binary_join_element_wise(*(_key(rows, name) for name in self._partition_by), "/")
        encoded = places.dictionary_encode()
        codes = encoded.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
        for number, place in enumerate(encoded.dictionary.to_pylist()):
            # A copy of these rows alone: a slice of all that are sorted would keep all in memory.
            self._add(place, rows.take(order[bounds[number] : bounds[number + 1]]))

    def _add(self, place: str, rows: pa.Table) -> None:
        """Add rows to the file of a folder."""
        pending = self._files.get(place) or self._begin(place)
        self._files.move_to_end(place)
        before = pending.held
        pending.add(rows.select(self._schema.names))
        self._held += pending.held - before
        if self._held > MOST_HELD_BY_ALL:
            largest = max(self._files.values(), key=lambda each: each.held)
            self._held -= largest.held
            largest.flush()

    def _begin(self, place: str) -> "_Pending":
        if len(self._files) >= MOST_OPEN:
            self._end(next(iter(self._files)))
        suffix, begin = FORMATS[self._file_format]
        name = f"{self._tag}-{self._count}.{suffix}"
        self._count += 1
        path = "/".join(each for each in (self._table, place, name) if each)
        out = self._folder.create(path)
        self._files[place] = pending = _Pending(path, out, begin(out, self._schema))
        return pending

    def _end(self, place: str) -> None:
        pending = self._files.pop(place)
        self._held -= pending.held
        size = pending.close()
        self._parts.append(TableFile(self._table, pending.path, pending.total, size, self._open_rows))


class _Pending:
    """An open file, and the rows that wait until they fill a row group."""

    def __init__(self, path: str, out: Any, file: _File) -> None:
        self.path = path
        self.total = 0
        self.held = 0
        """Bytes of rows that wait."""
        self._out = out
        self._file = file
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self._rows += rows.num_rows
        self.held += rows.nbytes
        self.total += rows.num_rows
        if self._rows >= ROWS or self.held > MOST_HELD:
            self.flush()

    def close(self) -> int:
        """Write the rows that wait, finish the file and return its size in bytes."""
        self.flush()
        self._file.close()
        size = int(self._out.tell())
        self._out.close()
        return size

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            self._file.write(pa.concat_tables(self._waiting))
        self._waiting, self._rows, self.held = [], 0, 0


def to_join(parts: Iterable[TableFile], target_bytes: int) -> list[list[TableFile]]:
    """Return the files that are to be one file each: small ones of the same folder, together about the target."""
    small: dict[tuple[str, bool], list[TableFile]] = {}
    for part in sorted(parts):
        if part.bytes * 2 <= target_bytes:
            small.setdefault((part.path.rpartition("/")[0], part.open), []).append(part)
    found: list[list[TableFile]] = []
    for each in small.values():
        if len(each) <= FEW:
            continue
        size = target_bytes
        for part in each:
            if size + part.bytes > target_bytes:
                found.append([])
                size = 0
            found[-1].append(part)
            size += part.bytes
    return [each for each in found if len(each) > 1]


def join(folder: StorageFolder, schema: pa.Schema, parts: Sequence[TableFile], tag: str) -> TableFile:
    """Write one Parquet file with the rows of several of the same folder and table, and return it."""
    from pyarrow.parquet import ParquetFile

    path = f"{parts[0].path.rpartition('/')[0]}/{tag}-0.parquet"
    schema = coded(pa.schema([field for field in schema if field.name not in partition_values(path)]))
    out = folder.create(path)
    pending = _Pending(path, out, Parquet(out, schema))
    for part in parts:
        with open_file(folder.place(part.path)) as file, ParquetFile(file) as read:
            for batch in read.iter_batches():
                pending.add(pa.table(batch).cast(schema))
    size = pending.close()
    return parts[0]._replace(path=path, rows=pending.total, bytes=size)


def dividing(schema: pa.Schema, partition_by: Sequence[str]) -> list[str]:
    """Return the columns that divide a table, of those that divide any."""
    return [name for name in partition_by if name in schema.names or name in DERIVED]


def names_folders(kind: pa.DataType) -> bool:
    """Return whether values of this type can be names of folders: numbers, texts and times can."""
    return not (pa.types.is_binary(kind) or pa.types.is_nested(kind))


def _key(table: pa.Table, name: str) -> pa.Array:
    """Return for each row the level of the folder's path that stands for one column."""
    if name in DERIVED and name not in table.column_names:
        column = pc.utf8_slice_codeunits(_iso(table[_time(table)]), 0, DERIVED[name].length)
    else:
        column = pc.cast(table[name], pa.string())
    encoded = column.combine_chunks().dictionary_encode()
    folders = [_folder(name, value) for value in encoded.dictionary.to_pylist()]
    values = pa.array(folders, pa.string())
    return pc.fill_null(values.take(encoded.indices), f"{name}={NOTHING}")


def _folder(name: str, value: str) -> str:
    """Return the name of the folder for a value; raises OutputRefused for a name that is too long."""
    folder = f"{name}={_escaped(value) or NOTHING}"
    if (size := len(folder.encode())) > LONGEST_NAME:
        raise OutputRefused(
            f"cannot partition by {name}: one of its values gives a folder name of {size:,} bytes, "
            f"and the maximum is {LONGEST_NAME}"
        )
    return folder


def partition_values(path: str) -> dict[str, str | None]:
    """Return the values in the names of the folders on the path of a file, by column."""
    levels = (level.partition("=") for level in path.split("/")[:-1] if "=" in level)
    return {name: None if value == NOTHING else unquote(value) for name, _, value in levels}


def _escaped(value: str) -> str:
    """Return a value as Spark writes and reads it in the name of a folder."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", value)


def _iso(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as `2026-01-31T23:59:59.123456`; all are in UTC, so no time zone database is needed."""
    return pc.replace_substring(pc.cast(pc.cast(times, pa.timestamp("us")), pa.string()), " ", "T")


def _time(table: pa.Table) -> str:
    """Return the name of the first column that holds times."""
    return str(next(field.name for field in table.schema if pa.types.is_timestamp(field.type)))
