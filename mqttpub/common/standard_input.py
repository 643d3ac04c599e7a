"""Standard input, which may be closed before the program begins: Python then has None in its place."""

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


def is_interactive() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()
