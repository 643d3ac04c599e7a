"""The program as a process of its own, on pipes and on terminals."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

PROGRAM = [sys.executable, "-m", "mqttpub"]


def run(*arguments: object, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run the program with data as its standard input."""
    return subprocess.run([*PROGRAM, *map(str, arguments)], input=data, capture_output=True, timeout=60, check=False)


def on_terminal(
    command: Sequence[str],
    *,
    data: bytes | None = None,
    stdout: IO[Any] | None = None,
    env: Mapping[str, str] | None = None,
    own_session: bool = False,
) -> tuple[bytes, int]:
    """Run a command on a terminal of its own; return what the terminal shows and the exit status.

    `data` comes from a pipe instead of the terminal, `stdout` takes the output instead.
    """
    ours, its = pty.openpty()
    with subprocess.Popen(
        command,
        stdin=its if data is None else subprocess.PIPE,
        stdout=stdout or its,
        stderr=its,
        env=env,
        start_new_session=own_session,
    ) as process:
        os.close(its)
        if process.stdin:
            process.stdin.write(data or b"")
            process.stdin.close()
        shown = b""
        # Reading fails once everybody has closed the other end.
        with suppress(OSError):
            while piece := os.read(ours, 65536):
                shown += piece
        os.close(ours)
    return shown, process.returncode
