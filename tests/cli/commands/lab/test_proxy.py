"""`mqttpub proxy`: its flags, what it prints and its exit status."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from tests.build import brokers as starters
from tests.build.certificates import Authority
from tests.build.proxies import running_proxy
from tests.fakes import Peer, scripted
from tests.lab.sockets import Wire
from tests.program import PROGRAM


def publish(port: int, *flags: str) -> int:
    """Publish with mosquitto_pub and return its exit status."""
    command = ["mosquitto_pub", "-h", "localhost", "-p", str(port), "-V", "5", "-i", "me", "-t", "a", "-m", "x", *flags]
    return subprocess.run(command, capture_output=True, check=False, timeout=20).returncode


def records(text: str) -> list[dict[str, Any]]:
    """Return the records of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.broker
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_what_happens_and_a_signal_ends_it_well(number: int, mosquitto: int) -> None:
    with running_proxy("-p", mosquitto) as proxy:
        assert publish(proxy.port, "-q", "2") == 0
        proxy.await_said("connection 1 closed")
        assert proxy.end(number) == 0
    assert f"-> localhost:{mosquitto}; press Ctrl-C to stop" in proxy.said
    assert "mqttpub: connection 1 opened by 127.0.0.1:" in proxy.said
    assert " bytes of the client, 19 of the broker\n" in proxy.said
    assert proxy.other == ""


@pytest.mark.broker
def test_packets_of_several_connections_are_told_apart(mosquitto: int) -> None:
    with running_proxy("-p", mosquitto, "--json", "--inspect", "--lint") as proxy:
        for qos in ("1", "0"):
            assert publish(proxy.port, "-q", qos) == 0
            proxy.await_said('"event":"closed"', 2 - int(qos))
        assert proxy.end(signal.SIGTERM) == 0
    shown = records(proxy.said)
    types = [(each["connection"], each["type"]) for each in shown if each["event"] == "packet"]
    assert types == [
        *(("1", type) for type in ("CONNECT", "CONNACK", "PUBLISH", "PUBACK", "DISCONNECT")),
        *(("2", type) for type in ("CONNECT", "CONNACK", "PUBLISH", "DISCONNECT")),
    ]
    assert shown[-1]["event"] == "lint"
    assert shown[-1]["packets"] == 9
    assert [each["connection"] for each in shown if each["event"] == "opened"] == ["1", "2"]
    ended = [each for each in shown if each["event"] == "closed"]
    assert [each["server_bytes"] for each in ended] == [16, 11]


def test_faults_of_the_client_are_status_7_with_lint() -> None:
    # This broker reads to the end: one that closes at once resets the connection if bytes were left.
    with scripted(Peer.wait) as broker, running_proxy("-p", broker, "--lint") as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port)) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(1) == b""
        proxy.await_said(" closed by the client")
        assert proxy.end() == 7
    assert "connection 1: 127.0.0.1:" in proxy.said
    assert "PUBACK is the client's first packet, but CONNECT must be" in proxy.said
    assert "mqttpub: the client broke the protocol: 4 errors" in proxy.said


@pytest.mark.broker
def test_a_made_certificate_is_trusted_by_who_has_its_file(mosquitto: int, tmp_path: Path) -> None:
    ca = tmp_path / "proxy.pem"
    with running_proxy("-p", mosquitto, "--listen-ca", ca, listen="mqtts://127.0.0.1:0") as proxy:
        assert publish(proxy.port, "--cafile", str(ca)) == 0
        assert publish(proxy.port, "--cafile", str(Authority(tmp_path / "other").cert)) != 0
        proxy.await_said("connection 2 closed by the client: ")
        assert publish(proxy.port) != 0
        proxy.await_said("connection 3 closed by the client: ")
        assert publish(proxy.port, "--cafile", str(ca)) == 0
        assert proxy.end() == 0
    assert proxy.said.startswith("mqttpub: listening on mqtts://127.0.0.1:")
    assert "TLS, wrong version number" in proxy.said or "TLS, http request" in proxy.said


