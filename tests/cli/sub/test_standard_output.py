"""A standard output that nobody reads holds `sub` no longer than its time, and no signal."""

import fcntl
import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest

from mqttpub.cli.sub.standard_output import StandardOutput
from tests.fakes import Peer, Script, scripted
from tests.program import PROGRAM

MESSAGE = bytes.fromhex("30 ff 03 00 01 61 00") + b"x" * 507
"""A PUBLISH whose payload is 507 bytes."""
LONGEST_S = 60


@pytest.fixture
def unread() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe that nobody reads."""
    ours, its = os.pipe()
    yield ours, its
    os.close(ours)
    os.close(its)


def wait_until_full(pipe: int) -> None:
    """Return when a pipe has no room for another PIPE_BUF bytes."""
    size, until_s = fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ), time.monotonic() + LONGEST_S
    held = bytearray(4)
    while int.from_bytes(held, sys.byteorder) <= size - select.PIPE_BUF:
        assert time.monotonic() < until_s, "the pipe is not full"
        time.sleep(0.01)
        fcntl.ioctl(pipe, termios.FIONREAD, held)


def sending(seen: list[bytes]) -> Script:
    """Return the script of a broker that sends more than a pipe holds, and keeps what it gets afterwards."""

    def script(peer: Peer) -> None:
        peer.accept()
        peer.packet()
        peer.send("90 04 00 01 00 00")
        peer.sock.sendall(MESSAGE * 1000)
        peer.sock.settimeout(LONGEST_S)
        while packet := peer.packet():
            seen.append(packet)

    return script


@pytest.mark.parametrize("flags", [[], ["-v"], ["--json"]])
def test_the_end_of_its_time(flags: list[str], unread: tuple[int, int]) -> None:
    seen: list[bytes] = []
    with scripted(sending(seen)) as port:
        line = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-W", "1", *flags]
        done = subprocess.run(line, stdout=unread[1], stderr=subprocess.PIPE, timeout=LONGEST_S)
    said = done.stderr.decode()
    assert (done.returncode, seen) == (74, [b"\xe0\0"])
    assert said.startswith("mqttpub: the time was up before standard output was read; ")
    assert said.endswith(" bytes of the output were not written\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("flags", [[], ["-W", "1000"], ["--inspect"]], ids=" ".join)
def test_a_signal(number: signal.Signals, flags: list[str], unread: tuple[int, int]) -> None:
    ours, its = unread
    with scripted(sending([])) as port:
        line = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", *flags]
        with subprocess.Popen(line, stdout=its, stderr=subprocess.PIPE) as process:
            try:
                wait_until_full(ours)
                process.send_signal(number)
                said = process.communicate(timeout=LONGEST_S)[1].decode()
            finally:
                process.kill()
    assert process.returncode == 128 + number, said
    assert said.count(" bytes of the output were not written\n") == 1


def test_what_is_read_late_is_whole() -> None:
    with scripted(sending([])) as port:
        line = [*PROGRAM, "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "a", "-C", "1000", "-W", "50"]
        done = subprocess.run(line, capture_output=True, timeout=LONGEST_S)
    assert (done.returncode, done.stdout) == (0, (b"x" * 507 + b"\n") * 1000)


def test_what_is_written_is_counted_however_soon_the_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    process = os.getpid()

    def interrupt() -> None:
        while os.read(reading, 1 << 16) != b"end":
            os.kill(process, signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        thread.start()
        missing = Counter(_missing_at_an_interrupt() for _ in range(1000))
        os.write(writing, b"end")
        thread.join(20)
    assert missing == {"": 1000}


def _missing_at_an_interrupt() -> str:
    output = StandardOutput()
    with suppress(KeyboardInterrupt):
        output.write(b"1\n")
        threading.Event().wait(20)
    return output.missing
