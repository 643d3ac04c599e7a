"""The columns of the dump, and how an entry fills them."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ...common.escape import ascii_column
from ..terminal.cells import Line, cells, measure, wrap
from .outline import ByteRun, OutlineEntry

NARROWEST = 60
_Below = tuple[tuple[int, Line], ...]
_READABLE = ("topic", "text", "payload", "secret", "gap", "type")


class Columns(NamedTuple):
    """The columns for one packet at one width; all widths are in terminal cells."""

    width: int
    per_row: int
    """Bytes per row."""
    digits: int
    """Width of an offset."""
    ascii: bool
    """Whether there is room for the ASCII column."""
    label: int
    """Width of most labels; a longer label moves its value to the right."""

    @classmethod
    def fitting(cls, width: int, length: int) -> "Columns":
        """Return the columns for a packet of `length` bytes."""
        width = max(width, NARROWEST)
        digits = max(4, len(f"{max(length - 1, 0):x}"))
        return cls(width, 16 if width >= 120 else 8, digits, width >= 72, 0)

    def labelled(self, entries: Iterable[OutlineEntry]) -> "Columns":
        """Return the same columns with room for the usual labels among `entries`."""
        most = max(18, self.detail // 2)
        widths = (2 * entry.depth + cells(entry.label) for entry in entries)
        return self._replace(label=max((width for width in widths if width <= most), default=0))

    @property
    def hex(self) -> int:
        """The start of the hex column."""
        return self.digits + 2

    @property
    def left(self) -> int:
        """The start of the field column."""
        return self.hex + 3 * self.per_row + 1 + (self.per_row + 2 if self.ascii else 0)

    @property
    def detail(self) -> int:
        """The width of the field column."""
        return self.width - self.left


def padded(line: Line, width: int) -> Line:
    """Return a line padded with spaces to `width` cells."""
    missing = width - measure(line)
    return [*line, (" " * missing, "")] if missing > 0 else line


# the field column


def detail(entry: OutlineEntry, columns: Columns) -> list[Line]:
    """Return the rows of the field column: label, value, meaning."""
    width, about, margin = columns.detail, entry.about, 2 * entry.depth
    label = _indented([(entry.label, entry.style)], margin, width)
    near = measure(label[-1]) + 2
    at = max(columns.label + 2, near)
    ways: list[tuple[Line, _Below, int]] = [(about.inline, (), at), (about.head, about.below, at)]
    ways.append((about.head, about.below, near))
    words, below, start = next((way for way in ways if way[0] and way[2] + measure(way[0]) <= width), ([], (), 0))
    if words:
        label[-1] = [*padded(label[-1], start), *words]
    elif about.head:
        below = ((0, about.head), *about.below)
    return label + [row for indent, line in below for row in _below(line, margin + 2 + indent, width)]


def _below(line: Line, indent: int, width: int) -> list[Line]:
    return _indented(line, min(indent, width // 2), width)


def _indented(line: Line, indent: int, width: int) -> list[Line]:
    return [[(" " * indent, ""), *row] if indent else row for row in wrap(line, width - indent)]


# the byte columns


def byte_row(data: bytes, parts: Iterable[ByteRun], start: int, stop: int, columns: Columns) -> Line:
    """Return offset, hex and ASCII of a row of bytes."""
    pieces = [
        part._replace(start=max(part.start, start), stop=min(part.stop, stop))
        for part in parts
        if part.start < stop and part.stop > start
    ]
    row = [(f"{start:0{columns.digits}x}", "offset"), ("  ", ""), *_hex(data, pieces)]
    if columns.ascii:
        row = [*padded(row, columns.hex + 3 * columns.per_row + 1), *_ascii(data, pieces)]
    return row


def _hex(data: bytes, pieces: Iterable[ByteRun]) -> Iterator[tuple[str, str]]:
    space = ""
    for start, stop, style, masked in pieces:
        shown = " ".join(["**"] * (stop - start)) if masked else data[start:stop].hex(" ")
        if space:
            yield space, ""
        yield shown, style
        space = " "


def _ascii(data: bytes, pieces: Iterable[ByteRun]) -> Iterator[tuple[str, str]]:
    shown = (
        ("*" * (stop - start) if masked else ascii_column(data[start:stop]), style if style in _READABLE else "ascii")
        for start, stop, style, masked in pieces
    )
    for style, group in groupby(shown, key=lambda segment: segment[1]):
        yield "".join(text for text, _ in group), style


def bit_row(octet: int, mask: int, style: str, columns: Columns) -> Line:
    """Return the eight bits of a byte, with dots for those outside `mask`."""
    bits = "".join(str(octet >> place & 1) if mask >> place & 1 else "." for place in range(7, -1, -1))
    return [(" " * columns.hex, ""), (f"{bits[:4]} {bits[4:]}", style)]
