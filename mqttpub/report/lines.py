"""Tables of the summary on a terminal, as lines of styled segments."""

from collections.abc import Iterable, Iterator

from ..common.words import number
from ..view.terminal.cells import Line, Segment
from ..view.terminal.table import table


def titled_table(
    heading: str, columns: Iterable[str], rows: Iterable[list[Segment]], width: int, left: int = 1
) -> Iterator[Line]:
    """Yield a heading and a table; the first `left` columns are aligned to the left."""
    yield [(heading, "heading")]
    yield from table(tuple(columns), rows, width=width, left=left)


def count_cell(count: int, style: str = "") -> Segment:
    """Return a number; a dash for zero."""
    return (number(count), style) if count else ("-", "dim")
