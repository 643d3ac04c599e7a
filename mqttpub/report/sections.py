"""Names and building blocks that the sections of the page share."""

from collections.abc import Iterable, Sequence

from .listing import Listing
from .markup import Content, Markup, folded, table, tag
from .plots import Cell, drawn, heat
from .question import Contents
from .sql import Bins
from .words import time_text

ENDS = {"client": "client", "server": "server", None: "not known"}
NOBODY, NO_TOPIC = "(address not known)", "(alias that was never set, or not UTF-8)"
NAMED = 10
"""Rows of a plot; its table has more."""
SHOWN = 12
"""Clients that are shown over time."""
_PALEST = 0.2
"""Opacity of the lightest cell; with less it would be invisible on a screen in the sun."""
SIDES = (("from clients", "client"), ("from servers", "server"), ("not known", "ping"))
"""Names and colours of the senders of packets."""
ASKED = (("asked by clients", "client"), ("asked by servers", "server"), ("not known", "ping"))
"""Names and colours of the senders of requests."""
_SIDE = {"client": 0, "server": 1}


def ranked(caption: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Content]]) -> Contents:
    """Return the first rows as a table, and the rest as a folded one."""
    first, rest = table(caption, columns, rows[:NAMED]), rows[NAMED:]
    return [first, folded(f"{len(rest)} more", table(f"{caption}, continued", columns, rest))] if rest else [first]


def listed(listing: Listing) -> Contents:
    """Return a listing as `ranked` does; nothing if it has no rows."""
    return ranked(*listing[:3]) if listing.rows else []


def over_time(
    title: str, hue: str, bins: Bins, cells: Iterable[tuple[str, int, float, str]], numbers: Markup
) -> Contents:
    """Return a plot of clients over time with the table of its numbers.

    A cell is the label of its client, its interval, how dark it is, from 0 to 1, and a description.
    """
    values = [
        Cell(label, bins.begin(at), bins.begin(at + 1), _PALEST + (1 - _PALEST) * dark,
             f"{label}, {time_text(bins.begin(at))}: {said}")
        for label, at, dark, said in cells
    ]  # fmt: skip
    return [drawn(heat(title, values, hue, bins.period)), folded("The numbers of this plot", numbers)]


def about(text: str) -> Markup:
    """Return a sentence that explains a section."""
    return tag("p", text, class_="about")


def side(sender: str | None) -> int:
    """Return the index in SIDES and ASKED of a sender."""
    return 2 if sender is None else _SIDE.get(sender, 2)