@pytest.mark.broker
def test_a_certificate_of_the_broker_that_does_not_fit_is_named(brokers: starters.Broker) -> None:
    trust = ["--cafile", brokers.ca.cert]
    with running_proxy("-p", brokers.ports["elsewhere"], *trust) as proxy:
        assert publish(proxy.port) != 0
        assert proxy.end() == 0
    assert f"closed: the certificate of localhost:{brokers.ports['elsewhere']} is not for 'localhost'" in proxy.said
    with running_proxy("-p", brokers.ports["wss"], "--protocol", "wss", *trust, listen="ws://[::1]:0") as proxy:
        address = ["--url", f"ws://[::1]:{proxy.port}/any"]
        assert main(["pub", *address, "-t", "a", "-q", "1", "-m", "x"]) == 0
        assert proxy.end() == 0
    assert proxy.said.startswith("mqttpub: listening on ws://[::1]:")


def test_a_broker_that_is_down_is_one_line_a_connection() -> None:
    port = starters.free_port()
    with running_proxy("-p", port) as proxy:
        assert publish(proxy.port) != 0
        assert publish(proxy.port) != 0
        assert proxy.end() == 0
    assert proxy.said.count(f" closed: cannot connect to localhost:{port}: Connection refused\n") == 2


def test_another_address_needs_expose() -> None:
    with running_proxy("--expose", listen="0.0.0.0:0") as proxy:
        assert " 0.0.0.0:" in proxy.said
        assert proxy.end() == 0


@pytest.mark.broker
def test_a_low_limit_of_open_files_turns_clients_away_with_a_sentence(mosquitto: int) -> None:
    with running_proxy("-p", mosquitto, files=28) as proxy:
        assert "the system allows 28 open files (`ulimit -n`): 2 connections at a time\n" in proxy.said
        with Wire(proxy.port) as one, Wire(proxy.port) as two:
            one.connect("one")
            two.connect("two")
            assert publish(proxy.port) != 0
            proxy.await_said("was turned away: 2 connections are open")
        proxy.await_said(" closed by ", 2)
        assert publish(proxy.port) == 0
        assert proxy.end() == 0


@pytest.mark.broker
def test_quiet_prints_nothing(mosquitto: int) -> None:
    ours, its = os.pipe()
    port = starters.free_port()
    command = [*PROGRAM, "proxy", "--listen", str(port), "-p", str(mosquitto), "--quiet"]
    with subprocess.Popen(command, stdout=its, stderr=its) as process:
        os.close(its)
        starters.wait_for_port(port)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    with os.fdopen(ours, "rb") as shown:
        assert shown.read() == b""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "Missing option '--listen'"),
        ("--listen abc", "--listen: 'abc' does not end with a port, 0 to 65535"),
        ("--listen 65536", "does not end with a port"),
        ("--listen http://127.0.0.1:1", "does not begin with any of mqtt://, mqtts://, ws://, wss://"),
        ("--listen [::1:1999", "its IPv6 address has no ]"),
        ("--listen 0.0.0.0:1999", "without --expose, the proxy listens on loopback addresses only"),
        (
            "--listen mqtts://127.0.0.1:1",
            "mqtts:// needs a certificate: --listen-cert and --listen-key, or --listen-ca",
        ),
        ("--listen mqtts://localhost:1 --listen-cert {ca}", "--listen-cert: '{ca}' holds no private key"),
        ("--listen wss://localhost:1 --listen-cert {ca} --listen-key {key}", "--listen-key: '{key}' is not the key of"),
        ("--listen 1 --listen-ca x", "need --listen mqtts:// or wss://"),
        ("--listen mqtts://127.0.0.1:1 --listen-ca {key}", "exists and is not a certificate in PEM"),
        ("--listen mqtts://127.0.0.1:1 --listen-ca /nowhere/x", "cannot write '/nowhere/x'"),
        ("--listen {taken}", "cannot listen on 127.0.0.1:{taken}: Address already in use"),
        ("--listen 0 -L mqtt://me@localhost:1", "--url: host and port are enough, as clients bring their own user"),
        ("--listen 0 --seed 1", "--seed is for the chance of rules: give --fault too"),
        ("--listen 0 --fault drip", "--fault: "),
        ("--listen 0 --max-connections 0", "--max-connections: 0 is not in the range"),
    ],
)
def test_wrong_flags_are_one_sentence(
    words: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ca = Authority(tmp_path)
    pair = ca.signed("server")
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = {"ca": ca.cert, "key": pair.key, "taken": server.getsockname()[1]}
        assert main(["proxy", *words.format(**names).split()]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("mqttpub proxy: ")
    assert sentence.format(**names) in said
