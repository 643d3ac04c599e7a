"""What a later run resumes from: a table with a row for each bucket of connections and each slot of clients.

The columns are `bucket` (int32: first the buckets, then their number + slot), `version` (int32: checkpoint.FORMAT) and
`state` (binary: what `checkpoint` writes). A bucket without a row has not had a connection yet. The file is an Arrow
IPC file with one batch for each row, compressed: states of connections are much alike.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from ..storage.files import reason
from ..storage.folder import StorageFolder
from . import checkpoint
from .checkpoint import StateError
from .job import BlobRow, Job
from .route import STATE

SCHEMA = pa.schema([("bucket", pa.int32()), ("version", pa.int32()), ("state", pa.binary())])


class StateFile:
    """Writes the states of some buckets to a file, which begins with the first of them."""

    def __init__(self, folder: StorageFolder, name: str) -> None:
        self._folder, self._name = folder, name
        self._file: Any = None
        self._table: Any = None

    def add(self, bucket: int, state: bytes) -> None:
        """Write the state of a bucket."""
        if self._table is None:
            self._file = self._folder.create(self._name)
            self._table = pa.ipc.new_file(self._file, SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd"))
        row = {"bucket": bucket, "version": checkpoint.FORMAT, "state": state}
        self._table.write_batch(pa.RecordBatch.from_pylist([row], SCHEMA))

    def close(self) -> str:
        """Finish the file and return its name; empty where there is none."""
        if self._table is None:
            return ""
        self._table.close()
        self._file.close()
        return self._name


def read(place: str) -> Iterator[tuple[int, bytes]]:
    """Yield buckets and their states, which are not looked at, from a path or URL; raises StateError."""
    try:
        with checkpoint.open_state(place) as file, pa.ipc.open_file(file) as table:
            if table.schema != SCHEMA:
                raise StateError("it is not a state of mqttpub")
            for number in range(table.num_record_batches):
                batch = table.get_batch(number)
                # Arrow itself trusts the places that a damaged file gives.
                batch.validate(full=True)
                for row in batch.to_pylist():
                    if None in row.values():
                        raise StateError("it is broken")
                    yield row["bucket"], row["state"]
    except (pa.ArrowException, MemoryError):  # pyarrow before 24 takes a damaged length for that of a block
        raise StateError(f"cannot resume from '{place}': it is not a state of mqttpub, or cut short") from None
    except StateError as bad:
        raise StateError(f"cannot resume from '{place}': {bad}") from None
    except OSError as error:
        raise StateError(f"cannot resume from '{place}': {reason(error)}") from None


def rows(job: Job, place: str) -> Iterator[BlobRow]:
    """Yield the rows for the buckets and slots of a run; raises StateError.

    A bucket that is divided passes its whole state on to each of its parts.
    """
    for bucket, state in read(place):
        if bucket < job.buckets_before:
            yield from (BlobRow(part, STATE, 0, state) for part in range(bucket, job.buckets, job.buckets_before))
        else:
            yield BlobRow(job.buckets + bucket - job.buckets_before, STATE, 0, state)


def check(places: Iterable[str]) -> None:
    """Raise StateError where the states in files are not as they were written."""
    known: set[int] = set()
    for place in places:
        for bucket, state in read(place):
            try:
                checkpoint.check(state)
            except StateError as bad:
                raise StateError(f"cannot resume from '{place}': {bad}") from None
            if bucket in known:
                raise StateError(f"cannot resume from '{place}': another file has the state of bucket {bucket} as well")
            known.add(bucket)
