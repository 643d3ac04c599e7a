"""Tables that follow growing captures hold what a single run over the finished captures writes."""

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mqttpub.spark import follow as following
from mqttpub.spark import stream
from mqttpub.spark.follow import follow
from mqttpub.spark.pipeline import sources
from mqttpub.spark.pipeline.manifest import KnownSources, Manifest, OutputRefused
from mqttpub.spark.pipeline.run import PipelineRequest, PipelineResult, run
from tests.build.fleet import HEADER, capture, rotated
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables

pytestmark = pytest.mark.usefixtures("alone")
Steps = Iterator[None]


def followed(steps: Steps, *given: Path, out: Path, **options: Any) -> list[PipelineResult]:
    """Do one step between each two looks at the sources, and return what was read."""
    found: list[PipelineResult] = []

    def ended(wait_s: float) -> bool:
        return next(steps, 0) == 0

    request = PipelineRequest(tuple(map(str, given)), out, on_spark=False, **options)
    follow(request, ended, every_s=0, on_run=found.append)
    return found


def assert_whole(out: Path, data: bytes, folder: Path) -> None:
    """Check the tables against those of the whole capture."""
    folder.mkdir(exist_ok=True)
    (folder / "whole.pcap").write_bytes(data)
    piped(folder / "whole.pcap", out=folder / "out")
    assert counted(out) == counted(folder / "out")


def counted(out: Path) -> dict[str, list[str]]:
    """Return the rows of tables without the names of files and the numbers of records in them."""
    places = ("capture", "frame", "first_frame", "last_frame")
    return {
        name: sorted(repr({key: value for key, value in row.items() if key not in places}) for row in rows)
        for name, rows in tables(out).items()
    }


def appended(path: Path, data: bytes, random: Random) -> Steps:
    """Append to a file, in pieces that end anywhere."""
    cuts = sorted(random.sample(range(len(data)), 3))
    for start, stop in zip((0, *cuts), (*cuts, len(data)), strict=True):
        with path.open("ab") as file:
            file.write(data[start:stop])
        yield


@pytest.fixture(scope="module")
def data() -> bytes:
    return capture(3, clients=5, messages=60)


