"""The description of a container format, which each format's module gives as its `CONTAINER`."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..types import CaptureRecord
from .buffer import Buffer


class Container(NamedTuple):
    """A file format that holds captured frames."""

    name: str
    """What messages call it, such as `pcapng`."""
    suffixes: tuple[str, ...]
    """Endings of file names, with the dot and in lower case."""
    begins: Callable[[bytes], bool]
    """Whether a file that begins with these bytes, at most `registry.LOOK`, has this format."""
    records: Callable[[Buffer, Counter[str]], Iterator[CaptureRecord]]
    """Yields the whole records of a file; adds the number of key log lines in it, by kind, to the counter.

    Skips damage, and raises BadCapture after the last record if there was any.
    """
