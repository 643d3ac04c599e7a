"""Sparkplug B, a part of the question on payloads: births, deaths and faults of edge nodes, and states of hosts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.escape import escape
from ...common.extras import needs
from ...common.times import iso
from ...common.words import counted, number
from ...view.terminal.cells import Line, Segment, wrap
from ..engines import WHOLE_PACKETS
from ..listing import ROWS, count_cell, titled_table
from ..markup import NAME, NUMBER, TEXT, folded, table
from ..payloads.events import EVENT, events
from ..payloads.sessions import FAULTS, NODE, NodeExample, SparkplugNode, sessions
from ..plots import Cell, drawn, heat
from ..question import TOP, Answers, Contents, ReportTables
from ..rows import plain
from ..sections import NAMED, about, ranked
from ..sql import PLACE, TOPIC, WHO
from ..words import name_text, ranked_label, time_text
from .traffic import TRAFFIC

MOST_EXAMPLES = 50
_ONLINE = {True: "online", False: "offline", None: "not known"}
_ONLINE_CELL: Mapping[bool | None, Segment] = {True: ("online", ""), False: ("offline", "warning"), None: ("-", "dim")}
_MENTIONED = f"""
    SELECT if(type = 'CONNECT', will_topic, {TOPIC}) AS topic, direction, {WHO} AS who,
        if(type = 'CONNECT', will_payload, payload) AS payload, type = 'CONNECT' AS connects,
        coalesce(dup, false) AS dup, unix_micros(time) AS time, capture, frame, pos
    FROM {{{WHOLE_PACKETS}}}
    WHERE (type = 'PUBLISH' AND payload IS NOT NULL AND ({TOPIC} LIKE 'spBv1.0/%' OR {TOPIC} LIKE 'STATE/%'))
        OR (type = 'CONNECT' AND will_payload IS NOT NULL AND will_topic LIKE 'spBv1.0/%/NDEATH/%')
"""
_KEYS = ("group", "node", "host", "stream")
_SUMMED = ("messages", "births", "deaths", "missing", "faults")
_SUMS = ", ".join(f"sum(if(host, 0, {name})) OVER () AS {name}" for name in _SUMMED)
_COLUMNS = ", ".join(f"`{name}`" for name in SparkplugNode._fields)
_NODES = f"""
    SELECT row, struct({", ".join(_SUMMED)}, nodes, hosts) AS totals FROM (
        SELECT struct({_COLUMNS}) AS row, {_SUMS}, count_if(NOT host AND node != '') OVER () AS nodes,
            count_if(host) OVER () AS hosts,
            row_number() OVER (PARTITION BY host ORDER BY faults DESC, messages DESC, `group`, node) AS place
        FROM (SELECT *, row_number() OVER (
                  PARTITION BY `group`, node, host ORDER BY published DESC, stream = '', messages DESC, stream) AS rank
              FROM {{nodes}})
        WHERE rank = 1)
    WHERE place <= {TOP} ORDER BY place
