"""`--capture`: sessions with mosquitto, read by tshark byte for byte."""

import io
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from tests.benchmarks.harness import run
from tests.build.brokers import Broker, free_port
from tests.fakes import Peer, scripted

pytestmark = [pytest.mark.broker, pytest.mark.tshark]
Screen = pytest.CaptureFixture[str]
WAYS = ("tcp", "ipv6", "tls", "ws", "wss", "unix")
COMMANDS = {
    "pub": ["pub", "-t", "a", "-m", "x", "-q", "2"],
    "sub": ["sub", "-t", "$SYS/broker/version", "-C", "1"],
    "request": ["request", "-t", "nobody", "-m", "x", "-W", "0.1"],
    "respond": ["respond", "-t", "nobody", "--duration", "0.1", "--", "true"],
    "conn": ["conn", "--ping", "2"],
    "step": ["step", "qos2"],
    "send": ["send", "publish q1 i7 t=a p=hi"],
}


def way(brokers: Broker, name: str) -> list[str]:
    """Return the flags of a way to the broker."""
    if name == "unix":
        return ["--unix", str(brokers.socket)]
    host = ["-h", "::1" if name == "ipv6" else "localhost", "-p", str(brokers.ports[name])]
    tls = ["--tls", "--cafile", str(brokers.ca.cert)] if name in ("tls", "wss") else []
    return [*host, *tls, *(["--ws"] if name in ("ws", "wss") else [])]


