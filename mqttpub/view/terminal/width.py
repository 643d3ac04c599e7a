"""The width that output is drawn for, in columns."""

import os
import sys
from typing import TextIO

WIDTH_OF_A_PIPE = 80
NARROWEST = 60


def screen_width(stream: TextIO | None = None) -> int:
    """Return the columns of a terminal; for a pipe, those of the variable COLUMNS, or else 80.

    The stream is standard output unless given.
    """
    out = stream or sys.stdout
    if not out.isatty():
        given = os.environ.get("COLUMNS", "")
        return max(NARROWEST, int(given)) if given.isdigit() and int(given) else WIDTH_OF_A_PIPE
    import shutil  # loaded on use: it takes 2 ms, and a pipe does without

    return max(NARROWEST, shutil.get_terminal_size((WIDTH_OF_A_PIPE, 24)).columns)
