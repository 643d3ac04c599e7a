"""The states of buckets in a table, as others can read it."""

import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from mqttpub.columns.exchanges.pair import Pairing
from mqttpub.spark.pipeline import checkpoint, states
from mqttpub.spark.pipeline.checkpoint import StateError
from mqttpub.spark.pipeline.states import StateFile
from mqttpub.spark.storage.folder import StorageFolder
from tests.build.object_store import ObjectStore

SAVED = {7: checkpoint.dumps(Pairing()), 300: checkpoint.dumps("x" * 1_000)}


def write(folder: Path | str) -> None:
    """Write the states of two buckets."""
    file = StateFile(StorageFolder(folder), "_state/one")
    for bucket, state in SAVED.items():
        file.add(bucket, state)
    assert file.close() == "_state/one"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path / "_state" / "one"


def test_a_state_is_a_row_of_a_table(path: Path) -> None:
    with pa.ipc.open_file(path) as table:
        rows = table.read_all().to_pylist()
    assert rows == [
        {"bucket": bucket, "version": checkpoint.FORMAT, "state": state} for bucket, state in SAVED.items()
    ]  # fmt: skip
    assert dict(states.read(str(path))) == SAVED
    states.check([str(path)])


@pytest.mark.slow
def test_states_in_a_store(s3: str, s3_server: ObjectStore) -> None:
    write(s3)
    states.check([f"{s3}/_state/one"])
    assert dict(states.read(f"{s3}/_state/one")) == SAVED
    with pytest.raises(StateError, match=f"^cannot resume from '{s3}/_state/two': "):
        states.check([f"{s3}/_state/two"])


def test_a_damaged_table_gives_one_sentence_with_its_name(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    changed = pa.BufferOutputStream()
    with pa.ipc.new_file(changed, states.SCHEMA) as table:
        state = SAVED[300][:-900] + b"y" + SAVED[300][-899:]
        rows = [{"bucket": 300, "version": checkpoint.FORMAT, "state": state}]
        table.write_batch(pa.RecordBatch.from_pylist(rows, states.SCHEMA))
    other = pa.BufferOutputStream()
    with pa.ipc.new_file(other, pa.schema([("x", pa.int32())])):
        pass
    for content, reason in (
        (b"", "it is not a state of mqttpub, or cut short"),
        (data[:-1], "it is not a state of mqttpub, or cut short"),
        (data[: len(data) // 2], "it is not a state of mqttpub, or cut short"),
        (other.getvalue().to_pybytes(), "it is not a state of mqttpub"),
        (changed.getvalue().to_pybytes(), "it was changed after it was written"),
    ):
        path.write_bytes(content)
        with pytest.raises(StateError, match=f"^cannot resume from '{path}': {reason}$"):
            states.check([str(path)])
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
        # Some bytes are padding; of the others, each makes one sentence.
        with suppress(StateError):
            states.check([str(path)])
    path.unlink()
    with pytest.raises(StateError, match="there is no such file"):
        states.check([str(path)])
    os.mkfifo(path)
    with pytest.raises(StateError, match="it is not a file"):
        states.check([str(path)])


def test_a_task_without_buckets_has_no_file(tmp_path: Path) -> None:
    assert StateFile(StorageFolder(tmp_path), "_state/one").close() == ""
    assert list(tmp_path.iterdir()) == []


def test_no_bucket_has_two_states(path: Path) -> None:
    with pytest.raises(StateError, match="another file has the state of bucket 7 as well"):
        states.check([str(path), str(path)])
