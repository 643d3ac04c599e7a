"""The section on how connections come and go."""

from collections.abc import Sequence

from ...common.words import counted, number, share
from ..answers import Churn, Row, top, total
from ..listing import Listing
from ..markup import NAME, NUMBER, TEXT, folded, table
from ..plots import bars, drawn, heat
from ..words import name_text, ranked_label, reason, span_text, step, time_text
from .common import NOBODY, ReportContext, Section, about, ranked

_HUES = {
    "refused": "refused",
    "taken over": "again",
    "DISCONNECT": "good",
    "FIN": "open",
    "RST": "connection",
    "open": "ping",
}
_NO_END = "no end in the capture"
_COUNTS = ("connections", "busiest", "short", "goodbyes", "broken", "refused", "taken")


def churn(context: ReportContext) -> Section:
    """Return the clients that connect most often, over time too, and how connections ended."""
    found = context.summary.churn
    if not found.clients or not found.ends:
        return [about("There are no connections.")]
    content: Section = [about(
        "A connection is taken over if another one with the same Client Identifier begins while it is open, as the "
        "server must then end it (MQTT5-3.1.4-3); one that was never seen to end counts as open. The server said so "
        "where it sent DISCONNECT with 0x8e. "
        "Short-lived connections ended within 60 s; a connection is broken off if it ended without DISCONNECT."
    )]  # fmt: skip
    if not any(row["who"] and row["connections"] > 1 for row in found.clients):
        content.append(about("No client connected more than once."))
    return [*content, *_ends(found.ends), *_hours(context), *ranked(*most_connected(found)[:3]), *_taken(found)]


def most_connected(found: Churn) -> Listing:
    """Return the clients with the most connections."""
    whole = total(found.clients)
    heads = ("connections", "most in an hour", "short-lived", "with DISCONNECT", "broken off", "refused", "taken over")
    columns = [("client", NAME), *((each, NUMBER) for each in heads), ("median life", NUMBER)]
    rows = [_counted(row) for row in top(found.clients, "connections")]
    caption = f"Clients with the most of {counted(whole['connections'], 'connection')}"
    return Listing(caption, columns, rows, (0, 1, 2, 3, 5, 7))


def _counted(row: Row) -> list[str]:
    life = "-" if row["median_us"] is None else span_text(row["median_us"])
    return [name_text(row["who"], NOBODY), *(number(row[each]) for each in _COUNTS), life]


def _taken(found: Churn) -> Section:
    whole, rows = total(found.clients), list(top(found.clients, "taken"))
    if not rows:
        return [about("No connection was taken over.")]
    columns = [("client", NAME), ("connections", NUMBER), ("taken over", NUMBER), ("said by the server", NUMBER)]
    cells = [[name_text(row["who"], NOBODY), *(number(row[each]) for each in ("connections", "taken", "said"))]
             for row in rows]  # fmt: skip
    return ranked(f"Clients with the most of {counted(whole['taken'], 'takeover')}", columns, cells)


def end_label(row: Row) -> str:
    """Return how a connection ended: by what, by whom, and with which Reason Code."""
    by = f" of the {row['by']}" if row["by"] else ""
    if row["how"] in ("FIN", "RST"):
        return f"{row['how']}{by}, no DISCONNECT"
    if row["how"] == "refused":
        version = "5.0" if row["code"] >= 128 else "3.1.1"
        return f"refused by CONNACK, {reason('CONNACK', row['code'], version)}"
    code = "" if row["code"] is None else f", {reason('DISCONNECT', row['code'], '5.0')}"
    if row["how"] == "DISCONNECT":
        return f"DISCONNECT{by}{code}"
    return f"taken over{code}" if row["how"] == "taken over" else _NO_END


def _ends(rows: Sequence[Row]) -> Section:
    whole = sum(row["connections"] for row in rows)
    labels = [end_label(row) for row in rows]
    values = [
        {"row": label, "low": 0, "high": row["connections"], "hue": _HUES[row["how"]],
         "about": f"{label}: {counted(row['connections'], 'connection')}, {share(row['connections'], whole)}"}
        for label, row in zip(labels, rows, strict=True)
    ]  # fmt: skip
    columns = [("end", TEXT), ("connections", NUMBER), ("of all", NUMBER), ("clients", NUMBER), ("short-lived", NUMBER)]
    cells = [
        [label, number(row["connections"]), share(row["connections"], whole), number(row["clients"]),
         number(row["short"])]
        for label, row in zip(labels, rows, strict=True)
    ]  # fmt: skip
    hows = {row["how"] for row in rows}
    colors = [(_NO_END if how == "open" else how, hue) for how, hue in _HUES.items() if how in hows]
    plot = bars("How connections ended", values, colors)
    return [drawn(plot), *ranked("Ends of connections", columns, cells)]


def _hours(context: ReportContext) -> Section:
    bins, rows = context.details.connect_bins, context.details.connects
    if not bins or not rows:
        return [about("No connection has a time, so there is nothing to show over time.")]
    if bins.length == 1:
        # The table of clients has the numbers of this one interval.
        return []
    order = list(dict.fromkeys(row["who"] for row in top(context.summary.churn.clients, "connections")))
    labels = {who: ranked_label(rank, name_text(who, NOBODY)) for rank, who in enumerate(order, 1)}
    most = max(row["connections"] for row in rows)
    ordered = sorted(rows, key=lambda row: (order.index(row["who"]), row["bin"]))
    values = [
        {"x": bins.begin(row["bin"]) / 1000, "to": bins.begin(row["bin"] + 1) / 1000, "row": labels[row["who"]],
         "share": 0.2 + 0.8 * row["connections"] / most,
         "about": f"{labels[row['who']]}, {time_text(bins.begin(row['bin']))}: "
                  f"{counted(row['connections'], 'connection')}"}
        for row in ordered
    ]  # fmt: skip
    title = f"Connections per client and {step(bins.width)}: the darkest is {number(most)}, and empty means none"
    cells = [[labels[row["who"]], time_text(bins.begin(row["bin"])), number(row["connections"])] for row in ordered]
    columns = [("client", NAME), ("from", TEXT), ("connections", NUMBER)]
    numbers = table(f"Connections per client and {step(bins.width)}", columns, cells)
    return [drawn(heat(title, values, "client")), folded("The numbers of this plot", numbers)]
