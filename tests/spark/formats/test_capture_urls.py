"""Captures in an object store, as a batch and while they grow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqttpub.spark import stream
from mqttpub.spark.follow import follow
from mqttpub.spark.pipeline import sources
from mqttpub.spark.pipeline.run import PipelineRequest
from mqttpub.spark.pipeline.sources import NoSource
from tests.build.known_captures import Truth, truth
from tests.build.object_store import ObjectStore
from tests.spark.formats.test_capture_source import found, read
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables

pytestmark = pytest.mark.slow
FILES = 4


@pytest.fixture(scope="module")
def known() -> Truth:
    return truth(4, connections=6, messages=20, files=FILES)


@pytest.mark.parametrize("options", [{"partitions": "2"}, {"alone": "true", "split_bytes": "4000", "partitions": "2"}])
def test_a_batch_of_urls_equals_one_of_files(
    options: dict[str, str], known: Truth, s3: str, s3_server: ObjectStore, tmp_path: Path
) -> None:
    for number, data in enumerate(known.files):
        s3_server.put(s3.removeprefix("s3://"), f"ring/{number:03}.pcap", data)
        (tmp_path / f"{number:03}.pcap").write_bytes(data)
    wanted = found(read(tmp_path, **options))
    assert found(read(f"{s3}/ring", **options)) == found(read(f"{s3}/ring/0*.pcap", **options)) == wanted
    names = {name for batch in read(f"{s3}/ring") for name in batch.column("capture").to_pylist()}
    assert names == {f"{s3}/ring/{number:03}.pcap" for number in range(FILES)}


@pytest.mark.usefixtures("alone")
def test_growing_captures_may_be_in_a_store(known: Truth, s3: str, s3_server: ObjectStore, tmp_path: Path) -> None:
    bucket = s3.removeprefix("s3://")

    def steps() -> Iterator[None]:
        for number, data in enumerate(known.files):
            for size in (len(data) // 2, len(data)):
                s3_server.put(bucket, f"ring/{number:03}.pcap", data[:size])
                yield

    done = steps()
    request = PipelineRequest((f"{s3}/ring",), tmp_path / "out", on_spark=False)
    follow(request, lambda wait_s: next(done, 0) == 0, every_s=0)
    piped(f"{s3}/ring", out=tmp_path / "once")
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


def test_a_store_that_does_not_answer_is_no_empty_folder(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise OSError("When listing: AWS Error ACCESS_DENIED")

    monkeypatch.setattr(sources, "find_files", refused)
    with pytest.raises(NoSource, match=f"^cannot list '{s3}/ring': ACCESS_DENIED$"):
        stream(f"{s3}/ring", out=tmp_path / "out").await_termination()
