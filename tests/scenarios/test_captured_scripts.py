"""Captures of real clients become scripts: they read back equal, and play against a fresh broker."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from mqttpub.capture.reading import events as captured
from mqttpub.capture.text.script import script_events
from mqttpub.cli.main import main
from mqttpub.traffic.events import PacketSeen
from mqttpub.view.export.script import ScriptText
from tests.build.brokers import mosquitto, plain
from tests.build.client_traffic import RECORDINGS
from tests.build.recording import captures, dumpcap
from tests.view.export.test_script import spoken


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_capture_of_real_clients_reads_back_equal(name: str, shared_folder: Path) -> None:
    capture = captures(shared_folder)[name]
    text = ScriptText(secrets=True)
    with capture.path.open("rb") as file:
        events = [event for event in captured(file, ports=[capture.port]) if not _is_loose(event)]
    lines = [line for event in events for line in text.lines(event)]
    again = list(script_events(lines))
    assert _packets(again) == _packets(events)
    if all(event.ends.begun for event in events):
        assert _in_order(spoken(again)) == _in_order(spoken(events))


def _in_order(spoken: list[tuple[int, object, object, object]]) -> list[tuple[object, ...]]:
    """Number the connections by their first packets: one without packets is in no script."""
    numbers: dict[int, int] = {}
    return [(numbers.setdefault(number, len(numbers)), *rest) for number, *rest in spoken]


def _is_loose(event: object) -> bool:
    """Whether nothing shows which end sent a packet, which no step can say."""
    return isinstance(event, PacketSeen) and event.direction is None


def _packets(events: Sequence[object]) -> list[tuple[object, bytes]]:
    return [(event.direction, event.data) for event in events if isinstance(event, PacketSeen)]


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("version", ["311", "5"])
def test_a_captured_session_plays_against_a_fresh_broker(qos: int, version: str, tmp_path: Path) -> None:
    first, second, capture = tmp_path / "first", tmp_path / "second", tmp_path / "session.pcapng"
    first.mkdir()
    second.mkdir()
    with mosquitto(first, _logging) as (port,), dumpcap(capture, f"tcp port {port}"):
        _talk(port, qos, version, first / "mosquitto.log")
    script = tmp_path / "session.mqtt"
    assert main(["decode", str(capture), "--port", str(port), "--script", str(script)]) == 0
    assert f"q{qos}" in script.read_text() or not qos
    with mosquitto(second, plain) as (port,):
        assert main(["step", "-h", "127.0.0.1", "-p", str(port), "--timeout", "10", str(script)]) == 0


def _talk(port: int, qos: int, version: str, log: Path) -> None:
    """Let a client receive what another one publishes."""
    where = ["-h", "127.0.0.1", "-p", str(port), "-q", str(qos), "-t", "a/b", "-V", f"mqttv{version}"]
    with subprocess.Popen(["mosquitto_sub", *where, "-C", "2"], stdout=subprocess.PIPE) as subscriber:
        until_s = time.monotonic() + 20
        while "Sending SUBACK" not in log.read_text():
            assert time.monotonic() < until_s
            time.sleep(0.01)
        for message in ("one", "two and more"):
            subprocess.run(["mosquitto_pub", *where, "-m", message], check=True, timeout=20)
        subscriber.communicate(timeout=20)


def _logging(port: int) -> list[str]:
    return [f"listener {port} 127.0.0.1", "log_type all"]
