"""Statements of the specification in words: how each can be checked, whom it binds, what it demands."""

from collections.abc import Iterator

from ...spec.statements import CLASSES, PARTIES, Statement, statement
from ..terminal.cells import Line, wrap

_INDENT = "       "


def description(row: Statement) -> str:
    """Return what it takes to see a violation, and whom the statement binds."""
    return f"class {row.visibility}: {CLASSES[row.visibility]}; binds {PARTIES[row.who]}"


def explanation(id: str, width: int) -> Iterator[Line]:
    """Yield the text and the description of a statement as lines to stand below a finding."""
    row = statement(id)
    for text, style in ((row.text, ""), (description(row), "dim")):
        yield from ([(_INDENT, ""), *line] for line in wrap([(text, style)], width - len(_INDENT)))
