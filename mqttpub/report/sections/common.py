"""Names and building blocks that sections share."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import NamedTuple

from ..answers import Details, Row, Summary
from ..listing import Listing
from ..markup import Content, Markup, folded, table, tag
from ..payloads.answers import PayloadAnswers
from ..payloads.words import not_kept

ENDS = {"client": "client", "server": "server", None: "not known"}
NOBODY, NO_TOPIC = "(address not known)", "(alias that was never set, or not UTF-8)"
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


def listed(listing: Listing) -> Section:
    """Return a listing as `ranked` does; nothing if it has no rows."""
    return ranked(*listing[:3]) if listing.rows else []


def on_payloads(make: Callable[[ReportContext, PayloadAnswers], Section]) -> Callable[[ReportContext], Section]:
    """Give a section the answers on payloads; where the tables have none, a sentence says why."""

    @wraps(make)
    def section(context: ReportContext) -> Section:
        answers = context.summary.payloads
        if answers is None:
            return [about("Nobody asked for payloads.")]
        sentence = not_kept(answers)
        return [about(sentence)] if sentence else make(context, answers)

    return section


def about(text: str) -> Markup:
    """Return a sentence that explains a section."""
    return tag("p", text, class_="about")


def side(row: Row) -> int:
    """Return the index in SIDES of the sender of a packet."""
    return SIDE.get(row["direction"], 2)
