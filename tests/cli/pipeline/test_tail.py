"""`pipeline --tail` as a program: what it says while sources grow, and how signals end it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli import signals
from mqttpub.cli.pipeline.tail import MOST_SAID, TailNotes
from mqttpub.spark.pipeline.manifest import KnownSources, Manifest
from mqttpub.spark.pipeline.run import PipelineResult
from tests.build.fleet import HEADER, capture
from tests.spark.formats.test_subscribe import until
from tests.spark.running import STAGES, piped, tables
from tests.spark.running import alone as alone

pytestmark = pytest.mark.timeout(120)


@contextmanager
def tailed(source: Path, *words: str) -> "Iterator[subprocess.Popen[str]]":
    """Run `pipeline --tail` without Spark until the block ends."""
    command = [sys.executable, "-m", "mqttpub", "pipeline", str(source), "--tail", "--every", "0.1", *words]
    with subprocess.Popen(
        [*command, "--master", "none"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def line(program: "subprocess.Popen[str]") -> str:
    """Return what it says next, but for what a run on a busy machine is doing."""
    assert program.stderr
    said = program.stderr.readline()
    while said.removeprefix("mqttpub: ").startswith(STAGES):
        said = program.stderr.readline()
    return said


@pytest.mark.usefixtures("alone")
def test_a_signal_ends_it_after_its_last_commit(tmp_path: Path) -> None:
    data, ring, out = capture(4), tmp_path / "ring", tmp_path / "out"
    numbers = tmp_path / "numbers.json"
    with tailed(ring, "--out", str(out), "--json", "--lint", "--metrics", str(numbers)) as program:
        assert line(program) == f"mqttpub: waiting for more: cannot read '{ring}': No such file or directory\n"
        ring.mkdir()
        (ring / "a.pcap").write_bytes(data[: len(data) // 2])
        assert " packets, " in line(program)
        # The metrics of a run are there before it is reported, and are replaced by those of the next one.
        first = json.loads(numbers.read_text())["packets"]
        assert first == Manifest.in_folder(out).rows()["packets"]
        with (ring / "a.pcap").open("ab") as file:
            file.write(data[len(data) // 2 : -7])
        assert " packets, " in line(program)
        assert json.loads(numbers.read_text())["packets"] == Manifest.in_folder(out).rows()["packets"] > first
        (ring / "bad.pcap").write_bytes(data[:HEADER] + b"\xff" * 99)
        assert line(program).startswith(f"mqttpub: {ring / 'bad.pcap'}: offset 24: record 1 claims ")
        program.send_signal(signal.SIGTERM)
        shown, said = program.communicate(timeout=60)
    assert program.returncode == 1
    record: dict[str, Any] = json.loads(shown)
    assert said.count("bad.pcap") == 1
    assert [each["source"] for each in record["problems"]] == [str(ring / "bad.pcap")]
    (ring / "bad.pcap").unlink()
    piped(ring, out=tmp_path / "once", lint=True)
    once = tables(tmp_path / "once")
    assert tables(out) == once
    assert record["rows"] == {name: len(rows) for name, rows in once.items()}
    (ring / "a.pcap").write_bytes(data)
    with tailed(ring, "--out", str(out), "--lint", "--quiet") as program:
        until(lambda: [*KnownSources.in_folder(out)][-1].size == len(data), "the rest")
        program.send_signal(signal.SIGINT)
        shown, said = program.communicate(timeout=60)
    assert (program.returncode, shown.endswith(f": {out}\n")) == (0, True)
    assert said == "mqttpub: 2 sources had been read before\n"


def test_a_signal_is_answered_after_any_number_of_problems(capsys: pytest.CaptureFixture[str]) -> None:
    notes = TailNotes()
    problems = [(f"{number}.pcap", "broken") for number in range(30)]
    for _ in range(2):
        notes.run(PipelineResult("1", "out", {}, 1, 0, problems, 1.0))
        notes.stage("reading captures", asked=True)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        *(f"mqttpub: {name}: {problem}" for name, problem in problems[:MOST_SAID]),
        "mqttpub: ending after this run; another signal ends at once",
    ]


def test_the_first_signal_asks_and_the_second_ends() -> None:
    before = signal.signal(signal.SIGTERM, signals._end)
    try:
        with signals.first_asks() as is_asked:
            assert not is_asked(0)
            os.kill(os.getpid(), signal.SIGTERM)
            assert is_asked(60)
            assert is_asked(0)
            with pytest.raises(signals.Terminated):
                os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signals._end
    finally:
        signals.Received.first = None
        signal.signal(signal.SIGTERM, before)
