"""Running a command for each request: several at once, each for a limited time and with limited output."""

import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections import deque
from typing import Any, NamedTuple

from ...common.processes import end_groups
from ...common.system import waitable
from .request import CommandLine

CHUNK = 65536


class CommandResult(NamedTuple):
    """What became of a command."""

    token: Any
    """What `start` was given."""
    output: bytes
    status: int | None
    """Its exit status, negative for a signal; None where it could not be started, or was ended by us."""
    reason: str = ""
    """Why its output is not an answer; empty if it is."""


class CommandPool:
    """Runs the same command for several requests at once, each in a thread that waits for its process.

    `descriptor` can be read as soon as a result is there.
    """

    def __init__(self, command: CommandLine, most: int) -> None:
        self._command = command
        self._most = most
        self._running: set[subprocess.Popen[bytes]] = set()
        self._results: deque[CommandResult] = deque()
        self._lock = threading.Lock()
        self._stopped = False
        self.active = 0
        """Number of commands whose results were not taken."""
        woken, self._signal = os.pipe()
        self.descriptor, self._next = waitable(woken)

    @property
    def has_room(self) -> bool:
        """Whether another command may start."""
        return self.active < self._most

    def start(self, token: Any, payload: bytes, environment: dict[str, str]) -> None:
        """Start the command with the payload on its standard input."""
        self.active += 1
        threading.Thread(target=self._run, args=(token, payload, environment), daemon=True).start()

    def take(self) -> list[CommandResult]:
        """Return the results that are there."""
        taken: list[CommandResult] = []
        while self._results:
            self._next(1)
            taken.append(self._results.popleft())
        self.active -= len(taken)
        return taken

    def stop(self) -> None:
        """End what still runs."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        end_groups(*running)

    def _run(self, token: Any, payload: bytes, environment: dict[str, str]) -> None:
        try:
            result = self._result(token, payload, environment)
        except Exception as error:
            # An error of whatever kind must not leave the request open forever.
            result = CommandResult(token, b"", None, f"it cannot be run: {error}")
        self._results.append(result)
        os.write(self._signal, b".")

    def _result(self, token: Any, payload: bytes, environment: dict[str, str]) -> CommandResult:
        command = self._command
        # A file instead of a pipe: a command need not read its input.
        with tempfile.TemporaryFile() as given:
            given.write(payload)
            given.seek(0)
            # `stop` waits for a command that starts, or the program could end before the command is known.
            with self._lock:
                if self._stopped:
                    return CommandResult(token, b"", None, "the program ends")
                process = subprocess.Popen(
                    command.words[0] if command.shell else command.words, shell=command.shell, stdin=given,
                    stdout=subprocess.PIPE, env=environment, start_new_session=True,
                )  # fmt: skip
                self._running.add(process)
        try:
            output, reason = _read(process, command)
            if reason:
                end_groups(process)
                return CommandResult(token, output, None, reason)
            status = process.wait()
        finally:
            if process.stdout:
                process.stdout.close()
            with self._lock:
                self._running.discard(process)
        reason = "" if status == 0 else f"it ended with status {status}" if status > 0 else f"signal {-status} ended it"
        return CommandResult(token, output, status, reason)


def _read(process: "subprocess.Popen[bytes]", command: CommandLine) -> tuple[bytes, str]:
    """Return the output of a process and, where it is broken off, why."""
    assert process.stdout
    until_s = time.monotonic() + command.limit_s
    output = bytearray()
    with selectors.DefaultSelector() as selector:
        descriptor, read = waitable(process.stdout.fileno())
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not selector.select(left_s):
                return bytes(output), f"it ran for more than {command.limit_s:g} s"
            chunk = read(CHUNK)
            if not chunk:
                break
            output += chunk
            if len(output) > command.most_bytes:
                return b"", f"it printed more than {command.most_bytes:,} bytes"
    try:
        process.wait(max(until_s - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return bytes(output), f"it ran for more than {command.limit_s:g} s"
    return bytes(output), ""