"""
"""SQL for the nodes with most faults, each in the stream that shows it best: first what publishers sent, then the
receiver with most of it."""


def undecoded() -> str:
    """Return why Sparkplug B was not decoded."""
    return needs("decoding Sparkplug B", ["protobuf"], "summary")


class SparkplugTotals(NamedTuple):
    """Sums over all edge nodes, and how many there are of these and of hosts."""

    messages: int = 0
    births: int = 0
    deaths: int = 0
    missing: int = 0
    faults: int = 0
    nodes: int = 0
    hosts: int = 0


class SparkplugAnswers(NamedTuple):
    """What Sparkplug B shows."""

    totals: SparkplugTotals
    nodes: Sequence[SparkplugNode]
    """The first edge nodes, those with most faults first."""
    hosts: Sequence[SparkplugNode]
    """Host applications."""


class _NodeRow(NamedTuple):
    """A node, with the totals of all."""

    row: SparkplugNode
    totals: SparkplugTotals


def ask(tables: ReportTables) -> SparkplugAnswers:
    """Return what the messages of Sparkplug B show."""
    engine = tables.engine
    said = engine.mapped(_MENTIONED, tables.named(_MENTIONED), events, EVENT)
    nodes = engine.mapped("SELECT * FROM {events}", {"events": said}, sessions, NODE, together=_KEYS, order=PLACE)
    found = tables.rows(_NodeRow, _NODES, nodes=nodes)
    rows = [each.row for each in found]
    totals = found[0].totals if found else SparkplugTotals()
    return SparkplugAnswers(totals, [row for row in rows if not row.host], [row for row in rows if row.host])


# the page


def contents(found: SparkplugAnswers | None, answers: Answers) -> Contents:
    """Return edge nodes, devices and hosts with their births, deaths and faults."""
    if not found or not (found.nodes or found.hosts):
        return [about("No topic of Sparkplug B was seen (spBv1.0/...).")]
    explained = about(
        f"{counted(found.totals.nodes, 'edge node')} with {counted(found.totals.faults, 'fault')}. Each is "
        "judged by what it published, or where that was not captured, by what the receiver of most of it got. Messages "
        "before the first birth are not faults, as the capture may begin later; a gap in seq may also be a gap of the "
        "capture."
    )
    traffic = answers[TRAFFIC]
    return [
        explained, *_online(found, traffic.totals.last), *_nodes(found), *_examples(found, len(traffic.sources) != 1),
        *_devices(found.nodes), *_hosts(found.hosts),
    ]  # fmt: skip


def _online(found: SparkplugAnswers, last: int | None) -> Contents:
    values = []
    for rank, row in enumerate([*found.hosts[:NAMED], *found.nodes[:NAMED]], 1):
        name = ranked_label(rank, row.name + (" (host)" if row.host else ""))
        for span in row.spans:
            end = span.end if span.end is not None else last
            until = f"{time_text(end)} ({span.how})" if span.how else "the end"
            said = f"{name}: online from {time_text(span.begin)} to {until}"
            values.append(Cell(name, span.begin, end or span.begin, 1, said))
    if not values:
        return []
    period = min(each.begin_us for each in values), max(each.end_us for each in values)
    return [drawn(heat("Times online, from birth to death", values, "good", period))]


def _nodes(found: SparkplugAnswers) -> Contents:
    if not found.nodes:
        return []
    # The column stands for an exception: mostly, publishers were captured.
    received = any(not row.published for row in found.nodes)
    names = ("births", "deaths", "devices", "data", "seq missing", "faults")
    columns = [("", NUMBER), ("edge node", NAME), *((name, NUMBER) for name in names), ("at the end", TEXT),
               *([("as received by", TEXT)] if received else [])]  # fmt: skip
    rows = [
        [str(rank), row.name,
         *map(number, (row.births, row.deaths, row.device_count, row.data, row.missing, row.faults)),
         _ONLINE[row.online], *([name_text("" if row.published else row.stream, "-")] if received else [])]
        for rank, row in enumerate(found.nodes, 1)
    ]  # fmt: skip
    title = f"First {len(rows)} of {counted(found.totals.nodes, 'edge node')}, most faults first"
    return [*ranked(title, columns, rows), *_faults(found.nodes)]


def _faults(nodes: Sequence[SparkplugNode]) -> Contents:
    faulty = [row for row in nodes if row.faults]
    if not faulty:
        return []
    kinds = [name for name in FAULTS if any(row.by_fault[name] for row in faulty)]
    columns = [("edge node", NAME), *((FAULTS[name], NUMBER) for name in kinds)]
    return ranked("Faults", columns, [[row.name, *(number(row.by_fault[name]) for name in kinds)] for row in faulty])


def _examples(found: SparkplugAnswers, places: bool) -> Contents:
    """Return the first faults, with their captures if `places`."""

    def when(pair: tuple[SparkplugNode, NodeExample]) -> tuple[bool, int | None]:
        return pair[1].time is None, pair[1].time

    every = [(row, each) for row in (*found.nodes, *found.hosts) for each in row.examples]
    if not every:
        return []
    columns = [("time", TEXT), ("edge node", NAME), ("device", TEXT), ("fault", TEXT), ("what", TEXT),
               ("record", NUMBER), *([("capture", NAME)] if places else [])]  # fmt: skip
    cells = [
        [time_text(each.time), row.name, escape(each.device) or "-", FAULTS[each.fault], escape(each.about),
         number(each.frame), *([escape(each.capture)] if places else [])]
        for row, each in sorted(every, key=when)[:MOST_EXAMPLES]
    ]  # fmt: skip
    return ranked("The first faults of each kind and edge node", columns, cells)


def _devices(nodes: Sequence[SparkplugNode]) -> Contents:
    columns = [("edge node", NAME), ("device", TEXT), ("births", NUMBER), ("deaths", NUMBER), ("data", NUMBER)]
    rows = [
        [row.name, escape(each.device), *map(number, (each.births, each.deaths, each.data))]
        for row in nodes
        for each in row.devices
    ]
    if not rows:
        return []
    return [folded(f"Devices of these edge nodes: {number(len(rows))}", table("Devices", columns, rows))]


def _hosts(hosts: Sequence[SparkplugNode]) -> Contents:
    columns = [("host", NAME), ("online", NUMBER), ("offline", NUMBER), ("at the end", TEXT), ("not readable", NUMBER)]
    rows = [
        [row.name, number(row.births), number(row.deaths), _ONLINE[row.online], number(row.malformed)] for row in hosts
    ]
    return ranked("Host applications, by their STATE", columns, rows) if rows else []


# the terminal


def node_lines(found: SparkplugAnswers | None, width: int) -> Iterator[Line]:
    """Yield the lines on edge nodes."""
    rows = found.nodes[:ROWS] if found else ()
    if not rows:
        return
    columns = ("", "at the end", "births", "deaths", "data", "seq missing", "faults")
    yield from titled_table("Edge nodes of Sparkplug B", columns, (
        [(row.name, "text"), _ONLINE_CELL[row.online], *map(count_cell, (row.births, row.deaths, row.data)),
         count_cell(row.missing, "warning"), count_cell(row.faults, "warning")]
        for row in rows
    ), width, 2)  # fmt: skip
    for row in rows:
        if row.faults:
            said = ", ".join(f"{FAULTS[name]} ({number(count)})" for name, count in row.by_fault.items() if count)
            yield from indented([(f"{row.name}: ", "text"), (said, "warning")], width)


def host_lines(found: SparkplugAnswers | None, width: int) -> Iterator[Line]:
    """Yield the lines on hosts."""
    rows = found.hosts[:ROWS] if found else ()
    if rows:
        columns = ("", "at the end", "online", "offline")
        yield from titled_table("Host applications of Sparkplug B", columns, (
            [(row.name, "text"), _ONLINE_CELL[row.online], count_cell(row.births), count_cell(row.deaths)]
            for row in rows
        ), width, 2)  # fmt: skip


def indented(line: Line, width: int) -> Iterator[Line]:
    """Yield a line, broken where it is long; what follows the first one is indented more."""
    for at, each in enumerate(wrap(line, width - 4)):
        yield [("    " if at else "  ", ""), *each]


# JSON


def record(found: SparkplugAnswers) -> dict[str, Any]:
    """Return the values for JSON."""
    return {
        "totals": plain(found.totals), "nodes": list(map(_node, found.nodes)), "hosts": list(map(_node, found.hosts))
    }  # fmt: skip


def _node(row: SparkplugNode) -> dict[str, Any]:
    return {
        **plain(row), "first": _iso(row.first), "last": _iso(row.last),
        "examples": [{**each._asdict(), "time": _iso(each.time)} for each in row.examples],
        "spans": [{**each._asdict(), "begin": _iso(each.begin), "end": _iso(each.end)} for each in row.spans],
    }  # fmt: skip


def _iso(time_us: int | None) -> str | None:
    return None if time_us is None else iso(time_us * 1000)
