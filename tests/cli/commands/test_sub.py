"""`mqttpub sub` as a program, with a real broker and with scripted ones."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import publish_all
from mqttpub.live.publish.sender import Publication
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted, scripted_many
from tests.program import PROGRAM, run

V5_CONNACK, SUBACK = "20 03 00 00 00", "90 04 00 01 00 00"


def publish(port: int, *packets: Publish) -> None:
    """Publish messages, one after the other."""
    publish_all(Target("127.0.0.1", port), [Publication.of(packet, Version.V5) for packet in packets])


def sub(port: int, *words: object) -> "subprocess.CompletedProcess[bytes]":
    """Run `sub` to its end."""
    return run("sub", "-h", "127.0.0.1", "-p", port, *words)


@contextmanager
def kept(port: int, *packets: Publish) -> Iterator[None]:
    """Let a broker keep these messages for a `with` block."""
    publish(port, *(packet.replace(retain=True) for packet in packets))
    yield
    publish(port, *(packet.replace(retain=True, payload=b"") for packet in packets))


def received(*payloads: bytes, topic: str = "a") -> Any:
    """Return the script of a broker that sends these payloads at QoS 0 and waits."""

    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        peer.packet()
        peer.send(SUBACK)
        for payload in payloads:
            name = topic.encode()
            body = len(name).to_bytes(2, "big") + name + b"\0" + payload
            peer.sock.sendall(bytes((0x30, len(body))) + body)
        peer.wait()

    return script


def test_a_line_is_printable_text_or_escaped() -> None:
    payloads = "21.5 °C".encode(), rb'{"a": "\n"}', b"\x1b[2J\n", b"\xff\\", b"", "\u202eabc".encode()
    with scripted(received(*payloads, topic="t\u009b")) as port:
        done = sub(port, "-t", "#", "-C", len(payloads), "-v")
    lines = done.stdout.decode().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["t\\u009b"] * len(payloads)
    assert [line.partition(" ")[2] for line in lines] == [
        "21.5 °C", '{"a": "\\n"}', "\\x1b[2J\\n", "\\xff\\\\", "", "\\u202eabc",
    ]  # fmt: skip
    assert (done.stderr, done.returncode) == (b"", 0)


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ((), b"1\n\\x00\\xff\n"),
        (("--raw",), b"1\0\xff"),
        (("--raw", "--delimiter", "nul"), b"1\0\0\xff\0"),
        (("--delimiter", "--"), b"1--\\x00\\xff--"),
        (("-N",), b"1\\x00\\xff"),
        (("--raw", "-v"), b"a 1\na \0\xff\n"),
        (("-F", "%t=%p", "--raw"), b"a=1\na=\0\xff\n"),
        (("--format", "hex"), b"31\n00ff\n"),
        (("--format", "base64", "-v"), b"a MQ==\na AP8=\n"),
    ],
)
def test_payloads_are_written_as_the_flags_say(words: tuple[str, ...], output: bytes) -> None:
    with scripted(received(b"1", b"\0\xff")) as port:
        assert sub(port, "-t", "a", "-C", 2, *words).stdout == output


@pytest.mark.broker
def test_every_option_of_a_filter_is_on_the_wire(mosquitto: int) -> None:
    done = sub(
        mosquitto, "-t", "wire/a", "-t", "wire/b", "-t", "$share/g/wire/c", "-q", 0, "-q", 1, "-q", 2, "-rh", "new",
        "-rap=1", "-rap=0", "-rap=1", "-si", 5, "-si", 6, "-si", 5, "-up", "k=v", "-E", "--inspect", "--json",
    )  # fmt: skip
    records = [json.loads(line) for line in done.stdout.splitlines()]
    sent = [each["hex"].replace(" ", "") for each in records if each["type"] == "SUBSCRIBE"]
    assert sent == [
        "82270001090b052600016b0001760006776972652f6118000f2473686172652f672f776972652f631a",
        "82150002090b062600016b0001760006776972652f6211",
    ]  # fmt: skip
    assert done.returncode == 0


@pytest.mark.broker
def test_a_pipe_copies_messages_with_every_property(mosquitto: int, brokers: Any) -> None:
    other = brokers.ports["tcp"]
    values: dict[str, Any] = {
        "payload_format_indicator": 1, "message_expiry_interval": 3600, "content_type": "text/\u202eplain",
        "response_topic": "r/ü", "correlation_data": b"\x00\xff\x1b", "user_property": ("k", "v"),
    }  # fmt: skip
    properties = (
        *(Property(BY_KEY[key].id, value) for key, value in values.items()),
        Property(0x26, ("k", "\u00a0 w")),
    )
    sent = [
        Publish(topic="copy/a", payload="grüß\tdich".encode(), qos=2, retain=True, properties=properties),
        Publish(topic="copy/b", payload=b"\x00\xff", qos=1, retain=True, properties=(Property(0x09, b"plain"),)),
        Publish(topic="copy/c", payload=b'{"hex": "00"}', qos=0, retain=True),
        Publish(topic="copy/d", payload=b"null", qos=0, retain=True),
    ]
    with kept(mosquitto, *sent):
        first = sub(mosquitto, "-t", "copy/#", "-q", 2, "-C", 4, "--json").stdout
        copied = run("pub", "-h", "127.0.0.1", "-p", other, "--jsonl", data=first)
        assert (copied.stderr, copied.returncode) == (b"", 0)
        second = sub(other, "-t", "copy/#", "-q", 2, "-C", 4, "--json", "--remove-retained").stdout

    def messages(lines: bytes) -> dict[str, Any]:
        every = [json.loads(line) for line in lines.splitlines()]
        assert all(each.pop("received") for each in every)
        for each in every:
            # A broker lowers it by the seconds that it kept the message.
            expiry = each.get("properties", {}).pop("message_expiry_interval", None)
            assert expiry is None or 3500 < expiry <= 3600
        return {each.pop("topic"): each for each in every}

    made = messages(first)
    assert made == messages(second)
    del values["message_expiry_interval"]
    assert made["copy/a"]["properties"] == {
        **values, "correlation_data": {"base64": "AP8b"}, "user_property": [["k", "v"], ["k", "\u00a0 w"]],
    }  # fmt: skip
    assert made["copy/b"]["payload"] == {"base64": "AP8="}


def test_a_format_that_a_payload_does_not_have_loses_nothing() -> None:
    with scripted(received(b'{"t": 1.50}', b"\x00", b"2")) as port:
        done = sub(port, "-t", "a", "-C", 3, "--format", "json")
    assert done.stdout == b'{"t": 1.50}\n\\x00\n2\n'
    assert done.returncode == 1
    assert done.stderr.decode().startswith("mqttpub: the payload of a message to 'a' is written as it is: json: ")


def test_with_json_a_format_is_a_value_that_pub_takes_for_the_same_payload() -> None:
    payloads = b'{"t":1}', b'{"hex":"00"}', b'"x"', b"[1,2]", b"null"
    with scripted(received(*payloads)) as port:
        done = sub(port, "-t", "a", "-C", 5, "--format", "json", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[3]["payload"] == [1, 2]
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        while packet := peer.packet():
            seen.append(packet)

    with scripted(script) as port:
        assert run("pub", "-h", "127.0.0.1", "-p", port, "--jsonl", data=done.stdout).returncode == 0
    assert [each[6:] for each in seen[:-1]] == list(payloads)


def test_files_are_appended_to_or_numbered(tmp_path: Path) -> None:
    both, one = tmp_path / "all.bin", tmp_path / "picture.jpg"
    both.write_bytes(b"before\n")
    one.write_bytes(b"there")
    with scripted(received(b"1\0", b"2")) as port:
        assert sub(port, "-t", "a", "-C", 2, "--file-write", both).stdout == b""
    assert both.read_bytes() == b"before\n1\0\n2\n"
    with scripted(received(b"1\0", b"2")) as port:
        assert sub(port, "-t", "a", "-C", 2, "--file-save", one).stdout == b""
    assert one.read_bytes() == b"there"
    assert [(tmp_path / f"picture({number}).jpg").read_bytes() for number in (1, 2)] == [b"1\0", b"2"]


@pytest.mark.broker
def test_retained_messages_are_chosen_and_removed(mosquitto: int) -> None:
    packets = [Publish(topic=f"chosen/{name}", payload=name.encode()) for name in "ab"]
    with kept(mosquitto, *packets):
        none = sub(mosquitto, "-t", "chosen/#", "-R", "-W", 0.3)
        assert (none.stdout, none.returncode) == (b"", 0)
        some = sub(mosquitto, "-t", "chosen/#", "-T", "+/a", "-W", 0.3)
        assert some.stdout == b"b\n"
        gone = sub(mosquitto, "-t", "chosen/#", "--retained-only", "--remove-retained", "-C", 2)
        assert (gone.stdout, gone.returncode) == (b"a\nb\n", 0)
        assert sub(mosquitto, "-t", "chosen/#", "-C", 1, "-W", 0.3).returncode == 1


def test_retained_only_ends_at_the_first_other_message() -> None:
    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        peer.packet()
        peer.send(f"{SUBACK} 31 05 00 01 61 00 31 30 05 00 01 61 00 32 31 05 00 01 61 00 33")
        peer.wait()

    with scripted(script) as port:
        done = sub(port, "-t", "a", "--retained-only")
    assert (done.stdout, done.returncode) == (b"1\n", 0)
    with scripted(script) as port:
        done = sub(port, "-t", "a", "--retained-only", "-C", 2)
    assert (done.stdout, done.stderr, done.returncode) == (b"1\n", b"mqttpub: 1 of 2 messages came\n", 1)
    with scripted(script) as port:
        done = sub(port, "-t", "a", "-C", 9, "-E")
    assert (done.stdout, done.returncode) == (b"", 0)


@pytest.mark.parametrize(("codes", "words", "output"), [("87 8f", (), b""), ("87 01", ("-C", "1"), b"x\n")])
def test_a_refused_filter_makes_the_status_5(codes: str, words: tuple[str, ...], output: bytes) -> None:
    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        peer.packet()
        peer.send(f"90 05 00 01 00 {codes}")
        if output:
            peer.send("30 05 00 01 62 00 78")
        peer.wait()

    with scripted(script) as port:
        done = sub(port, "-t", "a", "-t", "b", *words)
    assert (done.stdout, done.returncode) == (output, 5)
    assert "the broker refused the Topic Filter 'a': 0x87 Not authorized" in done.stderr.decode()


def test_what_was_not_written_is_not_acknowledged() -> None:
    seen: list[str] = []

    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        peer.packet()
        peer.send("90 04 00 01 00 01 32 07 00 01 61 00 05 00 31 32 07 00 01 61 00 06 00 32")
        while packet := peer.packet():
            seen.append(packet.hex(" "))

    with scripted(script) as port:
        assert sub(port, "-t", "a", "-q", 1, "-C", 1).stdout == b"1\n"
    assert seen == ["40 02 00 05", "e0 00"]
    seen.clear()
    with scripted(script) as port, open("/dev/full", "wb") as full:
        command = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-q", "1"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=20, check=False)
    assert done.returncode == 74
    assert not [each for each in seen if each.startswith("40")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no topic: give a Topic Filter with -t, or a URL with one"),
        (("-t", "a/#/b"), "Topic Filter"),
        (("-t", "a", "-T", "a/#/b"), "--filter-out: 'a/#/b' is not a Topic Filter: # is not its last level"),
        (("-t", "a", "-q", "1", "-q", "1"), "--qos is given 2 times for 1 Topic Filters"),
        (("-t", "a", "-v", "--json"), "only one of -v, -F, --json and --watch at a time"),
        (("-t", "a", "-F", "%z"), "Invalid format specifier 'z'."),
        (("-t", "a", "-V", "3.1.1", "--no-local"), "--no-local needs MQTT 5"),
        (("-t", "a", "--watch"), "standard output is not a terminal"),
        (("-t", "a", "b"), "1 argument too many; repeat -t for each Topic Filter: -t a -t b"),
        (("-t", "a", "--reason", "5"), "Reason Code is 0x05, but PUBACK has no such code"),
        (("-t", "a", "--format", "avro"), "--format avro needs --avsc-path"),
        (("-t", "$share/g/a", "-nl"), "No Local"),
        (("-t", "a", "--file-save", "/nowhere/x"), "there is no folder '/nowhere'"),
    ],
)
def test_flags_that_cannot_be_are_refused_before_anything_is_sent(words: tuple[str, ...], message: str) -> None:
    done = run("sub", "-p", 1, *words)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_an_interrupt_ends_with_disconnect_and_a_count() -> None:
    seen: list[str] = []

    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        peer.packet()
        peer.send(f"{SUBACK} 30 05 00 01 61 00 31")
        seen.append(peer.packet().hex(" "))
        peer.wait()

    with scripted(script) as port:
        command = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "a"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline() == b"1\n"
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == b"mqttpub: interrupted; 1 message received\n"
            assert process.wait(20) == 130
    assert seen == ["e0 00"]


@pytest.mark.broker
@pytest.mark.slow
def test_a_payload_of_64_mb_arrives(mosquitto: int, tmp_path: Path) -> None:
    big, out = tmp_path / "big", tmp_path / "out"
    big.write_bytes(os.urandom(64 << 20))
    command = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "big", "-C", "1", "--raw"]
    retained = ["mosquitto_pub", "-p", str(mosquitto), "-t", "big", "-r"]
    subprocess.run([*retained, "-f", str(big)], check=True, timeout=60)
    with open(out, "wb") as file:
        assert subprocess.run(command, stdout=file, timeout=60, check=False).returncode == 0
    subprocess.run([*retained, "-n"], check=True, timeout=60)
    assert out.read_bytes() == big.read_bytes()


@pytest.mark.broker
def test_the_pipe_may_close_early(mosquitto: int) -> None:
    packets = [Publish(topic=f"early/{number}", payload=b"x" * 1000) for number in range(200)]
    with kept(mosquitto, *packets):
        command = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "early/#"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline() == b"x" * 1000 + b"\n"
            process.stdout.close()
            publish(mosquitto, packets[0])
            publish(mosquitto, packets[0])
            assert process.wait(20) == 141
            assert process.stderr.read() == b""


def test_reconnect_subscribes_again() -> None:
    def script(payload: str) -> Any:
        def play(peer: Peer) -> None:
            peer.accept(V5_CONNACK)
            assert peer.packet()[0] == 0x82
            peer.send(f"{SUBACK} 30 05 00 01 61 00 {payload}")
            if payload == "32":
                peer.wait()

        return play

    with scripted_many([script("31"), script("32")]) as port:
        done = sub(port, "-t", "a", "-C", 2, "--reconnect")
    assert (done.stdout, done.returncode) == (b"1\n2\n", 0)
    lost, again = done.stderr.decode().splitlines()
    assert "connecting again in 0.1 s" in lost
    assert again == "mqttpub: connected again"


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("--no-ack",), []),
        (("--reason", "0x97"), ["> PUBACK  id 5  0x97 Quota exceeded", "> PUBREC  id 7  0x97 Quota exceeded"]),
        (("--ack-delay", "0.1"), ["> PUBACK  id 5", "> PUBREC  id 7"]),
    ],
)
def test_messages_are_answered_on_purpose_and_the_most_in_flight_is_shown(
    words: tuple[str, ...], answers: list[str]
) -> None:
    def script(peer: Peer) -> None:
        peer.accept(V5_CONNACK)
        peer.packet()
        peer.send("90 04 00 01 00 02 32 07 00 01 61 00 05 00 31 34 07 00 01 61 00 07 00 32")
        while packet := peer.packet():
            if packet[:1] == b"\x50" and len(packet) == 4:
                peer.send("62 02 00 07")

    with scripted(script) as port:
        done = sub(port, "-t", "a", "-q", 2, "-C", 2, "--inspect", *words)
    lines = done.stdout.decode().splitlines()
    sent = [line.rpartition("  ")[0].rpartition("  ")[0] for line in lines if line.startswith(("> PUBA", "> PUBR"))]
    assert sent == answers
    assert lines[-1] == "* at most 2 messages waited for our acknowledgement at once"
    assert done.returncode == 0


def test_the_table_shows_topics_with_their_last_values() -> None:
    with scripted(received(b"20", b"\x1b[31m", b"21")) as port:
        ours, its = pty.openpty()
        command = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-C", "3", "--watch"]
        env = {**os.environ, "COLUMNS": "90", "LINES": "20", "NO_COLOR": "1"}
        with subprocess.Popen(command, stdout=its, stderr=its, env=env) as process:
            os.close(its)
            shown = b""
            try:
                while piece := os.read(ours, 65536):
                    shown += piece
            except OSError:
                os.close(ours)
            assert process.wait(20) == 0
    last = shown.decode().rpartition("last value")[2]
    assert "3 messages of 1 topic" in last
    assert "2 bytes  21" in last
    assert "\x1b[31m" not in shown.decode()
