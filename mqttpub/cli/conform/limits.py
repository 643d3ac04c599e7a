"""The limits of a broker for people: a table on the screen, and the words of the page."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...common.escape import escape
from ...lab.conform.limits import Agreement, limits_by_name
from ...spec.properties import SESSION_EXPIRY_INTERVAL
from ...view.terminal.cells import Line, wrap

LABEL_CELLS, DECLARED_CELLS = 32, 19
HEADING: Line = [
    ("Limits".ljust(LABEL_CELLS), "type"), ("declared".ljust(DECLARED_CELLS), "dim"), ("seen", "dim"),
]  # fmt: skip
COLUMNS = 2
"""Columns before the one that may be long."""
NARROWEST_CELLS = 20
NEVER = 0xFFFF_FFFF
STYLES = {Agreement.ALLOWS_LESS: "error", Agreement.TOLERATES_MORE: "warning"}


def limit_lines(rows: Iterable[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    """Yield the records of limits as a table, whose last column is broken at words if there is a `width`."""
    yield []
    yield HEADING
    indent = LABEL_CELLS + DECLARED_CELLS
    for row in rows:
        line = limit_line(row)
        if width is None:
            yield line
            continue
        first, *others = wrap(line[COLUMNS:], max(width - indent, NARROWEST_CELLS))
        yield [*line[:COLUMNS], *first]
        yield from ([(" " * indent, ""), *each] for each in others)


def limit_line(row: Mapping[str, Any]) -> Line:
    """Return the line of one limit."""
    declared = "" if row.get("declared") is None else value_text(row, "declared")
    line: Line = [
        (f"  {limits_by_name()[row['limit']].title}".ljust(LABEL_CELLS), "label"),
        (declared.ljust(DECLARED_CELLS), "dim"), (seen_text(row), "number"),
    ]  # fmt: skip
    if style := STYLES.get(row.get("agreement", "")):
        line.append((f"  {row['agreement']}", style))
    if why := row.get("why"):
        more = "more: " if _is_number(row.get("seen")) else ""
        line.append((f"  ({more}{escape(str(why))})", "dim"))
    return line


def seen_text(row: Mapping[str, Any]) -> str:
    """Return what was seen of a limit in words."""
    if "seen" not in row:
        return "-"
    return ("at least " if row.get("at_least") else "") + value_text(row, "seen")


def value_text(row: Mapping[str, Any], key: str) -> str:
    """Return a value of the record of a limit in words."""
    limit, value = limits_by_name()[row["limit"]], row.get(key)
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return escape(", ".join(value)) or "none"
    if value == NEVER and limit.row is SESSION_EXPIRY_INTERVAL:
        return "never expires"
    unit = limit.row.unit if limit.row else limit.unit
    return f"{value:,} {unit}".rstrip()


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
