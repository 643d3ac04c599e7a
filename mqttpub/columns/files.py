"""Tables in files: Parquet, or an Arrow stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from .schema import PACKETS, TIME, coded, plain

ROWS = 131_072
"""Rows of a row group, at most."""
SOUGHT = ("time", "begin", "frame", "type", "client_id", "connection")
"""Columns with statistics, by which readers skip parts of a file."""
_COUNTS = (pa.int32(), pa.int64(), TIME)
"""Types of columns whose values often differ little from the one before."""
Write = Callable[[pa.RecordBatch], Any]


@contextmanager
def arrow(out: BinaryIO) -> Iterator[Write]:
    """Yield a function that appends a batch of `packets` to an Arrow stream."""
    with pa.ipc.new_stream(out, PACKETS) as stream:
        yield lambda batch: stream.write_batch(plain(batch))


@contextmanager
def parquet(out: BinaryIO) -> Iterator[Write]:
    """Yield a function that appends a batch of `packets` to a Parquet file."""
    file = Parquet(out, PACKETS)
    try:
        yield lambda batch: file.write(pa.table(batch))
    finally:
        file.close()


class Parquet:
    """A Parquet file of one table; each write is a row group."""

    def __init__(self, where: Path | BinaryIO, schema: pa.Schema) -> None:
        from pyarrow.parquet import ParquetWriter

        by_dictionary = [path for field in schema for path in _by_dictionary(field)]
        # The Arrow schema is not stored, so that readers see texts rather than dictionaries.
        self._writer = ParquetWriter(
            where, coded(schema), compression="zstd", use_dictionary=by_dictionary, store_schema=False,
            column_encoding={field.name: "DELTA_BINARY_PACKED" for field in schema if field.type in _COUNTS},
            write_statistics=[name for name in SOUGHT if name in schema.names], write_batch_size=ROWS,
        )  # fmt: skip
        self._writer.add_key_value_metadata(schema.metadata or {})
        self.close = self._writer.close

    def write(self, table: pa.Table) -> None:
        """Add rows, with dictionaries or texts."""
        for index, field in enumerate(coded(table.schema)):
            if field.type != table.schema.field(index).type:
                table = table.set_column(index, field, table[index].dictionary_encode())
        # A column whose dictionary changes within a row group would be written without one.
        self._writer.write_table(table.unify_dictionaries())


def _by_dictionary(field: pa.Field) -> Iterator[str]:
    """Yield the paths of texts, and of the members of lists."""
    if pa.types.is_list(field.type):
        member = field.type.value_type
        inner = [f".{each.name}" for each in member] if pa.types.is_struct(member) else [""]
        yield from (f"{field.name}.list.element{each}" for each in inner)
    elif pa.types.is_string(field.type):
        yield field.name
