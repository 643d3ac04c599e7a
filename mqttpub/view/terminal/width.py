"""The width that output is drawn for, in columns."""

import os
import shutil
import sys

WIDTH_OF_A_PIPE = 80
NARROWEST = 60


def screen_width() -> int:
    """Return the columns of the terminal; for a pipe, those of the variable COLUMNS, or else 80."""
    if not sys.stdout.isatty():
        given = os.environ.get("COLUMNS", "")
        return max(NARROWEST, int(given)) if given.isdigit() and int(given) else WIDTH_OF_A_PIPE
    return max(NARROWEST, shutil.get_terminal_size((WIDTH_OF_A_PIPE, 24)).columns)
