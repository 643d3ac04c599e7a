"""The pytest plugin, as a project that installs mqttpub uses it."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import mqttpub
from mqttpub.api.testing import LoopbackBroker, recorded_broker

FAILING = '''
import contextlib, pytest, mqttpub

def test_broken(mqtt_broker, mqtt_recorder):
    connect = mqttpub.Connect(username="u", password=b"s3" + b"cret")
    list(mqttpub.publish(mqtt_broker.url, "a", "x", qos=1, connect=connect))
    assert mqtt_recorder.findings() != []

@pytest.mark.mqtt_script("""
> connect
< connack
> publish topic=b
""", timeout_s=0.5)
def test_otherwise(mqtt_broker):
    with contextlib.suppress(mqttpub.ConnectionLost):
        list(mqttpub.publish(mqtt_broker.url, "a", "x"))

def test_clean(mqtt_broker, mqtt_recorder):
    list(mqttpub.publish(mqtt_broker.url, "a", "x"))
    assert mqtt_recorder.findings() == []
'''


def test_a_broker_and_what_passed(mqtt_broker: LoopbackBroker, mqtt_recorder: mqttpub.Recorder) -> None:
    with mqttpub.subscribe(mqtt_broker.url, "a", count=1) as messages:
        list(mqttpub.publish(mqtt_broker.url, "a", "x", qos=2))
        assert [each.payload for each in messages] == [b"x"]
    packets = mqtt_recorder.packets()
    assert {each.event.ends.number for each in packets} == {1, 2}
    assert sum(isinstance(each.packet, mqttpub.Publish) for each in packets) == 2
    assert mqtt_recorder.findings() == []


@pytest.mark.mqtt_script("> connect\n< connack session_present=1\n> disconnect\n")
def test_a_script_shows_what_a_broker_does_wrong(mqtt_broker: LoopbackBroker, mqtt_recorder: mqttpub.Recorder) -> None:
    """A client with Clean Start may not be told of a session (5.0: 3.2.2-2), and mqttpub says so."""
    with pytest.raises(mqttpub.PeerFault), mqttpub.subscribe(mqtt_broker.url, "a"):
        pass
    assert [each.statement for each in mqtt_recorder.findings()] == ["MQTT5-3.2.2-2"]


def test_a_script_that_cannot_be_played_leaves_no_listener(mqtt_recorder: mqttpub.Recorder) -> None:
    script = "> connect cut=2\n< connack\n"
    with pytest.raises(mqttpub.BadText, match="cut"), recorded_broker(mqtt_recorder, script):
        pass


@pytest.mark.parametrize(
    ("sent", "statement"), [("30 ff ff ff ff 01 78 78", "MQTT5-1.5.5/length"), ("30 05 00 01 61", "MQTT5-2.1.4/short")]
)
def test_a_device_that_sends_what_is_not_a_packet(
    mqtt_broker: LoopbackBroker, mqtt_recorder: mqttpub.Recorder, sent: str, statement: str
) -> None:
    with socket.create_connection((mqtt_broker.host, mqtt_broker.port), timeout=10) as device:
        device.sendall(mqttpub.encode(mqttpub.Connect(client_id="d")) + bytes.fromhex(sent))
        device.shutdown(socket.SHUT_WR)
        with device.makefile("rb") as answer:
            answer.read()
    assert statement in [each.statement for each in mqtt_recorder.findings()]


@pytest.mark.slow
def test_a_failing_test_shows_its_packets_and_leaves_them(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", "left", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    shown = done.stdout
    assert "2 passed" in shown, shown
    assert "1 failed" in shown
    assert "1 error" in shown
    assert "PUBLISH" in shown
    assert "line 4: " in shown
    assert "s3cret" not in shown
    kept = sorted(path.parent.name for path in (tmp_path / "left").rglob("mqtt.pcapng"))
    assert kept == ["test_broken0", "test_otherwise0"]
    events = mqttpub.read(tmp_path / "left" / "test_broken0" / "mqtt.pcapng")
    packets = [each.packet.name for each in events if isinstance(each, mqttpub.PacketInContext) and each.packet]
    assert packets == ["CONNECT", "CONNACK", "PUBLISH", "PUBACK", "DISCONNECT"]
