"""Sections on bytes: who sends the most, and what they are used for."""

from collections.abc import Sequence

from ...common.words import counted, number, share
from ..answers import Row, top, total
from ..markup import NAME, NUMBER, TEXT, folded, table
from ..plots import bars, drawn
from ..words import name_text, ranked_label
from .common import NAMED, NO_TOPIC, NOBODY, SIDES, ReportContext, Section, about, ranked

# talkers and bytes


_TALK = ("messages", "client_messages", "server_messages", "bytes")


def talkers(context: ReportContext) -> Section:
    """Return the clients and topics with the most messages and the most bytes."""
    if not context.summary.kinds:
        return [about("There are no packets.")]
    return [
        *_talking(context, "client", context.summary.clients, NOBODY),
        *_talking(context, "topic", context.summary.topics, NO_TOPIC),
    ]


def _talking(context: ReportContext, noun: str, rows: Sequence[Row], unknown: str) -> Section:
    all = total(rows)
    content: Section = []
    for by in ("messages", "bytes"):
        first = list(top(rows, by))
        if not first:
            continue
        names = [name_text(row["who"], unknown) for row in first]
        values = []
        for rank, (row, name) in enumerate(zip(first[:NAMED], names, strict=False), 1):
            parts = (row["client_messages"], row["server_messages"]) if by == "messages" else (row["bytes"], 0)
            low = 0
            for part, (side, hue) in zip(parts, SIDES[:2], strict=True):
                text = f"{name}: {number(part)} {by}" + (f" {side}" if by == "messages" else "")
                if part:
                    values.append(
                        {"row": ranked_label(rank, name), "low": low, "high": low + part, "hue": hue, "about": text}
                    )
                low += part
        colors = SIDES[:2] if by == "messages" else (("of both", "client"),)
        content.append(drawn(bars(f"{noun.capitalize()}s with the most {by}", values, colors)))
        columns = [("", NUMBER), (noun, NAME), ("messages", NUMBER), ("of clients", NUMBER), ("of servers", NUMBER),
                   ("bytes", NUMBER), ("of all bytes", NUMBER)]  # fmt: skip
        numbers = [
            [str(rank), name, *(number(row[key]) for key in _TALK), share(row["bytes"], all["bytes"])]
            for rank, (row, name) in enumerate(zip(first, names, strict=True), 1)
        ]  # fmt: skip
        listed = ranked(f"First {len(first)} of {counted(all['number'], noun)}, by {by}", columns, numbers)
        content += listed if by == "messages" else [folded("The numbers of this plot", *listed)]
    return content or [about(f"No {noun} was seen.")]


def overhead(context: ReportContext) -> Section:
    """Return bytes by purpose, and what Topic Aliases save and could save."""
    parts, topics = context.details.overhead, total(context.summary.topics)
    whole = sum(parts.values())
    if not whole:
        return [about("There are no packets.")]
    there = {name: count for name, count in parts.items() if count}
    values = [
        {"row": name, "low": 0, "high": count, "hue": "good" if name == "payload" else "client",
         "about": f"{name}: {number(count)} bytes, {share(count, whole)}"}
        for name, count in there.items()
    ]  # fmt: skip
    colors = (("payload", "good"), ("overhead", "client"))
    content: Section = [
        drawn(bars("Bytes by purpose", values, colors)),
        table("Bytes", [("", TEXT), ("bytes", NUMBER), ("of all", NUMBER)],
              [[name, number(count), share(count, whole)] for name, count in there.items()]),
        about(_aliases(topics)),
    ]  # fmt: skip
    savable = list(top(context.summary.topics, "savable"))
    if savable:
        columns = [("topic", NAME), ("messages", NUMBER), ("bytes of its name", NUMBER), ("could be saved", NUMBER)]
        rows = [
            [name_text(row["who"], NO_TOPIC), *(number(row[key]) for key in ("messages", "topic_bytes", "savable"))]
            for row in savable
        ]
        content += ranked("Topics that would save the most with an alias", columns, rows)
    if context.details.properties:
        columns = [("property", TEXT), ("times", NUMBER), ("bytes", NUMBER)]
        rows = [
            [row["name"].replace("_", " "), number(row["count"]), "-" if row["bytes"] is None else number(row["bytes"])]
            for row in context.details.properties
        ]
        content += ranked("Properties, including those of wills", columns, rows)
    else:
        content.append(about("No packet has a property."))
    return content


def _aliases(topics: Row) -> str:
    saved = topics["saved"]
    used = f"{counted(topics['aliased'], 'PUBLISH packet')} had a Topic Alias instead of a Topic Name"
    kept = f"aliases saved {counted(saved, 'byte')}" if saved >= 0 else f"aliases cost {counted(-saved, 'byte')} more"
    more = f"would save {number(topics['savable'])} if the receivers allow as many"
    return f"{used}; in total, {kept}, and aliases for all repeated topics on connections of MQTT 5.0 {more}."
