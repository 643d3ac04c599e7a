"""Tables for a terminal: columns as wide as their content."""

from collections.abc import Iterable, Iterator, Sequence

from .cells import Line, Segment, cells, clip

_INDENT = 2


def table(heading: Sequence[str], rows: Iterable[Sequence[Segment]], *, width: int, left: int = 1) -> Iterator[Line]:
    """Yield a heading and rows; the first `left` columns are left-aligned, all others, numbers, right-aligned.

    If the table is wider than the screen, the first column is cut.
    """
    body = [list(row) for row in rows]
    head: list[Segment] = [(text, "dim") for text in heading]
    widths = [max(cells(row[at][0]) for row in (head, *body)) for at in range(len(head))]
    over = _INDENT + sum(widths) + 2 * (len(widths) - 1) - width
    if over > 0:
        widths[0] = max(widths[0] - over, 8)
    for row in (head, *body):
        yield _row(row, widths, left)


def _row(row: Sequence[Segment], widths: Sequence[int], left: int) -> Line:
    line: Line = [(" " * _INDENT, "")]
    for at, ((text, style), width) in enumerate(zip(row, widths, strict=True)):
        shown = clip(text, width)
        space = " " * (width - cells(shown))
        line += [("  " if at else "", ""), (shown + space if at < left else space + shown, style)]
    return line
