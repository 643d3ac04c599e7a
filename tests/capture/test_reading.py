"""Captures of real traffic, and what is read in them."""

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mqttpub.capture.reading import CaptureEvents, events
from mqttpub.capture.types import BadCapture, NoKeys
from mqttpub.spec.packets import PACKETS
from mqttpub.spec.versions import Version
from mqttpub.traffic.events import Closed, Event, PacketSeen, Remark
from tests.build.brokers import Broker, all_transports
from tests.build.certificates import Authority
from tests.build.frames import FIN, Wire, pcap, records
from tests.build.pieces import CLIENT, CONNACKS, CONNECTS, PINGREQ, SERVER, V5, gaps, packets_in, publish, remarks, seen
from tests.build.recording import dumpcap
from tests.build.tls_captures import Captured, TlsScript

# made here


def capture(*, end: bool = True) -> bytes:
    """Return a capture of a short conversation."""
    wire = Wire()
    sent, answered = CONNECTS[V5] + publish() + PINGREQ, CONNACKS[V5]
    packets = [
        *wire.opening(),
        wire.packet(0, 0, sent[:25]),
        wire.packet(1, 0, answered, ack=25),
        wire.packet(0, 25, sent[25:], ack=len(answered)),
        *([wire.packet(side, at, flags=FIN | 16) for side, at in ((0, len(sent)), (1, len(answered)))] if end else []),
    ]
    return pcap(records(packets))


def test_a_capture_is_read_in_the_order_of_its_records() -> None:
    found = list(events(io.BytesIO(capture())))
    assert [(each.record, type(each)) for each in found] == [
        (4, PacketSeen), (5, PacketSeen), (6, PacketSeen), (6, PacketSeen), (7, Closed), (8, Closed),
    ]  # fmt: skip
    assert seen(found, CLIENT) == [CONNECTS[V5], publish(), PINGREQ]
    assert found[0].ends == (1, "10.0.0.1:50000", "10.0.0.2:1883", True)
    assert found[0].time == 1_700_000_000_004_000_000


def test_position_and_skipped_connections_can_be_shown() -> None:
    wire = Wire()
    file = io.BytesIO(pcap(records([*wire.opening(), wire.packet(0, 0, b"GET / HTTP/1.1\r\n\r\n")])))
    reading = CaptureEvents(file)
    assert reading.position == 0
    assert list(reading.events()) == []
    assert reading.position == len(file.getvalue())
    assert reading.skipped.sentence == "1 connection is not MQTT: 1 HTTP"
    assert reading.problems == []


def test_a_broken_file_is_reported_after_its_events() -> None:
    data = capture(end=False)
    found: list[Event] = []
    with pytest.raises(BadCapture, match="offset"):
        found.extend(events(io.BytesIO(data[:-5])))
    reading = CaptureEvents(io.BytesIO(data[:-5]))
    left = reading.events()
    found = [next(left) for _ in range(3)]
    assert seen(found) == [CONNECTS[V5], CONNACKS[V5]]
    assert [each.message for each in gaps(found)] == ["the capture ends 8 bytes into a PUBLISH of 13 bytes"]
    with pytest.raises(BadCapture):
        list(left)


def test_files_that_are_not_captures() -> None:
    with pytest.raises(BadCapture):
        list(events(io.BytesIO(b"no capture at all")))


def test_a_key_log_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(capture())
    with path.open("rb") as file, pytest.raises(NoKeys, match="cannot be read"):
        list(events(file, keylog=tmp_path / "none.log"))


# TLS


