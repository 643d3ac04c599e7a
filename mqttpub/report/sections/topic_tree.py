"""The section on the tree of topics."""

from collections.abc import Sequence

from ...common.words import counted, number, share
from ..answers import Row
from ..listing import Listing
from ..markup import NAME, NUMBER
from ..words import name_text
from .common import ReportContext, Section, about, ranked

_INDENT = "\u00a0\u00a0"


def topic_tree(context: ReportContext) -> Section:
    """Return the messages below each level of topics."""
    rows = context.summary.topic_tree
    if not rows or not rows[0]["messages"]:
        return [about("No PUBLISH with a known topic was seen.")]
    listing = tree_listing(rows)
    return [
        about(
            "Messages are all PUBLISH packets with a known topic, re-deliveries included. Publishers are the clients "
            "that sent some. RETAIN of a client asks the server to keep the message; from a server it marks one that "
            "was kept, unless the subscription asks for the flag of the publisher (Retain As Published). Levels with "
            "nothing beside them are shown together, and others are the smaller levels and the level's own topic."
        ),
        *ranked(*listing[:3]),
    ]


def tree_listing(rows: Sequence[Row]) -> Listing:
    """Return the levels of topics as a list."""
    columns = [("topics", NAME), ("messages", NUMBER), ("of clients", NUMBER), ("of servers", NUMBER),
               ("bytes", NUMBER), ("RETAIN of clients", NUMBER), ("RETAIN of servers", NUMBER), ("QoS 0", NUMBER),
               ("QoS 1", NUMBER), ("QoS 2", NUMBER), ("publishers", NUMBER)]  # fmt: skip
    cells = [
        [_label(row), *(number(row[each]) for each in ("messages", "client_messages", "server_messages", "bytes")),
         share(row["client_retained"], row["client_messages"]), share(row["server_retained"], row["server_messages"]),
         *(share(row[f"qos{qos}"], row["messages"]) for qos in range(3)),
         "-" if row["publishers"] is None else number(row["publishers"])]
        for row in rows
    ]  # fmt: skip
    return Listing("Topics by level", columns, cells, (0, 1, 4, 8, 9, 10))


def _label(row: Row) -> str:
    if not row["depth"]:
        return f"all {counted(row['topics'], 'topic')}"
    indent = _INDENT * row["indent"]
    if row.get("others"):
        return f"{indent}{counted(row['topics'], 'other')}"
    return f"{indent}{name_text(row['label'], '(empty)')}"
