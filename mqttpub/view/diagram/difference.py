"""Two packets one above the other, with a mark below each byte in which they differ."""

from collections.abc import Iterator

from ...common.escape import ascii_column
from ...common.words import counted
from ..terminal.cells import Line

ROW_BYTES = 16
MOST_ROWS = 16
"""Rows with a difference that are shown; packets that have nothing in common need no more."""
_HEX_COLUMNS = 3 * ROW_BYTES - 1


def difference(awaited: bytes, came: bytes) -> Iterator[Line]:
    """Yield the rows of two packets that differ: offset, hex and text of each, and a line of marks.

    Rows without a difference are left out, and a line says how many.
    """
    equal = shown = 0
    size = max(len(awaited), len(came))
    for start in range(0, size, ROW_BYTES):
        one, other = awaited[start : start + ROW_BYTES], came[start : start + ROW_BYTES]
        if one == other:
            equal += 1
            continue
        if equal:
            yield [(f"        {counted(equal, 'equal row')}", "dim")]
            equal = 0
        if shown == MOST_ROWS:
            left = -(-(size - start) // ROW_BYTES)
            yield [(f"        {counted(left, 'more row')}", "dim")]
            return
        shown += 1
        yield _row(f"{start:04x}", "awaited", one)
        yield _row("    ", "came", other)
        yield _marks(one, other)
    if equal:
        yield [(f"        {counted(equal, 'equal row')}", "dim")]


def _row(offset: str, name: str, data: bytes) -> Line:
    hex = data.hex(" ").ljust(_HEX_COLUMNS)
    return [(f"{offset}  ", "offset"), (f"{name:<7}  ", "label"), (f"{hex}  ", ""), (ascii_column(data), "ascii")]


def _marks(one: bytes, other: bytes) -> Line:
    size = max(len(one), len(other))
    marks = " ".join("  " if one[at : at + 1] == other[at : at + 1] else "^^" for at in range(size))
    return [(" " * 15 + marks.rstrip(), "error")]
