"""Messages in files: appended to one, or each in a file of its own."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import BinaryIO

import click

from ...live.receive import ReceivedMessage
from .lines import Writer


def appending(path: str, stack: ExitStack) -> Callable[[bytes], object]:
    """Open a file, which the stack closes, and return a function that appends bytes to it; raises UsageError."""
    try:
        file = stack.enter_context(open(path, "ab", buffering=0))  # noqa: SIM115 - the stack closes it
    except OSError as error:
        raise click.BadParameter(f"cannot write '{path}': {error.strerror}", param_hint="--file-write") from None

    def write(data: bytes) -> None:
        left = memoryview(data)
        while left:
            # A disk that is full takes the first bytes, and only says so when asked for the rest.
            left = left[file.write(left) :]

    return write


class NumberedFiles:
    """Saves each message as a file: `name.ext`, then `name(1).ext` and so on; no existing file is replaced."""

    def __init__(self, path: str, write: Writer) -> None:
        self._stem, self._suffix = os.path.splitext(path)
        self._write = write
        self._number = 0
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise click.BadParameter(f"there is no folder '{folder}'", param_hint="--file-save")

    def save(self, messages: Sequence[ReceivedMessage]) -> None:
        """Save messages; raises OSError."""
        for message in messages:
            with self._next() as file:
                file.write(self._write([message]))

    def _next(self) -> BinaryIO:
        while True:
            path = f"{self._stem}({self._number}){self._suffix}" if self._number else self._stem + self._suffix
            self._number += 1
            try:
                return open(path, "xb")
            except FileExistsError:
                continue
