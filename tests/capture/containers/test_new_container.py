"""A new container format is one file in `capture/containers`: every reader then knows it."""

import gzip
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mqttpub.capture import containers
from mqttpub.capture.containers import registry
from mqttpub.cli.main import main
from mqttpub.columns.read import read
from mqttpub.spark.formats.capture_reader import CaptureDecoder
from mqttpub.spark.pipeline.sources import expand
from tests.paths import QOS2

MODULE = '''
"""Frames of Ethernet, each after a length and a time."""

from struct import Struct

from mqttpub.capture.containers.container import Container
from mqttpub.capture.types import BadCapture, CaptureRecord

HEAD = Struct("<qI")


def begins(first):
    return first.startswith(b"TOY CAPTURE\\n")


def records(buffer, secrets):
    buffer.need(12)
    buffer.at += 12
    number = 0
    while buffer.need(HEAD.size):
        time, size = HEAD.unpack_from(buffer.data, buffer.at)
        if not buffer.need(HEAD.size + size):
            raise BadCapture("the file ends within a frame", buffer.offset)
        start = buffer.at + HEAD.size
        number += 1
        buffer.at = start + size
        yield CaptureRecord(number, None if time < 0 else time, 1, buffer.data[start : buffer.at], size)


CONTAINER = Container("toy", (".toy",), begins, records)
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a capture of the format that one more file in the folder of containers describes."""
    folder = tmp_path / "containers"
    folder.mkdir()
    (folder / "toy.py").write_text(MODULE)
    monkeypatch.setattr(containers, "__path__", [*containers.__path__, str(folder)])
    registry.containers.cache_clear()
    with QOS2.open("rb") as file:
        frames = [
            (struct.pack("<qI", each.time_ns or 0, len(each.data)) + each.data) for each in registry.records(file)
        ]
    path = tmp_path / "qos2.toy"
    path.write_bytes(b"TOY CAPTURE\n" + b"".join(frames))
    yield path
    registry.containers.cache_clear()
    sys.modules.pop(f"{containers.__name__}.toy", None)


def rows(path: Path, target: Path) -> list[dict[str, object]]:
    """Return the rows that `decode --parquet` writes, without the name of the capture."""
    assert main(["decode", str(path), "--parquet", str(target)]) == 0
    found: list[dict[str, object]] = pq.read_table(target).drop_columns("capture").to_pylist()
    return found


def test_decode_shows_the_packets_of_a_new_container(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for path in (QOS2, toy):
        assert main(["decode", str(path), "--summary", "--json"]) == 0
        printed.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    assert printed[0] == printed[1]


@pytest.mark.parametrize("packed", [False, True])
def test_the_columns_read_a_new_container_as_the_scalar_reader_does(toy: Path, packed: bool, tmp_path: Path) -> None:
    path = toy
    if packed:
        path = tmp_path / "qos2.toy.gz"
        path.write_bytes(gzip.compress(toy.read_bytes()))
    assert rows(path, tmp_path / "toy.parquet") == rows(QOS2, tmp_path / "pcapng.parquet")


def test_small_blocks_of_a_new_container_give_the_same_packets(toy: Path) -> None:
    assert sum(map(len, read([toy], block=512))) == sum(map(len, read([QOS2]))) == 54


def test_spark_reads_a_new_container(toy: Path) -> None:
    (source,) = expand([str(toy)])
    assert (source.capture, source.problem) == (True, "")
    decoder = CaptureDecoder(0, 1, (), skip_broken=False)
    assert sum(batch.num_rows for batch in (*decoder.rows(source), *decoder.rest())) == 54


def test_damage_in_a_new_container_is_reported_after_the_packets_before_it(
    toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.write_bytes(toy.read_bytes()[:-3])
    assert main(["decode", str(toy), "--parquet", str(tmp_path / "toy.parquet")]) == 2
    assert "the file ends within a frame" in capsys.readouterr().err
    assert pq.read_table(tmp_path / "toy.parquet").num_rows > 40


def test_a_missing_file_with_the_suffix_of_a_new_container_is_named(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", "missing.toy"]) == 2
    assert "cannot read 'missing.toy': No such file or directory" in capsys.readouterr().err
