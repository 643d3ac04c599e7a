"""Runs the program in benchmarks as an installed one runs."""

import compileall
import os
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "mqttpub"
SETTINGS = "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"
"""Variables that make each start of a program that is not installed compile its modules, and each line a write."""


def as_installed() -> None:
    """Compile the modules of the package, as pip does, and remove variables that slow processes from here on down."""
    compileall.compile_dir(PACKAGE, quiet=2)
    for name in SETTINGS:
        os.environ.pop(name, None)
