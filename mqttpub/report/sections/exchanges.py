"""Sections on the outcomes of exchanges, and on refusals."""

from collections.abc import Sequence

from ...common.escape import escape
from ...common.words import counted, number, share
from ..answers import OUTCOMES, Row
from ..markup import NAME, NUMBER, TEXT, table
from ..plots import bars, drawn
from ..words import name_text, reason, time_text
from .common import ENDS, NAMED, NO_TOPIC, NOBODY, ReportContext, Section, about, ranked

HUES = dict(zip(OUTCOMES, ("good", "refused", "open", "again", "orphan"), strict=True))


def exchanges(context: ReportContext) -> Section:
    """Return exchanges by outcome, and the first that never ended."""
    rows = context.summary.exchanges
    if not rows:
        return [about("There are no exchanges: QoS 0 has none, and nobody subscribed.")]
    labels = [f"{row['kind']}, {ENDS[row['sender']]}" for row in rows]
    values = []
    for row, label in zip(rows, labels, strict=True):
        low, whole = 0, sum(row[each] for each in OUTCOMES)
        for each in OUTCOMES:
            if row[each]:
                text = f"{label}: {number(row[each])} {each}, {share(row[each], whole)}"
                values.append({"row": label, "low": low, "high": low + row[each], "hue": HUES[each], "about": text})
            low += row[each]
    columns = [("kind", TEXT), ("asked by", TEXT), *((each, NUMBER) for each in OUTCOMES), ("DUP", NUMBER)]
    numbers = [
        [row["kind"], ENDS[row["sender"]], *(number(row[each]) for each in OUTCOMES), number(row["dups"])]
        for row in rows
    ]
    explained = about(
        "Unfinished: the last ack never came. Superseded: its Packet Identifier was used again before that. Orphan: an "
        f"ack whose request was not captured.{_continued(rows)}"
    )
    colors = [(each, HUES[each]) for each in OUTCOMES if any(row[each] for row in rows)]
    plot = drawn(bars("Exchanges by outcome", values, colors))
    return [explained, plot, table("By kind", columns, numbers), *_unended(context)]


def _continued(rows: Sequence[Row]) -> str:
    """Return the sentence on messages that span connections, each with several rows in the table of exchanges."""
    count = sum(row["continued"] for row in rows)
    if not count:
        return ""
    left = f"{counted(count, 'time')} a connection ended before the last ack, and the message continued on the next "
    return f" {left}connection of its client: it counts once, by its outcome there."


def _unended(context: ReportContext) -> Section:
    rows = context.details.unended
    if not rows:
        return []
    columns = [("begin", TEXT), ("client", NAME), ("kind", TEXT), ("Packet Identifier", NUMBER), ("topic", NAME),
               ("last packet", TEXT), ("record", NUMBER), ("capture", NAME)]  # fmt: skip
    numbers = [
        [time_text(row["time"]), name_text(row["who"], NOBODY), row["kind"], str(row["packet_id"]),
         name_text(row["topic"], NO_TOPIC), row["last_type"], number(row["frame"]), escape(row["capture"])]
        for row in rows
    ]  # fmt: skip
    count = sum(row["unfinished"] for row in context.summary.exchanges)
    which = "Unfinished, all of them" if count <= len(rows) else f"Unfinished, the first {len(rows)} of {number(count)}"
    # The head of the page names a single capture.
    kept = len(columns) - (len(context.summary.made.sources) == 1)
    return ranked(which, columns[:kept], [row[:kept] for row in numbers])


def refused(context: ReportContext) -> Section:
    """Return refusals by Reason Code."""
    rows = context.details.refused
    if not rows:
        return [about("No packet has a Reason Code that means a refusal.")]
    names = [f"{row['type']} {reason(row['type'], row['code'], row['version'])} ({row['version']})" for row in rows]
    values = [
        {"row": name, "low": 0, "high": row["count"], "hue": "refused", "about": f"{name}: {number(row['count'])}"}
        for row, name in zip(rows[:NAMED], names, strict=False)
    ]
    columns = [("packet", TEXT), ("Reason Code", TEXT), ("version", TEXT), ("times", NUMBER), ("clients", NUMBER)]
    numbers = [
        [row["type"], reason(row["type"], row["code"], row["version"]), row["version"], number(row["count"]),
         number(row["clients"])]
        for row in rows
    ]  # fmt: skip
    return [
        drawn(bars("Refused by Reason Code", values, [("times", "refused")])),
        *ranked("Reason Codes", columns, numbers),
    ]
