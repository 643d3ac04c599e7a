"""What differs between systems: what this one does, and that nothing else of the program needs what Windows lacks."""

import os
import select
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from mqttpub.common import system

AS_ON_WINDOWS = [sys.executable, "-m", "tests.build.windows"]


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_a_pipe_can_be_waited_for(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "sys", SimpleNamespace(platform=platform))
    reading, writing = os.pipe()
    descriptor, read = system.waitable(reading)
    assert not select.select([descriptor], [], [], 0)[0]
    for written, expected in ((b"one", b"one"), (None, b"")):
        os.write(writing, written) if written else os.close(writing)
        assert select.select([descriptor], [], [], 30)[0]
        assert read(10) == expected
    os.close(reading)
    if isinstance(sock := getattr(read, "__self__", None), socket.socket):
        sock.close()


def test_whether_a_pipe_takes_output() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    assert system.takes_output(writing)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(system.PIPE_BYTES))
    assert not system.takes_output(writing, 0.01)
    os.close(writing)
    os.close(reading)


def test_a_locked_file_is_not_locked_again(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "w") as first, open(tmp_path / "lock", "w") as second:
        system.lock(first)
        with pytest.raises(OSError, match="unavailable"):
            system.lock(second)
        first.close()
        system.lock(second)


@pytest.mark.parametrize(
    ("arguments", "data", "status", "shown"),
    [
        (("pub", "--embedded", "-t", "a", "-q", "1", "-m", "x", "--inspect"), "", 0, "accepted, but nobody subscribes"),
        (("pub", "--embedded", "-t", "a", "-q", "1", "-l", "--json"), "1\n2\n", 0, '"accepted":2,'),
        (("pub", "--embedded", "-t", "a", "-m", "x", "--capture-masked", "--capture", "c.pcapng"), "", 0, ""),
        (("pub", "--unix", "socket", "-t", "a", "-m", "x"), "", 3, "Python has no Unix sockets on Windows"),
        (("lint", "-V", "5"), "c0 00\n", 0, "no findings"),
    ],
)
def test_the_program_without_what_windows_lacks(
    arguments: tuple[str, ...], data: str, status: int, shown: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [*AS_ON_WINDOWS, *arguments], cwd=tmp_path, input=data, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert (done.returncode, shown in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr
    if "c.pcapng" in arguments:
        assert (tmp_path / "c.pcapng").read_bytes()[:4] == b"\n\r\r\n"
