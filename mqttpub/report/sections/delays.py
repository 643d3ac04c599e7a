"""Sections on time and loss: how long acks take, and which links need re-deliveries."""

from collections.abc import Sequence
from typing import Any

from ...common.words import number, share
from ..answers import Row, top, total
from ..markup import NAME, NUMBER, TEXT, folded, table
from ..plots import drawn, heat, lines, ranges
from ..words import latency_text, name_text, ranked_label, step, time_text
from .common import ASKED, ENDS, NAMED, NO_TOPIC, NOBODY, SIDE, ReportContext, Section, about, ranked

# latency

_PERCENTILES = ("p50", "p90", "p99", "max")
_LATENCIES = [(name, NUMBER) for name in ("answered", *_PERCENTILES)]


def _measured(row: Row) -> list[str]:
    values = [*(row["percentiles"] or (None,) * 3), row["max"]]
    return [number(row["count"]), *map(latency_text, values)]


def latency(context: ReportContext) -> Section:
    """Return percentiles of latency by kind, over time, and of the slowest topics and clients."""
    rows = [row for row in context.summary.exchanges if row["count"]]
    if not rows:
        return [about("No exchange was answered, so there are no latencies (QoS 0 has no acks).")]
    content: Section = [about(
        "From the PUBLISH, SUBSCRIBE or UNSUBSCRIBE to the last packet that answers it, as seen at the point of "
        "capture; for a message that continued on another connection, from its re-delivery there. Servers answer "
        "clients, and clients answer servers. Messages are unanswered if their last ack never came, or if their "
        "Packet Identifier was used again before it came."
    )]  # fmt: skip
    labels = [f"{row['kind']}, {ENDS[row['sender']]}" for row in rows]
    content += [drawn(ranges("p50, p90 and p99 by kind and by who asked", _spread(rows, labels), _asked(rows)))]
    columns = [("kind", TEXT), ("asked by", TEXT), *_LATENCIES]
    content.append(table("By kind", columns, [[row["kind"], ENDS[row["sender"]], *_measured(row)] for row in rows]))
    content += _over_time(context)
    for name, slow, unknown in (
        ("topic", context.details.slow_topics, NO_TOPIC),
        ("client", context.details.slow_clients, NOBODY),
    ):
        content += _slow(name, slow, unknown)
    return content


