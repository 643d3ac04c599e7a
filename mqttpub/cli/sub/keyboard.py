"""The keys that are pressed on the terminal of a run, without waiting for them."""

import os
import select
import sys
import termios
import tty
from contextlib import suppress
from types import TracebackType
from typing import Any

BUFFER_BYTES = 1024


class Keyboard:
    """Standard input as a terminal that gives each key at once and does not show it; Ctrl-C remains a signal.

    The terminal is as before once the context is left. While the program is in the background, the keys and the
    terminal are those of another program, and nothing is read or changed.
    """

    def __init__(self) -> None:
        self._terminal = sys.stdin.fileno()
        self._before: list[Any] = []

    def __enter__(self) -> "Keyboard":
        self._before = termios.tcgetattr(self._terminal)
        self._take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A terminal that hung up has nothing to restore.
        with suppress(termios.error, OSError):
            if self._is_ours():
                termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)

    def pressed(self) -> bytes:
        """Return the keys that were pressed since the last call."""
        try:
            if not self._is_ours():
                return b""
            self._take()
            ready, _, _ = select.select([self._terminal], [], [], 0)
            return os.read(self._terminal, BUFFER_BYTES) if ready else b""
        except (termios.error, OSError):
            return b""

    def _is_ours(self) -> bool:
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            # It controls no session, so nobody else can be in the foreground.
            return True

    def _take(self) -> None:
        """Let the terminal give single keys; a shell takes that back when it stops the program."""
        if self._is_ours() and termios.tcgetattr(self._terminal)[3] & termios.ICANON:
            tty.setcbreak(self._terminal, termios.TCSADRAIN)
