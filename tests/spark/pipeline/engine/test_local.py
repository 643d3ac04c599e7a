"""Without Spark the tables are the same, whatever the processes and tasks; what fails is said, and nothing stays."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.engine import PAIR, READ, ROUTE, Failed
from mqttpub.spark.pipeline.engine.local import LocalEngine, SpilledRow, shares
from mqttpub.spark.pipeline.job import Job, TableFile
from mqttpub.spark.pipeline.manifest import Manifest
from mqttpub.spark.pipeline.record_numbers import write_names
from mqttpub.spark.pipeline.route import COUNTS, STATE
from mqttpub.spark.pipeline.run import RunStage
from mqttpub.spark.pipeline.sources import expand
from mqttpub.spark.pipeline.writers import FEW
from tests.build.fleet import capture, rotated
from tests.spark.running import piped, tables


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a rotated capture."""
    folder = tmp_path_factory.mktemp("ring")
    rotated(capture(3, clients=9), folder, 4)
    return folder


def in_processes(patch: pytest.MonkeyPatch, count: int) -> None:
    """Let runs use so many processes, however small their sources are."""
    patch.setattr(pipeline, "SMALLEST", 0)
    patch.setattr(pipeline, "cores", lambda: count)


@pytest.mark.parametrize(("processes", "partitions"), [(1, 5), (2, None), pytest.param(3, 8, marks=pytest.mark.slow)])
def test_tables_are_the_same_in_any_number_of_processes(
    ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int, partitions: int | None
) -> None:
    piped(ring, out=tmp_path / "one", on_spark=False, lint=True, partitions=1)
    in_processes(monkeypatch, processes)
    piped(ring, out=tmp_path / "many", on_spark=False, lint=True, partitions=partitions)
    assert tables(tmp_path / "many") == tables(tmp_path / "one")
    assert sorted(os.listdir(tmp_path / "many")) == sorted(os.listdir(tmp_path / "one"))


def test_small_files_of_a_run_are_joined(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Packets and findings are divided by this column, exchanges and connections are not.
    options: dict[str, Any] = {"on_spark": False, "lint": True, "mode": "resume", "partition_by": ("type",)}
    given = sorted(ring.iterdir())
    # Each connection has a bucket of its own.
    monkeypatch.setattr(pipeline, "buckets_for", lambda tasks: 256)
    for name, partitions in (("one", 1), ("many", 20)):
        for count in (2, 4):
            piped(*given[:count], out=tmp_path / name, partitions=partitions, **options)
    assert tables(tmp_path / "many") == tables(tmp_path / "one")
    many, one = (Manifest.in_folder(tmp_path / name) for name in ("many", "one"))
    assert sum(part.rows for part in many.parts) == sum(part.rows for part in one.parts)
    folders = Counter((part.path.rpartition("/")[0], part.open, run_of(part)) for part in many.parts)
    assert max(folders.values()) <= FEW
    # Of those with more, one is left.
    assert folders["packets/type=PUBLISH", False, many.runs[0]["run"]] == 1
    with monkeypatch.context() as patch:
        patch.setattr("mqttpub.spark.pipeline.task.join", full)
        with pytest.raises(Failed, match="the output cannot be written: No space left"):
            piped(ring, out=tmp_path / "full", on_spark=False, partitions=20)
    assert os.listdir(tmp_path / "full") == ["_lock"]


def run_of(part: TableFile) -> str:
    return "-".join(part.path.rpartition("/")[2].split("-")[1:3])


def full(*_: object) -> TableFile:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.slow
def test_a_large_capture_is_read_in_parts(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.spark.pipeline.route.SMALLEST", 4096)
    whole = rotated(capture(3, clients=9), tmp_path / "whole", 1)
    piped(*whole, out=tmp_path / "one", on_spark=False, partitions=1)
    in_processes(monkeypatch, 2)
    seen: list[RunStage] = []
    monkeypatch.setattr(pipeline, "POLL_S", 0.001)
    request = pipeline.PipelineRequest(tuple(map(str, whole)), tmp_path / "parts", on_spark=False, partitions=6)
    pipeline.run(request, seen.append)
    assert tables(tmp_path / "parts") == tables(tmp_path / "one")
    names = list(dict.fromkeys(stage.name for stage in seen))
    assert [name for name in names if name in (ROUTE, READ, PAIR)] == [ROUTE, READ, PAIR]
    for before, after in pairwise(stage for stage in seen if stage.total):
        assert before.name != after.name or before.done <= after.done <= after.total


def engine(ring: Path, folder: Path, processes: int, *, rows: str = "") -> LocalEngine:
    """Return an engine for all files of a capture."""
    (folder / "staging").mkdir()
    job, sources = Job(staging=str(folder / "staging"), run="run", tasks=3), expand([str(ring)])
    write_names(job, (source.name for source in sources))
    return LocalEngine(job, sources, str(folder / rows), processes)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_cancelled_run_ends(ring: Path, tmp_path: Path, processes: int) -> None:
    made = engine(ring, tmp_path, processes)
    made.cancel()
    with pytest.raises(Failed):
        made.run()


def test_the_loss_of_a_process_is_said(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_processes(monkeypatch, 2)
    # The broker of other tests may be one of them.
    before = set(children())

    def killed(stage: RunStage) -> None:
        if stage.name == ROUTE:
            for child in set(children()) - before:
                os.kill(child, signal.SIGKILL)

    monkeypatch.setattr(pipeline, "POLL_S", 0.01)
    request = pipeline.PipelineRequest((str(ring),), tmp_path / "out", on_spark=False)
    with pytest.raises(Failed, match="a process of mqttpub was ended by SIGKILL, as if memory ran out; nothing was wr"):
        pipeline.run(request, killed)
    assert os.listdir(tmp_path / "out") == ["_lock"]


def is_there(process: str) -> bool:
    """Return whether a process has not ended."""
    path = Path("/proc", process, "stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


def children() -> list[int]:
    """Return the processes that this one started."""
    return [int(each) for path in Path("/proc/self/task").glob("*/children") for each in path.read_text().split()]


def test_processes_end_with_the_one_that_started_them() -> None:
    code = (
        "import os, sys\nfrom mqttpub.spark.pipeline.engine.workers import Workers\n"
        "print(*(each.pid for each in Workers(2).processes), flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + 60
    while any(map(is_there, done.stdout.split())):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_failure_to_write_is_said(ring: Path, tmp_path: Path) -> None:
    made = engine(ring, tmp_path, 1, rows="gone")
    with pytest.raises(Failed, match="the output cannot be written: No such file or directory: ") as caught:
        made.run()
    assert caught.value.status == 74


def test_shares_are_even_and_sorted() -> None:
    rows = [SpilledRow(key, major, 0, "", 0, size) for major in (3, STATE) for key, size in enumerate((5, 9, 1, 8))]
    counts = [SpilledRow(key, COUNTS, 0, "", 0, 1) for key in range(2)]
    shared = shares([*rows, *counts], 2)
    assert [each[0] for each in shared] == counts
    given = [each[1:] for each in shared]
    assert sorted(row for each in given for row in each) == sorted(rows)
    assert all(each == sorted(each) for each in given)
    assert max(sum(row.size for row in each) for each in given) <= 28
    assert shares([], 3) == []
