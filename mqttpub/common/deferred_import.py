"""Modules that a library imports without using them in most runs, loaded when they are first used."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import RLock
from types import ModuleType
from typing import Any


class DeferredModule(ModuleType):
    """A module that is loaded when an attribute is first read that it does not have yet.

    That of `importlib.util.LazyLoader` is loaded at any read, and so also by the second `import` of it, which reads
    `__spec__`.
    """

    def __getattr__(self, name: str) -> Any:
        loader: object = self.__loader__
        if isinstance(loader, DeferringLoader):
            loader.load(self)
        return ModuleType.__getattribute__(self, name)


class DeferringLoader:
    """Makes a module that its own loader loads later."""

    def __init__(self, loader: SourceFileLoader) -> None:
        self._loader = loader
        self._lock = RLock()
        self._is_loading = False

    def create_module(self, spec: ModuleSpec) -> None:
        """Have the module made as usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty until it is used."""
        module.__class__ = DeferredModule

    def load(self, module: ModuleType) -> None:
        """Load the module; another thread that uses it waits. It may read its own attributes meanwhile."""
        with self._lock:
            if self._is_loading or type(module) is not DeferredModule:
                return
            self._is_loading = True
            try:
                self._loader.exec_module(module)
            finally:
                self._is_loading = False
            module.__loader__ = self._loader
            if module.__spec__:
                module.__spec__.loader = self._loader
            module.__class__ = ModuleType  # type: ignore[assignment]


class DeferringFinder:
    """Finds the modules of these names, and no others; they are loaded when they are first used."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module with a deferring loader, None for any other module."""
        if fullname not in self._names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = DeferringLoader(spec.loader)  # type: ignore[assignment]
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
