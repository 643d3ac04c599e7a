"""Tables on a terminal, and lists that the page and the terminal both show, with fewer columns and rows there."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..common.words import number
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
    yield from titled_table(listing.caption, ["", *(heading for heading, _ in columns[1:])], rows, width, left)


def _cell(text: str, kind: str) -> Segment:
    if text in ("0", "-"):
        return "-", "dim"
    return text, "" if kind == NUMBER else "text"


def titled_table(
    heading: str, columns: Iterable[str], rows: Iterable[list[Segment]], width: int, left: int = 1
) -> Iterator[Line]:
    """Yield a heading and a table; the first `left` columns are aligned to the left."""
    yield [(heading, "heading")]
    yield from table(tuple(columns), rows, width=width, left=left)


def count_cell(count: int, style: str = "") -> Segment:
    """Return a number; a dash for zero."""
    return (number(count), style) if count else ("-", "dim")
