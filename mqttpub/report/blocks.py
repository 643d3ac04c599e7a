"""Blocks of the summary on a terminal: the lists of the page's sections, shortened, and their values for JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..common.escape import escape
from ..common.times import iso
from ..common.words import counted
from ..view.terminal.cells import Line, wrap
from . import listing
from .answers import ALL, Anomalies, Row, Summary, top, total
from .sections import anomalies, churn, comparison, fan_out, findings, silences, topic_tree

LEVELS = 12
"""Levels of topics in a table, at most."""


def comparison_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on the differences from another run."""
    found = summary.comparison
    if not found:
        return
    numbers = comparison.numbers_listing(summary, found)
    caption = f"This run, and the other one: {escape(found.folder)}"
    yield from listing.lines(numbers._replace(caption=caption), width, len(numbers.rows))
    for noun, rows in (("client", found.clients), ("topic", found.topics)):
        for kind in ("new", "gone"):
            if (names := comparison.names_listing(noun, rows, kind)).rows:
                yield from listing.lines(names, width)
    for each in (comparison.latencies_listing(found.latencies), comparison.findings_listing(summary, found.summary)):
        if each.rows:
            yield from listing.lines(each, width)


def churn_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on the clients with the most connections."""
    if any(row["who"] is not None and row["connections"] > 1 for row in summary.churn.clients):
        yield from listing.lines(churn.most_connected(summary.churn), width)


def silences_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on silences longer than Keep Alive."""
    if not summary.silences:
        return
    if total(summary.silences)["late"]:
        late = [row for row in summary.silences if row["top"] != ALL and row["late"]]
        yield from listing.lines(silences.longest_silences(late), width)
    elif total(summary.silences)["ratio"]:
        yield [("Silences longer than Keep Alive: none", "heading")]


def topic_tree_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on the levels of topics with the most messages."""
    if len(summary.topic_tree) > 1:
        # Levels with the most messages: those above them have at least as many.
        most = sorted((row["messages"] for row in summary.topic_tree), reverse=True)[:LEVELS]
        shown = [row for row in summary.topic_tree if row["messages"] >= most[-1]][:LEVELS]
        yield from listing.lines(topic_tree.tree_listing(shown), width, LEVELS)


def fan_out_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on the topics with the most deliveries."""
    found = fan_out.topics_listing(summary.fan_out)
    if any(row["top"] == ALL and row["deliveries"] for row in summary.fan_out):
        yield from listing.lines(found._replace(caption="Estimated deliveries of a message, by topic"), width)


def anomalies_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on the clients that differ most from their own past."""
    found = summary.anomalies
    if found.rows:
        yield from listing.lines(anomalies.farthest(found), width)
    elif found.judged:
        yield [(f"Anomalies of {counted(found.judged, 'client')} against their own past: none", "heading")]


def culprits_block(summary: Summary, width: int) -> Iterator[Line]:
    """Yield the lines on the clients and servers with the most findings, each followed by its statements."""
    found = findings.culprits_listing(summary.culprits)
    if not found.rows:
        return
    caption, heading, *rows = listing.lines(found, width)
    yield from (caption, heading)
    for line, cells in zip(rows, found.rows, strict=False):
        yield line
        yield from ([("    ", ""), *each] for each in wrap([(cells[-1], "dim")], width - 4))
    if (left := total(summary.culprits)["number"] - len(rows)) > 0:
        yield [(f"  {counted(left, 'more client or server', 'more clients and servers')}", "dim")]


# JSON


def record_of_questions(summary: Summary) -> dict[str, Any]:
    """Return the answers to these questions as values for JSON; nothing if they were not asked."""
    if not summary.churn.clients:
        return {}
    return {
        "churn": {**(by_order(summary.churn.clients, "connections", "taken") or {}), "ends": list(summary.churn.ends)},
        "silences": by_order(summary.silences, "ratio"),
        "topic_tree": [{name: value for name, value in row.items() if name != "place"} for row in summary.topic_tree],
        "fan_out": [{name: value for name, value in row.items() if name != "place"} for row in summary.fan_out],
        "anomalies": _anomalous(summary.anomalies),
    }


def _anomalous(found: Anomalies) -> dict[str, Any] | None:
    """Return anomalies with the times of their intervals; None if no packet has a time."""
    if not found.bins:
        return None
    begins = {number: iso(found.bins.begin(number) * 1000) for number in found.bins.numbers()}
    rows = [
        {**row, "first": begins[row["first"]], "worst": {**row["worst"], "bin": begins[row["worst"]["bin"]]}}
        for row in found.rows
    ]
    return {"interval_us": found.bins.width, "clients": found.clients, "judged": found.judged, "rows": rows}


def by_order(rows: Sequence[Row], *orders: str) -> dict[str, Any] | None:
    """Return the totals and the top rows of each order; None without rows."""
    return {"all": bare(total(rows)), **{by: [bare(row) for row in top(rows, by)] for by in orders}} if rows else None


def bare(row: Row) -> Row:
    """Return a row without `top`, and without `number` if it is for one name, as that is 1."""
    return {name: value for name, value in row.items() if name != "top" and (name != "number" or row["who"] is None)}
