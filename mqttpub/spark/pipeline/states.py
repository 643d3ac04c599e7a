"""What a later run resumes from: a table with a row for each bucket of connections and each slot of clients.

The columns are `bucket` (int32: 0 to BUCKETS - 1, then BUCKETS + slot), `version` (int32: checkpoint.FORMAT) and
`state` (binary: what `checkpoint` writes). A bucket without a row has not had a connection yet.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from . import checkpoint
from .checkpoint import StateError

SCHEMA = pa.schema([("bucket", pa.int32()), ("version", pa.int32()), ("state", pa.binary())])


def write(path: Path, states: Mapping[int, bytes]) -> None:
    """Write the states of some buckets."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, SCHEMA) as out:
        for bucket, state in states.items():
            row = {"bucket": bucket, "version": checkpoint.FORMAT, "state": state}
            out.write_batch(pa.RecordBatch.from_pylist([row], SCHEMA))


def read(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield buckets and their states, which are not looked at; raises StateError."""
    try:
        if not path.is_file():
            raise StateError("it is not a file" if path.exists() else "there is no such file")
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as table:
            if table.schema != SCHEMA:
                raise StateError("it is not a state of mqttpub")
            for number in range(table.num_record_batches):
                for row in table.get_batch(number).to_pylist():
                    yield row["bucket"], row["state"]
    except pa.ArrowInvalid:
        raise StateError(f"cannot resume from '{path}': it is not a state of mqttpub, or cut short") from None
    except StateError as bad:
        raise StateError(f"cannot resume from '{path}': {bad}") from None


def check(path: Path) -> None:
    """Raise StateError for a file whose states are not as they were written."""
    for _, state in read(path):
        checkpoint.check_bytes(state, path)
