"""Statistics on the screen and as a JSON record."""

from collections.abc import Iterator
from typing import Any

from ...common.escape import escape, json_text
from ...common.quantiles import Latencies
from ...common.times import SECOND_NS, duration, iso
from ...common.words import counted, number, share
from ...spec.packets import PACKETS_BY_NAME
from ...spec.versions import Direction
from ...traffic.statistics import PERCENTILES, Count, Statistics
from ...traffic.volume import ClientTotals
from ..terminal.cells import Line, Segment, wrap
from ..terminal.table import table
from .facts import OUTCOMES, reason_fact, reason_word

MOST_ROWS = 20
"""Clients listed on the screen; the others are counted."""
_ENDS = {Direction.CLIENT: "client", Direction.SERVER: "server", None: "not known"}
_BAD_RATE = 0.01
"""Shares of re-deliveries above this are marked."""


def screen(statistics: Statistics, *, width: int = 80) -> Iterator[Line]:
    """Yield the lines of the screen, none wider than `width` (60 or more); empty sections are left out."""
    begun = False
    for section in _SECTIONS:
        lines = list(section(statistics, width))
        if lines and begun:
            yield []
        begun = begun or bool(lines)
        for line in lines:
            yield from wrap(line, width)


def _heading(text: str) -> Line:
    return [(text, "heading")]


def _overview(statistics: Statistics, width: int) -> Iterator[Line]:
    total, clients = statistics.total(), statistics.clients()
    more = "+" if any(each.others for each in clients) else ""
    yield _heading("Capture")
    yield [
        (f"  {counted(statistics.connections, 'connection')}", ""),
        (f", {counted(len(clients), 'client')}{more}", ""),
        (f", {counted(total.packets, 'packet')}, {counted(total.bytes, 'byte')}", ""),
    ]
    if statistics.first is not None and statistics.last is not None:
        yield from _pace(statistics.first, statistics.last, total)
    for (direction, how), count in sorted(statistics.closes.items(), key=lambda entry: -entry[1]):
        by = f"closed by the {direction.value} ({how})" if direction else f"closed ({how})"
        yield [(f"  {counted(count, 'connection')} {'open to the end' if how == 'end' else by}", "")]
    if statistics.unreadable:
        yield [(f"  {counted(statistics.unreadable, 'unreadable packet')}", "error")]
    for malformed, what in ((False, "the capture lacks bytes"), (True, "the bytes are not a packet")):
        if count := statistics.gaps[malformed]:
            yield [(f"  {counted(count, 'gap')} where {what}", "error" if malformed else "warning")]
    if statistics.missing:
        yield [(f"  {counted(statistics.missing, 'byte')} in gaps", "warning")]


def _pace(first: int, last: int, total: Count) -> Iterator[Line]:
    spent = last - first
    yield [(f"  {iso(first)} to {iso(last)}", "offset")]
    if spent:
        rates = f"{total.packets * SECOND_NS / spent:,.1f} packets/s, {total.bytes * SECOND_NS / spent:,.0f} bytes/s"
        yield [(f"  {duration(spent)}, {rates}", "")]


# packets


def _packets(statistics: Statistics, width: int) -> Iterator[Line]:
    kinds = list(statistics.kinds())
    if not kinds:
        return
    yield _heading("Packets")
    names = list(dict.fromkeys((kind.type, kind.qos) for kind, _ in kinds))
    total = statistics.total()
    rows = [_counts(statistics, name, qos, total) for name, qos in names]
    rows.append([("all", "type"), *_by_end(statistics, {}), ("", "")])
    columns = ("", "from client", "bytes", "from server", "bytes", "of all bytes")
    yield from table(columns, rows, width=width)
    versions = sorted({kind.version for kind, _ in kinds})
    shares = (f"{version.label} {number(statistics.total(version=version).packets)}" for version in versions)
    yield [(f"  by version: {', '.join(shares)}", "")]
    if unknown := statistics.total(direction=None).packets:
        yield [(f"  {counted(unknown, 'packet')} of unknown direction", "warning")]


