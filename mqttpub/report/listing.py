"""A list of rows that the page and the terminal both show, the terminal with fewer columns and rows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..view.terminal.cells import Line, Segment
from ..view.terminal.table import table
from .markup import NUMBER

ROWS = 5
"""Rows of a list on a terminal, at most."""


class Listing(NamedTuple):
    """A caption, columns (headings and kinds, as in `markup`), and rows of text that is safe to show."""

    caption: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[str]]
    brief: Sequence[int]
    """The columns that a terminal shows, by index; the first of them is cut if they are too wide."""


def lines(listing: Listing, width: int, most: int = ROWS) -> Iterator[Line]:
    """Yield the lines of a list on a terminal."""
    columns = [listing.columns[at] for at in listing.brief]
    rows = [[_cell(row[at], listing.columns[at][1]) for at in listing.brief] for row in listing.rows[:most]]
    left = next((at for at, (_, kind) in enumerate(columns) if kind == NUMBER), len(columns))
    yield [(listing.caption, "heading")]
    yield from table(["", *(heading for heading, _ in columns[1:])], rows, width=width, left=left)


def _cell(text: str, kind: str) -> Segment:
    if text in ("0", "-"):
        return "-", "dim"
    return text, "" if kind == NUMBER else "text"
