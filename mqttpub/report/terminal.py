"""The summary of the tables on a terminal and as JSON, and the writing of the page."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..common.errors import UserError
from ..common.files import PAGE, check_place, file_id, replacing
from ..common.times import iso
from ..common.words import counted, share, size
from ..traffic.statistics import PERCENTILES
from ..view.packet.show import Show
from ..view.terminal.cells import Line, Segment, wrap
from .answers import OUTCOMES, Comparison, Row, StatementFindings, Summary, dup_rate, top, total
from .blocks import (
    anomalies_block,
    by_order,
    churn_block,
    comparison_block,
    culprits_block,
    fan_out_block,
    record_of_questions,
    silences_block,
    topic_tree_block,
)  # fmt: skip
from .examples import decoding
from .lines import count_cell, titled_table
from .payloads.terminal import BLOCKS as PAYLOAD_BLOCKS
from .payloads.terminal import payload_record
from .words import latency_text, name_text, span_text, time_text

ROWS = 5
"""Clients and topics in a table, at most."""
MOST_FAULTS = 12
"""Statements in the table of findings, at most."""
NOBODY, NO_TOPIC = "(not known)", "(alias not set, or not UTF-8)"
_ENDS = {"client": "client", "server": "server", None: "not known"}
_BAD_RATE = 0.01
"""Rates of re-deliveries above this are highlighted."""


def check_report(path: str, sources: Iterable[str], out: Path | None) -> None:
    """Raise UserError for a page that would overwrite a source, a table or a file that is not a page.

    `out` is the folder of tables; None if that is a URL.
    """
    if path == "-":
        raise UserError(f"--report: '{path}' is not a file name")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise UserError(f"--report: cannot write '{path}'")
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(out)).split(os.sep) if out else [".."]
    if inside[0] != ".." and (inside[1:] or inside[0].startswith("_")):
        raise UserError(f"--report: '{path}' is among the tables; write the page outside of their folders")
    check_place("--report", path, PAGE, map(file_id, sources))


def write_page(path: str, title: str, spark: Any, folder: str | Path, summary: Summary) -> None:
    """Query what only the page shows, and write it, as a whole or not at all."""
    # Only a page needs Spark and the plots.
    from .page import page
    from .queries.report_answers import details

    text = page(title, summary, details(spark, folder, summary))
    with replacing(path) as out:
        out.write(text)


# the terminal


def show_summary(summary: Summary) -> None:
    """Print the summary; names that do not fit their columns are shortened with a mark."""
    show = Show()
    blocks = (
        comparison_block, _exchanges, _latencies, _links, churn_block, silences_block, _clients, _topics,
        topic_tree_block, fan_out_block, anomalies_block,
    )  # fmt: skip
    sections = [block(summary, show.width) for block in blocks]
    if summary.payloads:
        sections += [block(summary.payloads, show.width) for block in PAYLOAD_BLOCKS]
    for lines in map(list, (*sections, culprits_block(summary, show.width), _findings(summary, show.width))):
        if lines:
            show.block(part for line in lines for part in wrap(line, show.width))
    sys.stdout.flush()


def headline(summary: Summary) -> str:
    """Return the numbers of connections, clients, topics and bytes, and the period."""
    span = summary.span
    connections = sum(row["connections"] for row in summary.connections)
    parts = [counted(connections, "connection"), counted(total(summary.clients)["number"], "client"),
             counted(total(summary.topics)["number"], "topic"), size(span.bytes)]  # fmt: skip
    line = ", ".join(parts)
    if span.first is not None and span.last is not None:
        line += f"\n{time_text(span.first)} to {time_text(span.last)}, {span_text(span.last - span.first)}"
    return line


def _exchanges(summary: Summary, width: int) -> Iterator[Line]:
    rows = summary.exchanges
    if not rows:
        return
    outcomes = [each for each in OUTCOMES if any(row[each] for row in rows)]
    styles = {"complete": "", "refused": "error"}
    yield from titled_table("Exchanges", ("", "asked by", *outcomes, "DUP"), (
        [(row["kind"], "type"), (_ENDS[row["sender"]], ""),
         *(count_cell(row[each], styles.get(each, "warning")) for each in outcomes), count_cell(row["dups"])]
        for row in rows
    ), width, 2)  # fmt: skip


def _latencies(summary: Summary, width: int) -> Iterator[Line]:
    rows = [row for row in summary.exchanges if row["count"]]
    if not rows:
        return
    yield from titled_table(
        "Time from a request to its last ack", ("", "asked by", "count", *(f"p{each}" for each in PERCENTILES), "max"),
        ([(row["kind"], "type"), (_ENDS[row["sender"]], ""), count_cell(row["count"]),
          *((latency_text(each), "number") for each in (*row["percentiles"], row["max"]))] for row in rows), width, 2,
    )  # fmt: skip


def _links(summary: Summary, width: int) -> Iterator[Line]:
    rows = list(top(summary.clients, "dups"))[:ROWS]
    if rows:
        yield from titled_table(
            "Worst links: share of re-deliveries (DUP) in PUBLISH of QoS 1 and 2",
            ("client", "client sent", "DUP", "server sent", "DUP", "all DUP"), map(_link, rows), width,
        )  # fmt: skip


def _link(row: Row) -> list[Segment]:
    rates = (_rate(row, side) for side in ("client", "server", ""))
    client, server, both = rates
    return [
        (name_text(row["who"], NOBODY), "text"), count_cell(row["client_publishes"]), client,
        count_cell(row["server_publishes"]), server, both,
    ]  # fmt: skip


def _rate(row: Row, side: str) -> Segment:
    rate = dup_rate(row, side)
    if rate is None:
        return "-", "dim"
    before = f"{side}_" if side else ""
    return share(row[f"{before}dups"], row[f"{before}publishes"]), "warning" if rate > _BAD_RATE else ""


def _clients(summary: Summary, width: int) -> Iterator[Line]:
    return _talkers("Clients with most bytes", summary.clients, NOBODY, "text", width)


def _topics(summary: Summary, width: int) -> Iterator[Line]:
    return _talkers("Topics with most bytes", summary.topics, NO_TOPIC, "topic", width)


def _talkers(heading: str, rows: list[Row], unknown: str, style: str, width: int) -> Iterator[Line]:
    all, first = total(rows), list(top(rows, "bytes"))[:ROWS]
    if first:
        yield from titled_table(heading, ("", "messages", "bytes", "of all"), (
            [(name_text(row["who"], unknown), style), count_cell(row["messages"]), count_cell(row["bytes"], "length"),
             (share(row["bytes"], all["bytes"]), "dim")]
            for row in first
        ), width)  # fmt: skip


def _findings(summary: Summary, width: int) -> Iterator[Line]:
    if not summary.faults:
        if summary.faults is not None:
            yield [("Findings: none", "heading")]
        return
    rows = ([(each.statement or "no statement", each.severity), (each.severity, each.severity), count_cell(each.times),
             count_cell(each.clients)] for each in summary.faults[:MOST_FAULTS])  # fmt: skip
    yield from titled_table("Findings", ("", "", "times", "clients"), rows, width, 2)
    if len(summary.faults) > MOST_FAULTS:
        more = counted(len(summary.faults) - MOST_FAULTS, "more statement")
        yield [(f"  {more}; mqttpub explain shows their text", "dim")]


# JSON

_KIND = ("type", "qos", "direction", "packets", "bytes")


def record(summary: Summary) -> dict[str, Any]:
    """Return the summary as values for JSON; times are ISO 8601 in UTC, latencies are in microseconds."""
    span = summary.span
    return {
        "begin": None if span.first is None else iso(span.first * 1000),
        "end": None if span.last is None else iso(span.last * 1000),
        "packets": span.packets, "bytes": span.bytes, "malformed": span.malformed,
        "connections": summary.connections,
        "kinds": [{name: row[name] for name in _KIND} for row in summary.kinds],
        "exchanges": [
            {
                **{name: value for name, value in row.items() if name not in ("count", "percentiles", "max")},
                "answered": row["count"],
                **{f"p{each}_us": us for each, us in zip(PERCENTILES, row["percentiles"] or (), strict=False)},
                "max_us": row["max"],
            }
            for row in summary.exchanges
        ],
        "clients": by_order(summary.clients, "messages", "bytes", "dups"),
        "topics": by_order(summary.topics, "messages", "bytes", "savable"),
        **record_of_questions(summary),
        "payloads": payload_record(summary.payloads),
        **({"comparison": _compared(summary.comparison)} if summary.comparison else {}),
        "findings": None if summary.faults is None else [_fault(each, summary) for each in summary.faults],
        "findings_by_client": by_order(summary.culprits, "findings"),
    }  # fmt: skip


def _compared(found: Comparison) -> dict[str, Any]:
    """Return what is different from another run, with the summary of that."""
    lists = {name: list(rows) for name, rows in found._asdict().items() if name in ("clients", "topics", "latencies")}
    return {"folder": found.folder, "summary": record(found.summary), **lists}


def _fault(fault: StatementFindings, summary: Summary) -> dict[str, Any]:
    values, example = fault._asdict(), fault.example
    if example:
        values["example"] = {**example._asdict(), "decode": decoding(example, fault.statement, summary.made.sources)}
        del values["example"]["packet"]
        if example.time is not None:
            values["example"]["time"] = iso(example.time * 1000)
    return values
