"""`sub --watch` on a terminal: its screen, its key, and the terminal afterwards."""

import os
import pty
import signal
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest

from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.fakes import Peer, scripted
from tests.program import PROGRAM

KEYS = b"q or Ctrl-C ends"
PLANT = [
    f"company/europe/site-north/building-12/machine-{number:02}/sensors/{kind}"
    for number in range(7, 13) for kind in ("pressure", "temperature", "vibration")
]  # fmt: skip
SINGLE_KEYS = termios.ICANON | termios.ECHO
"""What a terminal does not do while it gives single keys."""


class WatchedTerminal:
    """A terminal on which `sub --watch` runs."""

    def __init__(self, port: int) -> None:
        self.ours, self.its = pty.openpty()
        command = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "#", "--watch"]
        env = {**os.environ, "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}
        self.process = subprocess.Popen(command, stdin=self.its, stdout=self.its, stderr=self.its, env=env)
        self.shown = b""

    def gives_single_keys(self) -> bool:
        """Whether each key arrives at once and is not shown."""
        return not termios.tcgetattr(self.its)[3] & SINGLE_KEYS

    def read_until(self, text: bytes) -> None:
        """Read what is shown, until a text was shown."""
        while text not in self.shown:
            self.shown += os.read(self.ours, 65536)

    def ended(self) -> int:
        """Return the exit status, after the last of what is shown."""
        status = self.process.wait(20)
        os.set_blocking(self.ours, False)
        with suppress(BlockingIOError):
            while piece := os.read(self.ours, 65536):
                self.shown += piece
        return status


@contextmanager
def watched(topics: Sequence[str]) -> Iterator[WatchedTerminal]:
    """Watch the messages of a peer, one for each topic."""
    messages = b"".join(encode(Publish(topic=topic, payload=b"21.5"), Version.V5) for topic in topics)

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("90 04 00 01 00 00")
        peer.sock.sendall(messages)
        peer.packet()

    with scripted(script) as port:
        terminal = WatchedTerminal(port)
        try:
            yield terminal
        finally:
            terminal.process.kill()
            terminal.process.wait()
            os.close(terminal.ours)
            os.close(terminal.its)


def test_q_ends_it_and_the_terminal_is_as_before() -> None:
    with watched(["a"]) as terminal:
        assert not terminal.gives_single_keys()
        terminal.read_until(KEYS)
        assert terminal.gives_single_keys()
        assert termios.tcgetattr(terminal.its)[3] & termios.ISIG
        os.write(terminal.ours, b"xq")
        assert terminal.ended() == 0
        assert not terminal.gives_single_keys()
        last = terminal.shown.rpartition(b"last value")[2]
        assert b"1 message of 1 topic" in last
        assert KEYS not in last


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_terminal_is_as_before_after_a_signal(number: signal.Signals, status: int) -> None:
    with watched(["a"]) as terminal:
        terminal.read_until(KEYS)
        terminal.process.send_signal(number)
        assert terminal.ended() == status
        assert not terminal.gives_single_keys()


def test_long_topics_are_told_apart() -> None:
    with watched(PLANT) as terminal:
        terminal.read_until(b"18 messages of 18 topics")
        terminal.read_until(KEYS)
        screen = terminal.shown.rpartition(b"below ")[2].decode().splitlines()
        assert screen[0] == "company/europe/site-north/building-12/"
        rows = [line.split("  ")[0].strip() for line in screen if "21.5" in line]
        assert len(set(rows)) == len(PLANT)
        assert {row.split("/")[0][-2:] for row in rows} == {topic.split("/")[4][-2:] for topic in PLANT}
