"""Captures in an object store, as a batch and as a stream, whose state may be in the store as well."""

from pathlib import Path
from typing import Any

import pytest

from mqttpub.columns.schema import PACKETS
from mqttpub.spark.formats.capture_stream import FolderReader
from mqttpub.spark.formats.errors import CaptureError, OptionError
from mqttpub.spark.formats.schema import spark_schema
from mqttpub.spark.pipeline import sources
from mqttpub.spark.storage.folder import StorageFolder
from tests.build.known_captures import Truth, truth
from tests.build.object_store import ObjectStore
from tests.spark.formats.test_capture_source import Rotation, expected, found, read

pytestmark = pytest.mark.slow
FILES = 4


@pytest.fixture(scope="module")
def known() -> Truth:
    return truth(4, connections=6, messages=20, files=FILES)


class StoredRotation(Rotation):
    """Puts the files of a capture into a bucket below `ring`; the state is below `state`."""

    def __init__(self, known: Truth, bucket: str, server: ObjectStore, **options: str) -> None:
        self.known, self.server, self.bucket = known, server, bucket
        self.given = {"path": f"{bucket}/ring", "state": f"{bucket}/state", "partitions": "2", "settle": "0"} | options
        self.offset = None
        self.rows = found([])

    def put(self, number: int, age: float = 0) -> None:
        """Put a file, as old as it is."""
        self.server.put(self.bucket[len("s3://") :], f"ring/{number:03}.pcap", self.known.files[number])


@pytest.mark.parametrize("options", [{"partitions": "2"}, {"alone": "true", "split_bytes": "4000", "partitions": "2"}])
def test_a_batch_of_urls_equals_one_of_files(
    options: dict[str, str], known: Truth, s3: str, s3_server: ObjectStore, tmp_path: Path
) -> None:
    rotation = StoredRotation(known, s3, s3_server)
    local = Rotation(known, tmp_path)
    for number in range(FILES):
        rotation.put(number)
        local.put(number)
    wanted = found(read(local.source, **options))
    assert found(read(f"{s3}/ring", **options)) == found(read(f"{s3}/ring/0*.pcap", **options)) == wanted
    names = {name for batch in read(f"{s3}/ring") for name in batch.column("capture").to_pylist()}
    assert names == {f"{s3}/ring/{number:03}.pcap" for number in range(FILES)}


def test_a_stream_of_urls_keeps_its_state_in_the_store(known: Truth, s3: str, s3_server: ObjectStore) -> None:
    rotation = StoredRotation(known, s3, s3_server)
    assert rotation.batch() == 0
    for number in range(FILES):
        rotation.put(number)
        if number == 2:
            # A task that Spark skipped left no state; it is made anew.
            StorageFolder(f"{s3}/state").remove(["000000002-0of2.state"])
        assert (rotation.batch(), rotation.batch()) == (1, 0)
    assert rotation.rows == expected(known)
    states = {name for name in StorageFolder(f"{s3}/state").files() if name.endswith(".state")}
    assert states == {f"{FILES:09}-{bucket}of2.state" for bucket in range(2)}


def test_a_file_in_a_store_may_have_to_settle(known: Truth, s3: str, s3_server: ObjectStore) -> None:
    rotation = StoredRotation(known, s3, s3_server, settle="60")
    rotation.put(0)
    rotation.put(1)
    assert rotation.batch() == 1


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"state": "/ring/state"}, OptionError, "option 'state': 's3://.*/ring/state' is in 's3://.*/ring', whose"),
        ({"path": "viewfs://ring/a"}, OptionError, "tasks cannot open 'viewfs://ring/a' themselves"),
        ({"state": "s3://key:secret@bucket/state"}, OptionError, "a URL of s3://bucket contains credentials"),
    ],
)
def test_errors_are_one_sentence(
    options: dict[str, str], error: type[Exception], sentence: str, known: Truth, s3: str, s3_server: ObjectStore
) -> None:
    rotation = StoredRotation(known, s3, s3_server)
    made = FolderReader(
        rotation.given | {name: s3 + value if value[0] == "/" else value for name, value in options.items()},
        spark_schema(PACKETS),
    )
    with pytest.raises(error, match=sentence):
        made.latestOffset(made.initialOffset(), made.getDefaultReadLimit())


def test_a_store_that_does_not_answer_is_no_empty_folder(
    known: Truth, s3: str, s3_server: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise OSError("When listing: AWS Error ACCESS_DENIED")

    rotation = StoredRotation(known, s3, s3_server)
    assert rotation.batch() == 0
    monkeypatch.setattr(sources, "find_files", refused)
    with pytest.raises(CaptureError, match=f"^cannot list '{s3}/ring': ACCESS_DENIED$"):
        rotation.batch()
