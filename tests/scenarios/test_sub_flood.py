"""What a broker sends cannot change a terminal: `sub` on a real one, under a flood of foreign escape sequences."""

import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import Peer, Script, scripted

SEQUENCES = (
    b"\x1b]0;owned\x07", b"\x1b]2;owned\x1b\\", b"\x1b[?1049h", b"\x1b[?25l", b"\x1b[?1000h", b"\x1b[?2004h",
    b"\x1b[2J", b"\x1b[10;20r", b"\x1b[?7l", b"\x1b=", b"\x1b(0", b"\x0e", b"\x1bc", b"\x1b[31;1m", b"\x1b[4h",
    b"\x9b2J", "\x9b?25l".encode(), "\u202e\u2066".encode(), b"\r\x1b[K", b"\x08\x08", b"\x1b]52;c;b3duZWQ=\x07",
    b"\x1bP+q\x1b\\", b"\x05", b"\x1b[6n", b"\x1b[c", b"\n\n",
)  # fmt: skip
MESSAGES = 5000
STATE = (
    "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_flag} #{insert_flag} #{wrap_flag} #{origin_flag} "
    "#{scroll_region_upper} #{scroll_region_lower} #{pane_title}"
)
"""What tmux knows of a terminal."""


def flood(end: str) -> Script:
    """Return a script that sends escape sequences in topics and payloads, and then one plain message."""
    chance = random.Random(5)

    def packet(topic: bytes, payload: bytes) -> bytes:
        rest = len(topic).to_bytes(2, "big") + topic + b"\0" + payload
        assert len(rest) < 128
        return bytes((0x30, len(rest))) + rest

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("90 04 00 01 00 00")
        some = [packet(b"t\xc2\x9b31m", b"".join(chance.choices(SEQUENCES, k=5))) for _ in range(MESSAGES)]
        peer.sock.sendall(b"".join(some) + packet(b"t", end.encode()))
        peer.wait()

    return script


STYLES = re.compile(r"\x1b\[[0-9;]*m")
"""The styles of the shell and of our own table."""


class Terminal:
    """A tmux server of its own with one shell."""

    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / "socket"), "-f", "/dev/null"]
        self.run("new-session", "-d", "-x", "100", "-y", "30", "env PS1='$ ' sh")

    def run(self, *words: str) -> str:
        """Run a tmux command and return its output."""
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True, timeout=20).stdout

    def type(self, line: str) -> None:
        """Type a line into the shell."""
        self.run("send-keys", "-l", line)
        self.run("send-keys", "Enter")

    def wait_for(self, text: str) -> str:
        """Return the screen once a line on it is this text."""
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s:
            screen = self.run("capture-pane", "-p", "-e")
            if text in screen.splitlines():
                return screen
            time.sleep(0.05)
        raise AssertionError(screen)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    assert shutil.which("tmux"), "the tests need tmux (Debian: apt-get install tmux)"
    made = Terminal(tmp_path)
    yield made
    made.run("kill-server")


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["-v", "-F '%t %p %P'", "--json", "--watch"])
def test_a_flood_of_escape_sequences_leaves_the_terminal_as_it_was(flags: str, terminal: Terminal) -> None:
    terminal.type("clear; echo before")
    terminal.wait_for("before")
    before = terminal.run("display-message", "-p", STATE)
    with scripted(flood("the end")) as port:
        program = f"{sys.executable} -m mqttpub sub -h 127.0.0.1 -p {port} -t '#' -C {MESSAGES + 1} {flags}"
        terminal.type(f"{program}; echo done: $?")
        screen = terminal.wait_for("done: 0")
    assert "the end" in screen
    assert terminal.run("display-message", "-p", STATE) == before
    assert "\x1b" not in STYLES.sub("", screen)
    # What is typed next arrives as it is: nothing was answered into the input, no other character set is in use.
    terminal.type("echo after lqk")
    assert terminal.wait_for("after lqk")
