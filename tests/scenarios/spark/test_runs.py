"""The pipeline on a real Spark: without Java on PATH, with tasks and drivers that are killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from tests.build.fleet import capture, rotated
from tests.build.kills import KilledProgram
from tests.paths import CAPTURES
from tests.processes import above, words_of
from tests.spark.running import piped, tables

pytestmark = pytest.mark.long
LONGEST = 300
"""Seconds that a run may take on a busy machine."""
DONE = re.compile(r"\d+ packets, .* in [\d.]+ s: .*\n")
"""All that a good run says."""
PROGRAM = [sys.executable, "-m", "mqttpub", "pipeline", "--quiet", "--master", "local[*]"]


def bare(home: Path) -> dict[str, str]:
    """Return the environment of a machine that has Python only."""
    return {"PATH": "/nonexistent", "HOME": str(home)}


def ran(*words: str | Path, home: Path, status: int = 0) -> "subprocess.CompletedProcess[str]":
    """Run the program to its end."""
    command = [*PROGRAM, *map(str, words)]
    done = subprocess.run(command, env=bare(home), capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == status, done.stderr
    return done


def scripted(code: str, *words: str | Path, home: Path) -> "subprocess.CompletedProcess[str]":
    """Run the program with something changed."""
    code = f"{code}\nfrom mqttpub.cli.main import run\nrun(['pipeline', '--quiet', *sys.argv[1:]])"
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, env=bare(home), capture_output=True, text=True, timeout=LONGEST, check=False)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a rotated capture."""
    folder = tmp_path_factory.mktemp("ring")
    rotated(capture(5, clients=12), folder, 4)
    return folder


