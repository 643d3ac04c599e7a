"""The section on the deliveries that a message gets."""

from collections.abc import Sequence

from ...common.words import counted, number, share
from ..answers import Row
from ..listing import Listing
from ..markup import NAME, NUMBER, TEXT
from ..plots import bars, drawn
from ..words import latency_text, name_text
from .common import NO_TOPIC, ReportContext, Section, about, ranked

_PERCENTILES = ("p50", "p90", "p99")


def fan_out(context: ReportContext) -> Section:
    """Return how many deliveries messages got, and the topics with the most."""
    rows = context.summary.fan_out
    whole = next((row for row in rows if row["top"] == "all"), None)
    if not whole or (not whole["messages"] and not whole["unmatched"] + whole["retained"]):
        return [about("No PUBLISH with a topic, a time and a known sender was seen.")]
    if not whole["messages"]:
        return [about("No PUBLISH of a client was captured, so deliveries have nothing to belong to.")]
    if not whole["deliveries"] + whole["unmatched"] + whole["retained"]:
        return [about("No PUBLISH of a server was captured, so nothing is known about deliveries.")]
    content: Section = [about(
        "How many PUBLISH of servers follow a PUBLISH of a client. This is an estimate, because MQTT does not mark "
        "which message a delivery comes from: a delivery belongs to the last message with the same topic and payload "
        "in the 10 s before it. Re-deliveries (DUP) do not count. Equal messages that follow one another within 10 s "
        "share their deliveries wrongly, and what a session kept for longer, a bridge renamed, or another capture "
        "holds is missed."
    ), about(sentence(whole))]  # fmt: skip
    return [*content, *_classes(rows), *ranked(*topics_listing(rows)[:3])]


def sentence(whole: Row) -> str:
    """Return the sums of messages and deliveries."""
    mean = whole["deliveries"] / whole["messages"]
    text = (
        f"{counted(whole['messages'], 'message')} got {counted(whole['deliveries'], 'delivery', 'deliveries')}, "
        f"{mean:.2f} on average and {number(whole['most'])} at most; {number(whole['undelivered'])} got none. "
        f"{counted(whole['retained'] + whole['unmatched'], 'delivery', 'deliveries')} had no message before "
        f"({number(whole['retained'])} of them retained), and {counted(whole['repeated'], 'message')} repeated an "
        "equal one within 10 s."
    )
    if whole["delays_us"]:
        delays = (f"{name} {latency_text(us)}" for name, us in zip(_PERCENTILES, whole["delays_us"], strict=True))
        text += f" The last delivery came after {', '.join(delays)}."
    return text


def _classes(rows: Sequence[Row]) -> Section:
    classes = [row for row in rows if row["top"] == "class" and row["class"] is not None]
    whole = sum(row["messages"] for row in classes)
    labels = {row["class"]: _class(row) for row in classes}
    values = [
        {"row": labels[row["class"]], "low": 0, "high": row["messages"], "hue": "server",
         "about": f"{labels[row['class']]}: {counted(row['messages'], 'message')}, {share(row['messages'], whole)}"}
        for row in classes
    ]  # fmt: skip
    columns = [("deliveries", TEXT), ("messages", NUMBER), ("of all", NUMBER), ("deliveries in all", NUMBER)]
    cells = [
        [labels[row["class"]], number(row["messages"]), share(row["messages"], whole), number(row["deliveries"])]
        for row in classes
    ]
    return [drawn(bars("Messages by number of deliveries", values, [("messages", "server")])),
            *ranked("Messages by number of deliveries", columns, cells)]  # fmt: skip


def _class(row: Row) -> str:
    least, most = row["class"], row["most"]
    return number(least) if least == most else f"{number(least)} to {number(most)}"


def topics_listing(rows: Sequence[Row]) -> Listing:
    """Return the topics with the most deliveries."""
    columns = [("topic", NAME), ("messages", NUMBER), ("deliveries", NUMBER), ("mean", NUMBER), ("most", NUMBER),
               ("none", NUMBER), ("last one, p50", NUMBER), ("last one, p99", NUMBER), ("retained", NUMBER),
               ("no message", NUMBER)]  # fmt: skip
    cells = []
    for row in rows:
        if row["top"] != "topic" or not row["deliveries"] + row["retained"] + row["unmatched"]:
            continue
        delays = row["delays_us"] or (None, None, None)
        mean = f"{row['deliveries'] / row['messages']:.2f}" if row["messages"] else "-"
        counts = [number(row["messages"]), number(row["deliveries"]), mean, number(row["most"] or 0)]
        cells.append([
            name_text(row["topic"], NO_TOPIC), *counts, number(row["undelivered"]), latency_text(delays[0]),
            latency_text(delays[2]), number(row["retained"]), number(row["unmatched"]),
        ])  # fmt: skip
    return Listing("Topics with the most deliveries", columns, cells, (0, 1, 2, 3, 4, 7))
