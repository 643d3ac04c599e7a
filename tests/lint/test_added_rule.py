"""A rule that is added as CONTRIBUTING says is asked about every packet, in large captures and while publishing."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

import mqttpub
from tests.benchmarks.traffic import MIXES, write_pcap

FREQUENT = "Publish, Puback, Pubrec, Pubrel, Pubcomp"
ROOMS = {
    "packet": (
        "lint/packet/rules.py",
        f"""
from ...spec.packets import {FREQUENT}, Pingreq

@rule({FREQUENT}, Pingreq, cites=StatementRef("2.1.4/short", "2.2.3/short", "2.1/short"))
def added(packet: PacketView) -> Iterator[Fault]:
    if packet.value("payload") not in (b"", b"first"):
        yield Fault("", "this rule was added")
""",
    ),
    "connection": (
        "lint/connection/publish.py",
        f"""
from ...spec.packets import {FREQUENT}

@rule({FREQUENT})
def added(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    if not isinstance(packet, Publish) or packet.payload != b"first":
        state.fault(_UNIQUE, "", "this rule was added")
""",
    ),
}
PACKETS = 40_000
MESSAGES = 3_000
LINES = b"first\n" + b"".join(b"%05d\n" % number for number in range(MESSAGES))
FAULTY = 2 * MESSAGES + 1
"""Packets of these messages in which an added rule finds something: all but the first."""


@pytest.fixture(scope="session", params=ROOMS)
def changed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program with a rule of one room that finds something in every frequent packet.

    It spares a PUBLISH of one payload: that such a packet was clean says nothing of another.
    """
    path, text = ROOMS[request.param]
    folder = tmp_path_factory.mktemp("changed")
    copytree(Path(mqttpub.__file__).parent, folder / "mqttpub")
    with (folder / "mqttpub" / path).open("a") as module:
        module.write(text)
    return folder


@pytest.fixture(scope="session")
def capture(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A large capture, and its packets that are not CONNECT or CONNACK."""
    path, mix = tmp_path_factory.mktemp("captures") / "bulk.pcap", MIXES["bulk"]._replace(connections=8)
    return path, write_pcap(path, PACKETS, mix) - 2 * mix.connections


def run(folder: Path, *words: str, input: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a changed program; return what it wrote."""
    command = [sys.executable, "-m", "mqttpub", *words]
    return subprocess.run(command, cwd=folder, input=input, capture_output=True)


@pytest.mark.slow
def test_an_added_rule_is_asked_about_every_packet_of_a_large_capture(changed: Path, capture: tuple[Path, int]) -> None:
    path, packets = capture
    linted = run(changed, "lint", str(path))
    assert f" ({packets:,} errors)\n".encode() in linted.stderr
    shown = run(changed, "decode", "--summary", str(path))
    assert len(re.findall(rb"MQTT\d+-\d", shown.stdout)) == packets


@pytest.mark.broker
def test_an_added_rule_is_asked_about_every_packet_that_passes_while_publishing(changed: Path, mosquitto: int) -> None:
    words = ["pub", "-p", str(mosquitto), "-t", "added/rule", "-q", "1", "-l"]
    shown = run(changed, *words, "--lint", input=LINES)
    assert f" ({FAULTY:,} errors)\n".encode() in shown.stderr
    inspected = run(changed, *words, "--lint", "--inspect", input=LINES)
    assert inspected.stdout.count(b"this rule was added") == FAULTY


@pytest.mark.broker
@pytest.mark.parametrize("changed", ["packet"], indirect=True)
def test_an_added_rule_of_one_packet_is_asked_about_every_packet_that_is_inspected(
    changed: Path, mosquitto: int
) -> None:
    words = ["pub", "-p", str(mosquitto), "-t", "added/rule", "-q", "1", "-l", "--inspect"]
    assert run(changed, *words, input=LINES).stdout.count(b"this rule was added") == FAULTY
