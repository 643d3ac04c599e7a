"""Standard input, which may be closed before the program begins: Python then has None in its place."""

import os
import stat
import sys
from typing import BinaryIO

from .errors import UserError

STANDARD_INPUT_NAME = "standard input"
"""How messages name it."""


def standard_input() -> BinaryIO:
    """Return standard input as bytes; raises UserError when it is closed."""
    if sys.stdin is None:
        raise UserError("standard input is closed")
    return sys.stdin.buffer


def is_piped() -> bool:
    """Whether standard input is open and is not a terminal."""
    return sys.stdin is not None and not sys.stdin.isatty()


def is_pipe(descriptor: int = 0) -> bool:
    """Whether a descriptor, standard input unless given, is a pipe or a socket, which another program writes to."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def is_interactive() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()
