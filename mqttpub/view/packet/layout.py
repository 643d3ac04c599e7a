"""The columns of the dump, and how an entry fills them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ...common.escape import ascii_column
from ..terminal.cells import Line, cells, measure, wrap
from .outline import ByteRun, OutlineEntry
from .values import About

NARROWEST = 60
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
    hex: int
    """The start of the hex column."""
    bytes: int
    """The width of the hex column with the spaces after it."""
    left: int
    """The start of the field column."""
    detail: int
    """The width of the field column."""
    row: str
    """The format of a row: offset, hex and, if there is room, ASCII, up to the field column."""

    @classmethod
    def fitting(cls, width: int, length: int) -> "Columns":
        """Return the columns for a packet of `length` bytes."""
        width = max(width, NARROWEST)
        digits = max(4, len(f"{max(length - 1, 0):x}"))
        per_row, ascii = 16 if width >= 120 else 8, width >= 72
        left = digits + 2 + 3 * per_row + 1 + (per_row + 2 if ascii else 0)
        row = f"%0{digits}x  %-{3 * per_row + 1}s" + (f"%-{per_row + 2}s" if ascii else "")
        return cls(width, per_row, digits, ascii, 0, digits + 2, 3 * per_row + 1, left, width - left, row)

    def labelled(self, entries: Iterable[OutlineEntry]) -> "Columns":
        """Return the same columns with room for the usual labels among `entries`."""
        most = max(18, self.detail // 2)
        widths = (2 * entry.depth + cells(entry.label) for entry in entries)
        return self._replace(label=max((width for width in widths if width <= most), default=0))


def padded(line: Line, width: int) -> Line:
    """Return a line padded with spaces to `width` cells."""
    missing = width - measure(line)
    return [*line, (" " * missing, "")] if missing > 0 else line


# the field column


class Label(NamedTuple):
    """The rows of a label, on which its value follows."""

    above: list[Line]
    last: Line
    size: int
    """The cells of the last row."""
    value: int
    """Where its value starts, if there is room."""


def detail(entry: OutlineEntry, columns: Columns) -> list[Line]:
    """Return the rows of the field column: label, value, meaning."""
    return beside(label_rows(entry, columns), entry.about, 2 * entry.depth, columns)


def label_rows(entry: OutlineEntry, columns: Columns) -> Label:
    """Return the label of an entry, on more than one row if it is too long for one."""
    *above, last = _indented([(entry.label, entry.style)], 2 * entry.depth, columns.detail)
    size = measure(last)
    return Label(above, last, size, max(columns.label, size) + 2)


def beside(label: Label, about: About, margin: int, columns: Columns) -> list[Line]:
    """Return the rows of a label and of the words for its value, with an indentation of `margin` cells."""
    width, (above, last, used, at), near = columns.detail, label, label.size + 2
    inline, head, below = about
    if inline and at + measure(inline) <= width:
        return [*above, [*last, (" " * (at - used), ""), *inline]]
    if head:
        size = measure(head)
        start = at if at + size <= width else near if near + size <= width else 0
        if start:
            last = [*last, (" " * (start - used), ""), *head]
        else:
            below = ((0, head), *below)
    else:
        below = ()
    return [*above, last, *[row for indent, line in below for row in _below(line, margin + 2 + indent, width)]]


def _below(line: Line, indent: int, width: int) -> list[Line]:
    return _indented(line, width - room_below(indent, width), width)


def room_below(indent: int, width: int) -> int:
    """Return the cells for a row with this indentation, in a field column of this width."""
    return width - min(indent, width // 2)


def _indented(line: Line, indent: int, width: int) -> list[Line]:
    room = width - indent
    # Most lines are one short text, which needs no search for places to break it.
    rows = [line] if len(line) == 1 and 0 < len(line[0][0]) <= room and line[0][0].isascii() else wrap(line, room)
    return [[(" " * indent, ""), *row] for row in rows] if indent else rows


# the byte columns


def byte_row(data: bytes, parts: Sequence[ByteRun], start: int, stop: int, columns: Columns) -> Line:
    """Return offset, hex and ASCII of a row of bytes."""
    row = [(f"{start:0{columns.digits}x}", "offset"), ("  ", "")]
    here = [part for part in parts if part.start < stop and part.stop > start] if len(parts) > 1 else parts
    if len(here) == 1 and not here[0].masked:
        # Of one style, as most rows are: then all widths follow from the number of bytes.
        shown, style = data[start:stop], here[0].style
        row.append((shown.hex(" "), style))
        if columns.ascii:
            gap = 3 * (columns.per_row - len(shown)) + 2
            row += [(" " * gap, ""), (ascii_column(shown), style if style in _READABLE else "ascii")]
        return row
    pieces = [part._replace(start=max(part.start, start), stop=min(part.stop, stop)) for part in here]
    row += _hex(data, pieces)
    if columns.ascii:
        row = [*padded(row, columns.hex + 3 * columns.per_row + 1), *_ascii(data, pieces)]
    return row


def text_rows(data: bytes, start: int, stop: int, columns: Columns) -> list[str]:
    """Return the text of `byte_row` for the rows of bytes that are not masked, each as wide as its columns."""
    step, row = columns.per_row, columns.row
    pieces = [data[at : at + step if at + step < stop else stop] for at in range(start, stop, step)]
    if columns.ascii:
        return [row % (start + step * at, each.hex(" "), ascii_column(each)) for at, each in enumerate(pieces)]
    return [row % (start + step * at, each.hex(" ")) for at, each in enumerate(pieces)]


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
