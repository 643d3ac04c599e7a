"""`pub` against a real mosquitto, and what it leaves alone at start-up."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.conftest import free_port, wait_for_port
from tests.fakes import Peer, scripted

PROGRAM = [sys.executable, "-m", "mqttpub"]
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


@pytest.mark.broker
@pytest.mark.parametrize("version", ["3.1", "3.1.1", "5"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_what_is_published_arrives(version: str, qos: str, mosquitto: int) -> None:
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


def test_help_and_a_plain_pub_leave_heavy_modules_alone(mosquitto: int) -> None:
    code = (
        "import sys; from mqttpub.cli.main import main; status = main(sys.argv[1:]);"
        "heavy = {'rich', 'numpy', 'pyarrow', 'pyspark', 'mqttpub.view', 'mqttpub.codec.decode', 'mqttpub.lab'};"
        "print(status, sorted(heavy & set(sys.modules)))"
    )
    for arguments in (["--help"], ["pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "a", "-q", "1", "-m", "x"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "0 []", done.stdout


def test_interrupting_a_wait_ends_with_130() -> None:
    published = Event()

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        published.set()
        peer.wait()

    with scripted(script) as port:
        process = subprocess.Popen(
            [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-q", "1", "-m", "x"],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert published.wait(60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
    assert process.returncode == 130
    assert said == "mqttpub: interrupted; no PUBACK came for Packet Identifier 1\n"


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


def test_a_pipe_that_closes_early_ends_quietly(mosquitto: int) -> None:
    line = f"{' '.join(PROGRAM)} pub -h 127.0.0.1 -p {mosquitto} -t a -q 1 -m x --inspect | head -1"
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
    port = free_port()
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous false\nlog_dest none\n")
    program = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
    assert program
    process = subprocess.Popen([program, "-c", str(config)])
    try:
        wait_for_port(port)
        for version, code in (("5", "0x87 Not authorized"), ("3.1.1", "5 not authorized")):
            done = subprocess.run(
                [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-m", "x", "-V", version],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert (done.returncode, done.stderr) == (4, f"mqttpub: the broker refused the connection: {code}\n")
    finally:
        process.terminate()
        process.wait(10)
