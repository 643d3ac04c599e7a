"""The table `packets` in a file: Parquet, or an Arrow stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from .schema import PACKETS

Write = Callable[[pa.RecordBatch], Any]


@contextmanager
def arrow(out: BinaryIO) -> Iterator[Write]:
    """Give a function that adds a batch of `packets` to an Arrow stream."""
    with pa.ipc.new_stream(out, PACKETS) as stream:
        yield stream.write_batch


@contextmanager
def parquet(out: BinaryIO) -> Iterator[Write]:
    """Give a function that adds a batch of `packets` to a Parquet file."""
    from pyarrow.parquet import ParquetWriter

    with ParquetWriter(out, PACKETS, compression="zstd") as file:
        yield file.write_batch
