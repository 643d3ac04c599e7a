"""`pub` against a real mosquitto, and what it leaves alone at start-up."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from tests.build.brokers import free_port, plain
from tests.build.brokers import mosquitto as started
from tests.fakes import Peer, scripted
from tests.program import PROGRAM

SEED = (
    "30 31 00 07 72 65 71 75 65 73 74 10 02 00 00 01 2c 08 00 08 72 65 73 70 6f 6e 73 65 "
    "54 68 69 73 20 69 73 20 61 20 51 6f 53 20 30 20 6d 65 73 73 61 67 65"
)
LINE = [
    "--mqtt-version", "5", "--topic", "request", "--message-expiry-interval", "300",
    "--response-topic", "response", "--hostname", "127.0.0.1", "--inspect", "--json",
]  # fmt: skip


def pub(*arguments: str, port: int, status: int = 0) -> list[dict[str, Any]]:
    """Run `pub` as a process and return its JSON records."""
    done = subprocess.run(
        [*PROGRAM, "pub", "-p", str(port), *arguments], capture_output=True, timeout=30, check=False, text=True
    )
    assert done.returncode == status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def packets(records: list[dict[str, Any]]) -> list[str]:
    """Return the bytes of the publish flow as hex, with their direction."""
    marks = {"client": ">", "server": "<"}
    flow = [each for each in records if each["event"] == "packet" and each["type"].startswith("PUB")]
    return [f"{marks[each['direction']]} {bytes.fromhex(each['hex']).hex(' ')}" for each in flow]


@pytest.mark.broker
def test_the_walkthrough_line_sends_the_bytes_of_the_walkthrough(mosquitto: int) -> None:
    records = pub(*LINE, "--qos", "0", "--message", "This is a QoS 0 message", port=mosquitto)
    assert packets(records) == [f"> {SEED}"]


@pytest.mark.broker
def test_qos_1_carries_the_identifier_and_shows_the_reason_code(mosquitto: int) -> None:
    records = pub(*LINE, "--qos", "1", "--packet-id", "0x644a", "--message", "This is a QoS 1 message", port=mosquitto)
    publish, puback = packets(records)
    assert publish.startswith("> 32 33 00 07 72 65 71 75 65 73 74 64 4a 10 ")
    assert puback == "< 40 03 64 4a 10"
    assert [each["reason_code"] for each in records if each["event"] == "message"] == [0x10]


@pytest.mark.broker
def test_a_subscriber_makes_the_reason_code_success(mosquitto: int) -> None:
    with subscribed("listened/to", mosquitto):
        records = pub("-t", "listened/to", "-q", "1", "-m", "x", "--json", port=mosquitto)
    assert records[-1]["reason_code"] == 0
    assert records[-1]["outcome"] == "accepted"


@pytest.mark.broker
def test_qos_2_takes_four_packets_in_order(mosquitto: int) -> None:
    records = pub(*LINE, "--qos", "2", "--packet-id", "0x11c2", "--message", "This is a QoS 2 message", port=mosquitto)
    flow = packets(records)
    assert flow[0].startswith("> 34 33 00 07 ")
    assert flow[1:] == ["< 50 02 11 c2", "> 62 02 11 c2", "< 70 02 11 c2"]


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("version", ["3.1", "3.1.1", "5"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_a_published_message_arrives(version: str, qos: str, mosquitto: int) -> None:
    topic = f"arrives/{version}/{qos}"
    with subscribed(topic, mosquitto) as listener:
        pub("-V", version, "-t", topic, "-q", qos, "--payload", "hex:00ff41", port=mosquitto)
        assert listener.stdout
        assert listener.stdout.readline() == b"00ff41\n"


class subscribed:  # noqa: N801 - reads like the function it stands for
    """A mosquitto_sub that has its subscription, for a `with` block."""

    def __init__(self, topic: str, port: int) -> None:
        self.command = [
            "stdbuf",
            "-oL",
            "mosquitto_sub",
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            "-t",
            topic,
            "-q",
            "2",
            "-F",
            "%x",
            "-d",
        ]

    def __enter__(self) -> subprocess.Popen[bytes]:
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE)
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith(b"Subscribed"):
                break
        os.set_blocking(self.process.stdout.fileno(), True)
        self.process.stdout = _Plain(self.process.stdout)  # type: ignore[assignment]
        return self.process

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()  # type: ignore[union-attr]


class _Plain:
    """The messages among the debug lines of mosquitto_sub."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def readline(self) -> bytes:
        """Return the next line that is a message."""
        lines: Iterator[bytes] = iter(self.stream.readline, b"")
        return next(line for line in lines if not line.startswith((b"Client ", b"Subscribed")))

    def close(self) -> None:
        """Close the pipe."""
        self.stream.close()


