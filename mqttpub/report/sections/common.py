"""Names and building blocks that sections share."""

from collections.abc import Sequence
from typing import NamedTuple

from ..answers import Details, Row, Summary
from ..markup import Content, Markup, folded, table, tag

ENDS = {"client": "client", "server": "server", None: "not known"}
NOBODY, NO_TOPIC = "(address not known)", "(alias that was never set)"
NAMED = 10
"""Rows of a plot; its table has more."""
SIDES = (("from clients", "client"), ("from servers", "server"), ("not known", "ping"))
ASKED = (("asked by clients", "client"), ("asked by servers", "server"), ("not known", "ping"))
SIDE = {"client": 0, "server": 1}


class ReportContext(NamedTuple):
    """The answers that the page is made from."""

    summary: Summary
    details: Details


Section = list[Content]


def ranked(caption: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Content]]) -> Section:
    """Return the first rows as a table, and the rest as a folded one."""
    first, rest = table(caption, columns, rows[:NAMED]), rows[NAMED:]
    return [first, folded(f"{len(rest)} more", table(f"{caption}, continued", columns, rest))] if rest else [first]


def about(text: str) -> Markup:
    """Return a sentence that explains a section."""
    return tag("p", text, class_="about")


def side(row: Row) -> int:
    """Return the index in SIDES of the sender of a packet."""
    return SIDE.get(row["direction"], 2)
