"""`conform --client`: its words, its verdicts, and what it says where there are none."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mqttpub.cli.main import main

PUB = (sys.executable, "-m", "mqttpub", "pub", "-h", "{host}", "-p", "{port}", "-t", "a", "-m", "b")
DIALS = "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])))"
SILENT = f"{DIALS}; print('\\x1b[2J' + 'x' * 999, flush=True)"
HELLO = "s.sendall(bytes.fromhex('100e00044d5154540502003c0000016378'[:-2])); s.recv(99)"
STAYS = f"{DIALS}; print('why', flush=True); {HELLO}; import time; print('\\x1b[2Jstays', flush=True); time.sleep(60)"


def conform(*words: str) -> int:
    return main(["conform", "--client", *words])


def test_the_verdicts_on_a_client(capsys: pytest.CaptureFixture[str]) -> None:
    assert conform("--json", "4.3.2-4", "MQTT5-4.12.0-3", "--", *PUB, "-q", "1") == 0
    head, *rows = map(json.loads, capsys.readouterr().out.splitlines())
    assert head["event"] == "conform"
    assert head["peer"].endswith("-h '{host}' -p '{port}' -t a -m b -q 1")
    found = {row["statement"]: row for row in rows}
    assert found["MQTT5-4.3.2-4"]["verdict"] == "kept"
    assert found["MQTT5-4.3.2-4"]["cases"] == ["receives-qos1-waiting"]
    assert found["MQTT5-4.12.0-3"]["verdict"] == "not exercised"
    assert found["MQTT5-4.12.0-3"]["why"].startswith("the client sent no packet as in '> connect authentication_method")


def test_a_broken_statement_comes_with_its_bytes_and_what_the_client_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    junit, page, capture = (str(tmp_path / name) for name in ("j.xml", "p.html", "c.pcapng"))
    files = ("--junit", junit, "--page", page, "--capture", capture)
    words = ("--timeout", "1", "4.13.2-1", "--", sys.executable, "-c", STAYS, "{host}", "{port}")
    assert conform(*files, *words) == 1
    out = capsys.readouterr().out
    assert "BROKEN  4.13.2-1" in out
    assert "case refused: The client closes the connection after a CONNACK that refuses it." in out
    assert "the client did not close the connection within 1 s" in out
    assert "the client printed\n    why\n    \\x1b[2Jstays" in out
    failed = ElementTree.parse(junit).findall(".//failure")
    assert len(failed) == 1
    assert "20 03 00 87 00" in Path(page).read_text()
    assert main(["decode", capture, "--summary"]) == 0
    assert "0x87" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ((), 2, "--client needs a command after --"),
        (("--", "no-such-program", "{port}"), 2, "there is no program 'no-such-program'"),
        (("--", "true"), 2, "the command needs {port}"),
        (("-h", "x", "--", "true", "{port}"), 2, "--client makes a server of its own, so --host does not go with it"),
        (("--", "true", "{port}"), 3, "the client sent no CONNECT"),
        (
            ("--", sys.executable, "-c", SILENT, "{host}", "{port}"),
            3,
            "the client sent no CONNECT; it printed: \\x1b[2J" + "x" * 196 + "...\n",
        ),
        (("-V", "3.1.1", "--", *PUB), 3, "the client speaks MQTT 5.0, not 3.1.1"),
    ],
)
def test_what_cannot_be_tried_is_said(
    words: tuple[str, ...], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conform(*words) == status
    assert message in capsys.readouterr().err


def test_the_cases_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert conform("--list", "-V", "3.1") == 0
    out = capsys.readouterr().out
    assert "  released  A subscriber answers PUBREL with PUBCOMP.  (3.6/pubcomp)\n" in out
    assert "  no case for 3.1/order: " in out
