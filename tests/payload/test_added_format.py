"""A format that is added as CONTRIBUTING says, by a module and a row, is in every place where formats are named."""

import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

import mqttpub

CLASS = '''
"""Lines key=value."""
from .values import ReadPayload

class Pairs:
    def convert(self, data):
        self.read(data)
        return data.upper()

    def read(self, data):
        lines = data.decode().split()
        if not all("=" in line for line in lines):
            raise ValueError("a line is not key=value")
        return ReadPayload(dict(line.split("=") for line in lines), ("read as pairs",))
'''
ROW = '\nFORMATS["pairs"] = Format("pairs", "Pairs", ".pairs", "Pairs")\n'
PACKET = "30 06 00 01 61 61 3d 31"


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with the format `pairs`."""
    folder = tmp_path_factory.mktemp("changed")
    copytree(Path(mqttpub.__file__).parent, folder / "mqttpub")
    (folder / "mqttpub" / "payload" / "pairs.py").write_text(CLASS)
    with (folder / "mqttpub" / "payload" / "formats.py").open("a") as module:
        module.write(ROW)
    return folder


def run(folder: Path, *words: str) -> str:
    """Run a changed program; return what it wrote, standard error last."""
    done = subprocess.run([sys.executable, "-m", "mqttpub", *words], cwd=folder, capture_output=True, timeout=60)
    return (done.stdout + done.stderr).decode()


def test_an_added_format_is_read_in_a_dump(changed: Path) -> None:
    words = ["decode", "-V", "3.1.1", "--format", "pairs", PACKET]
    shown = run(changed, *words)
    assert [words for words in ("Pairs, 3 bytes", '{"a": "1"}', "* read as pairs") if words not in shown] == []
    assert '"json":{"a":"1"},"remarks":["read as pairs"]' in run(changed, *words, "--json")


@pytest.mark.parametrize("command", ["pub", "sub", "decode", "request"])
def test_an_added_format_is_in_the_helps(changed: Path, command: str) -> None:
    assert "pairs" in run(changed, command, "--help-all")


def test_an_added_format_is_in_the_completions(changed: Path) -> None:
    completed = run(changed, "completion", "fish")
    assert [line for line in completed.splitlines() if "answer-format" in line and "pairs" in line]


@pytest.mark.broker
def test_an_added_format_is_sent_and_received(changed: Path, mosquitto: int) -> None:
    words = ["-p", str(mosquitto), "-t", "added/format", "--format", "pairs"]
    assert run(changed, "pub", *words, "-m", "a") == "mqttpub pub: pairs: a line is not key=value\n"
    run(changed, "pub", *words, "-r", "-q", "1", "-m", "a=x")
    assert run(changed, "sub", *words, "-C", "1").startswith('{"A": "X"}\n')
    asked = ["-e", "added/format", "--any-answer", "--answer-format", "pairs"]
    assert '{"B": "Y"}' in run(changed, "request", *words, "-m", "b=y", *asked)
