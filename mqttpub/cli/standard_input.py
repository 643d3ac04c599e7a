"""Standard input, which may be closed before the program begins: Python then has None in its place."""

import sys
from typing import BinaryIO

import click


def standard_input() -> BinaryIO:
    """Return standard input as bytes; raises UsageError when it is closed."""
    if sys.stdin is None:
        raise click.UsageError("standard input is closed")
    return sys.stdin.buffer


def is_piped() -> bool:
    """Whether standard input is open and nobody types it."""
    return sys.stdin is not None and not sys.stdin.isatty()


def is_interactive() -> bool:
    """Whether somebody types at a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()
