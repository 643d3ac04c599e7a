"""What a later run resumes from: a table with a row for each bucket of connections and each slot of clients.

The columns are `bucket` (int32: 0 to BUCKETS - 1, then BUCKETS + slot), `version` (int32: checkpoint.FORMAT) and
`state` (binary: what `checkpoint` writes). A bucket without a row has not had a connection yet. The file is an Arrow
IPC file with one batch for each row.
"""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from ..storage.files import reason
from ..storage.folder import StorageFolder
from . import checkpoint
from .checkpoint import StateError

SCHEMA = pa.schema([("bucket", pa.int32()), ("version", pa.int32()), ("state", pa.binary())])


def write(folder: StorageFolder, name: str, states: Mapping[int, bytes]) -> None:
    """Write the states of some buckets to a file."""
    with folder.create(name) as file, pa.ipc.new_file(file, SCHEMA) as out:
        for bucket, state in states.items():
            row = {"bucket": bucket, "version": checkpoint.FORMAT, "state": state}
            out.write_batch(pa.RecordBatch.from_pylist([row], SCHEMA))


def read(place: str) -> Iterator[tuple[int, bytes]]:
    """Yield buckets and their states, which are not looked at, from a path or URL; raises StateError."""
    try:
        with checkpoint.open_state(place) as file, pa.ipc.open_file(file) as table:
            if table.schema != SCHEMA:
                raise StateError("it is not a state of mqttpub")
            for number in range(table.num_record_batches):
                for row in table.get_batch(number).to_pylist():
                    yield row["bucket"], row["state"]
    except pa.ArrowInvalid:
        raise StateError(f"cannot resume from '{place}': it is not a state of mqttpub, or cut short") from None
    except StateError as bad:
        raise StateError(f"cannot resume from '{place}': {bad}") from None
    except OSError as error:
        raise StateError(f"cannot resume from '{place}': {reason(error)}") from None


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
