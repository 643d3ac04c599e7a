"""How far the reading of files has come, where that can be drawn without getting in the way of the output."""

import sys
from collections.abc import Sequence
from typing import Any, Protocol


class Measured(Protocol):
    """Something that is read from its beginning to its end."""

    @property
    def size(self) -> int:
        """Bytes that it has; 0 where nobody knows."""

    @property
    def position(self) -> int:
        """Bytes that were read of it."""


class ReadingBar:
    """A bar for several sources that are read one after the other."""

    def __init__(self, sources: Sequence[Measured], *, beside: bool = False) -> None:
        """Begin it on a terminal; with `beside` the output goes elsewhere than to standard output."""
        self._sources = sources
        self._bar: Any = None
        total = sum(each.size for each in sources)
        if not total or not sys.stderr.isatty() or (sys.stdout.isatty() and not beside):
            return
        from .reading_progress import ReadingProgress

        self._bar = ReadingProgress(sys.stderr, total)

    def __bool__(self) -> bool:
        return self._bar is not None

    def at(self, now: Measured) -> None:
        """Draw that this source is being read."""
        if self._bar:
            before = self._sources[: self._sources.index(now)]
            self._bar.update(sum(each.size for each in before) + now.position)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar:
            self._bar.close()
            self._bar = None
