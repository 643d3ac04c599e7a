"""A growing folder of captures: rows that only the end releases, and broken states."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mqttpub.spark import register
from mqttpub.spark.formats.errors import CaptureError, OptionError
from tests.build.fleet import HEADER, capture, rotated
from tests.build.known_captures import Truth
from tests.spark.formats.test_capture_source import FILES, Rotation, Rows, expected, found, known, read

__all__ = ["known"]
pytestmark = pytest.mark.long


# what only the end releases


@pytest.fixture(scope="module")
def headless() -> list[bytes]:
    """Return rotated captures of connections whose beginnings are missing, so that it is long open what they are."""
    data = capture(4, clients=60, messages=2)
    at = HEADER
    for _ in range(200):
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    with TemporaryDirectory() as folder:
        return [path.read_bytes() for path in rotated(data[:HEADER] + data[at:], Path(folder), FILES)]


def batch_of(files: list[bytes], folder: Path) -> Rows:
    """Return the rows of captures that are read once."""
    folder.mkdir()
    for number, data in enumerate(files):
        (folder / f"{number:03}.pcap").write_bytes(data)
    return found(read(folder))


class Ended(Rotation):
    """The same with files of which only the end releases everything."""

    def __init__(self, files: list[bytes], folder: Path, **options: str) -> None:
        super().__init__(Truth(files, [], []), folder, **options)


def test_rows_that_wait_for_the_end_come_once_the_folder_is_idle(headless: list[bytes], tmp_path: Path) -> None:
    rotation = Ended(headless, tmp_path, idle="60", settle="5")
    for number in range(FILES):
        rotation.put(number, age=30)
    whole = batch_of(headless, tmp_path / "batch")
    assert rotation.batch() == FILES
    assert not rotation.rows - whole
    assert 0 < (whole - rotation.rows).total() < whole.total()
    rotation.put(FILES - 1, age=90)
    assert (rotation.batch(), rotation.offset) == (0, {"files": FILES, "begun": FILES})
    assert rotation.rows == whole
    before = rotation.offset
    assert (rotation.batch(), rotation.offset, rotation.rows) == (0, before, whole)
    assert list((tmp_path / "state").glob("*.state")) == []


@pytest.mark.parametrize("lost", [False, True])
def test_a_file_after_the_end_begins_a_new_capture(lost: bool, headless: list[bytes], tmp_path: Path) -> None:
    rotation = Ended(headless, tmp_path, idle="0")
    parts = headless[:2], headless[2:5], headless[5:]
    put = 0
    for number, part in enumerate(parts):
        rotation.given["idle"] = "1000"
        for _ in part:
            rotation.put(put)
            put += 1
            assert rotation.batch() == 1
            for path in (tmp_path / "state").glob("*.state") if lost else ():
                path.unlink()
        rotation.given["idle"] = "0"
        assert rotation.batch() == 0
        assert rotation.rows == sum(
            (batch_of(each, tmp_path / f"batch-{number}-{index}") for index, each in enumerate(parts[: number + 1])),
            Counter(),
        )


def test_a_limit_comes_before_the_end(headless: list[bytes], tmp_path: Path) -> None:
    rotation = Ended(headless, tmp_path, idle="0", max_files_per_trigger="4")
    for number in range(FILES):
        rotation.put(number)
    assert [rotation.batch() for _ in range(3)] == [4, FILES - 4, 0]
    assert rotation.rows == batch_of(headless, tmp_path / "batch")


def test_a_file_that_cannot_be_read_does_not_keep_the_end_away(headless: list[bytes], tmp_path: Path) -> None:
    rotation = Ended(headless, tmp_path, idle="0")
    rotation.put(0)
    (rotation.source / "gone").symlink_to("nowhere")
    (rotation.source / "zero").write_bytes(b"")
    rotation.batch()
    assert rotation.offset == {"files": 1, "begun": 1}


# a state that is broken


@pytest.mark.parametrize("fault", [b"", b"cos\nsystem\n(S'true'\ntR.", None])
def test_a_changed_state_is_reported(fault: bytes | None, known: Truth, tmp_path: Path) -> None:
    rotation = Rotation(known, tmp_path)
    for number in range(FILES):
        rotation.put(number)
        if number == 2:
            path = next((tmp_path / "state").glob("*.state"))
            path.write_bytes(path.read_bytes()[:-1] if fault is None else fault)
            with pytest.raises(CaptureError, match=f"^cannot resume from '{path}': .*; remove this file to read"):
                rotation.batch()
            path.unlink()
        rotation.batch()
    assert rotation.rows == expected(known)


@pytest.mark.parametrize("name", ["files.jsonl", "partitions"])
@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]"])
def test_a_broken_list_of_files_is_reported(name: str, content: bytes, known: Truth, tmp_path: Path) -> None:
    rotation = Rotation(known, tmp_path)
    rotation.put(0)
    rotation.batch()
    (tmp_path / "state" / name).write_bytes(content)
    rotation.put(1)
    with pytest.raises(CaptureError, match=f"'{tmp_path}/state/{name}' is broken"):
        rotation.batch()


def test_an_idle_folder_in_spark_equals_the_batch(spark: Any, headless: list[bytes], tmp_path: Path) -> None:
    register(spark)
    rotation = Ended(headless, tmp_path, idle="0")
    for number in range(FILES):
        rotation.put(number)
    for _ in range(2):
        stream = spark.readStream.format("mqtt_capture").options(**rotation.given).load()
        stream.writeStream.format("parquet").trigger(availableNow=True).options(
            path=str(tmp_path / "out"), checkpointLocation=str(tmp_path / "checkpoint")
        ).start().awaitTermination()
    rows = found(spark.read.parquet(str(tmp_path / "out")).toArrow().to_batches())
    assert rows == found(spark.read.format("mqtt_capture").load(str(rotation.source)).toArrow().to_batches())


def test_idle_is_a_time(known: Truth, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="option 'idle' is a number of seconds, not 'soon'"):
        Rotation(known, tmp_path, idle="soon").batch()