def _counts(statistics: Statistics, name: str, qos: int | None, total: Count) -> list[Segment]:
    label = name if qos is None else f"{name} QoS {qos}"
    all = statistics.total(type=name, qos=qos)
    return [(label, "type"), *_by_end(statistics, {"type": name, "qos": qos}), (share(all.bytes, total.bytes), "dim")]


def _by_end(statistics: Statistics, wanted: dict[str, Any]) -> Iterator[Segment]:
    for end in Direction:
        count = statistics.total(direction=end, **wanted)
        yield (number(count.packets) if count.packets else "-", "" if count.packets else "dim")
        yield (number(count.bytes) if count.bytes else "-", "length" if count.bytes else "dim")


# bytes


def _bytes(statistics: Statistics, width: int) -> Iterator[Line]:
    total = statistics.total().bytes
    if not total:
        return
    payload, overhead = statistics.traffic.payload, statistics.overhead
    yield _heading("Bytes")
    rows = [_portion("payload", payload, total), _portion("overhead", sum(overhead.values()), total)]
    rows += [_portion(f"  {name}", count, total) for name, count in overhead.items() if count]
    yield from table(("", "bytes", "of all"), rows, width=width)
    yield from _aliases(statistics)


def _portion(name: str, count: int, total: int) -> list[Segment]:
    return [(name, "dim" if name.startswith(" ") else ""), (number(count), "length"), (share(count, total), "dim")]


def _aliases(statistics: Statistics) -> Iterator[Line]:
    traffic = statistics.traffic
    if traffic.aliased or traffic.saved:
        kept = f"saved {number(traffic.saved)}" if traffic.saved >= 0 else f"cost {number(-traffic.saved)}"
        yield [(f"  Topic Aliases {kept} bytes; {number(traffic.aliased)} PUBLISH without a Topic Name", "property")]
    if traffic.unresolved:
        yield [(f"  {number(traffic.unresolved)} of them with an alias that was never set", "warning")]
    if traffic.savable:
        least = "at least " if traffic.full else ""
        within = f"{number(traffic.allowed)} within the Topic Alias Maximum"
        yield [(f"  aliases could save {least}{number(traffic.savable)} bytes more, {within}", "property")]


# exchanges


def _exchanges(statistics: Statistics, width: int) -> Iterator[Line]:
    if not statistics.outcomes:
        return
    yield _heading("Exchanges")
    kinds = sorted({kind for kind, _ in statistics.outcomes})
    outcomes = [each for each in OUTCOMES if any(found == each for _, found in statistics.outcomes)]
    rows = [[(kind, "type"), *(_outcome(statistics.outcomes[kind, each], each) for each in outcomes)] for kind in kinds]
    yield from table(("", *outcomes), rows, width=width)


def _outcome(count: int, outcome: str) -> Segment:
    return (number(count), OUTCOMES[outcome]) if count else ("-", "dim")


def _latencies(statistics: Statistics, width: int) -> Iterator[Line]:
    if not statistics.latencies:
        return
    yield _heading("Time from a request to its last ack")
    columns = ("", "asked by", "count", *(f"p{percent}" for percent in PERCENTILES), "max")
    found = sorted(statistics.latencies.items(), key=lambda entry: (entry[0][0], _ENDS[entry[0][1]]))
    rows = [[(kind, "type"), (_ENDS[end], ""), *_percentiles(each)] for (kind, end), each in found]
    yield from table(columns, rows, width=width, left=2)
    yield [("  percentiles are at most 2 % too high", "dim")]


def _percentiles(latencies: Latencies) -> Iterator[Segment]:
    yield number(latencies.count), ""
    for percent in PERCENTILES:
        yield duration(latencies.percentile(percent)), "number"
    yield duration(latencies.most), "number"


# clients and codes


def _clients(statistics: Statistics, width: int) -> Iterator[Line]:
    clients = statistics.clients()
    if not clients:
        return
    yield _heading("Clients")
    columns = ("", "address", "conn", "packets", "bytes", "sent", "DUP", "got", "DUP")
    rows = [_client(each) for each in clients[:MOST_ROWS]]
    yield from table(columns, rows, width=width, left=2)
    if len(clients) > MOST_ROWS:
        yield [(f"  ... {counted(len(clients) - MOST_ROWS, 'more client')}", "dim")]
    yield [("  sent, got: PUBLISH of QoS 1 and 2; DUP: the share that was re-delivered", "dim")]


