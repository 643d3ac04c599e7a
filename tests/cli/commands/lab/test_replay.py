"""`replay` plays captures against scripted brokers, whose every packet is known, and against mosquitto."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.decode import decode_packet
from mqttpub.lab.player import PlayOptions
from mqttpub.lab.scripted import ScriptedServer
from mqttpub.reading.input import Input, InputOptions
from mqttpub.script.reader import read_script
from mqttpub.spec.versions import Direction
from mqttpub.traffic.context import ContextTracker
from mqttpub.traffic.events import Closed, PacketSeen
from mqttpub.view.export.pcapng import PcapngWriter
from tests.build.brokers import Broker, free_port, mosquitto, plain
from tests.build.recording import captures
from tests.program import PROGRAM

WITHIN_S = 20.0
Records = list[dict[str, Any]]


class Runner:
    """Runs `replay` on captures that are written as scripts."""

    def __init__(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file = tmp_path / "capture.mqtt"
        self.capsys = capsys
        self.said = ""
        """Standard error of the last run."""

    def __call__(self, port: int, capture: str | Path, *flags: str) -> tuple[int, Records]:
        """Return the exit status and the records of a run."""
        path = capture if isinstance(capture, Path) else self.file
        if isinstance(capture, str):
            self.file.write_text(capture)
        self.capsys.readouterr()
        words = ["replay", str(path), "-h", "127.0.0.1", "-p", str(port), "--json", "--timeout", "10", *flags]
        status = main(words)
        out, self.said = self.capsys.readouterr()
        return status, [json.loads(line) for line in out.splitlines()]

    def against(self, lines: Sequence[str], capture: str, *flags: str) -> tuple[int, Records]:
        """Do the same against a broker that plays a script, to the letter."""
        failures: list[Exception] = []

        def play() -> None:
            try:
                server.play(read_script(lines), PlayOptions(timeout_s=10, quiet_s=0.05))
            except Exception as failure:
                failures.append(failure)

        with ScriptedServer() as server:
            thread = threading.Thread(target=play)
            thread.start()
            try:
                found = self(server.port, capture, "--speed", "max", *flags)
            finally:
                thread.join(WITHIN_S)
        assert not failures, failures
        return found


@pytest.fixture
def replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(tmp_path, capsys)


def messages(records: Records, event: str = "difference") -> list[str]:
    return [each["message"] for each in records if each["event"] == event]


# handshakes against a broker whose every packet is known


def test_identifiers_are_new_aliases_are_resolved_and_the_window_is_that_of_the_broker(replay: Runner) -> None:
    status, records = replay.against(
        [
            "> connect id=a ka=60; < connack c=00 receive_maximum=1",
            "> publish q1 i=1 t=a/b p=one; > none 0.1s; < puback i=1",
            "> publish q2 i=2 t=a/b p=two; > publish q0 t=a/b p=three; > none 0.1s; < pubrec i=2; > pubrel i=2",
            "> none 0.1s; < pubcomp i=2; > disconnect; client FIN; server FIN",
        ],
        """
        > connect id=a ka=60; < connack c=00 topic_alias_maximum=10 receive_maximum=20
        > publish q1 i=500 t=a/b topic_alias=3 p=one; > publish q2 i=501 t="" topic_alias=3 p=two
        > publish q0 t="" topic_alias=3 p=three
        < puback i=500; < pubrec i=501; > pubrel i=501; < pubcomp i=501
        > disconnect; client FIN; server FIN
        """,
    )
    assert (status, messages(records)) == (0, [])
    (known,) = [each for each in records if each["event"] == "connection"]
    assert (known["sent"], known["acknowledged"]) == (3, 2)


def test_aliases_that_the_broker_allows_are_used(replay: Runner) -> None:
    capture = """
        > connect id=a; < connack c=00 topic_alias_maximum=10
        > publish t=a topic_alias=1 p=1; > publish t="" topic_alias=1 p=2; > publish t=b topic_alias=9 p=3
        > publish t="" topic_alias=9 p=4; > disconnect; client FIN; server FIN
        """
    broker = [
        "> connect id=a; < connack c=00 topic_alias_maximum=5; > publish t=x/a topic_alias=1 p=1",
        '> publish t="" topic_alias=1 p=2; > publish t=b p=3; > publish t=b p=4; > disconnect; client FIN; server FIN',
    ]
    assert replay.against(broker, capture, "--rewrite-topic", "s,^a,x/a,")[0] == 0


def test_messages_of_each_qos_are_answered_as_the_protocol_asks(replay: Runner) -> None:
    status, records = replay.against(
        [
            "> connect id=s; < connack c=00; > subscribe i=1 f=a/#:q2; < suback i=1 c=02",
            "< publish q1 i=7 t=a/1 p=x; > puback i=7; < publish q2 i=8 t=a/2 p=y; > pubrec i=8",
            "< publish q2 i=8 d1 t=a/2 p=y; > pubrec i=8; < pubrel i=8; > pubcomp i=8; > unsubscribe i=2 f=a/#",
            "< unsuback i=2 c=00; > disconnect; client FIN; server FIN",
        ],
        """
        > connect id=s; < connack c=00; > subscribe i=30 f=a/#:q2; < suback i=30 c=02
        < publish q1 i=1 t=a/1 p=x; > puback i=1; < publish q2 i=2 t=a/2 p=y; > pubrec i=2; < pubrel i=2; > pubcomp i=2
        > unsubscribe i=31 f=a/#; < unsuback i=31 c=00; > disconnect; client FIN; server FIN
        """,
    )
    assert (status, messages(records)) == (0, [])


RESENT = """
    [a] > connect id=c clean=0 session_expiry_interval=60; [a] < connack c=00; [a] > publish q1 i=9 t=a p=1
    [a] > publish q2 i=10 t=a p=2; [a] client RST
    [b] > connect id=c clean=0 session_expiry_interval=60; [b] < connack sp=1 c=00
    [b] > publish q1 i=9 d1 t=a p=1; [b] > publish q2 i=10 d1 t=a p=2
    [b] < puback i=9; [b] < pubrec i=10; [b] > pubrel i=10; [b] < pubcomp i=10; [b] > disconnect; [b] client FIN
    [b] server FIN
    """


def test_what_is_acknowledged_is_not_sent_again_on_the_next_connection(replay: Runner) -> None:
    broker = [
        "[a] > connect id=c clean=0; [a] < connack c=00; [a] > publish q1 i=1 d0 t=a p=1; [a] < puback i=1",
        "[a] > publish q2 i=2 d0 t=a p=2; [a] < pubrec i=2; [a] > pubrel i=2; [a] client RST",
        "[b] > connect id=c clean=0; [b] < connack sp=1 c=00; [b] > pubrel i=2; [b] < pubcomp i=2; [b] > disconnect",
        "[b] client FIN; [b] server FIN",
    ]
    # The broker answers before the connection breaks, for which the capture leaves time.
    capture = RESENT.replace("p=2; [a] client RST", "p=2; +0.5; [a] client RST", 1)
    status, records = replay.against(broker, capture, "--speed", "1")
    assert (status, messages(records)) == (0, [])


def test_what_is_not_acknowledged_is_sent_again_with_dup_under_its_identifier(replay: Runner) -> None:
    broker = [
        "[a] > connect id=c clean=0; [a] < connack c=00; [a] > publish q1 i=1 d0 t=a p=1",
        "[a] > publish q2 i=2 d0 t=a p=2; [a] client RST",
        "[b] > connect id=c clean=0; [b] < connack sp=1 c=00; [b] > publish q1 i=1 d1 t=a p=1; [b] < puback i=1",
        "[b] > publish q2 i=2 d1 t=a p=2; [b] < pubrec i=2; [b] > pubrel i=2; [b] < pubcomp i=2; [b] > disconnect",
        "[b] client FIN; [b] server FIN",
    ]
    status, records = replay.against(broker, RESENT)
    assert (status, messages(records)) == (0, [])


# what differs

TALK = """
    [s] > connect id=s; [s] < connack c=00; [s] > subscribe i=1 f=a:q1; [s] < suback i=1 c=01
    [p] > connect id=p; [p] < connack c=00; [p] > publish q1 i=1 t=a p=1; [p] < puback i=1; [s] < publish t=a p=1
    [p] > publish q2 i=2 t=a p=2; [p] < pubrec i=2; [p] > pubrel i=2; [p] < pubcomp i=2; [s] < publish t=a p=2
    [p] > disconnect; [p] client FIN; [p] server FIN; [s] > disconnect; [s] client FIN; [s] server FIN
    """
BEGIN = (
    "[s] > connect id=s; [s] < connack c=00; [s] > subscribe i=1 f=a:q1; [s] < suback i=1 c=01",
    "[p] > connect id=p; [p] < connack c=00; [p] > publish q1 i=1 t=a p=1",
)
SENT = "[p] < puback i=1; [p] > publish q2 i=2 t=a p=2; [p] < pubrec i=2; [p] > pubrel i=2; [p] < pubcomp i=2"
END = "[p] > disconnect; [p] client FIN; [p] server FIN; [s] > disconnect; [s] client FIN; [s] server FIN"
SWAPPED = "[s] < publish t=a p=2; [s] < publish t=a p=1"
ARRIVED = "[s] < publish t=a p=1; [s] < publish t=a p=2"
OTHERWISE: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "nothing": ((*BEGIN, SENT, ARRIVED, END), []),
    "order": ((*BEGIN, SENT, SWAPPED, END), ["message 1 is the first that came in another order"]),
    "payload": (
        (*BEGIN, SENT, ARRIVED.replace("p=2", "p=3"), END), ["message 2 is the first with another payload"],
    ),
    "missing": (
        (*BEGIN, SENT, "[s] < publish t=a p=1", END), ["1 of 2 messages came; message 2 is the first that differs"],
    ),
    "more": ((*BEGIN, SENT, ARRIVED, "[s] < publish t=a p=3", END), ["3 messages came instead of 2"]),
    "another topic": (
        (*BEGIN, SENT, ARRIVED, "[s] < publish t=b p=3", END), ["1 message came instead of 0"],
    ),
    "PUBACK": (
        (*BEGIN, SENT.replace("puback i=1", "puback i=1 c=97"), ARRIVED, END),
        ["PUBACK 0x97 Quota exceeded came where the capture has 0x00 Success"],
    ),
    "PUBREC": (
        (*BEGIN, "[p] < puback i=1; [p] > publish q2 i=2 t=a p=2; [p] < pubrec i=2 c=87", ARRIVED, END),
        ["PUBREC 0x87 Not authorized came where the capture has 0x00 Success"],
    ),
    "SUBACK": (
        (BEGIN[0].replace("suback i=1 c=01", "suback i=1 c=00"), BEGIN[1], SENT, ARRIVED, END),
        ["SUBACK 0x00 Granted QoS 0 came where the capture has 0x01 Granted QoS 1"],
    ),
    "DISCONNECT": (
        (*BEGIN, SENT, ARRIVED, "[s] < disconnect c=8b; [s] server FIN; [p] > disconnect; [p] client FIN"),
        ["DISCONNECT 0x8B Server shutting down came where the capture has none"],
    ),
    "end": (
        (*BEGIN, SENT, ARRIVED, "[s] server FIN; [p] > disconnect; [p] client FIN"),
        ["the broker ended the connection; in the capture it did not"],
    ),
    "a packet that answers nothing": (
        (*BEGIN, SENT, ARRIVED, "[p] < puback i=77", END),
        ["PUBACK came for a Packet Identifier that does not wait for it"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERWISE)
def test_what_the_broker_does_otherwise_is_named(what: str, replay: Runner) -> None:
    broker, expected = OTHERWISE[what]
    status, records = replay.against(broker, TALK)
    assert (status, messages(records)) == (int(bool(expected)), expected)


def test_a_refused_connection_and_what_it_could_not_send_are_named(replay: Runner) -> None:
    broker = ["[s] > connect id=s; [s] < connack c=87; [s] server FIN", BEGIN[1] + "; [p] < puback i=1",
              "[p] > publish q2 i=2 t=a p=2; [p] < pubrec i=2; [p] > pubrel i=2; [p] < pubcomp i=2",
              "[p] > disconnect; [p] client FIN; [p] server FIN"]  # fmt: skip
    status, records = replay.against(broker, TALK)
    assert status == 1
    assert messages(records) == [
        "CONNACK 0x87 Not authorized came where the capture has 0x00 Success",
        "0 of 2 messages came; message 1 is the first that differs",
    ]


@pytest.mark.parametrize("first", ["raw 485454502f", "pingresp", "< raw f0ffffffff7f"])
def test_a_peer_that_does_not_speak_mqtt_is_named(first: str, replay: Runner) -> None:
    line = first if first.startswith("<") else f"< {first}"
    status, records = replay.against(
        [f"> connect id=a; {line}; server FIN"], "> connect id=a; < connack c=00; client FIN"
    )
    assert status == 3
    assert len(messages(records)) == 1


def test_messages_beyond_the_limits_of_the_broker_are_not_sent(replay: Runner) -> None:
    status, records = replay.against(
        ["> connect id=a; < connack c=00 maximum_qos=0 maximum_packet_size=40 retain_available=0; > publish t=a p=1",
         "> disconnect; client FIN; server FIN"],
        f"> connect id=a; < connack c=00; > publish q1 i=1 t=a p=q; < puback i=1; > publish t=a p={'x' * 40}\n"
        "> publish r1 t=a p=r; > publish t=a p=1; > disconnect; client FIN; server FIN",
    )  # fmt: skip
    assert status == 1
    assert [each.partition(":")[2].partition(",")[0].strip() for each in messages(records)] == [
        "QoS is 1", "PUBLISH has 46 bytes", "RETAIN is 1",
    ]  # fmt: skip


# what is changed, chosen and left out


def test_user_password_identifier_and_topics_are_replaced(replay: Runner) -> None:
    connect = "> connect id=a username=old password=*** will.topic=plant/w will.payload=gone"
    rest = """; < connack c=00
        > subscribe i=1 f=plant/#; < suback i=1 c=00; > publish t=plant/1 p=x; < publish t=plant/1 p=x
        > disconnect; client FIN; server FIN
        """
    broker = [
        "> connect id=test-a username=new password=secret will.topic=T/w; < connack c=00",
        "> subscribe f=T/#; < suback i=1 c=00; > publish t=T/1; < publish t=T/1 p=x; > disconnect; client FIN",
        "server FIN",
    ]
    flags = ["--rewrite-topic", "s/plant/t/", "--rewrite-topic", "s/^t/T/", "--id-prefix", "test-"]
    assert replay.against(broker, connect + rest, *flags, "-u", "new", "-P", "secret")[0] == 0
    assert replay(free_port(), connect + rest, "-u", "new") == (2, [])
    assert "whose password the capture masks" in replay.said


def test_a_filter_chooses_with_the_connect_and_disconnect_around(replay: Runner) -> None:
    broker = ["> connect id=p; < connack c=00; > publish q2 i=1 t=a p=2; < pubrec i=1; > pubrel i=1; < pubcomp i=1",
              "> disconnect; client FIN; server FIN"]  # fmt: skip
    status, records = replay.against(broker, TALK, "--filter", "qos=2")
    assert (status, messages(records)) == (0, [])


def test_messages_alone_are_sent_over_one_connection(replay: Runner) -> None:
    capture = """
        [a] > connect id=a; [a] < connack c=00; [b] > connect id=b; [b] < connack c=00
        [a] > publish q1 i=7 t=x topic_alias=1 p=1; [b] > publish q1 i=7 t=y topic_alias=1 p=2
        [a] < puback i=7; [b] < puback i=7 c=10; [a] > publish q1 i=7 d1 t="" topic_alias=1 p=3; [a] < puback i=7
        [a] < publish t=z p=4 subscription_identifier=5; [a] client RST; [b] client RST
        """
    broker = [
        "> connect id=one clean=1; < connack c=00; > publish q1 i=1 t=x p=1; > publish q1 i=2 t=y p=2",
        "> publish q1 i=3 t=x p=3; < puback i=1; < puback i=2; < puback i=3; > disconnect; client FIN; server FIN",
    ]
    status, records = replay.against(broker, capture, "--publishes", "-i", "one")
    assert (status, messages(records)) == (
        1,
        ["PUBACK 0x00 Success came where the capture has 0x10 No matching subscribers"],
    )
    broker = ["> connect id=one; < connack c=00; > publish t=z p=4; > disconnect; client FIN; server FIN"]
    assert replay.against(broker, capture, "--received", "-i", "one")[0] == 0
    broker = ["version 3.1.1", "> connect id=one; < connack c=00; > publish q1 i=1 t=x p=1; < puback i=1; > disconnect",
              "client FIN; server FIN"]  # fmt: skip
    status, records = replay.against(broker, capture, "--publishes", "-i", "one", "-V", "3.1.1", "--count", "1")
    assert (status, records[-1]["complete"]) == (0, False)
    assert replay.against(["> connect; < connack c=87; server FIN"], capture, "--publishes")[0] == 4


def test_what_is_left_out_is_named(replay: Runner) -> None:
    capture = """
        [m] mid > publish t=a p=1
        [s] > connect id=s authentication_method=SCRAM-SHA-256; [s] < auth c=18 authentication_method=SCRAM-SHA-256
        """
    assert replay(free_port(), capture)[0] == 2
    assert (
        "connections without their CONNECT: 1; connections that authenticate by SCRAM-SHA-256, of which" in replay.said
    )
    played = "[c] > connect id=c; [c] < connack c=00; [c] client FIN; [c] server FIN"
    assert replay.against(["> connect id=c; < connack c=00; client FIN; server FIN"], capture + played)[0] == 0
    assert "left out, connections without their CONNECT: 1" in replay.said
    broker = ["> connect id=c; < connack c=00; client FIN; server FIN"]
    talk = "> connect id=c; < connack c=00; > publish t=a p=1; client FIN; server FIN"
    assert replay.against(broker, talk, "--rewrite-topic", "s/a/#/")[0] == 0
    assert "left out, messages whose rewritten topic is not a Topic Name: 1" in replay.said


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--speed", "fast"], 2, "--speed: 'fast' is not a number"),
        (["--rewrite-topic", "s/a/b"], 2, "column 6 of 's/a/b': the replacement does not end"),
        (["--publishes", "--received"], 2, "--publishes and --received do not go together"),
        (["--will-topic", "w"], 2, "--will-topic goes with --publishes"),
        (["-i", "me"], 2, "--client-id goes with --publishes"),
        (["--filter", "type=AUTH"], 2, "has no MQTT of a client that --filter chooses"),
        ([], 3, "Connection refused"),
    ],
)
def test_wrong_words_and_a_broker_that_is_not_there(words: list[str], status: int, said: str, replay: Runner) -> None:
    found, records = replay(free_port(), TALK, *words)
    assert (found, [each["event"] for each in records if each["event"] != "failure"]) == (status, [])
    assert said in replay.said


def test_a_file_without_mqtt_is_named(replay: Runner) -> None:
    assert replay(free_port(), "hello\n")[0] == 2
    assert "no MQTT packet was found" in replay.said
    assert replay(free_port(), replay.file.with_name("nothing.pcap"))[0] == 2


# a real broker


@contextmanager
def fresh(folder: Path) -> Iterator[int]:
    folder.mkdir()
    with mosquitto(folder, plain) as (port,):
        yield port


DROPPED = "o/l"
"""A topic with so many messages in flight that mosquitto 2.0.11 drops some for whoever subscribes."""


@contextmanager
def subscriber(port: int, count: int) -> Iterator[dict[str, list[str]]]:
    """Let mosquitto_sub take messages; afterwards the payloads of each topic are there, in hex."""
    place = ["-h", "127.0.0.1", "-p", str(port), "-V", "mqttv311"]
    subprocess.run(["mosquitto_pub", *place, "-t", "there", "-m", "x", "-r"], check=True, timeout=WITHIN_S)
    command = ["mosquitto_sub", *place, "-t", "#", "-T", DROPPED, "-q", "2", "-C", str(count + 1), "-F", "%t %x"]
    found: dict[str, list[str]] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        stop = threading.Timer(WITHIN_S, process.kill)
        stop.start()
        assert process.stdout
        # The retained message tells that it is subscribed.
        assert process.stdout.readline() == "there 78\n"
        yield found
        for line in process.stdout:
            topic, payload = line.rstrip("\n").split(" ")
            found.setdefault(topic, []).append(payload)
        stop.cancel()
    assert process.returncode == 0


def published(path: Path) -> dict[str, list[str]]:
    """Return the payloads that clients publish in a capture, by topic, and those of wills on connections that broke."""
    found: dict[str, list[str]] = {}
    wills: dict[int, Any] = {}
    tracker = ContextTracker()
    with ExitStack() as stack:
        for event in Input.opened(str(path), stack).events(InputOptions()):
            number = event.ends.number
            if isinstance(event, PacketSeen):
                packet: Any = decode_packet(event.data, event.version)
                known = tracker.packet(event, packet)
                if packet.name == "CONNECT":
                    wills[number] = packet.will
                elif packet.name == "DISCONNECT" and not packet.reason_code:
                    wills.pop(number, None)
                elif packet.name == "PUBLISH" and event.direction is Direction.CLIENT:
                    assert known.topic
                    found.setdefault(known.topic.name or "", []).append(packet.payload.hex())
            elif isinstance(event, Closed) and (will := wills.pop(number, None)):
                found.setdefault(will.topic, []).append(will.payload.hex())
    return found


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("name", ["mosquitto", "mqttpub", "paho"])
def test_what_real_clients_did_is_done_again(
    name: str, shared_folder: Path, tmp_path: Path, replay: Runner
) -> None:  # fmt: skip
    capture = captures(shared_folder)[name].path
    expected = published(capture)
    expected.pop(DROPPED, None)
    with fresh(tmp_path / "broker") as port:
        status, records = replay(port, capture, "--speed", "max")
    assert [each for each in records if each["event"] == "difference"] == []
    assert (status, records[-1]["sent"] > 40) == (0, True)
    with fresh(tmp_path / "watched") as port, subscriber(port, sum(map(len, expected.values()))) as came:
        _, records = replay(port, capture, "--speed", "max")
    assert came == expected
    # One more subscriber makes a difference to brokers that say when there is none.
    assert all("where the capture has 0x10 No matching subscribers" in each for each in messages(records))


@pytest.mark.slow
@pytest.mark.broker
def test_ten_minutes_take_six_seconds_at_a_hundred_times_the_speed(
    shared_folder: Path, tmp_path: Path, replay: Runner
) -> None:  # fmt: skip
    long = tmp_path / "long.pcapng"
    stretch(captures(shared_folder)["mosquitto"].path, long, seconds=600)
    with fresh(tmp_path / "broker") as port:
        status, records = replay(port, long, "--speed", "100")
    assert (status, messages(records)) == (0, [])
    assert records[-1]["captured_seconds"] == pytest.approx(600, abs=1)
    assert 5.9 <= records[-1]["seconds"] < 9


def stretch(capture: Path, path: Path, *, seconds: int) -> None:
    """Write a capture with its times stretched to so many seconds."""
    with ExitStack() as stack:
        events = [each for each in Input.opened(str(capture), stack).events(InputOptions()) if each.time is not None]
    times = [each.time or 0 for each in events]
    factor = seconds * 1_000_000_000 / (times[-1] - times[0])
    with path.open("wb") as file:
        writer = PcapngWriter(file.write, "test")
        for event, time_ns in zip(events, times, strict=True):
            then, number = times[0] + int((time_ns - times[0]) * factor), event.ends.number
            if isinstance(event, PacketSeen):
                if not writer.is_open(number):
                    writer.opened(number, ("127.0.0.1", 0), ("127.0.0.1", 1883), then)
                assert event.direction
                writer.packet(number, event.direction, event.data, then)
            elif isinstance(event, Closed) and writer.is_open(number):
                writer.closed(number, event.direction, event.how, then)


@pytest.mark.broker
@pytest.mark.parametrize("way", ["tls", "ws", "wss", "unix"])
def test_each_transport_carries_it(
    way: str, brokers: Broker, replay: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {
        "tls": ["--tls", "--cafile", str(brokers.ca.cert)], "ws": ["--ws"],
        "wss": ["--ws", "--tls", "--cafile", str(brokers.ca.cert)], "unix": ["--unix", str(brokers.socket)],
    }[way]  # fmt: skip
    replay.file.write_text(TALK.replace("t=a", "t=replay/a").replace("f=a", "f=replay/a"))
    port = [] if way == "unix" else ["-p", str(brokers.ports[way])]
    for speed in ("1", "max"):
        assert main(["replay", str(replay.file), *port, *flags, "--speed", speed]) == 0
    assert "no difference" in capsys.readouterr().out


LONG = "> connect id=a; < connack c=00; > publish t=a p=1; +1; > publish t=a p=2; +60; > publish t=a p=3; > disconnect"


@pytest.mark.broker
def test_an_interrupt_ends_with_what_was_done(mosquitto: int, replay: Runner) -> None:
    replay.file.write_text(LONG)
    command = [*PROGRAM, "replay", str(replay.file), "-p", str(mosquitto), "--json", "--inspect"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        while '"PUBLISH"' not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130
    events = [json.loads(line) for line in out.splitlines()]
    assert [each["type"] for each in events if each["event"] == "packet"][-1] == "DISCONNECT"
    (total,) = [each for each in events if each["event"] == "replay"]
    assert (total["sent"], total["complete"]) in ((1, False), (2, False))
    assert "interrupted; the capture was played up to" in said
    assert "the rest was not sent" in said


@pytest.mark.broker
def test_a_broker_that_dies_is_named_with_what_was_not_sent(tmp_path: Path, replay: Runner) -> None:
    replay.file.write_text(
        "[a] > connect id=a; [a] < connack c=00; [a] > publish t=a p=1; +1; [a] > publish t=a p=2\n"
        "[b] > connect id=b; [b] < connack c=00; [b] > publish t=a p=3; [b] > disconnect; [a] > disconnect"
    )
    with ExitStack() as stack:
        port = stack.enter_context(fresh(tmp_path / "broker"))
        command = [*PROGRAM, "replay", str(replay.file), "-p", str(port), "--json", "--inspect"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            while '"PUBLISH"' not in process.stdout.readline():
                assert process.poll() is None
            stack.close()
            out, _ = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 1
    records = [json.loads(line) for line in out.splitlines()]
    said = messages(records)
    assert "the broker ended the connection; in the capture it did not" in said
    assert any("Connection refused" in each for each in said)
    assert [each["not_sent"] for each in records if each["event"] == "replay"] == [2]
