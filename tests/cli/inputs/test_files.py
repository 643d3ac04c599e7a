"""Files in processes of their own: what is printed, said and returned is what one process prints, says and returns."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mqttpub.cli.inputs.jobs import Processes, ProcessFailed
from mqttpub.cli.main import main
from mqttpub.common.errors import UserError
from tests.benchmarks.traffic import MIXES, TWO, write_pcap
from tests.build import fleet
from tests.fuzz.mutated import mutated

VIEWS = (
    ("decode",),
    ("decode", "--json", "--filter", "type=PUBACK"),
    ("decode", "--summary"),
    ("decode", "--summary", "--json", "--filter", "finding,type=CONNECT"),
    ("decode", "--summary", "--color", "always", "--absolute-time", "--filter", "type=CONNECT"),
    ("lint", "--report"),
    ("lint", "--json"),
    ("lint", "--sarif", "--severity", "warning"),
    ("lint", "--limit", "2", "--filter", "type=PUBLISH,type=PUBACK"),
)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return captures, some of them damaged, one cut within a record, one without MQTT."""
    folder, random = tmp_path_factory.mktemp("captures"), Random(7)
    write_pcap(folder / "two.pcap", 60, TWO)
    data = fleet.capture(3, clients=3, messages=3)
    others = {"broken": mutated(random, mutated(random, data)), "cut": data[:-30], "empty": data[:24]}
    for name, each in others.items():
        (folder / f"{name}.pcap").write_bytes(each)
    return sorted(map(str, folder.iterdir()))


def _run(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(list(words))
    return status, *capfd.readouterr()


@pytest.mark.parametrize("view", VIEWS, ids=" ".join)
def test_processes_change_nothing(
    view: tuple[str, ...], captures: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    alone = _run((*view, *captures), capfd)
    assert alone[1]
    assert _run((*view, "--jobs", "3", *captures), capfd) == alone


@pytest.mark.parametrize("view", ["--flows", "--stats", "--ladder"])
def test_what_belongs_together_in_all_files_is_read_in_one_process(
    view: str, captures: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    alone = _run(("decode", view, *captures), capfd)
    status, out, said = _run(("decode", view, "--jobs", "2", *captures), capfd)
    note, _, rest = said.partition("\n")
    assert (status, out, rest) == alone
    assert note == f"mqttpub: --jobs has no effect: {view} shows what belongs together in all files"


@pytest.mark.parametrize("command", [("decode", "--summary"), ("lint",)], ids=" ".join)
def test_a_file_that_is_named_twice_is_read_in_one_process(
    command: tuple[str, ...], captures: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    twice = captures[-1], captures[-1]
    status, out, said = _run((*command, *twice), capfd)
    note = "mqttpub: --jobs has no effect: it works on captures in files, each named once\n"
    assert _run((*command, "--jobs", "2", *twice), capfd) == (status, out, note + said)


def test_rows_are_written_by_one_process(captures: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    status, _, said = _run(("decode", "--jobs", "2", "--parquet", "rows.parquet", *captures), capfd)
    assert (status, said) == (
        2, "mqttpub decode: --parquet writes all packets as rows; --jobs does not go with it\n",
    )  # fmt: skip


def test_a_reader_that_leaves_ends_all_processes(captures: list[str], tmp_path: Path) -> None:
    many = str(tmp_path / "many.pcap")
    write_pcap(Path(many), 600, MIXES["usual"])
    words = [sys.executable, "-m", "mqttpub", "decode", "--json", "--jobs", "2", many, *captures]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()
        process.wait(60)
    assert process.returncode == 141
    assert os.listdir(tmp_path) == ["many.pcap"]


# processes


def test_what_work_raises_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with Processes(2) as processes:
        processes.add(1, fail)
        with pytest.raises(ProcessFailed, match=r"in fail\n.*\n.*ValueError: no"):
            list(processes.done())


@pytest.mark.parametrize(
    ("end", "how"),
    [(lambda: os._exit(9), "ended too soon"), (lambda: os.kill(os.getpid(), 9), "was killed by signal 9")],
)
def test_a_process_that_ends_without_a_result_is_an_error(end: Callable[[], None], how: str) -> None:
    with Processes(1) as processes:
        processes.add(1, end)
        with pytest.raises(UserError, match=how):
            list(processes.done())


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (1, "cannot write to the folder '{}/.*': File too large"),
        (0, r"no folder for temporary files: No usable temporary directory found in \[.*"),
    ],
)
def test_a_full_folder_for_the_output_of_processes_is_named(
    limit: int, message: str, captures: list[str], tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "mqttpub", "decode", "--jobs", "2", *captures]
    done = subprocess.run(
        ["bash", "-c", f'ulimit -f {limit}; exec "$@"', "-", *words], capture_output=True, text=True, check=False,
        timeout=60,
        # What Python 3.11 caches of its modules would be cut off, too.
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 2
    assert re.fullmatch(f"mqttpub decode: --jobs: {message.format(tmp_path)}\n", done.stderr)


def test_processes_end_with_the_one_that_started_them() -> None:
    """Standard output ends when the last process that can write to it has ended."""
    script = """
import os, signal
from mqttpub.cli.inputs.jobs import Processes

def kill() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()

with Processes(2) as processes:
    processes.add(1, signal.pause)
    processes.add(2, kill)
    list(processes.done())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, b"", b"")


def test_no_more_work_is_done_at_once_than_allowed() -> None:
    with Processes(2) as processes:
        for number in range(5):
            processes.add(number, os.getpid)
        found = dict(processes.done())
    assert set(found) == set(range(5))
    assert os.getpid() not in found.values()