def _client(each: ClientTotals) -> list[Segment]:
    name = "all others" if each.others else escape(each.client) or "?"
    address = "" if each.others else escape(each.ends.client)
    counts = (each.connections, each.packets, each.bytes)
    row: list[Segment] = [(name, "text"), (address, "dim"), *((number(count), "") for count in counts)]
    for side, end in enumerate(Direction, 1):
        rate = each.dup_rate(end)
        row.append((number(each.publishes[side]) if rate is not None else "-", "" if rate is not None else "dim"))
        row.append(("-", "dim") if rate is None else (f"{100 * rate:.1f} %", "warning" if rate > _BAD_RATE else ""))
    return row


def _reasons(statistics: Statistics, width: int) -> Iterator[Line]:
    if not statistics.reasons:
        return
    yield _heading("Reason Codes")
    rows = [
        [reason_fact(PACKETS_BY_NAME[name], code, version)[:2], (name, "type"), (version.label, "dim"),
         (number(count), "")]
        for (name, code, version), count in sorted(statistics.reasons.items(), key=lambda entry: -entry[1])
    ]  # fmt: skip
    yield from table(("", "", "MQTT", "count"), rows, width=width, left=3)


_SECTIONS = (_overview, _packets, _bytes, _exchanges, _latencies, _clients, _reasons)


# JSON


def record(statistics: Statistics) -> dict[str, Any]:
    """Return the statistics as a JSON object; times are ISO 8601 in UTC, durations whole microseconds.

    Percentiles of durations are at most 2 % too high; `max_us` is exact.
    """
    total, traffic = statistics.total(), statistics.traffic
    return {
        "begin": None if statistics.first is None else iso(statistics.first),
        "end": None if statistics.last is None else iso(statistics.last),
        "connections": statistics.connections,
        "packets": total.packets,
        "bytes": total.bytes,
        "unreadable": statistics.unreadable,
        "gaps": {"capture": statistics.gaps[False], "malformed": statistics.gaps[True], "bytes": statistics.missing},
        "closed": [
            {"by": end.value if end else None, "how": how, "connections": count}
            for (end, how), count in statistics.closes.items()
        ],
        "kinds": [
            {
                "type": kind.type, "qos": kind.qos, "version": kind.version.label,
                "direction": kind.direction.value if kind.direction else None, **count._asdict(),
            }
            for kind, count in statistics.kinds()
        ],
        "payload": traffic.payload,
        "overhead": statistics.overhead,
        "aliases": {
            "used": traffic.aliased, "saved": traffic.saved, "unresolved": traffic.unresolved,
            "savable": traffic.savable, "savable_within_maximum": traffic.allowed, "at_least": traffic.full,
        },
        "exchanges": [
            {"kind": kind, "outcome": outcome, "count": count}
            for (kind, outcome), count in sorted(statistics.outcomes.items())
        ],
        "latencies": [
            {
                "kind": kind, "sender": end.value if end else None, "count": each.count,
                **{f"p{percent}_us": int(each.percentile(percent) // 1000) for percent in PERCENTILES},
                "max_us": each.most // 1000,
            }
            for (kind, end), each in statistics.latencies.items()
        ],
        "clients": [_client_record(each) for each in statistics.clients()],
        "reasons": [
            {
                "type": name, "version": version.label, "code": code,
                "name": reason_word(PACKETS_BY_NAME[name], code, version), "count": count,
            }
            for (name, code, version), count in statistics.reasons.items()
        ],
    }  # fmt: skip


def _client_record(each: ClientTotals) -> dict[str, Any]:
    return {
        "client": None if each.others else json_text(each.client) or None,
        "others": each.others,
        "address": None if each.others else each.ends.client or None,
        "server": None if each.others else each.ends.server or None,
        "connections": each.connections,
        "packets": each.packets,
        "bytes": each.bytes,
        **{
            f"{end.value}_{name}": value
            for side, end in enumerate(Direction, 1)
            for name, value in (
                ("publishes", each.publishes[side]),
                ("dups", each.dups[side]),
                ("dup_rate", each.dup_rate(end)),
            )
        },
    }