def test_help_a_plain_pub_and_a_plain_sub_leave_heavy_modules_alone(mosquitto: int) -> None:
    code = (
        "import sys; from mqttpub.cli.main import main; status = main(sys.argv[1:]);"
        "heavy = {'rich', 'email', 'numpy', 'pyarrow', 'pyspark', 'mqttpub.view', 'mqttpub.codec.decode'};"
        "heavy.add('mqttpub.lab');"
        "print(status, sorted(heavy & set(sys.modules)))"
    )
    here = ["-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-q", "1"]
    for arguments in (["--help"], ["pub", *here, "-m", "x"], ["sub", *here, "-E"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "0 []", done.stdout


@pytest.mark.parametrize("arguments", [["decode", "-V", "5", "c000"], ["lint", "-V", "5", "c000"]])
def test_what_reads_packets_leaves_the_client_alone(arguments: list[str]) -> None:
    code = (
        "import sys; from mqttpub.cli.main import main; status = main(sys.argv[1:]);"
        "print(status, sorted({'paho', 'ssl', 'mqttpub.live.net.connection'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []", done.stdout


@pytest.mark.broker
@pytest.mark.parametrize("text", ["hex:00ff", "base64:AP8=", "@home", "text:x"])
def test_a_message_is_taken_as_it_stands(text: str, mosquitto: int) -> None:
    with subscribed("literal", mosquitto) as listener:
        for client in (["mosquitto_pub"], [*PROGRAM, "pub"]):
            subprocess.run([*client, "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "literal", "-m", text], check=True)
        assert listener.stdout
        assert [listener.stdout.readline() for _ in range(2)] == [f"{text.encode().hex()}\n".encode()] * 2


def test_packets_are_shown_as_they_pass_and_the_outcome_stands_below_them() -> None:
    shown = threading.Event()

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        # The broker answers only once the PUBLISH is on the screen, or not at all.
        if shown.wait(20):
            peer.send("40 03 00 01 10")
        peer.wait()

    line = [*PROGRAM, "pub", "-h", "127.0.0.1", "-t", "a", "-q", "1", "-m", "x", "--inspect", "-p"]
    with (
        scripted(script) as port,
        subprocess.Popen([*line, str(port)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        assert process.stdout
        before = list(itertools.takewhile(lambda line: not line.startswith("> PUBLISH"), process.stdout))
        shown.set()
        rest = process.stdout.read().splitlines()
        assert process.wait(20) == 0
    assert before[0].startswith("* connecting to ")
    assert any(line.startswith("< PUBACK") for line in rest)
    assert any(line.startswith("> DISCONNECT") for line in rest)
    assert rest[-1] == "mqttpub: accepted, but nobody subscribes to 'a' (0x10)"


@pytest.mark.parametrize(
    ("end", "status", "message"),
    [
        ("", 6, "the broker closed the connection before everything was sent"),
        ("e0 01 8b", 5, "the broker disconnected: 0x8b Server shutting down"),
    ],
)
def test_a_qos_0_message_is_not_said_to_be_sent_if_the_broker_ends_after_connack(
    end: str, status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with scripted(lambda peer: _accept_and_end(peer, end)) as port:
        line = ["pub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-m", "x", "--repeat", "2", "--json"]
        assert main(line) == status
    *outcomes, summary, failure = map(json.loads, capsys.readouterr().out.splitlines())
    assert {each["outcome"] for each in outcomes} == {"unknown"}
    assert (summary["sent"], summary["unknown"]) == (0, len(outcomes))
    assert (failure["status"], failure["message"]) == (status, message)


def _accept_and_end(peer: Peer, end: str) -> None:
    peer.packet()
    peer.send(f"20 03 00 00 00 {end}")


# signals

SIGNALS = {
    signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGHUP: (129, "hung up"),
}  # fmt: skip


class Awaited:
    """A peer that answers the first packets, says when it has all that it waits for, and notes what comes then."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.here = threading.Event()
        self.last: list[str] = []

    def __call__(self, peer: Peer) -> None:
        for answer in self.answers:
            peer.packet()
            if answer:
                peer.send(answer)
        self.here.set()
        while packet := peer.packet():
            self.last.append(packet.hex(" "))


ACCEPTED = "20 03 00 00 00"
WAITS = {
    "CONNACK": (Awaited(""), ("-m", "x"), "no message was sent"),
    "PUBACK": (Awaited(ACCEPTED, ""), ("-m", "x", "-q", "1"), "no PUBACK came for Packet Identifier 1"),
    "PUBCOMP": (
        Awaited(ACCEPTED, "50 02 00 01", ""), ("-m", "x", "-q", "2"), "no PUBCOMP came for Packet Identifier 1",
    ),
    "lines": (Awaited(ACCEPTED, ""), ("-l",), "no message is in doubt"),
    "the next round": (
        Awaited(ACCEPTED, ""), ("-m", "x", "--repeat", "2", "--repeat-delay", "99"), "no message is in doubt",
    ),
}  # fmt: skip


@contextmanager
def running(port: int, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """Run `pub` with a standard input that stays open after its first line."""
    process = subprocess.Popen(
        [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", *flags],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    try:
        process.stdin.write("x\n")
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    """Send a signal and return what was said on both outputs, once the status was seen to be that of the signal."""
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == SIGNALS[number][0], err
    return out, err


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("wait", WAITS)
def test_a_signal_takes_leave_of_the_broker_and_says_what_was_awaited(wait: str, number: signal.Signals) -> None:
    peer, flags, awaited = WAITS[wait]
    peer = Awaited(*peer.answers)
    with scripted(peer) as port, running(port, *flags) as process:
        assert peer.here.wait(30)
        out, err = ended(process, number)
    assert peer.last == ["e0 00"]
    assert (out, err) == ("", f"mqttpub: {SIGNALS[number][1]}; {awaited}\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_pause_before_connecting_again(number: signal.Signals) -> None:
    with running(free_port(), "-m", "x", "--reconnect", "--timeout", "60") as process:
        assert process.stderr
        next(line for line in process.stderr if "connecting again in 1.6 s" in line)
        _, err = ended(process, number)
    assert err == f"mqttpub: {SIGNALS[number][1]}; no message was sent\n"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_leaves_the_packets_and_the_summary_of_what_was_done(number: signal.Signals) -> None:
    peer = Awaited(ACCEPTED, "40 02 00 01")
    with scripted(peer) as port, running(port, "-l", "-q", "1", "--inspect", "--json") as process:
        assert process.stdout
        before = list(itertools.takewhile(lambda line: '"event":"message"' not in line, process.stdout))
        out, _ = ended(process, number)
    assert peer.last == ["e0 00"]
    records = [json.loads(line) for line in [*before, *out.splitlines()]]
    shown = [each["type"] for each in records if each["event"] == "packet"]
    assert shown == ["CONNECT", "CONNACK", "PUBLISH", "PUBACK", "DISCONNECT"]
    assert [each["status"] for each in records if each["event"] == "failure"] == [SIGNALS[number][0]]
    assert [each["accepted"] for each in records if each["event"] == "summary"] == [1]


@pytest.mark.broker
def test_a_signal_does_not_fire_the_will(mosquitto: int) -> None:
    with subscribed("will/#", mosquitto) as listener:
        flags = ("-l", "-q", "1", "--inspect", "--will-topic", "will/a", "--will-message", "dead")
        with running(mosquitto, *flags) as process:
            assert process.stdout
            next(line for line in process.stdout if "PUBACK" in line)
            ended(process, signal.SIGTERM)
        pub("-t", "will/b", "-m", "next", port=mosquitto)
        assert listener.stdout
        assert listener.stdout.readline() == b"6e657874\n"


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    peer = Awaited(ACCEPTED, "")
    with scripted(peer) as port:
        line = f"trap '' HUP; exec {shlex.join(PROGRAM)} pub -h 127.0.0.1 -p {port} -t a -q 1 -m x"
        process = subprocess.Popen(["bash", "-c", line], stderr=subprocess.PIPE, text=True)
        assert peer.here.wait(30)
        process.send_signal(signal.SIGHUP)
        ended(process, signal.SIGTERM)


def test_a_terminal_that_closes_hangs_the_program_up() -> None:
    peer = Awaited(ACCEPTED, "40 02 00 01")
    master, slave = os.openpty()
    command = ["setsid", "--ctty", *PROGRAM, "pub", "-h", "127.0.0.1", "-t", "a", "-q", "1", "-l", "--inspect"]
    with scripted(peer) as port:
        process = subprocess.Popen([*command, "-p", str(port)], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        os.write(master, b"x\n")
        assert peer.here.wait(30)
        os.close(master)
        assert process.wait(30) == 129
    assert peer.last == ["e0 00"]


def test_what_was_acknowledged_with_the_last_bytes_counts() -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        for _ in range(2):
            peer.packet()
        peer.send("40 02 00 01")

    with scripted(script) as port:
        records = pub("-t", "a", "-t", "b", "-q", "1", "-m", "x", "--json", "-h", "127.0.0.1", port=port, status=6)
    outcomes = [each["outcome"] for each in records if each["event"] == "message"]
    assert outcomes == ["accepted", "unknown"]
    assert [(each["accepted"], each["unknown"]) for each in records if each["event"] == "summary"] == [(1, 1)]


def test_a_pipe_that_closes_early_ends_quietly(mosquitto: int) -> None:
    line = f"{shlex.join(PROGRAM)} pub -h 127.0.0.1 -p {mosquitto} -t a -q 1 -m x --inspect | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stderr in ("", "mqttpub: accepted, but nobody subscribes to 'a' (0x10)\n")


def test_a_password_is_masked_wherever_bytes_are_shown(mosquitto: int, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    shown = ""
    for more in (["--inspect"], ["--inspect", "--json"]):
        done = subprocess.run(
            [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-m", "x", "-u", "me",
             "--password-file", str(secret), *more],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        shown += done.stdout + done.stderr
    assert "hunter2" not in shown
    assert b"hunter2".hex() not in shown.replace(" ", "").lower()
    assert "*******" in shown


def test_a_refused_user_is_exit_4(tmp_path: Path) -> None:
    with started(tmp_path, lambda port: [*plain(port), "allow_anonymous false"]) as (port,):
        for version, code in (("5", "0x87 Not authorized"), ("3.1.1", "5 not authorized")):
            done = subprocess.run(
                [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-m", "x", "-V", version],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (4, f"mqttpub: the broker refused the connection: {code}\n")
