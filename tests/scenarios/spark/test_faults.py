"""Good rows are in the tables exactly once, errors are reported, and nothing is lost, whatever happens to files."""

import errno
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.columns.reassemble.state import State
from mqttpub.spark.pipeline import flow, route, task
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.checkpoint import dumps
from mqttpub.spark.pipeline.engine import Failed, local
from mqttpub.spark.pipeline.engine.local import LocalEngine
from mqttpub.spark.pipeline.job import Job, SourceResult, TableFile, TaskResult, Unit
from mqttpub.spark.pipeline.manifest import MANIFEST, KnownSources, Manifest, OutputRefused
from mqttpub.spark.pipeline.route import result_row
from mqttpub.spark.pipeline.row_filter import RowFilter
from mqttpub.spark.pipeline.sources import Source, expand
from mqttpub.spark.pipeline.states import StateFile
from mqttpub.spark.pipeline.writers import TableWriter
from mqttpub.spark.storage.files import open_file
from mqttpub.spark.storage.folder import StorageFolder
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Direction, Version
from tests.build.fleet import HEADER, capture, rotated
from tests.build.frames import SentSegment, pcap_of
from tests.paths import ROOT
from tests.spark.running import WITHOUT_SPARK, alone, piped, tables

__all__ = ["alone"]
pytestmark = pytest.mark.usefixtures("alone")
NOISE = bytes(100)
TEXT = "30 05 00 01 61 68 69\n"


@pytest.fixture(scope="module")
def data() -> bytes:
    """Return a capture that is longer than what a file is known by."""
    made = capture(3, clients=5, messages=250)
    assert len(made) > 2 * 65_536
    return made


@pytest.fixture
def ring(tmp_path: Path) -> list[Path]:
    return rotated(capture(1, clients=3, messages=10), tmp_path / "ring", 3)


def problems(out: Path) -> dict[str, str]:
    """Return what the manifest says is wrong, by names."""
    return {each.name: each.problem for each in KnownSources.in_folder(out) if each.problem}


