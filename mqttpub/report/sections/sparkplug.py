"""The section on Sparkplug B: edge nodes and hosts, when they were online, and what was wrong."""

from collections.abc import Iterator
from typing import Any

from ...common.escape import escape
from ...common.words import counted, number
from ..markup import NAME, NUMBER, TEXT, folded, table
from ..payloads.answers import PayloadAnswers, SparkplugAnswers
from ..payloads.sessions import FAULTS
from ..payloads.words import UNDECODED, node_name
from ..plots import drawn, heat
from ..words import name_text, ranked_label, time_text
from .common import NAMED, ReportContext, Section, about, on_payloads, ranked

MOST_EXAMPLES = 50
_COUNTS = ("births", "deaths", "device_count", "data", "missing")
_ONLINE = {True: "online", False: "offline", None: "not known"}


@on_payloads
def sparkplug(context: ReportContext, answers: PayloadAnswers) -> Section:
    """Return edge nodes, devices and hosts with their births, deaths and faults."""
    if answers.undecoded:
        return [about(UNDECODED)]
    found = answers.sparkplug
    if not found or not (found.nodes or found.hosts):
        return [about("No topic of Sparkplug B was seen (spBv1.0/...).")]
    content: Section = [about(
        f"{counted(found.totals['nodes'], 'edge node')} with {counted(found.totals['faults'], 'fault')}. Each is "
        "judged by what it published, or where that was not captured, by what the receiver of most of it got. Messages "
        "before the first birth are not faults, as the capture may begin later; a gap in seq may also be a gap of the "
        "capture."
    )]  # fmt: skip
    return [*content, *_online(context, found), *_nodes(found), *_examples(context, found), *_devices(found),
            *_hosts(found)]  # fmt: skip


def _online(context: ReportContext, found: SparkplugAnswers) -> Section:
    last = context.summary.span.last
    values = []
    for rank, row in enumerate([*found.hosts[:NAMED], *found.nodes[:NAMED]], 1):
        name = ranked_label(rank, node_name(row) + (" (host)" if row["host"] else ""))
        for span in row["spans"]:
            end = span["end"] if span["end"] is not None else last
            until = f"{time_text(end)} ({span['how']})" if span["how"] else "the end"
            values.append({
                "row": name, "x": span["begin"] / 1000, "to": (end or span["begin"]) / 1000, "share": 1,
                "about": f"{name}: online from {time_text(span['begin'])} to {until}",
            })  # fmt: skip
    return [drawn(heat("Times online, from birth to death", values, "good"))] if values else []


def _nodes(found: SparkplugAnswers) -> Section:
    if not found.nodes:
        return []
    # The column stands for an exception: mostly, publishers were captured.
    received = any(not row["published"] for row in found.nodes)
    names = ("births", "deaths", "devices", "data", "seq missing", "faults")
    columns = [("", NUMBER), ("edge node", NAME), *((name, NUMBER) for name in names), ("at the end", TEXT),
               *([("as received by", TEXT)] if received else [])]  # fmt: skip
    rows = [
        [str(rank), node_name(row), *(number(row[name]) for name in (*_COUNTS, "faults")), _ONLINE[row["online"]],
         *([name_text("" if row["published"] else row["stream"], "-")] if received else [])]
        for rank, row in enumerate(found.nodes, 1)
    ]  # fmt: skip
    title = f"First {len(rows)} of {counted(found.totals['nodes'], 'edge node')}, most faults first"
    return [*ranked(title, columns, rows), *_faults(found)]


def _faults(found: SparkplugAnswers) -> Section:
    faulty = [row for row in found.nodes if row["faults"]]
    if not faulty:
        return []
    kinds = [name for name in FAULTS if any(row[name] for row in faulty)]
    columns = [("edge node", NAME), *((FAULTS[name], NUMBER) for name in kinds)]
    return ranked("Faults", columns, [[node_name(row), *(number(row[name]) for name in kinds)] for row in faulty])


def _examples(context: ReportContext, found: SparkplugAnswers) -> Section:
    rows = sorted(_example_rows(found), key=lambda row: (row[0] is None, row[0]))[:MOST_EXAMPLES]
    if not rows:
        return []
    columns = [("time", TEXT), ("edge node", NAME), ("device", TEXT), ("fault", TEXT), ("what", TEXT),
               ("record", NUMBER), ("capture", NAME)]  # fmt: skip
    kept = len(columns) - (len(context.summary.made.sources) == 1)
    shown = [[time_text(row[0]), *row[1:]][:kept] for row in rows]
    return ranked("The first faults of each kind and edge node", columns[:kept], shown)


def _example_rows(found: SparkplugAnswers) -> Iterator[list[Any]]:
    for row in (*found.nodes, *found.hosts):
        for each in row["examples"]:
            yield [
                each["time"], node_name(row), escape(each["device"]) or "-", FAULTS[each["fault"]],
                escape(each["about"]), number(each["frame"]), escape(each["capture"]),
            ]  # fmt: skip


def _devices(found: SparkplugAnswers) -> Section:
    columns = [("edge node", NAME), ("device", TEXT), ("births", NUMBER), ("deaths", NUMBER), ("data", NUMBER)]
    rows = [
        [node_name(row), escape(each["device"]), *(number(each[name]) for name in ("births", "deaths", "data"))]
        for row in found.nodes
        for each in row["devices"]
    ]
    return (
        [folded(f"Devices of these edge nodes: {number(len(rows))}", table("Devices", columns, rows))] if rows else []
    )


def _hosts(found: SparkplugAnswers) -> Section:
    columns = [("host", NAME), ("online", NUMBER), ("offline", NUMBER), ("at the end", TEXT), ("not readable", NUMBER)]
    rows = [
        [node_name(row), number(row["births"]), number(row["deaths"]), _ONLINE[row["online"]], number(row["malformed"])]
        for row in found.hosts
    ]
    return ranked("Host applications, by their STATE", columns, rows) if rows else []