def test_what_is_appended_is_read_and_the_manifest_does_not_grow_with_it(data: bytes, tmp_path: Path) -> None:
    path, out = tmp_path / "growing.pcap", tmp_path / "out"
    path.touch()

    def steps() -> Steps:
        yield from appended(path, data, Random(1))
        # Nothing new.
        yield

    found = followed(steps(), tmp_path / "growing.pcap", out=out)
    assert len(found) == 4
    assert len(KnownSources.in_folder(out)) == 1
    piped(path, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


def test_a_ring_that_renames_removes_and_compresses_its_files_is_read_once(data: bytes, tmp_path: Path) -> None:
    ring, out = tmp_path / "ring", tmp_path / "out"
    files = [path.read_bytes() for path in rotated(data, tmp_path / "files", 5)]
    ring.mkdir()

    def steps() -> Steps:
        for number, file in enumerate(files):
            yield from appended(ring / "now.pcap", file[: len(file) // 9] if number == 2 else file, Random(number))
            if number == 2:
                # The end of this file was not seen before it was compressed, and at first it is so in part only.
                packed = gzip.compress(file)
                (ring / "now.pcap").unlink()
                (ring / "2.pcap.gz").write_bytes(packed[: len(packed) // 2])
                yield
                (ring / "2.pcap.gz").write_bytes(packed)
            else:
                (ring / "now.pcap").rename(ring / f"{number}.pcap")
            if number > 2:
                (ring / f"{number - 3}.pcap").unlink()
            yield

    followed(steps(), ring, out=out)
    assert_whole(out, data, tmp_path / "whole")


def test_a_name_that_is_used_again_is_another_file(data: bytes, tmp_path: Path) -> None:
    ring, out = tmp_path / "ring", tmp_path / "out"
    files = [path.read_bytes() for path in rotated(data, tmp_path / "files", 5)]
    ring.mkdir()

    def steps() -> Steps:
        for number, file in enumerate(files):
            place = ring / f"{number % 2}.pcap"
            place.write_bytes(b"")
            yield
            place.write_bytes(file[:HEADER])
            yield
            place.write_bytes(file)
            yield

    followed(steps(), ring, out=out)
    assert_whole(out, data, tmp_path / "whole")


def test_a_file_that_vanishes_while_it_is_to_be_read_is_left_out(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring, out = tmp_path / "ring", tmp_path / "out"
    first, second = (path.read_bytes() for path in rotated(data, tmp_path / "files", 2))
    ring.mkdir()
    (ring / "0.pcap").write_bytes(first)
    find = sources.SourceList.find

    def found(made: sources.SourceList, *given: Any) -> list[sources.Source]:
        there = find(made, *given)
        (ring / "gone.pcap").unlink(missing_ok=True)
        return there

    def steps() -> Steps:
        yield
        (ring / "gone.pcap").write_bytes(capture(9, clients=1, messages=1))
        monkeypatch.setattr(sources.SourceList, "find", found)
        yield
        (ring / "1.pcap").write_bytes(second)
        yield

    followed(steps(), ring, out=out)
    assert_whole(out, data, tmp_path / "whole")


def test_only_what_no_later_run_mended_is_a_problem_in_the_end(data: bytes, tmp_path: Path) -> None:
    ring = tmp_path / "ring"
    first, second = (path.read_bytes() for path in rotated(data, tmp_path / "files", 2))
    ring.mkdir()
    packed, results = gzip.compress(first), list[PipelineResult]()

    def steps() -> Steps:
        (ring / "0.pcap.gz").write_bytes(packed[:20])
        (ring / "not yet").write_bytes(second[:3])
        yield
        (ring / "0.pcap.gz").write_bytes(packed)
        (ring / "not yet").write_bytes(second[: HEADER + 9])
        (ring / "broken.pcap").write_bytes(second[:HEADER] + b"\xff" * 99)
        yield

    request = PipelineRequest((str(ring),), tmp_path / "out", on_spark=False)
    step = steps()
    result = follow(request, lambda wait_s: next(step, 0) == 0, every_s=0, on_run=results.append)
    assert [Path(name).name for each in results for name, _ in each.problems] == ["broken.pcap"]
    assert (result.read, [Path(name).name for name, _ in result.problems]) == (3, ["broken.pcap"])
    piped(*ring.iterdir(), out=tmp_path / "once")
    assert result.rows == Manifest.in_folder(tmp_path / "once").rows()
    cut = {Path(each.name).name for each in KnownSources.in_folder(tmp_path / "out") if each.cut}
    assert cut == {"0.pcap.gz", "not yet"}


def test_a_file_that_another_one_replaces_while_it_is_read_is_read_again(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring, out = tmp_path / "ring", tmp_path / "out"
    first, second = (path.read_bytes() for path in rotated(data, tmp_path / "files", 2))
    ring.mkdir()
    now = ring / "now.pcap"
    real = run

    def renamed(*given: Any, **more: Any) -> PipelineResult:
        # After the files were found, and before they are opened.
        now.rename(ring / "0.pcap")
        now.write_bytes(second)
        monkeypatch.setattr(following, "run", real)
        return real(*given, **more)

    def steps() -> Steps:
        now.write_bytes(first[: len(first) // 3])
        yield
        with now.open("ab") as file:
            file.write(first[len(first) // 3 :])
        monkeypatch.setattr(following, "run", renamed)
        yield
        yield

    followed(steps(), ring, out=out)
    assert_whole(out, data, tmp_path / "whole")


def test_only_files_that_changed_are_opened(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = rotated(data, tmp_path / "ring", 5)
    opened: list[str] = []
    examine = sources.examine

    def counted(name: str, path: str) -> sources.Source:
        opened.append(Path(path).name)
        return examine(name, path)

    monkeypatch.setattr(sources, "examine", counted)
    ring = sources.SourceList([str(tmp_path / "ring")])
    before = ring.find()
    assert (sorted(opened), ring.find()) == ([path.name for path in files], before)
    opened.clear()
    files[3].write_bytes(files[3].read_bytes() + b"more")
    assert ring.find() != before
    assert opened == [files[3].name]


def test_a_stream_runs_until_it_is_stopped_and_says_why_it_ended(data: bytes, tmp_path: Path) -> None:
    ran = threading.Event()
    (tmp_path / "a.pcap").write_bytes(data)
    out = tmp_path / "out"
    with stream(str(tmp_path / "*.pcap"), out=out, every_s=0.05, on_run=lambda result: ran.set(), lint=True) as running:
        assert ran.wait(60)
        assert not running.await_termination(0)
    assert running.await_termination()
    assert running.result is not None
    assert running.result.read == 1
    piped(tmp_path / "a.pcap", out=tmp_path / "once", lint=True)
    assert tables(out) == tables(tmp_path / "once")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(OutputRefused, match="holds files that are not tables of mqttpub"):
        stream(str(tmp_path / "a.pcap"), out=tmp_path / "taken").await_termination()