def all_files(folder: Path) -> dict[str, str]:
    """Return everything in a folder."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


# names


@pytest.mark.parametrize("form", ["parquet", *(pytest.param(each, marks=pytest.mark.long) for each in ("csv", "json"))])
def test_a_name_may_be_any_bytes(form: str, ring: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()

    def named(name: bytes) -> Path:
        return folder / os.fsdecode(name)

    for path, name in zip(ring, (b"100 % of it.pcap", b"*[x]?\n'\".pcap", b"caf\xff\xe9.pcap"), strict=True):
        shutil.copy(path, named(name))
    for name in (b"bad\x1b[2J\n", b"\xff\xfe"):
        named(name).write_bytes(NOISE)
    result = piped(folder, out=tmp_path / "out", file_format=form)
    bad = {f"{folder}/bad\x1b[2J\n", f"{folder}/\\xff\\xfe"}
    assert dict(result.problems).keys() == bad == problems(tmp_path / "out").keys()
    json.dumps(result.record()).encode()
    if form == "parquet":
        piped(*ring, out=tmp_path / "plain")
        found, plain = (tables(tmp_path / each)["packets"] for each in ("out", "plain"))
        assert {Path(row["capture"]).name for row in found} == {
            "100 % of it.pcap", "*[x]?\n'\".pcap", "caf\\xff\\xe9.pcap",
        }  # fmt: skip
        assert len(found) == len(plain)


@pytest.mark.long
def test_a_file_with_several_names_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a.txt").write_text(TEXT)
    Path("in/link.txt").symlink_to(tmp_path / "in" / "a.txt")
    os.link("in/a.txt", "in/z.txt")
    Path("folder").symlink_to("in")
    Path("in/circle").symlink_to(tmp_path)
    given = [Path("in/a.txt"), Path("./in/../in/a.txt"), tmp_path / "in" / "a.txt", Path("in"), Path("folder")]
    result = piped(*given, out=Path("out"))
    assert (result.read, result.rows["packets"]) == (1, 1)


@pytest.mark.long
def test_a_folder_of_tables_among_the_captures_is_skipped(ring: list[Path]) -> None:
    folder = ring[0].parent
    piped(folder, out=folder / "out", mode="resume")
    before = tables(folder / "out")
    result = piped(folder, out=folder / "out", mode="resume")
    assert (result.read, result.known, result.problems) == (0, 3, [])
    piped(folder, out=folder / "more", mode="resume")
    assert tables(folder / "more") == before


# files that change


def test_a_smaller_file_whose_first_record_has_the_same_time_is_another_one(tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a.pcap", "b.pcap")]
    for name, sizes in zip(names, ([900, 9], [90]), strict=True):
        packets = [encode(Publish(topic="t", payload=bytes(size)), Version.V5) for size in sizes]
        name.write_bytes(pcap_of([SentSegment(0, Direction.CLIENT, packet) for packet in packets]))
        result = piped(name, out=tmp_path / "out", mode="resume")
        assert (result.read, result.problems) == (1, [])
    assert piped(*names, out=tmp_path / "out", mode="resume").known == 2


def test_connections_that_are_forgotten_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "State", partial(State, max_flows=3))
    monkeypatch.setattr(pipeline, "buckets_for", lambda tasks: 1)
    packet = encode(Connect(client_id="c"), Version.V5)
    path = tmp_path / "many.pcap"
    for count, forgotten in ((3, 0), (10, 7)):
        path.write_bytes(pcap_of([SentSegment(number, Direction.CLIENT, packet) for number in range(count)]))
        result = piped(path, out=tmp_path / str(count))
        assert (result.rows["connections"], result.forgotten) == (count, forgotten)


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_what_is_appended_to_a_file_is_read_once(data: bytes, form: str, tmp_path: Path) -> None:
    path, whole = tmp_path / "growing", data
    if form == "pcapng":
        (tmp_path / "plain.pcap").write_bytes(data)
        subprocess.run(["editcap", "-F", "pcapng", tmp_path / "plain.pcap", path], check=True, timeout=60)
        whole = path.read_bytes()
    left = whole
    for size in (100_000, 100_003, 150_001, len(whole)):
        path.write_bytes(left[:size])
        piped(path, out=tmp_path / "out", mode="resume")
        # Nobody reads again what is damaged from now on; the beginning is looked at, to see which file it is.
        left = whole[:65_536] + b"\xff" * (size - 65_536 - 2_000) + whole[size - 2_000 :]
    path.write_bytes(whole)
    piped(path, out=tmp_path / "once")
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


@pytest.mark.long
def test_a_file_that_shrank_is_reported_and_no_row_is_repeated(data: bytes, tmp_path: Path) -> None:
    path, out = tmp_path / "a.pcap", tmp_path / "out"
    path.write_bytes(data[:-7])
    piped(path, out=out, mode="resume")
    before = tables(out)
    for size in (len(data) // 2, 65_536, 30_000, 1_000):
        path.write_bytes(data[:size])
        for mode in ("resume", "append"):
            result = piped(path, out=out, mode=mode)
            assert result.problems == [(str(path), "it has shrunk since it was read; its rows stay in the tables")]
            assert tables(out) == before
    # It came back, and went on.
    path.write_bytes(data)
    assert piped(path, out=out, mode="resume").problems == []
    piped(path, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


@pytest.mark.long
def test_a_file_that_was_replaced_is_another_one(tmp_path: Path) -> None:
    path, out = tmp_path / "ring-0.txt", tmp_path / "out"
    for count in (3, 1, 2):
        path.write_text(f"# turn {count}\n" + (TEXT + "\n") * count)
        piped(path, out=out, mode="resume")
    assert len(tables(out)["packets"]) == 6


@pytest.mark.long
def test_a_text_file_that_grew_is_reported_and_no_row_is_repeated(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text(TEXT)
    piped(path, out=out, mode="resume")
    path.write_text(f"{TEXT}\nc0 00\n")
    ((_, problem),) = piped(path, out=out, mode="resume").problems
    assert problem == "the tables hold its beginning, and texts are read as a whole: --mode overwrite reads it"
    assert len(tables(out)["packets"]) == 1
    piped(path, out=out, mode="overwrite")
    assert len(tables(out)["packets"]) == 2


@pytest.mark.long
def test_resume_reads_the_rest_that_append_left_out(data: bytes, tmp_path: Path) -> None:
    path, out = tmp_path / "a.pcap", tmp_path / "out"
    path.write_bytes(data[: len(data) // 2])
    piped(path, out=out, mode="append")
    path.write_bytes(data)
    assert piped(path, out=out, mode="append").problems[0][1].startswith("the tables hold its beginning")
    piped(path, out=out, mode="resume")
    piped(path, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("large", [False, True])
def test_a_source_that_a_task_does_not_see_stops_the_run(
    after: int, large: bool, ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is removed before the first or second capture is read, or looked at for its parts."""

    def vanishing(job: Job, given: Any) -> Any:
        if given[0].source.path == str(ring[after]):
            ring[1].unlink(missing_ok=True)
        return route.route(job, given)

    def divided(unit: Unit) -> list[Unit]:
        ring[1].unlink(missing_ok=True)
        return route.parts(unit)

    monkeypatch.setattr(route, "SMALLEST", 1_000 if large else 1)
    monkeypatch.setattr(local, "route", vanishing)
    if large:
        monkeypatch.setattr(local, "parts", divided)
    seen = rf"{ring[1]} existed at the start, but the task on \S+ cannot open it: No such file or directory"
    with pytest.raises(Failed, match=seen):
        piped(*ring, out=tmp_path / "out", partitions=100)
    assert os.listdir(tmp_path / "out") == ["_lock"]


