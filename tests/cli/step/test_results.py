"""The file of `step --junit` says what became of every script, also where the run broke."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from mqttpub.cli.main import main
from tests.build.brokers import free_port
from tests.fakes import Peer, scripted


def cases(file: Path) -> list[tuple[str | None, list[str]]]:
    """Return name of the script and outcomes of each case."""
    root = ElementTree.parse(file).getroot()
    return [(each.get("classname"), [found.tag for found in each]) for each in root.iter("testcase")]


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_a_closed_port_is_an_error_and_the_rest_is_skipped(
    jobs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results.xml"
    assert main(["step", "-p", str(free_port()), "qos0", "qos1", "qos2", "--junit", str(out), "--jobs", jobs]) == 3
    assert cases(out) == [("qos0", ["error"]), ("qos1", ["skipped"]), ("qos2", ["skipped"])]
    assert "Connection refused" in out.read_text()
    capsys.readouterr()


def test_a_script_that_turns_out_unplayable_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def accepting(peer: Peer) -> None:
        peer.accept()
        peer.wait()

    out, file = tmp_path / "results.xml", tmp_path / "talk.mqtt"
    file.write_text("> connect; < connack; gap")
    with scripted(accepting) as port:
        assert main(["step", "-h", "127.0.0.1", "-p", str(port), str(file), "qos0", "--junit", str(out)]) == 2
    assert cases(out) == [(str(file), ["error"]), ("qos0", ["skipped"])]
    assert "gap describes a capture" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_noticed_before_anything_is_played(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["step", "-p", str(free_port()), "qos0", "--junit", "/nowhere/results.xml"]) == 2
    assert "cannot write '/nowhere/results.xml'" in capsys.readouterr().err
