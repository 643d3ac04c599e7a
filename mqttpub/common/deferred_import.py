"""Modules that a library imports without using them in most runs, loaded when they are first used.

Before Python 3.12.3, no two threads may be the first to use one at the same moment: code that starts threads imports
what they will use.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class DeferringFinder:
    """Finds the modules of these names, and no others; they are loaded when an attribute is first read."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module with a lazy loader, None for any other module."""
        if fullname not in self._names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Defer the loading of modules with these names that the block imports, directly or not, until they are used."""
    finder = DeferringFinder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