def test_why_tls_was_not_read_to_the_end_is_there_to_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, path, keys = tmp_path / "tshark", tmp_path / "a.pcap", tmp_path / "keys.log"
    program.write_text("#!/bin/sh\necho something went wrong >&2\nexit 2\n")
    program.chmod(0o755)
    path.write_bytes(capture())
    keys.write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with path.open("rb") as file:
        reading = CaptureEvents(file, keylog=keys)
        assert len(list(reading.events())) == 6
    assert reading.problems == ["tshark ended with status 2: something went wrong"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    ca = Authority(tmp_path_factory.mktemp("ca"))
    talk = TlsScript(tmp_path_factory.mktemp("secured"), ca)
    return (
        talk.say(CLIENT, CONNECTS[V5])
        .say(SERVER, CONNACKS[V5])
        .say(CLIENT, publish() + PINGREQ[:1], PINGREQ[1:])
        .written()
    )


PACKETS_SECURED = [CONNECTS[V5], CONNACKS[V5], publish(), PINGREQ]


@pytest.mark.tshark
@pytest.mark.slow
def test_tls_is_read_with_its_keys(secured: Captured) -> None:
    with secured.path.open("rb") as file:
        reading = CaptureEvents(file, keylog=secured.keylog)
        found = list(reading.events())
    assert seen(found) == PACKETS_SECURED
    assert [each.direction for each in found] == [CLIENT, SERVER, CLIENT, CLIENT, CLIENT, SERVER]
    assert [type(each) for each in found[-2:]] == [Closed, Closed]
    assert (reading.skipped.sentence, reading.problems) == ("", [])


@pytest.mark.tshark
@pytest.mark.slow
def test_a_pipe_is_read_with_keys_too(secured: Captured) -> None:
    assert seen(events(io.BytesIO(secured.path.read_bytes()), keylog=secured.keylog)) == PACKETS_SECURED


@pytest.mark.tshark
@pytest.mark.slow
def test_keys_that_the_capture_holds(secured: Captured, tmp_path: Path) -> None:
    both = tmp_path / "both.pcapng"
    inject = ["editcap", "--inject-secrets", f"tls,{secured.keylog}", str(secured.path), str(both)]
    subprocess.run(inject, check=True, capture_output=True)
    with both.open("rb") as file:
        assert seen(events(file)) == PACKETS_SECURED
    reading = CaptureEvents(io.BytesIO(both.read_bytes()))
    assert [type(each) for each in reading.events()] == [Remark]
    assert reading.problems == ["the capture holds keys for TLS, which are used only when it is read from a file"]


@pytest.mark.tshark
@pytest.mark.slow
def test_keys_of_other_connections(secured: Captured, tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("")
    with secured.path.open("rb") as file:
        reading = CaptureEvents(file, keylog=other)
        assert list(reading.events()) == []
    assert reading.skipped.sentence == "1 connection is not MQTT: 1 TLS"


# real traffic


class Traffic(NamedTuple):
    """Captures of a real broker, by the way that its clients took, and the ports of the broker."""

    folder: Path
    ports: dict[str, int]


def run(*arguments: object) -> None:
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def pub(made: Broker, kind: str, keys: Path, *more: object) -> None:
    """Publish with our own program."""
    schemes = {"tcp": "mqtt", "tls": "mqtts", "ws": "ws", "wss": "wss"}
    url = f"{schemes[kind]}://localhost:{made.ports[kind]}"
    tls = ["--cafile", made.ca.cert, "--key-log", keys] if kind in ("tls", "wss") else []
    run(sys.executable, "-m", "mqttpub", "pub", "--url", url, *tls, *more)


def subscribed(made: Broker, port: int) -> None:
    """Let the clients of mosquitto exchange messages of each quality of service, in each version."""
    for version in ("mqttv31", "mqttv311", "mqttv5"):
        common = ["-h", "127.0.0.1", "-p", port, "-V", version, "-t", f"real/{version}"]
        listener = ["stdbuf", "-oL", "mosquitto_sub", *common, "-q", "2", "-C", "4", "-W", "20", "-d"]
        with subprocess.Popen([str(each) for each in listener], stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert any(b"SUBACK" in line for line in process.stdout)
            for qos, size in ((0, 5), (1, 5), (2, 5), (1, 300_000)):
                message = made.log.parent / "message"
                message.write_bytes(b"x" * size)
                run("mosquitto_pub", *common, "-q", qos, "-f", message)
            process.communicate(timeout=20)


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    """Record exchanges with a real broker, plain and by WebSocket, with and without TLS."""
    folder = tmp_path_factory.mktemp("traffic")
    with all_transports(tmp_path_factory.mktemp("broker")) as made:
        for kind in ("tcp", "ws", "tls", "wss"):
            with dumpcap(folder / f"{kind}.pcapng", f"tcp port {made.ports[kind]}"):
                for qos in (0, 1, 2):
                    pub(made, kind, folder / "keys.log", "-t", "ours", "-m", f"hello {qos}", "-q", qos)
                pub(made, kind, folder / "keys.log", "-t", "ours", "-m", "y" * 100_000, "-q", 1)
                if kind == "tcp":
                    subscribed(made, made.ports[kind])
        yield Traffic(folder, made.ports)


def found_in(traffic: Traffic, kind: str) -> list[Event]:
    with (traffic.folder / f"{kind}.pcapng").open("rb") as file:
        reading = CaptureEvents(file, keylog=traffic.folder / "keys.log" if kind in ("tls", "wss") else None)
        found = list(reading.events())
    assert (reading.skipped.sentence, reading.problems, gaps(found)) == ("", [], [])
    return found


def types(found: list[Event]) -> list[str]:
    return [PACKETS[data[0] >> 4].name for data in seen(found)]


def tshark_types(traffic: Traffic) -> list[tuple[int, int]]:
    """Return record and type of each packet, as tshark sees it."""
    command = ["tshark", "-o", "tcp.reassemble_out_of_order:TRUE", "-r", str(traffic.folder / "tcp.pcapng")]
    command += ["-d", f"tcp.port=={traffic.ports['tcp']},mqtt"]
    command += ["-Y", "mqtt", "-T", "fields", "-e", "frame.number", "-e", "mqtt.msgtype"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in output.splitlines())
    return [(int(number), int(code)) for number, codes in rows for code in codes.split(",")]


@pytest.mark.broker
@pytest.mark.tshark
@pytest.mark.slow
def test_real_traffic_agrees_with_tshark(traffic: Traffic) -> None:
    found = found_in(traffic, "tcp")
    packets = [(each.record, each.data[0] >> 4) for each in packets_in(found)]
    assert sorted(packets) == sorted(tshark_types(traffic))
    assert [record for record, _ in packets] == sorted(record for record, _ in packets)
    assert {each.version for each in packets_in(found)} == set(Version)
    assert not any(each.guessed for each in found if isinstance(each, PacketSeen))


@pytest.mark.broker
@pytest.mark.tshark
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tcp", "ws", "tls", "wss"])
def test_real_traffic_on_every_way_is_the_same(traffic: Traffic, kind: str) -> None:
    found = found_in(traffic, kind)
    counted = Counter(types([each for each in found if each.ends.number < 5]))
    assert counted == Counter(
        CONNECT=4, CONNACK=4, PUBLISH=4, PUBACK=2, PUBREC=1, PUBREL=1, PUBCOMP=1, DISCONNECT=4
    )  # fmt: skip
    payloads = [data for data in seen(found, CLIENT) if data[0] >> 4 == 3]
    assert payloads[0].endswith(b"hello 0")
    assert payloads[3].endswith(b"y" * 100_000)
    said = remarks(found)
    assert len(said) == (4 if kind in ("ws", "wss") else 0)
    assert all(each.startswith("WebSocket: GET /mqtt -> 101 Switching Protocols, sub-protocol mqtt") for each in said)
    assert {each.ends.server.rpartition(":")[2] for each in found} == {str(traffic.ports[kind])}


@pytest.mark.broker
@pytest.mark.tshark
@pytest.mark.slow
def test_tls_without_keys_is_named_and_counted(traffic: Traffic) -> None:
    with (traffic.folder / "tls.pcapng").open("rb") as file:
        reading = CaptureEvents(file)
        assert remarks(reading.events()) == ["TLS to localhost: give --key-log FILE to read it"]
    assert reading.skipped.sentence == "4 connections are not MQTT: 4 TLS"


def up_to_connect(path: Path, connects: set[int]) -> list[int]:
    """Return the records of each connection up to its CONNECT, by tshark's numbers of connections."""
    command = ["tshark", "-r", str(path), "-Y", "tcp", "-T", "fields", "-e", "frame.number", "-e", "tcp.stream"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    streams = {int(number): stream for number, stream in (line.split() for line in output.splitlines())}
    last = {streams[record]: record for record in connects}
    return [number for number, stream in streams.items() if number <= last.get(stream, 0)]


@pytest.mark.broker
@pytest.mark.tshark
@pytest.mark.slow
def test_real_traffic_without_its_beginnings(traffic: Traffic) -> None:
    whole = [each for each in found_in(traffic, "tcp") if isinstance(each, PacketSeen)]
    # Connections lose all up to their CONNECT, so that neither SYN nor version is left.
    numbers = {each.record for each in whole if each.data[0] >> 4 == 1}
    first = {
        number: next(one.record for one in whole if one.ends.number == number)
        for number in {e.ends.number for e in whole}
    }
    assert numbers == set(first.values())
    source, path = traffic.folder / "tcp.pcapng", traffic.folder / "later.pcapng"
    ranges = [str(number) for number in up_to_connect(source, numbers)]
    for at in range(0, len(ranges), 400):
        run("editcap", source, path, *ranges[at : at + 400])
    with path.open("rb") as file:
        later = list(events(file, ports=[traffic.ports["tcp"]]))
    versions = {each.ends.client: each.version for each in whole}
    compared = Counter(
        (each.version, versions[each.ends.client], each.guessed) for each in later if isinstance(each, PacketSeen)
    )
    # 3.1 differs from 3.1.1 in next to nothing but its CONNECT.
    assert all((given is V5) == (true is V5) and guessed for given, true, guessed in compared)
    rest = [each.data for each in whole if each.record not in numbers]
    assert Counter(seen(later)) == Counter(rest)
    assert not gaps(later)