def test_a_source_that_is_shorter_for_a_task_stops_the_run(
    ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cutting(engine: LocalEngine) -> list[TaskResult]:
        os.truncate(ring[1], 2000)
        return work(engine)

    work = LocalEngine.run
    monkeypatch.setattr(LocalEngine, "run", cutting)
    with pytest.raises(Failed, match=f"{ring[1]} changed while it was read"):
        piped(*ring, out=tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["_lock"]


# what would be lost


@pytest.mark.parametrize("fault", ["unreadable", "noise", "empty", "no record", "comment"])
def test_nothing_replaces_good_tables(
    fault: str, ring: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, bad = tmp_path / "out", tmp_path / "bad"
    piped(*ring, out=out)
    before = all_files(out)
    if fault == "unreadable":
        bad.symlink_to(tmp_path / "nowhere")
    else:
        header = ring[0].read_bytes()[:HEADER]
        bad.write_bytes({"noise": NOISE, "empty": b"", "no record": header, "comment": b"# nothing\n"}[fault])
    words = [*WITHOUT_SPARK, str(bad), "-o", str(out), "--mode", "overwrite", "--partitions", "2"]
    assert main(words) == 2
    assert complaint(capsys).startswith(f"mqttpub: no source contained a record, so the tables in {out} stay: {bad}: ")
    assert all_files(out) == before
    (tmp_path / "good.txt").write_text(TEXT)
    assert main([*words, str(tmp_path / "good.txt")]) == (0 if fault == "no record" else 1)
    assert len(tables(out)["packets"]) == 1


def test_files_that_another_machine_wrote_are_not_committed(
    ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def elsewhere(engine: LocalEngine) -> list[TaskResult]:
        done = work(engine)
        next(out.glob("_staging-*/packets/*")).unlink()
        return done

    work = LocalEngine.run
    monkeypatch.setattr(LocalEngine, "run", elsewhere)
    with pytest.raises(OutputRefused, match="is not here as a task wrote it; the folder of --out must be shared"):
        piped(*ring, out=out)
    assert os.listdir(out) == ["_lock"]


def test_a_task_without_the_folder_of_the_tables_stops_the_run(
    ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def elsewhere(engine: LocalEngine) -> list[TaskResult]:
        staging = next(out.glob("_staging-*"))
        staging.rename(tmp_path / "staging")
        (rows,) = tmp_path.glob("staging/rows-*")
        engine.folder = str(rows.rename(tmp_path / "rows"))
        return work(engine)

    work = LocalEngine.run
    monkeypatch.setattr(LocalEngine, "run", elsewhere)
    with pytest.raises(Failed, match=rf"the task on \S+ does not find the folder {out}; the folder of --out must be"):
        piped(*ring, out=out)
    # The names of the sources are the driver's.
    assert [path.name[-6:] for path in tmp_path.glob("staging/**/*") if path.is_file()] == ["-names"]


def test_sources_among_the_tables_are_refused(ring: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    piped(*ring, out=out, file_format="json")
    before = all_files(out)
    source = next(out.glob("packets/*"))
    (tmp_path / "link").symlink_to(source)
    for each in (source, tmp_path / "link"):
        with pytest.raises(OutputRefused, match=f"{each} is in {out}; the tables need a folder without sources"):
            piped(each, out=out, mode="overwrite")
    assert all_files(out) == before


def test_a_file_with_the_name_of_the_lock_is_not_changed(ring: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    os.link(ring[0], tmp_path / "out" / "_lock")
    before = ring[0].read_bytes()
    piped(ring[1], out=tmp_path / "out")
    assert ring[0].read_bytes() == before


def test_a_source_that_is_not_a_file_is_reported(ring: list[Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    result = piped(ring[0], tmp_path / "pipe", tmp_path / "zero", out=tmp_path / "out")
    assert sorted(result.problems) == [(str(tmp_path / name), "it is not a file") for name in ("pipe", "zero")]
    assert result.rows["packets"]


# what an earlier run left


@pytest.mark.parametrize(
    "fault", ["cut", *(pytest.param(each, marks=pytest.mark.long) for each in ("changed", "gone", "other", "folder"))]
)
def test_a_state_that_is_not_as_it_was_left_stops_the_run(
    fault: str, ring: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    piped(*ring[:2], out=out, mode="resume")
    path = out / Manifest.load(out / MANIFEST).states[-1]
    kept = path.read_bytes()
    path.unlink()
    if fault == "folder":
        path.mkdir()
    elif fault != "gone":
        at = len(kept) // 2
        changed = kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :]
        path.write_bytes({"cut": kept[:-9], "changed": changed, "other": b"cos\nsystem\n(S'id'\ntR."}[fault])
    before = all_files(out)
    words = [str(path) for path in ring]
    assert main([*WITHOUT_SPARK, *words, "-o", str(out), "--resume"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"mqttpub pipeline: cannot resume from '{path}': ")
    assert line.endswith("; --mode overwrite reads everything again")
    assert all_files(out) == before
    if fault == "folder":
        path.rmdir()
    path.write_bytes(kept)
    piped(*ring, out=out, mode="resume")
    piped(*ring, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


@pytest.mark.long
def test_one_state_cannot_stand_for_another(ring: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    piped(*ring[:2], out=out, mode="resume")
    first, *_, last = (out / name for name in Manifest.load(out / MANIFEST).states)
    last.write_bytes(first.read_bytes())
    with pytest.raises(OutputRefused, match=f"cannot resume from '{last}': another file has the state of bucket"):
        piped(*ring, out=out, mode="resume")
    with pytest.raises(OutputRefused, match="already holds tables"):
        piped(*ring, out=out)


# a disk that is full

LIMITED = """
import resource, sys
from mqttpub.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(["pipeline", "--master", "none", *sys.argv[2:]]))
"""


@pytest.mark.long
@pytest.mark.parametrize("most", [0, 100, 2_000, 4_000])
def test_a_full_disk_leaves_the_old_tables(most: int, ring: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    piped(ring[0], out=out, mode="resume")
    before = all_files(out)
    words = [sys.executable, "-c", LIMITED, str(most), *map(str, ring), "-o", str(out), "--resume"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=60, check=False)
    # Tasks are part of this process here, and what they leave open may say something more.
    (told,) = (line for line in done.stderr.splitlines() if line.startswith("mqttpub"))
    assert done.returncode == 74, done.stderr
    assert told.startswith("mqttpub: the output cannot be written: ")
    assert all_files(out) == before
    piped(*ring, out=out, mode="resume")
    piped(*ring, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line on stderr."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


def failing(call: Callable[..., Any], after: int, error: OSError) -> Callable[..., Any]:
    """Return a function that fails once, at its n-th call, and else does what it did."""
    calls = 0

    def counted(*given: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == after:
            raise error
        return call(*given, **more)

    return counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.ENOSPC, "what pyarrow says, at length"), "out"),
        (PermissionError(errno.EACCES, "x", "/a/file"), "/a/file"),
    ],
)
@pytest.mark.parametrize(
    ("owner", "name", "after"), [(TableWriter, "write", 3), (StorageFolder, "create", 2), (StateFile, "add", 2)]
)
def test_a_write_error_is_not_reported_for_a_source(
    owner: Any, name: str, after: int, error: OSError, place: str, ring: list[Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    piped(ring[0], out=out)
    before = all_files(out)
    words = [*WITHOUT_SPARK, *map(str, ring), "-o", str(out), "--resume", "--partitions", "3"]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing(getattr(owner, name), after, error))
        assert main(words) == 74
    place = str(tmp_path / place) if place == "out" else place
    assert complaint(capsys) == f"mqttpub: the output cannot be written: {os.strerror(error.errno or 0)}: {place}"
    assert all_files(out) == before
    assert main(words) == 0
    piped(*ring, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


def test_a_read_error_is_reported_for_its_source(
    ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "open_file", partial(broken_at, ring[1], os.path.getsize(ring[1])))
    assert piped(*ring, out=tmp_path / "out").problems == [(str(ring[1]), "Input/output error")]


class BrokenFile(io.FileIO):
    """A file of which some bytes cannot be read."""

    broken = range(0)

    def readinto(self, buffer: Any) -> int:
        if (at := self.tell()) in self.broken:
            raise OSError(errno.EIO, "Input/output error")
        most = self.broken.start - at if at < self.broken.start else len(buffer)
        return super().readinto(memoryview(buffer)[: min(most, 500)])


def broken_at(broken: Path, at: int, path: str) -> io.BufferedReader:
    """Open a file; where it is the broken one, some bytes cannot be read."""
    file = BrokenFile(path)
    if path == str(broken):
        file.broken = range(at, at + 1_000)
    return io.BufferedReader(file)


@pytest.mark.parametrize("smallest", [1_000, 1 << 20])
@pytest.mark.parametrize("share", [0, 0.5, 0.9])
def test_a_resumed_run_reads_on_after_a_system_error(
    share: float, smallest: int, ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether tasks read files whole or in parts, what was read before the place is in the tables, and no more."""
    out, at = tmp_path / "out", int(share * os.path.getsize(ring[2]))

    def divided(unit: Unit) -> list[Unit]:
        with pytest.MonkeyPatch.context() as working:
            working.setattr(route, "open_file", open_file)
            return route.parts(unit)

    with monkeypatch.context() as patch:
        patch.setattr(route, "BLOCK", 500)
        patch.setattr(route, "SMALLEST", smallest)
        patch.setattr(route, "open_file", partial(broken_at, ring[2], at))
        patch.setattr(flow, "parts", divided)
        assert piped(*ring, out=out, partitions=100).problems == [(str(ring[2]), "Input/output error")]
    assert bool(at) == any(row["capture"] == str(ring[2]) for row in tables(out)["packets"])
    assert piped(*ring, out=out, mode="append").problems[0][1].startswith("the tables hold its beginning")
    result = piped(*ring, out=out, mode="resume")
    assert (result.read, result.known, result.problems) == (1, 2, [])
    piped(*ring, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


# runs that add to others


@pytest.mark.slow
def test_resume_keeps_the_rows_that_append_added(ring: list[Path], tmp_path: Path) -> None:
    out, other = tmp_path / "out", rotated(capture(6, clients=5, messages=4), tmp_path / "other", 1)[0]

    def added() -> dict[str, int]:
        return {name: sum("other" in row["capture"] for row in rows) for name, rows in tables(out).items()}

    piped(*ring[:2], out=out)
    piped(other, out=out, mode="append")
    before = added()
    assert before["exchanges"]
    assert before["connections"] == 5
    piped(*ring, out=out, mode="resume")
    assert added() == before
    piped(*ring, out=tmp_path / "once")
    rest = {name: [row for row in rows if "other" not in row["capture"]] for name, rows in tables(out).items()}
    assert rest == tables(tmp_path / "once")


@pytest.mark.parametrize(
    ("first", "flags", "told"),
    [
        ((), ["--port", "7777"], "was begun with no --port, and --resume continues with that; leave --port out"),
        ((7777,), ["--port", "1", "--port", "2"], "was begun with --port 7777, and --resume continues with that"),
    ],
)
def test_a_resumed_run_refuses_to_go_on_otherwise(
    first: tuple[int, ...], flags: list[str], told: str, ring: list[Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    piped(ring[0], out=out, ports=first)
    before = all_files(out)
    assert main([*WITHOUT_SPARK, str(ring[1]), "-o", str(out), "--resume", *flags]) == 2
    assert complaint(capsys).startswith(f"mqttpub pipeline: {out} {told}")
    assert all_files(out) == before


def test_a_resumed_run_knows_the_ports_of_the_first(tmp_path: Path) -> None:
    out, path = tmp_path / "out", tmp_path / "a.pcap"
    segment = SentSegment(0, Direction.CLIENT, encode(Publish(qos=0, topic="a", payload=b"b"), Version.V311))
    for count, ports in enumerate([(7777, 7776), (7776, 7777, 7776), ()], 1):
        path.write_bytes(pcap_of([segment] * count, port=7777))
        assert piped(path, out=out, mode="resume", ports=ports).problems == []
        assert len(tables(out)["packets"]) == count
    assert Manifest.load(out / MANIFEST).settings["ports"] == [7776, 7777]


@pytest.mark.parametrize("mode", ["append", "resume"])
def test_a_capture_without_packets_does_not_begin_the_next_one(mode: str, data: bytes, tmp_path: Path) -> None:
    empty, full, out = tmp_path / "1.pcap", tmp_path / "2.pcap", tmp_path / "out"
    empty.write_bytes(data[:HEADER])
    full.write_bytes(data)
    piped(empty, out=out)
    assert piped(empty, out=out, mode=mode).known == 1
    result = piped(empty, full, out=out, mode=mode)
    assert (result.known, result.read, result.problems) == (1, 1, [])
    piped(full, out=tmp_path / "once")
    assert tables(out) == tables(tmp_path / "once")


# what cannot be a folder's name, and what is no time


@pytest.mark.parametrize(("length", "character"), [(255 - len("topic="), "t"), (250, "t"), (100, "\u20ac")])
def test_a_value_that_is_too_long_for_a_folder_is_reported(
    length: int, character: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "a.pcap", tmp_path / "out"
    said = [Connect(client_id="c"), Publish(qos=0, topic=character * length, payload=b"")]
    path.write_bytes(pcap_of([SentSegment(0, Direction.CLIENT, encode(each, Version.V311)) for each in said]))
    status = main([*WITHOUT_SPARK, str(path), "-o", str(out), "--partition-by", "topic", "--partitions", "2"])
    size = len(f"topic={character * length}".encode())
    if size <= 255:
        assert status == 0
        return
    assert status == 2
    assert complaint(capsys) == (
        f"mqttpub: cannot partition by topic: one of its values gives a folder name of {size} bytes, "
        "and the maximum is 255"
    )
    assert os.listdir(out) == ["_lock"]


@pytest.mark.parametrize("name", ["payload", "will_payload", "properties", "reason_codes", "subscription_options"])
def test_tables_cannot_be_partitioned_by_bytes_or_lists(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "x", "-o", str(tmp_path / "out"), "--partition-by", f"type,{name}"]) == 2
    assert f"--partition-by: '{name}' holds bytes or lists, which cannot name a folder" in complaint(capsys)


@pytest.mark.parametrize("text", ["inf", "-inf", "nan", "1e400", "1e300", "-1e300", "9223372036854.775808", "x"])
def test_an_invalid_time_is_reported(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "x", "-o", str(tmp_path / "out"), f"--since={text}"]) == 2
    assert f"--since: '{text}' is " in complaint(capsys)


# what a server sends


def test_a_server_sends_rows_and_nothing_that_runs(
    ring: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = TaskResult("tag", (TableFile("packets", "a", 1, 2, True),), ((0, 1, SourceResult(3)),), "state", 0.5)
    assert flow.results([result_row(made).blob]) == [made]
    for sent in (b"cos\nsystem\n(S'true'\ntR.", dumps(7), dumps(("too", *"many") * 3), dumps(("a", 7))):
        monkeypatch.setattr(local, "results", lambda blobs, sent=sent: flow.results([sent]))
        with pytest.raises(Failed, match="the server sent something other than task results: "):
            piped(*ring, out=tmp_path / "out")


def test_names_of_sources_are_texts(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"")
    found: list[Source] = expand([str(tmp_path)])
    assert [each.name for each in found] == [f"{tmp_path}/\\xff"]
    assert os.path.exists(found[0].path)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("mode", ["append", "resume"])
@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"file_format": "csv"}, "with --format parquet"),
        ({"partition_by": ("type",)}, "without --partition-by"),
        ({"row_filter": RowFilter(payload="drop")}, "with --payload keep"),
        ({"lint": True}, "without --lint"),
    ],
)
def test_new_rows_must_match_the_tables(mode: str, other: dict[str, Any], told: str, tmp_path: Path) -> None:
    ring, out = rotated(capture(4), tmp_path / "ring", 2), tmp_path / "out"
    piped(ring[0], out=out)
    before = tables(out)
    with pytest.raises(OutputRefused, match=f"were made {told}, and new rows must match them"):
        piped(*ring, out=out, mode=mode, **other)
    assert tables(out) == before