@pytest.fixture(scope="module")
def expected(ring: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of it, made without Spark."""
    out = tmp_path_factory.mktemp("expected") / "out"
    piped(ring, out=out, on_spark=False, partitions=1)
    return out


def test_a_machine_with_nothing_but_python(tmp_path: Path) -> None:
    done = ran(CAPTURES / "qos2-mosquitto.pcapng", "--out", tmp_path / "out", home=tmp_path)
    assert "54 packets" in done.stdout
    # Nothing of two languages, and nothing left behind.
    assert done.stderr == ""
    assert sorted(os.listdir(tmp_path)) == ["out"]
    assert len(tables(tmp_path / "out")["packets"]) == 54


def test_bad_sources_are_reported_and_the_status_is_1(ring: Path, tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(bytes(100))
    (tmp_path / "cut.pcap").write_bytes((ring / "ring-001.pcap").read_bytes()[:-1])
    words: list[str | Path] = [
        ring / "ring-000.pcap",
        tmp_path / "cut.pcap",
        tmp_path / "noise",
        "--master",
        "local[2]",
    ]
    done = ran(*words, "--out", tmp_path / "out", "--json", home=tmp_path, status=1)
    told = json.loads(done.stdout)
    assert [Path(each["source"]).name for each in told["problems"]] == ["cut.pcap", "noise"]
    first, second = done.stderr.splitlines()
    assert f"{tmp_path}/cut.pcap: offset " in first
    assert f"{tmp_path}/noise: offset 0: neither a capture nor a text begins with 00 00 00 00" in second


def test_a_task_that_is_killed_in_the_middle_is_done_again(ring: Path, expected: Path, tmp_path: Path) -> None:
    killed = """
import os, signal, sys
from mqttpub.spark.pipeline import flow
from mqttpub.spark.pipeline.task import read_buckets
def deadly(job, rows):
    from mqttpub.spark.pipeline.tables import TableBuilder
    real, batches = TableBuilder.add, []
    def add(self, batch, **more):
        real(self, batch, **more)
        batches.append(batch)
        mark = f"{os.environ['HOME']}/killed"
        if len(batches) == 2 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
    TableBuilder.add = add
    try:
        yield from read_buckets(job, rows)
    finally:
        TableBuilder.add = real
flow.read_buckets = deadly
"""
    words: list[str | Path] = [ring, "--master", "local[2]", "--partitions", "3", "--out", tmp_path / "out"]
    done = scripted(killed, *words, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "killed").exists()
    assert tables(tmp_path / "out") == tables(expected)


WAITING = """
import os, time
from mqttpub.spark.pipeline import flow
from mqttpub.spark.pipeline.tables import TableBuilder
from mqttpub.spark.pipeline.task import read_buckets
def waiting(job, rows):
    from pyspark import TaskContext
    real, home = TableBuilder.add, os.environ["HOME"]
    def add(self, batch, **more):
        real(self, batch, **more)
        with open(f"{home}/at-work", "a") as file:
            file.write(f"{os.getpid()} {TaskContext.get().partitionId()}\\n")
        while os.path.exists(f"{home}/wait"):
            time.sleep(0.05)
    TableBuilder.add = add
    try:
        yield from read_buckets(job, rows)
    finally:
        TableBuilder.add = real
flow.read_buckets = waiting
from mqttpub.cli.main import run
run(['pipeline', '--quiet', *sys.argv[1:]])
"""
"""Tasks that wait in the middle for a file to go away, and tell who they are."""


class Waiting(KilledProgram):
    """A run whose tasks have begun to write, and wait."""

    def __init__(self, home: Path, *words: str | Path) -> None:
        self.home = home
        (home / "wait").touch()
        command = [sys.executable, "-c", f"import sys\n{WAITING}", *map(str, words)]
        super().__init__(home, command, env=bare(home))
        assert self.wait(lambda: self.workers()), self.said()

    def workers(self) -> dict[int, int]:
        """Return the partitions that are at work, by the ids of the processes."""
        path = self.home / "at-work"
        lines = path.read_text().splitlines() if path.exists() else []
        return {int(pid): int(partition) for pid, partition in map(str.split, lines)}

    def proceed(self) -> int:
        """Let tasks go on, and return how all ended."""
        (self.home / "wait").unlink()
        return self.end()


def test_a_worker_that_somebody_kills_is_replaced(ring: Path, expected: Path, tmp_path: Path) -> None:
    with Waiting(tmp_path, ring, "--master", "local[2]", "--partitions", "3", "--out", tmp_path / "out") as run:
        pid, partition = next(iter(run.workers().items()))
        jvm = next(each for each in above(pid) if "java" in words_of(each))
        # It is a worker of this very run.
        assert run.process.pid in above(jvm)
        os.kill(pid, signal.SIGKILL)
        assert run.proceed() == 0
    assert DONE.fullmatch(run.said())
    assert list(run.workers().values()).count(partition) == 2
    assert tables(tmp_path / "out") == tables(expected)


def test_a_second_run_to_the_same_folder_is_refused(ring: Path, expected: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    with Waiting(tmp_path, ring, "--master", "local[2]", "--out", out) as run:
        for mode in (["--mode", "overwrite"], ["--resume"]):
            done = ran(ring, "--out", out, *mode, home=other, status=2)
            assert done.stderr == f"mqttpub pipeline: another run writes to {out}\n"
        assert run.proceed() == 0
    assert DONE.fullmatch(run.said())
    assert tables(out) == tables(expected)


@pytest.mark.parametrize("when", ["work", "rename"])
def test_resuming_after_a_run_that_was_killed(when: str, ring: Path, expected: Path, tmp_path: Path) -> None:
    files, out = sorted(ring.iterdir()), tmp_path / "out"
    killed = f"""
import os, signal, sys
from mqttpub.spark.pipeline import output
from mqttpub.spark.pipeline.engine.spark import SparkEngine
def kill(*given, **more):
    os.kill(os.getpid(), signal.SIGKILL)
def second(*given, count=[]):
    count.append(1)
    kill() if len(count) == 2 else real(*given)
real = os.replace
match {when!r}:
    case "work": SparkEngine.run = kill
    case "rename": output.os.replace = second
"""
    options: list[str | Path] = ["--resume", "--out", out, "--master", "local[2]"]
    ran(*files[:2], *options, home=tmp_path)
    before = tables(out)
    done = scripted(killed, *files[:3], *options, home=tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    if when == "work":
        assert tables(out) == before
    ran(*files, *options, home=tmp_path)
    assert tables(out) == tables(expected)


def test_a_task_that_always_fails_is_reported_in_one_sentence_and_leaves_nothing(ring: Path, tmp_path: Path) -> None:
    failing = """
import sys
from mqttpub.spark.pipeline import flow
def failing(job, rows):
    raise RuntimeError("the disk is on fire")
flow.read_buckets = failing
"""
    done = scripted(failing, ring, "--master", "local[1]", "--out", tmp_path / "out", home=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "mqttpub: Spark failed: RuntimeError: the disk is on fire\n"
    assert os.listdir(tmp_path / "out") == ["_lock"]


def test_a_driver_killed_before_the_end_publishes_no_table(ring: Path, expected: Path, tmp_path: Path) -> None:
    killed = """
import os, signal, sys
from mqttpub.spark.pipeline.output import Output
def commit(self, *given, **more):
    with open(f"{os.environ['HOME']}/jvm", "w") as file:
        file.write(os.popen(f"/bin/ps -o pid= --ppid {os.getpid()}").read())
    os.kill(os.getpid(), signal.SIGKILL)
Output.commit = commit
"""
    out = tmp_path / "out"
    done = scripted(killed, ring, "--master", "local[2]", "--out", out, home=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert [path for path in out.rglob("*.parquet") if "_staging" not in str(path)] == []
    assert not (out / MANIFEST).exists()
    jvm = int((tmp_path / "jvm").read_text().split()[0])
    until = time.monotonic() + 30
    while Path(f"/proc/{jvm}").exists():
        assert time.monotonic() < until, "the JVM goes on without its driver"
        time.sleep(0.1)
    ran(ring, "--master", "local[2]", "--out", out, home=tmp_path)
    assert tables(out) == tables(expected)
    assert sorted(name for name in os.listdir(out) if name[0] == "_") == ["_lock", MANIFEST, "_state"]


def test_an_interrupt_ends_everything(ring: Path, tmp_path: Path) -> None:
    slow = """
import sys, time, os
from mqttpub.spark.pipeline import flow
def slow(job, rows):
    open(f"{os.environ['HOME']}/begun", "w").close()
    time.sleep(600)
flow.read_buckets = slow
"""
    code = f"{slow}\nfrom mqttpub.cli.main import run\nrun(['pipeline', '--quiet', *sys.argv[1:]])"
    words = [sys.executable, "-c", code, str(ring), "--master", "local[1]", "--out", str(tmp_path / "out")]
    with KilledProgram(tmp_path, words, env=bare(tmp_path)) as program:
        assert program.wait((tmp_path / "begun").exists), program.said()
        assert program.end(signal.SIGINT) == 130
    assert program.said() == "\nmqttpub: interrupted\n"
    assert os.listdir(tmp_path / "out") == ["_lock"]


def test_resuming_by_command(ring: Path, expected: Path, tmp_path: Path) -> None:
    files = sorted(ring.iterdir())
    options: list[str | Path] = ["--resume", "--out", tmp_path / "out", "--json", "--master", "local[2]"]
    first = json.loads(ran(*files[:2], *options, home=tmp_path).stdout)
    second = json.loads(ran(*files, *options, home=tmp_path).stdout)
    assert [(each["read"], each["known"]) for each in (first, second)] == [(2, 0), (2, 2)]
    third = ran(*files, *options[:3], home=tmp_path)
    assert third.stdout == "nothing new to read\n"
    assert tables(tmp_path / "out") == tables(expected)
    assert len(Manifest.load(tmp_path / "out" / MANIFEST).runs) == 2