def tshark(path: Path, *fields: str) -> list[list[str]]:
    """Return fields of each record; a capture that tshark does not read to its end fails."""
    checks = [f"-o{name}.check_checksum:TRUE" for name in ("ip", "tcp")]
    command = ["tshark", "-r", str(path), "-T", "fields", *checks, *(f"-e{field}" for field in fields)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [line.split("\t") for line in shown.splitlines()]


def spoken(path: Path) -> dict[bool, str]:
    """Return in hex what each end says, the server's under True, and check what is around it."""
    rows = tshark(
        path, "tcp.dstport", "tcp.payload", "tcp.checksum.status", "tcp.analysis.flags", "mqtt.msgtype", "_ws.malformed"
    )
    assert {row[2] for row in rows} == {"1"}, "every checksum is good"
    assert {row[3] for row in rows} == {""}, "no segment is missing or out of order"
    assert {row[5] for row in rows} == {""}, "every packet is well-formed"
    assert all(row[4] for row in rows if row[1]), "every payload is MQTT"
    return {server: "".join(row[1] for row in rows if (row[0] != "1883") == server) for server in (False, True)}


def shown(out: str) -> dict[bool, str]:
    """Return the same of the packets that --inspect --json shows."""
    records = [json.loads(line) for line in out.splitlines()]
    packets = [each for each in records if each.get("event") == "packet"]
    return {
        server: "".join(each["hex"] for each in packets if (each["direction"] == "server") == server)
        for server in (False, True)
    }


@pytest.mark.parametrize("name", WAYS)
def test_a_session_over_each_transport_is_the_one_that_inspect_shows(
    name: str, brokers: Broker, tmp_path: Path, capsys: Screen
) -> None:
    path = tmp_path / "a.pcapng"
    line = [*COMMANDS["pub"], *way(brokers, name), "-u", "me", "-P", "s3cret!", "--capture", str(path)]
    assert main([*line, "--inspect", "--json", "--show-secrets"]) == 0
    assert spoken(path) == shown(capsys.readouterr().out)
    (_, *begun), *_ = tshark(path, "frame.number", "frame.comment", "ip.dst", "ipv6.dst")
    port = "" if name == "unix" else f"the server's port is {brokers.ports[name]}"
    assert begun[0].endswith(port)
    assert ("TLS 1.3" in begun[0], "WebSocket" in begun[0]) == (name in ("tls", "wss"), name in ("ws", "wss"))
    assert [each for each in begun[1:] if each] == (["::1"] if begun[2] else ["127.0.0.1"])
    ends = [row[0] for row in tshark(path, "tcp.flags.fin", "tcp.flags.reset") if "True" in row or "1" in row]
    assert len(ends) == 2, "both ends close"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_records_the_session_that_it_shows(
    name: str, mosquitto: int, tmp_path: Path, capsys: Screen
) -> None:
    path, again = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    command, *words = COMMANDS[name]
    where = [command, "-h", "127.0.0.1", "-p", str(mosquitto), "--json", "--capture"]
    wanted = 1 if name == "request" else 0
    assert main([*where, str(path), "--show-secrets", *([] if name == "send" else ["--inspect"]), *words]) == wanted
    said = capsys.readouterr()
    assert said.err.startswith(f"mqttpub: '{path}' will hold passwords as they are sent")
    assert spoken(path) == shown(said.out)
    assert main([*where, str(again), *words]) == wanted
    kinds = [[row for row in tshark(each, "mqtt.msgtype") if row[0]] for each in (again, path)]
    assert kinds[0] == kinds[1], "the same is recorded where nothing is shown"


def test_masked_secrets_are_in_no_byte_of_the_file(mosquitto: int, tmp_path: Path, capsys: Screen) -> None:
    path = tmp_path / "a.pcapng"
    line = ["pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-m", "x", "-u", "me", "-P", "s3cret!"]
    assert main([*line, "--capture", str(path), "--capture-masked"]) == 0
    assert capsys.readouterr().err == ""
    assert b"s3cret!" not in path.read_bytes()
    assert ["*******"] in tshark(path, "mqtt.passwd")


def test_a_session_that_is_killed_is_read_to_its_last_packet(mosquitto: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    command = [sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-q", "1"]
    with subprocess.Popen(
        [*command, "-l", "--capture", str(path), "--capture-masked"], stdin=subprocess.PIPE
    ) as process:
        assert process.stdin
        process.stdin.write(b"".join(b"line %d\n" % number for number in range(100)))
        process.stdin.flush()
        for _ in _until_s(30):
            if path.exists() and path.read_bytes().count(b"line ") == 100:
                break
        process.send_signal(signal.SIGKILL)
    payloads = ",".join(row[0] for row in tshark(path, "mqtt.msg") if row[0]).split(",")
    assert [bytes.fromhex(each) for each in payloads] == [b"line %d" % number for number in range(100)]


def _until_s(seconds: float) -> Iterator[None]:
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        yield
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")


def test_a_disk_that_is_full_ends_the_capture_and_not_the_run(mosquitto: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    lines = b"".join(b"%064d\n" % number for number in range(1000))
    command = [sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-q", "1"]
    done = subprocess.run(
        [*command, "-l", "--json", "--capture", str(path), "--capture-masked"], input=lines, capture_output=True,
        timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )  # fmt: skip
    assert done.returncode == 74
    assert done.stderr.decode().splitlines() == [
        f"mqttpub: the capture '{path}' ends here, because it cannot be written: File too large"
    ]
    assert json.loads(done.stdout.splitlines()[-1])["accepted"] == 1000
    assert tshark(path, "mqtt.msgtype")[3] == ["1"]


def test_a_file_that_is_no_capture_is_not_replaced(tmp_path: Path, capsys: Screen) -> None:
    path = tmp_path / "notes"
    path.write_text("keep me")
    line = ["pub", "-t", "a", "-m", "x", "-p", str(free_port())]
    for flags, said in (
        (["--capture", str(path)], "exists and is not a pcapng file"),
        (["--capture", str(tmp_path / "no" / "a")], "cannot write"),
        (["--capture-masked"], "--capture-masked says how --capture records"),
        (["--capture-size", "5"], "--capture-size says how --capture records"),
    ):
        assert main([*line, *flags]) == 2
        assert said in capsys.readouterr().err
    assert path.read_text() == "keep me"
    sent = tmp_path / "sent.pcapng"
    sent.write_bytes(b"\n\r\r\n")
    assert main(["pub", "-t", "a", "-f", str(sent), "-p", str(free_port()), "--capture", str(sent)]) == 2
    assert "is an input as well" in capsys.readouterr().err
    assert sent.read_bytes() == b"\n\r\r\n"


def test_the_connections_of_a_script_are_separate_and_findings_name_both_ends(
    mosquitto: int, tmp_path: Path, capsys: Screen
) -> None:
    path = tmp_path / "a.pcapng"
    line = ["step", "-h", "127.0.0.1", "-p", str(mosquitto), "dup-after-reconnect", "qos1", "--lint"]
    assert main([*line, "--capture", str(path)]) == 0
    assert "packets of 4 connections: no findings" in capsys.readouterr().err
    assert {row[0] for row in tshark(path, "tcp.stream")} == {"0", "1", "2", "3"}
    assert ["connection b"] in [row[0].split(",")[:1] for row in tshark(path, "frame.comment")]


@pytest.mark.parametrize("words", [["step", "-"], ["send", "pingreq", "-W", "0.1"]])
def test_errors_of_the_broker_in_a_script_are_status_7(
    words: list[str], capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = io.TextIOWrapper(io.BytesIO(b"version 5.0\n> connect; < connack; <* pingresp; +0.2\n"))
    monkeypatch.setattr(sys, "stdin", script)

    def wrong(peer: Peer) -> None:
        peer.accept("20 03 00 00 00 d0 00")
        peer.wait()

    with scripted(wrong) as port:
        assert main([*words, "-h", "127.0.0.1", "-p", str(port), "--lint"]) == 7
    said = capsys.readouterr()
    assert "PINGRESP is sent, but no PINGREQ awaits it" in said.out + said.err


@pytest.mark.long
def test_a_million_messages_are_recorded_in_flat_memory(mosquitto: int, tmp_path: Path) -> None:
    few, many, path = tmp_path / "few", tmp_path / "many", tmp_path / "a.pcapng"
    few.write_bytes(b"".join(b"%010d\n" % number for number in range(100_000)))
    many.write_bytes(b"".join(b"%010d\n" % number for number in range(1_000_000)))
    for qos in (0, 1):
        command = [sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-l"]
        command += ["-q", str(qos), "--capture", str(path)]
        first, second = (run(command, stdin=each, watched=True) for each in (few, many))
        assert second.peak_mb < first.peak_mb + 8
        rows: list[list[str]] = tshark(path, "mqtt.msg")
        found = ",".join(row[0] for row in rows if row[0]).split(",")
        assert found == [(b"%010d" % number).hex() for number in range(1_000_000)]
