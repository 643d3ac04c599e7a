"""The container formats, and the records of a capture whatever its format and compression.

Each module of this package with a `CONTAINER` is a format: a new format is one new file here. `columns.scan` reads a
format through these records unless it has a faster walk for it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from os import listdir
from typing import BinaryIO, NamedTuple

from .. import containers as package
from ..types import BadCapture, CaptureRecord
from . import compressed
from .buffer import Buffer
from .container import Container

LOOK = 12
"""Bytes at the start of a file that are enough to recognize its format."""
DEEPEST = 2
"""How many layers of compression a file may have."""


@cache
def containers() -> tuple[Container, ...]:
    """Return the container formats."""
    modules = (import_module(f"{package.__name__}.{name}") for name in _names())
    return tuple(module.CONTAINER for module in modules if hasattr(module, "CONTAINER"))


def _names() -> list[str]:
    """Return the names of the modules of this package."""
    try:
        # pkgutil finds them, too, but imports `inspect`, a twentieth of the instructions of a short `decode`.
        files = chain.from_iterable(map(listdir, package.__path__))
        return sorted({name.partition(".")[0] for name in files} - {"__init__", "__pycache__"})
    except NotADirectoryError:
        # Spark sends packages to its workers as zip files.
        from pkgutil import iter_modules

        return [each.name for each in iter_modules(package.__path__)]


def find(first: bytes) -> Container | None:
    """Return the format of a file that begins with these bytes, LOOK or more; None for every other file."""
    return next((each for each in containers() if each.begins(first)), None)


def is_capture(first: bytes) -> bool:
    """Whether a file that begins with these bytes, LOOK or more, is a capture rather than a text.

    A compressed file counts as a capture, because its content is not known yet.
    """
    return compressed.form(first) != "" or find(first) is not None


def suffixes() -> set[str]:
    """Return the endings of the names of captures, such as `.pcap` and `.gz`."""
    return {suffix for each in containers() for suffix in each.suffixes} | set(compressed.SUFFIXES)


class Opened(NamedTuple):
    """A capture whose format is known."""

    buffer: Buffer
    """Its bytes without compression, from the first one on."""
    container: Container
    compression: tuple[str, ...]
    """From outside to inside, such as `("gzip",)`."""


def opened(read: Callable[[int], bytes], *, start: int = 0) -> Opened:
    """Return what a file is, which `read` (see Buffer) reads from its first byte, or a part that begins like a file.

    Raises BadCapture for a file that is not a capture.
    """
    buffer = Buffer(read, start=start)
    forms: list[str] = []
    while form := compressed.form(first(buffer)):
        if len(forms) == DEEPEST:
            raise BadCapture(f"the file is compressed more than {DEEPEST} times")
        forms.append(form)
        inside = compressed.Decompressed(form, buffer.read)
        buffer = Buffer(inside.read, inside.resume)
    begin = first(buffer)
    if container := find(begin):
        return Opened(buffer, container, tuple(forms))
    raise BadCapture(f"no capture begins with {begin[:4].hex(' ')}" if begin else "the file is empty")


def first(buffer: Buffer) -> bytes:
    """Return the first bytes of a file; raises BadCapture if it is broken before them."""
    if not buffer.need(LOOK) and buffer.broken:
        raise buffer.broken
    return buffer.data[buffer.at : buffer.at + LOOK]


def records(stream: BinaryIO) -> Iterator[CaptureRecord]:
    """Yield the records of a capture; see RecordReader."""
    return iter(RecordReader(stream))


class RecordReader:
    """Reads a capture from a file or a pipe, once and without seeking.

    Iteration yields every whole record as soon as its bytes have arrived, and skips damage. After the last record
    it raises BadCapture if the file is damaged; its offset is that of the first damaged record or block.
    """

    def __init__(self, stream: BinaryIO) -> None:
        # `read` of a pipe would block until the whole size has arrived; `read1` returns what is there.
        self._source: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self.position = 0
        """Bytes read from the file as it is, compressed or not."""
        self.container: tuple[str, ...] = ()
        """From outside to inside, such as `("gzip", "pcapng")`; empty until iteration starts."""
        self.secrets: Counter[str] = Counter()
        """Lines of the keys in the capture so far, by kind, such as `TLS key log`."""

    def __iter__(self) -> Iterator[CaptureRecord]:
        """Start to read; raises BadCapture at once for a file that is not a capture."""
        found = opened(self._read)
        self.container = (*found.compression, found.container.name)
        return found.container.records(found.buffer, self.secrets)

    def _read(self, size: int) -> bytes:
        piece = self._source(size)
        self.position += len(piece)
        return piece
