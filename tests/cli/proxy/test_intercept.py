"""`proxy --intercept` on a terminal: whole screens, against mosquitto."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.spec.packets import Connect, Pingreq, Pingresp, Puback, Publish
from tests.documents import blocks, guide
from tests.lab.sockets import Wire
from tests.program import PROGRAM

PROMPT = "proxy> "
WITHIN_S = 20


class Terminal:
    """A proxy on a terminal, what it shows, and what is typed."""

    def __init__(self, broker: int, pattern: str, *flags: str) -> None:
        self._ours, its = pty.openpty()
        command = [*PROGRAM, "proxy", "--listen", "0", "-p", str(broker), "--intercept", pattern, *flags]
        environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}
        self.process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment)
        os.close(its)
        self.shown = ""
        self.await_shown("help lists what else there is.")
        found = re.search(r"listening on \S*:(\d+)", self.shown)
        assert found
        self.port = int(found[1])

    def await_shown(self, text: str, times: int = 1) -> None:
        """Wait until the terminal has shown a text so many times."""
        until = time.monotonic() + WITHIN_S
        while self.shown.count(text) < times:
            assert time.monotonic() < until, self.shown
            if select.select([self._ours], [], [], 0.5)[0]:
                self.shown += os.read(self._ours, 65536).decode().replace("\r\n", "\n")

    def prompted(self, times: int = 1) -> None:
        """Wait for the prompt after the last line that was typed."""
        self.await_shown(PROMPT, times)

    def type(self, *lines: str) -> None:
        """Type lines, each at a prompt of its own."""
        for line in lines:
            seen = self.shown.count(PROMPT)
            os.write(self._ours, f"{line}\n".encode())
            if line is not lines[-1]:
                self.await_shown(PROMPT, seen + 1)

    def end(self) -> int:
        """End the input, as Ctrl-D does, and return the exit status."""
        os.write(self._ours, b"\x04")
        return self.process.wait(WITHIN_S)

    def close(self) -> None:
        """Close the terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


@contextmanager
def terminal(broker: int, pattern: str, *flags: str) -> Iterator[Terminal]:
    """Run a proxy on a terminal."""
    made = Terminal(broker, pattern, *flags)
    try:
        yield made
    finally:
        made.close()


def publishing(port: int, *flags: str) -> "subprocess.Popen[bytes]":
    """Publish with mosquitto_pub."""
    words = ["-V", "5", "-i", "me", "-p", str(port), "-t", "a/b", "-m", "hello", *flags]
    return subprocess.Popen(["mosquitto_pub", *words], stderr=subprocess.PIPE)


(QOS2,) = blocks(guide("proxy").read_text(), "text")
"""The screen in the guide."""


@pytest.mark.broker
def test_a_message_with_edits_and_a_pubrel_that_waits(mosquitto: int) -> None:
    with terminal(mosquitto, "type=PUBLISH,PUBREL") as shown:
        beginning = len(shown.shown)
        with publishing(shown.port, "-q", "2") as publisher:
            shown.prompted()
            shown.type("edit d1 -q", "edit q2 r1 -d", "")
            shown.await_shown("next      > pubrel i=1")
            shown.prompted(4)
            shown.type("hold", "send 1")
            assert publisher.wait(WITHIN_S) == 0
        shown.await_shown("bytes of the client")
        assert shown.end() == 0
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1883", shown.shown[beginning:])
    assert [line.rstrip() for line in text.splitlines()] == QOS2.splitlines()
    with Wire(mosquitto) as wire:
        wire.connect("remover").send(Publish(topic="a/b", retain=True, payload=b"")).ask(Pingreq())


@pytest.mark.broker
def test_everything_else_goes_on_and_packets_come_one_after_the_other(mosquitto: int) -> None:
    with terminal(mosquitto, "payload=hold*") as shown, Wire(shown.port) as one, Wire(shown.port) as two:
        one.connect("one")
        two.connect("two")
        one.send(Publish(topic="a", qos=1, packet_id=1, payload=b"hold me"), Pingreq())
        shown.prompted()
        assert two.ask(Pingreq()) == Pingresp()
        two.send(Publish(topic="a", qos=1, packet_id=7, payload=b"hold me too"), Pingreq())
        two.send(Publish(topic="a", qos=1, packet_id=8, payload=b"hold"))
        shown.type("twice")
        assert [one.next().packet_id, one.next().packet_id, one.next()] == [1, 1, Pingresp()]
        shown.await_shown("next      > publish q1 t=a i=7 ")
        assert "connection 2  client two" in shown.shown
        shown.type("drop")
        assert two.next() == Pingresp()
        shown.await_shown("next      > publish q1 t=a i=8 p=hold\n")
        shown.type("dup")
        assert two.next().packet_id == 8
        shown.process.send_signal(signal.SIGINT)
        assert shown.process.wait(WITHIN_S) == 0


@pytest.mark.broker
def test_what_is_typed_wrong_is_said_and_leaves_the_packet_held(mosquitto: int) -> None:
    with terminal(mosquitto, "type=PUBLISH") as shown, Wire(shown.port) as wire:
        shown.type("help")
        shown.await_shown("quit           end the proxy")
        wire.connect("c").send(Publish(topic="a", qos=1, packet_id=1, payload=b"x"))
        shown.prompted()
        lines = ("publsh", "edit", "edit x=1", "edit slice=1", "send 1", "< none 1s")
        shown.type(*lines, "> pingreq; < pingresp")
        assert [wire.next(), wire.next()] == [Pingresp(), Pingresp()]
        for sentence in (
            "column 1: 'publsh' begins no step", "edit what? ", "column 6: PUBLISH has no 'x'",
            "slice is an action of --fault", "nothing is held back", "only packets can be sent",
        ):  # fmt: skip
            assert sentence in shown.shown
        shown.type("")
        assert isinstance(wire.next(), Puback)
        shown.type("hold", "rst")
        shown.await_shown("no packet is held")
        assert shown.end() == 0


@pytest.mark.broker
@pytest.mark.parametrize("verb", ["fin", "rst", "server RST"])
def test_the_connection_can_be_closed_at_a_packet(verb: str, mosquitto: int) -> None:
    with terminal(mosquitto, "type=PUBLISH") as shown:
        with publishing(shown.port, "-q", "1") as publisher:
            shown.prompted()
            shown.type(verb)
            assert publisher.wait(WITHIN_S) != 0
        shown.await_shown(f"connection 1 {'closed' if verb == 'fin' else 'reset'} by the user")
        assert shown.end() == 0


@pytest.mark.broker
def test_a_secret_is_sent_and_not_shown(mosquitto: int, tmp_path: Path) -> None:
    capture = tmp_path / "c.pcapng"
    with terminal(mosquitto, "type=CONNECT", "--capture", str(capture)) as shown, Wire(shown.port) as wire:
        wire.send(Connect(client_id="c", username="me", password=b"deep secret"))
        shown.prompted()
        shown.type("edit ka=7", "")
        assert wire.next().reason_code == 0
        assert shown.end() == 0
    assert "deep secret" not in shown.shown
    assert b"deep secret".hex(" ") not in shown.shown
    assert "password=***********" in shown.shown
    assert b"deep secret" in capture.read_bytes()


def test_it_needs_a_terminal_and_shows_packets_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        ([], "--intercept asks on a terminal, and standard input is none"),
        (["--json"], "--intercept shows packets and findings itself; --json does not go with it"),
        (["--inspect"], "--inspect does not go with it"),
    ):
        assert main(["proxy", "--listen", "0", "--intercept", "type=PUBLISH", *words]) == 2
        assert sentence in capsys.readouterr().err
