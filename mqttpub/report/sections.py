"""The sections of the page: a sentence on what is to be seen, a plot, and its numbers as a table."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ..common.words import counted, number, share, size
from ..spec.statements import statement
from .answers import ACKS, OUTCOMES, REQUESTED, Bins, Fault, Made, Row, dup_rate, total
from .delays import latency, links
from .examples import by_connection, decoding
from .markup import NAME, NUMBER, TEXT, Markup, folded, join, table, tag
from .plots import bars, drawn, stacked
from .telling import ENDS, NAMED, NO_TOPIC, NOBODY, SIDES, Section, Told, about, ranked, side
from .volumes import overhead, talkers
from .wording import Wording, reason, step

GROUPS = (
    ("PUBLISH of clients", "client"), ("PUBLISH of servers", "server"), ("acks", "ack"),
    ("subscriptions", "subscription"), ("connections", "connection"), ("pings and others", "ping"),
)  # fmt: skip
_GROUP = {
    **dict.fromkeys(ACKS, 2), **dict.fromkeys(("SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK"), 3),
    **dict.fromkeys(("CONNECT", "CONNACK", "DISCONNECT", "AUTH"), 4),
}  # fmt: skip
HUES = dict(zip(OUTCOMES, ("good", "refused", "open", "again", "orphan"), strict=True))


# at the top


def overview(told: Told) -> Markup:
    """Return when it was, how long it took, and what was read for it."""
    return join((tag("p", _when(told)), *(tag("p", each) for each in _made(told.wording, told.summary.made))))


def _made(wording: Wording, made: Made) -> Iterator[str]:
    if not made.sources or not made.runs:
        return
    named = wording.text(made.sources[0]) if len(made.sources) == 1 else counted(len(made.sources), "source")
    days = list(dict.fromkeys(each[:10] for each in (made.runs[0], made.runs[-1])))
    yield f"{named}, read by {counted(len(made.runs), 'run')} of mqttpub pipeline, {' to '.join(days)}"


def _when(told: Told) -> str:
    span, wording = told.summary.span, told.wording
    if span.first is None or span.last is None:
        return "No packet of these captures has a time." if span.packets else "There are no packets."
    return f"{wording.time(span.first)} to {wording.time(span.last)}, {wording.span(span.last - span.first)}"


def _facts(told: Told) -> Section:
    summary = told.summary
    span, clients, topics = summary.span, total(summary.clients), total(summary.topics)
    messages = [row for row in summary.exchanges if row["kind"] in ("QoS 1", "QoS 2")]
    whole = sum(row[each] for row in messages for each in REQUESTED)
    done = sum(row["complete"] for row in messages)
    rate = dup_rate(clients)
    given = [
        ("packets", number(span.packets), size(span.bytes)),
        ("connections", number(sum(row["connections"] for row in summary.connections)), ""),
        ("clients", number(clients["number"]), ""),
        ("topics", number(topics["number"]), counted(topics["messages"], "PUBLISH packet")),
        ("QoS 1 and 2 complete", share(done, whole), f"of {counted(whole, 'message')}"),
        ("re-delivered (DUP)", "-" if rate is None else share(clients["dups"], clients["publishes"]),
         f"{number(clients['dups'])} of {number(clients['publishes'])}"),
    ]  # fmt: skip
    if summary.faults is not None:
        wrong = Counter({each.severity: 0 for each in summary.faults})
        for each in summary.faults:
            wrong[each.severity] += each.times
        given.append(("findings", number(wrong.total()), ", ".join(counted(wrong[each], each) for each in wrong)))
    if span.unreadable:
        given.append(("unreadable packets", number(span.unreadable), ""))
    if gaps := sum(row["gaps"] or 0 for row in summary.connections):
        given.append(("gaps in connections", number(gaps), ""))
    shown = (tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in given)
    return [tag("dl", *shown, class_="facts")]


# traffic


def _traffic(told: Told) -> Section:
    bins, rows, wording = told.details.bins, told.details.traffic, told.wording
    if not told.summary.kinds:
        return [about("There are no packets.")]
    content: Section = [_kinds(told)]
    if not bins or not rows:
        return [about("No packet has a time, so there is no course over time."), *content]
    packets, bytes = _binned(rows, "packets", len(GROUPS), _group), _binned(rows, "bytes", len(SIDES), side)
    width = step(bins.width)
    plots = [
        drawn(stacked(f"Packets per {width}", GROUPS, _parts(told, bins, packets))),
        drawn(stacked(f"Bytes per {width}", SIDES, _parts(told, bins, bytes))),
    ]
    columns = [("from", TEXT), *((name, NUMBER) for name, _ in (*GROUPS, *SIDES))]
    numbers = [
        [wording.time(bins.begin(at)), *map(number, packets.get(at, [0] * 6)), *map(number, bytes.get(at, [0] * 3))]
        for at in bins.numbers()
    ]
    caption = f"Packets by what they are, and bytes by who sent them, per {width}"
    return [*plots, folded("The numbers of both plots", table(caption, columns, numbers)), *content]


def _group(row: Row) -> int:
    return (row["direction"] == "server") if row["type"] == "PUBLISH" else _GROUP.get(row["type"], 5)


def _binned(rows: Sequence[Row], value: str, count: int, place: Callable[[Row], int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["bin"], [0] * count)[place(row)] += row[value]
    return found


def _parts(told: Told, bins: Bins, binned: dict[int, list[int]]) -> Iterator[tuple[int, int, str, Sequence[float]]]:
    for at in sorted(binned):
        begin = bins.begin(at)
        yield begin / 1000, (begin + bins.width) / 1000, told.wording.time(begin), binned[at]  # type: ignore[misc]


def _kinds(told: Told) -> Markup:
    sums: dict[tuple[str, int | None], list[int]] = {}
    for row in told.summary.kinds:
        added = sums.setdefault((row["type"], row["qos"]), [0] * 6)
        added[2 * side(row)] += row["packets"]
        added[2 * side(row) + 1] += row["bytes"]
    columns = [("packet", TEXT), *((f"{what}{sent}", NUMBER) for sent, _ in SIDES for what in ("", "bytes "))]
    unknown = any(each[4] for each in sums.values())
    rows = [[name if qos is None else f"{name} QoS {qos}", *map(number, each)] for (name, qos), each in sums.items()]
    kept = len(columns) if unknown else len(columns) - 2
    return table("Packets by type", columns[:kept], [row[:kept] for row in rows])


# exchanges


def _exchanges(told: Told) -> Section:
    rows = told.summary.exchanges
    if not rows:
        return [about("There are no exchanges: QoS 0 has none, and nobody subscribed.")]
    labels = [f"{row['kind']}, {ENDS[row['sender']]}" for row in rows]
    values = []
    for row, label in zip(rows, labels, strict=True):
        low, whole = 0, sum(row[each] for each in OUTCOMES)
        for each in OUTCOMES:
            if row[each]:
                told_ = f"{label}: {number(row[each])} {each}, {share(row[each], whole)}"
                values.append({"row": label, "low": low, "high": low + row[each], "hue": HUES[each], "about": told_})
            low += row[each]
    columns = [("kind", TEXT), ("asked by", TEXT), *((each, NUMBER) for each in OUTCOMES), ("DUP", NUMBER)]
    numbers = [
        [row["kind"], ENDS[row["sender"]], *(number(row[each]) for each in OUTCOMES), number(row["dups"])]
        for row in rows
    ]
    explained = about(
        "Unfinished: the last ack never came. Superseded: its Packet Identifier was used again before. Orphan: an ack "
        f"whose request was not captured.{_continued(rows)}"
    )
    colors = [(each, HUES[each]) for each in OUTCOMES if any(row[each] for row in rows)]
    plot = drawn(bars("Exchanges by outcome", values, colors))
    return [explained, plot, table("By kind", columns, numbers), *_unended(told)]


def _continued(rows: Sequence[Row]) -> str:
    """Return the sentence on messages that the table of exchanges has several rows of."""
    count = sum(row["continued"] for row in rows)
    if not count:
        return ""
    left = f"{counted(count, 'time')} a connection ended before the last ack, and the message continued on the next "
    return f" {left}connection of its client: it counts once, by how it ended there."


def _unended(told: Told) -> Section:
    rows, wording = told.details.unended, told.wording
    if not rows:
        return []
    columns = [("begin", TEXT), ("client", NAME), ("kind", TEXT), ("Packet Identifier", NUMBER), ("topic", NAME),
               ("last packet", TEXT), ("record", NUMBER), ("capture", NAME)]  # fmt: skip
    numbers = [
        [wording.time(row["time"]), wording.name(row["who"], NOBODY), row["kind"], str(row["packet_id"]),
         wording.name(row["topic"], NO_TOPIC), row["last_type"], number(row["frame"]), wording.text(row["capture"])]
        for row in rows
    ]  # fmt: skip
    count = sum(row["unfinished"] for row in told.summary.exchanges)
    which = "Unfinished, all of them" if count <= len(rows) else f"Unfinished, the first {len(rows)} of {number(count)}"
    # Where there is one capture, the head of the page names it.
    kept = len(columns) - (len(told.summary.made.sources) == 1)
    return ranked(which, columns[:kept], [row[:kept] for row in numbers])


def _refused(told: Told) -> Section:
    rows = told.details.refused
    if not rows:
        return [about("No packet has a Reason Code that refuses.")]
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


# findings


def _findings(told: Told) -> Section:
    faults = told.summary.faults
    if faults is None:
        return [about("Nothing was judged: --lint judges every packet.")]
    if not faults:
        return [about("Every packet was judged, and nothing was found.")]
    values = [
        {"row": each.statement or "no statement", "low": 0, "high": each.times, "hue": each.severity,
         "about": f"{each.statement or 'no statement'}: {counted(each.times, each.severity)}"}
        for each in faults[: 2 * NAMED]
    ]  # fmt: skip
    severities = dict.fromkeys(each.severity for each in faults[: 2 * NAMED])
    plot = bars("Findings by statement", values, [(f"{each}s", each) for each in severities])
    return [drawn(plot), *(_fault(told.wording, each, told.summary.made.sources) for each in faults)]


def _fault(wording: Wording, fault: Fault, sources: Sequence[str]) -> Markup:
    head = f"{counted(fault.times, 'time')}, {counted(fault.clients, 'client')}"
    content: Section = [tag("h3", tag("b", fault.severity), fault.statement or "no statement", tag("span", head))]
    if said := _said(fault.statement):
        content.append(tag("p", said))
    if example := fault.example:
        place = f"{wording.text(example.capture)}, record {number(example.frame or 0)}, {wording.time(example.time)}"
        content.append(tag("p", f"First: {wording.text(example.message)} ({place}).", class_="example"))
        line = decoding(example, fault.statement, sources)
        if by_connection(example, sources):
            why = (
                "The connection goes on from file to file, and mqttpub lint judges each file by itself; "
                "this shows the packets of the connection:"
            )
            content.append(tag("p", why, class_="example"))
        if "://" in example.capture:
            content.append(tag("p", "Once the capture is fetched into this folder:", class_="example"))
        content.append(tag("code", wording.text(line) if not line.isprintable() else line, class_="line"))
    return tag("article", *content, class_=f"fault {fault.severity}")


def _said(id: str) -> str:
    try:
        row = statement(id)
    except KeyError:
        return ""
    return f"{row.text} (section {row.section})"


SECTIONS: tuple[tuple[str, str, Callable[[Told], Section]], ...] = (
    ("overview", "Overview", _facts), ("traffic", "Traffic over time", _traffic), ("latency", "Ack latency", latency),
    ("links", "Quality of links", links), ("exchanges", "Exchanges by outcome", _exchanges),
    ("refused", "Refused by Reason Code", _refused), ("talkers", "Top talkers", talkers),
    ("bytes", "Overhead and aliases", overhead), ("findings", "Findings by statement", _findings),
)  # fmt: skip
"""The sections of the page in order: anchor, heading, and what makes it."""
