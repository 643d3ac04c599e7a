"""mqttx sub and conn by their own grammar."""

import json
import os
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from mqttpub.cli.compat.mqttx.grammar import read
from mqttpub.cli.compat.mqttx.options import OPTIONS
from mqttpub.cli.compat.mqttx.sub import message_writer, subscribe_packets
from mqttpub.codec.encode import encode
from mqttpub.live.receive import ReceivedMessage
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.cli.compat.both import ours, run
from tests.fakes import Peer, answering, scripted
from tests.lab.peer import props

MQTTX = ours("mqttx")


def written(*words: str, **packet: object) -> str:
    """Return what is written of a message."""
    values = read(["-t", "a", *words], OPTIONS["sub"])
    made = ReceivedMessage("a", b"hi", qos=0, retain=False, dup=False, packet_id=None, properties=(), time_ns=0)
    message = made._replace(**packet)  # type: ignore[arg-type]
    return message_writer(values)(message).decode()


class TestSubscriptions:
    """Values for each topic."""

    def test_values_for_each_topic(self) -> None:
        words = "-t a b c -q 0 1 -nl true false -rap -rh 2 -up k:_ -si 7".replace("k:_", "k: v").split(" ")
        words[words.index("k:") : words.index("k:") + 2] = ["k: v"]
        (packet,) = subscribe_packets(read(words, OPTIONS["sub"]))
        rows = [(each.filter, each.qos, each.no_local, each.retain_as_published, each.retain_handling)
                for each in packet.subscriptions]  # fmt: skip
        assert rows == [("a", 0, True, True, 2), ("b", 1, False, True, 2), ("c", 1, False, True, 2)]
        assert [value for _, value in packet.properties] == [("k", "v"), 7]


class TestOutput:
    """Messages as MQTTX writes them."""

    def test_default(self) -> None:
        assert written() == "received_at: 1970-01-01T00:00:00.000Z, topic: a, qos: 0, size: 2B\nhi\n\n"

    def test_retained_with_properties(self) -> None:
        head = written(retain=True, properties=props(user_property=("k", "v"))).split("\n")[0]
        assert head.endswith("size: 2B, retain: true, userProperties: [ { key: 'k', value: 'v' } ]")

    @pytest.mark.parametrize(
        ("count", "size"),
        [(0, "0B"), (1023, "1023B"), (1024, "1KB"), (1536, "1.5KB"), (1 << 20, "1MB"), (5 << 20, "5MB")],
    )
    def test_size(self, count: int, size: str) -> None:
        assert f"size: {size}\n" in written(payload=b"x" * count)

    def test_hex(self) -> None:
        assert written("-f", "hex", payload=b"\1\2\3").split("\n")[1] == "0102 03 "

    def test_base64(self) -> None:
        assert written("-f", "base64").split("\n")[1] == "aGk="

    def test_escapes(self) -> None:
        """What a peer sent cannot change a terminal."""
        assert "\x1b" not in written(topic="\x1b[31m", payload=b"\x1b[31m")

    def test_clean(self) -> None:
        """The packet has the names and the order of mqtt.js."""
        given = props(
            payload_format_indicator=1, content_type="c", correlation_data=b"\1", user_property=("k", "v"),
        ) + props(user_property=("k", "w")) + props(user_property=("l", "x"))  # fmt: skip
        made = json.loads(written("--output-mode", "clean", qos=1, packet_id=7, dup=True, properties=given))
        assert (made["topic"], made["payload"]) == ("a", "hi")
        packet = made["packet"]
        assert list(packet) == ["cmd", "retain", "qos", "dup", "length", "topic", "payload", "messageId", "properties"]
        # Topic, Packet Identifier, properties with their length, payload.
        assert packet["length"] == 3 + 2 + 1 + (2 + 4 + 4 + 3 * 7) + 2
        assert packet["payload"] == {"type": "Buffer", "data": [104, 105]}
        assert packet["properties"] == {
            "payloadFormatIndicator": True, "contentType": "c", "correlationData": {"type": "Buffer", "data": [1]},
            "userProperties": {"k": ["v", "w"], "l": "x"},
        }  # fmt: skip

    def test_clean_with_a_format(self) -> None:
        assert json.loads(written("--output-mode", "clean", "-f", "base64"))["payload"] == "aGk="


def test_clean_says_nothing_else(mosquitto: int) -> None:
    """Only messages are written, and nothing about the connection."""
    words = ["-p", str(mosquitto), "-t", "compat/clean", "--output-mode", "clean"]
    run(MQTTX, ["pub", "-p", str(mosquitto), "-t", "compat/clean", "-m", "x", "-r"]).checked()
    with subprocess.Popen([*MQTTX, "sub", *words], stdout=-1, stderr=-1) as process:
        assert process.stdout
        assert process.stdout.readline() == b"{\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[1] == b""
    run(MQTTX, ["pub", "-p", str(mosquitto), "-t", "compat/clean", "-m", "", "-r"])