def _asked(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return the colours of the sides that sent the requests."""
    return [ASKED[at] for at in sorted({SIDE.get(row["sender"], 2) for row in rows})]


def _spread(rows: Sequence[Row], labels: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(("low", "middle", "high"), (max(value, 1) / 1000 for value in row["percentiles"]), strict=True)),
            "row": label, "hue": ASKED[SIDE.get(row["sender"], 2)][1],
            "about": f"{label}: " + ", ".join(
                f"p{percent} {latency_text(value)}"
                for percent, value in zip((50, 90, 99), row["percentiles"], strict=True)
            ),
        }
        for row, label in zip(rows, labels, strict=True)
    ]  # fmt: skip


def _over_time(context: ReportContext) -> Section:
    bins, rows = context.details.bins, context.details.latencies
    if not bins or not rows:
        return []
    values = [
        {"x": bins.begin(row["bin"]) / 1000, "y": max(row["percentiles"][at], 1) / 1000, "strong": 1 - 0.5 * (at == 2),
         "hue": ASKED[SIDE.get(row["sender"], 2)][1], "line": f"{row['sender']} {name}",
         "about": f"{time_text(bins.begin(row['bin']))}: {name} {latency_text(row['percentiles'][at])} of "
                  f"{number(row['count'])} asked by {ENDS[row['sender']]}"}
        for row in rows for at, name in ((0, "p50"), (2, "p99"))
    ]  # fmt: skip
    title = f"p50 (strong) and p99 (faint) of QoS 1 and 2 per {step(bins.width)}"
    columns = [("from", TEXT), ("asked by", TEXT), *_LATENCIES]
    numbers = [[time_text(bins.begin(row["bin"])), ENDS[row["sender"]], *_measured(row)] for row in rows]
    folded_table = folded("The numbers of this plot", table("Latency of QoS 1 and 2 over time", columns, numbers))
    return [drawn(lines(title, _asked(rows), values)), folded_table]


def _slow(name: str, rows: Sequence[Row], unknown: str) -> Section:
    if not rows:
        return []
    names = [name_text(row["who"], unknown) for row in rows]
    labels = [ranked_label(rank, each) for rank, each in enumerate(names, 1)]
    plot = ranges(f"p50, p90 and p99 of QoS 1 and 2, slowest {name}s", _spread(rows[:NAMED], labels[:NAMED]),
                  _asked(rows[:NAMED]))  # fmt: skip
    columns = [("", NUMBER), (name, NAME), ("asked by", TEXT), *_LATENCIES, ("unanswered", NUMBER)]
    numbers = [
        [str(rank), each, ENDS[row["sender"]], *_measured(row), number(row["unanswered"])]
        for rank, (row, each) in enumerate(zip(rows, names, strict=True), 1)
    ]
    return [drawn(plot), *ranked(f"Slowest {name}s by p90, those with 10 answers or more first", columns, numbers)]


# links

PALEST = 0.2
"""Opacity of a cell without DUP; with less it would be invisible on a screen in the sun."""
_LINK = ("connections", "client_publishes", "client_dups", "server_publishes", "server_dups")


def links(context: ReportContext) -> Section:
    """Return the rate of DUP of the clients with the worst links, over time and in total."""
    rows = list(top(context.summary.clients, "dups"))
    everything = total(context.summary.clients)
    if not everything["publishes"]:
        return [about("No PUBLISH of QoS 1 or 2 was seen, and only these are re-delivered.")]
    if not rows:
        return [about(f"None of {number(everything['publishes'])} PUBLISH of QoS 1 and 2 was re-delivered.")]
    content: Section = [about(
        "A PUBLISH with DUP is a re-delivery: an ack did not arrive, so the rate of DUP shows the quality of a link. "
        "The order allows for small numbers: one re-delivery in one message does not count as the worst link."
    )]  # fmt: skip
    names = [name_text(row["who"], NOBODY) for row in rows]
    content += _rates_over_time(
        context, {row["who"]: ranked_label(at, name) for at, (row, name) in enumerate(zip(rows, names, strict=True), 1)}
    )
    counts = ("rate of DUP", "connections", "client sent", "DUP of them", "server sent", "DUP of those")
    columns = [("", NUMBER), ("client", NAME), *((each, NUMBER) for each in counts)]
    numbers = [
        [str(rank), name, share(row["dups"], row["publishes"]),
         *(number(row[key]) for key in _LINK)]
        for rank, (row, name) in enumerate(zip(rows, names, strict=True), 1)
    ]  # fmt: skip
    return [*content, *ranked("Clients with the worst links, PUBLISH of QoS 1 and 2", columns, numbers)]


def _rates_over_time(context: ReportContext, labels: dict[str, str]) -> Section:
    bins, rows = context.details.links, context.details.worst
    if not bins or not rows:
        return []
    worst = max(row["dups"] / row["publishes"] for row in rows)
    order = [row for who in labels for row in rows if row["who"] == who]
    values = [
        {"x": bins.begin(row["bin"]) / 1000, "to": bins.begin(row["bin"] + 1) / 1000, "row": labels[row["who"]],
         "share": PALEST + (1 - PALEST) * row["dups"] / row["publishes"] / (worst or 1),
         "about": f"{labels[row['who']]}, {time_text(bins.begin(row['bin']))}: {number(row['dups'])} of "
                  f"{number(row['publishes'])} with DUP, {share(row['dups'], row['publishes'])}"}
        for row in order
    ]  # fmt: skip
    scale = f"the lightest is 0, the darkest {100 * worst:.1f} %, and empty means no PUBLISH"
    title = f"Rate of DUP per {step(bins.width)}: {scale}"
    columns = [("client", NAME), ("from", TEXT), ("PUBLISH", NUMBER), ("with DUP", NUMBER), ("rate", NUMBER)]
    numbers = [
        [labels[row["who"]], time_text(bins.begin(row["bin"])), number(row["publishes"]), number(row["dups"]),
         share(row["dups"], row["publishes"])]
        for row in order if row["dups"]
    ]  # fmt: skip
    table_ = table("Rate of DUP over time, where above 0", columns, numbers)
    return [drawn(heat(title, values, "heat")), folded("The numbers of this plot", table_)]
