"""`replay` plays captures against scripted brokers, whose every packet is known, and against mosquitto."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.lab.player import PlayOptions
from mqttpub.lab.scripted import ScriptedServer
from mqttpub.script.reader import read_script

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
