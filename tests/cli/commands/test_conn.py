"""`conn` shows what CONNACK says, keeps the connection, and times pings."""

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted
from tests.program import PROGRAM


def conn(port: int, *flags: str) -> int:
    return main(["conn", "-h", "127.0.0.1", "-p", str(port), "--timeout", "5", *flags])


def records(shown: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shown.splitlines()]


@pytest.mark.broker
@pytest.mark.parametrize("version", ["3.1", "3.1.1", "5"])
def test_what_the_broker_declares(version: str, mosquitto: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert conn(mosquitto, "-V", version, "-i", "me", "--json") == 0
    (record,) = records(capsys.readouterr().out)
    assert (record["event"], record["client_id"], record["keep_alive"]) == ("connected", "me", 60)
    assert record.get("session_present") == (None if version == "3.1" else False)
    assert record.get("receive_maximum") == (20 if version == "5" else None)


CONNACK = tuple(
    Property(BY_KEY[key].id, value)
    for key, value in (
        ("assigned_client_identifier", "id"), ("server_keep_alive", 7), ("maximum_qos", 1), ("retain_available", 0),
        ("response_information", "r/\x1b[A"), ("user_property", ("k", "v")), ("receive_maximum", 65535),
        ("maximum_packet_size", 65536), ("wildcard_subscription_available", 0), ("reason_string", "ok"),
    )
)  # fmt: skip


def test_each_value_names_the_packet_that_set_it(capsys: pytest.CaptureFixture[str]) -> None:
    def script(peer: Peer) -> None:
        peer.sock.sendall(peer.packet()[:0] + encode(Connack(session_present=True, properties=CONNACK), Version.V5))
        peer.wait()

    with scripted(script) as port:
        assert conn(port, "--no-clean", "-i", "", "-x", "60") == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    rows = [tuple(part.strip() for part in line.split("  ") if part.strip()) for line in lines]
    assert rows == [
        ("Session Present", "yes", "CONNACK"), ("Client Identifier", "id", "CONNACK"),
        ("Keep Alive", "7 s", "CONNACK"), ("Session Expiry Interval", "60 s", "CONNECT"),
        ("Maximum QoS", "1", "CONNACK"), ("Retain Available", "no", "CONNACK"),
        ("Maximum Packet Size", "65,536 bytes", "CONNACK"), ("Receive Maximum", "65,535", "CONNACK"),
        ("Topic Alias Maximum", "0", "default"), ("Wildcard Subscription Available", "no", "CONNACK"),
        ("Subscription Identifier Available", "yes", "default"), ("Shared Subscription Available", "yes", "default"),
        ("Response Information", "r/\\x1b[A", "CONNACK"), ("Reason String", "ok", "CONNACK"),
        ("User Property", "k = v", "CONNACK"),
    ]  # fmt: skip


@pytest.mark.broker
def test_pings_are_timed_one_by_one(mosquitto: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert conn(mosquitto, "--ping", "3", "--ping-interval", "0.01", "--json") == 0
    _, *pings, summary = records(capsys.readouterr().out)
    assert [each["number"] for each in pings] == [1, 2, 3]
    assert summary["count"] == 3
    assert summary["latency_us"]["max"] == max(each["latency_us"] for each in pings)


@pytest.mark.parametrize(
    ("last", "status", "said"),
    [("e0 01 8b", 5, "the broker disconnected: 0x8b Server shutting down"),
     ("", 6, "the broker closed the connection before DISCONNECT was sent")],
)  # fmt: skip
def test_the_broker_may_end_it(last: str, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.send(last)

    with scripted(script) as port:
        assert conn(port, "--stay") == status
    assert capsys.readouterr().err.splitlines()[-1] == f"mqttpub: {said}"


@pytest.mark.slow
def test_the_keep_alive_of_the_server_is_kept() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept("20 06 00 00 03 13 00 01")
        seen.append(peer.packet())

    with scripted(script) as port:
        assert conn(port, "--stay", "-k", "60000", "--json") == 6
    assert seen == [bytes.fromhex("c000")]


@pytest.mark.broker
def test_messages_of_a_session_stay_with_the_broker(mosquitto: int, capsys: pytest.CaptureFixture[str]) -> None:
    topic = f"conn/{os.getpid()}"
    client = ["-h", "127.0.0.1", "-p", str(mosquitto), "-V", "5", "-c", "-i", topic, "-t", topic, "-q", "1"]
    subprocess.run(["mosquitto_sub", *client, "-E"], check=True, timeout=20)
    assert main(["pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", topic, "-q", "1", "-m", "kept"]) == 0
    assert conn(mosquitto, "-i", topic, "--no-clean", "-x", "60", "--stay", "0.2") == 0
    assert "the broker sent 1 message, which conn neither shows nor acknowledges" in capsys.readouterr().err
    done = subprocess.run(
        ["mosquitto_sub", *client, "-C", "1", "-W", "10"], capture_output=True, check=True, timeout=20
    )
    assert done.stdout == b"kept\n"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_disconnects(number: signal.Signals, status: int) -> None:
    last: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept()
        last.append(peer.packet())

    with scripted(script) as port:
        words = [*PROGRAM, "conn", "-h", "127.0.0.1", "-p", str(port), "--stay"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            assert process.stderr.readline() == "mqttpub: connected; press Ctrl-C to disconnect\n"
            process.send_signal(number)
            assert process.wait(30) == status
    assert last == [bytes.fromhex("e000")]


def test_a_failure_is_a_record_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert conn(1, "--json") == 3
    (record,) = records(capsys.readouterr().out)
    assert (record["event"], record["status"]) == ("failure", 3)


@pytest.mark.parametrize(
    ("flags", "said"),
    [(["--ping", "0"], "--ping"), (["--stay", "0"], "--stay")],
)
def test_flags_that_make_no_sense(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert conn(1, *flags) == 2
    assert said in capsys.readouterr().err
