"""The libraries of the extra `formats`, imported when a format needs one."""

from importlib import import_module
from typing import Any


class MissingLibrary(ValueError):
    """The library of a format is not installed."""


def library(format: str, package: str, module: str = "") -> Any:
    """Return a module of the package that a format needs, the package itself by default; raises MissingLibrary."""
    try:
        return import_module(module or package)
    except ImportError:
        from ..common.extras import needs

        raise MissingLibrary(needs(f"format {format}", [package], "formats")) from None