def test_sub(mosquitto: int, tmp_path: Path) -> None:
    """Messages arrive until Ctrl-C, which ends the run with 0."""
    path = tmp_path / "messages"
    words = ["-p", str(mosquitto), "-t", "compat/mqttx", "--file-write", str(path), "--delimiter"]
    with subprocess.Popen([*MQTTX, "sub", *words], stderr=subprocess.PIPE) as process:
        assert process.stderr
        while "Subscribed" not in process.stderr.readline().decode():
            assert process.poll() is None
        for text in ("one", "two"):
            assert run(MQTTX, ["pub", "-p", str(mosquitto), "-t", "compat/mqttx", "-m", text, "-q", "1"]).status == 0
        while not (path.exists() and path.read_bytes().count(b"\n") == 2):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert (process.returncode, path.read_bytes()) == (0, b"one\ntwo\n")


def test_a_file_that_is_full_is_said(tmp_path: Path) -> None:
    path, most = tmp_path / "messages", 1000
    message = encode(Publish(topic="a", payload=bytes(2 * most)), Version.V5)
    with scripted(answering("90 04 00 01 00 00", last=lambda peer: peer.sock.sendall(message))) as port:
        done = subprocess.run(
            [*MQTTX, "sub", "-p", str(port), "-t", "a", "-rp", "0", "--file-write", str(path)], capture_output=True,
            timeout=20, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
            # What Python caches would be cut off as well.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    assert done.returncode == 74, done.stderr
    assert b"File too large" in done.stderr


def test_negated() -> None:
    """A refused subscription ends with 1."""

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("90 04 00 01 00 87")
        peer.wait()

    with scripted(script) as port:
        made = run(MQTTX, ["sub", "-p", str(port), "-t", "a"])
    assert made.status == 1
    assert 'Subscription negated to "a" with code 135' in made.stderr.decode()


def test_conn() -> None:
    """It stays connected until Ctrl-C."""
    sent: list[bytes] = []

    def script(peer: Peer) -> None:
        sent.append(peer.accept("20 02 00 00"))
        assert process.stderr
        while "Connected" not in process.stderr.readline().decode():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        sent.append(peer.packet())

    with scripted(script) as port:
        words = ["conn", "-p", str(port), "-V", "3.1.1", "-i", "x", "-k", "9"]
        process = subprocess.Popen([*MQTTX, *words], stderr=subprocess.PIPE)
        process.wait(20)
    process.communicate()
    assert process.returncode == 0
    assert [each.hex(" ") for each in sent] == ["10 0d 00 04 4d 51 54 54 04 02 00 09 00 01 78", "e0 00"]


@pytest.mark.parametrize("kind", ["conn", "pub", "sub"])
def test_a_benchmark_is_refused_with_the_line_of_ours(kind: str) -> None:
    """The line that is named is one that `mqttpub bench` takes; with one connection it reaches the broker."""
    made = run(MQTTX, ["bench", kind, "-c", "2", "-t", "a/%i", "-P", "secret"])
    assert (made.status, made.stdout) == (1, b"")
    found = re.fullmatch(r"error: mqttpub has no 'bench' of MQTTX, .*: `mqttpub (bench .*)`\n", made.stderr.decode())
    assert found
    words = found[1].replace("1000", "1").replace("TOPIC", "a").split()
    tried = run(ours(words[0]), [*words[1:], "-h", "127.0.0.1", "-p", "1"])
    assert (tried.status, tried.stderr) == (3, b"mqttpub: cannot connect to 127.0.0.1:1: Connection refused\n")


@pytest.mark.parametrize(
    ("line", "said"), [
        ("-lo", "profile import"), ("-lo x.json", "profile import"), ("--load-options=x.json", "profile import"),
        ("-so x.json", "profile save"),
    ],
)  # fmt: skip
def test_options_in_files_are_refused_with_the_profile_that_keeps_them(line: str, said: str) -> None:
    for name in ("pub", "sub", "conn"):
        made = run(MQTTX, [name, *line.split()])
        assert made.status == 1
        assert f"`mqttpub {said} NAME" in made.stderr.decode()
    # It is the value of another option here.
    assert read(["-m", "-so"], OPTIONS["pub"])["message"] == "-so"


@pytest.mark.parametrize("words", [[], ["simulate"], ["bench", "all"], ["sub"], ["bench", "pub"], ["nope"]])
def test_wrong_lines(words: list[str]) -> None:
    assert run(MQTTX, words).status == 1


@pytest.mark.parametrize("words", [["--help"], ["pub", "--help"], ["conn", "--help"], ["--version"]])
def test_help(words: list[str]) -> None:
    """Help and version end with 0, as MQTTX's do."""
    assert run(MQTTX, words).status == 0
