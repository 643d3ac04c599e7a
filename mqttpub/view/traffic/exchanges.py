"""Each QoS exchange as a line: the request, its acknowledgements with their times, the outcome."""

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any

from ...common.escape import escape, json_text
from ...common.times import duration, iso
from ...spec.packets import PACKETS_BY_NAME
from ...traffic.handshakes import Exchange, HandshakePacket
from ...traffic.statistics import kind_of
from ..terminal.cells import Line, cells, measure, text_of, wrap
from .facts import (
    OUTCOMES,
    Fact,
    connection_record,
    fit,
    reason_fact,
    reason_name,
    topic_facts,
)
from .summary import HEAD, TrafficLines

_REQUESTS = ("PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE")


class ExchangeLines(TrafficLines):
    """Makes the lines: time, client, direction of the request, its main facts, its packets, its outcome.

    The time after a packet counts from the packet shown before it. With `width` (60 or more) a long exchange
    continues on indented lines; with None it is always one line.
    """

    forms: dict[Hashable, tuple[str, ...]]
    """The lines after the first columns, with places for values, by the shape of the exchange."""

    def texts(self, exchange: Exchange) -> Iterator[str]:
        """Yield the text of `lines`.

        Lines of one shape differ in values of equal width, so the rest is made once: of 200,000 small packets, an
        exchange takes a third of the time (tests/benchmarks/views.py).
        """
        values = _values(exchange)
        shape = _shape(exchange, values)
        forms = self.forms.get(shape)
        if forms is None:
            lines = list(self.lines(exchange))
            if shape is not None and (forms := _forms(lines, values)):
                self.remember(self.forms, shape, forms)
            yield from map(text_of, lines)
            return
        begin = self.begin(exchange.packets[0].time, exchange.client, exchange.ends, exchange.sender)
        if len(forms) == 1:
            yield begin + forms[0] % tuple(values)
        else:
            yield from (begin + "\n".join(forms) % tuple(values)).split("\n")

    def lines(self, exchange: Exchange) -> Iterator[Line]:
        """Yield the lines of an exchange."""
        mark = exchange.sender.mark if exchange.sender else "-"
        start = self.start(exchange.packets[0].time, exchange.client, exchange.ends, mark)
        parts = [*([(fact.text, fact.style)] for fact in _about(exchange)), *_packet_lines(exchange)]
        end = (exchange.outcome, OUTCOMES[exchange.outcome] or "dim")
        if self.width is None:
            yield [*start, *_joined(parts, self.gap), ("  ", ""), end]
            return
        indent = measure(start)
        rows = list(_rows(parts, self.width - indent, len(exchange.outcome) + 2, self.gap))
        rows[0] = [*rows[0], (" " * (self.width - indent - measure(rows[0]) - len(exchange.outcome)), ""), end]
        for number, row in enumerate(rows):
            yield [*([(" " * indent, "")] if number else start), *row]


def _values(exchange: Exchange) -> list[str]:
    """Return the texts in which exchanges of one shape differ, in the order of the line."""
    topic, values = exchange.topic, []
    if exchange.packet_id is not None:
        values.append(f"id {exchange.packet_id}")
    if topic is not None and topic.name is not None:
        values.append(escape(topic.name) or '""')
    if exchange.size_bytes is not None:
        values.append(f"{exchange.size_bytes} B")
    return values + _waits(exchange)


def _shape(exchange: Exchange, values: list[str]) -> Hashable:
    """Return what determines the lines of an exchange, apart from its values; None for rare lines."""
    packets, topic = exchange.packets, exchange.topic
    if exchange.filters or len(packets) > _MOST_ALIKE:
        return None
    seen = tuple([(each.name, each.reason, each.dup, each.time is None) for each in packets])
    about = exchange.qos, topic and (topic.name is None, *topic[1:]), exchange.packet_id is None, exchange.dups
    widths = tuple([len(text) if text.isascii() else cells(text) for text in values])
    return about, exchange.outcome, exchange.resumed, exchange.more, exchange.version, seen, widths


def _forms(lines: list[Line], values: list[str]) -> tuple[str, ...]:
    """Return lines after the first columns, with places for values; nothing if a value is not in one piece."""
    lines = [lines[0][HEAD:], *lines[1:]]
    if [text for line in lines for text, style in line if style in _OF_VALUES] != values:
        return ()
    return tuple(
        "".join(["%s" if style in _OF_VALUES else text.replace("%", "%%") for text, style in line]) for line in lines
    )


_OF_VALUES = frozenset(("id", "topic", "length", "number"))
_MOST_ALIKE = 8
"""Packets of an exchange whose lines are remembered; longer exchanges are rarely alike."""


def _joined(parts: list[Line], gap: int) -> Line:
    return [segment for part in parts for segment in ((" " * gap, ""), *part)][1:]


def _rows(parts: list[Line], width: int, reserved: int, gap: int) -> Iterator[Line]:
    """Yield rows of whole parts; the first leaves `reserved` cells free. A part longer than a row is wrapped."""
    row: Line = []
    room = width - reserved
    for part in parts:
        if row and measure(row) + gap + measure(part) > room:
            yield row
            row, room = [], width
        row = [*row, (" " * gap, ""), *part] if row else list(part)
        if measure(row) > room:
            *whole, row = wrap(row, width - reserved)
            yield from whole
            room = width - reserved
    yield row


def _about(exchange: Exchange) -> Iterator[Fact]:
    """Yield the facts of the request."""
    yield Fact(kind_of(exchange), "type")
    if exchange.packet_id is not None:
        yield Fact(f"id {exchange.packet_id}", "id")
    if exchange.topic is not None:
        yield from topic_facts(exchange.topic)
    for each in exchange.filters:
        yield Fact(escape(each) or '""', "topic")
    if exchange.size_bytes is not None:
        yield Fact(f"{exchange.size_bytes} B", "length")
    if exchange.resumed:
        yield Fact("resumed", "note")
    if exchange.dups > 1:
        yield Fact(f"{exchange.dups} times DUP", "warning")


def _packet_lines(exchange: Exchange) -> Iterator[Line]:
    """Yield the packets of the exchange; the first is omitted if it is the request, unless it is a re-delivery."""
    first, *later = exchange.packets
    waits = iter(_waits(exchange))
    if first.name not in _REQUESTS or first.dup:
        yield fit(_named(exchange, first), None, 1)
    before = first
    for number, packet in enumerate(later, 1):
        if exchange.more and number == len(later):
            yield [(f"... {exchange.more} more ...", "dim")]
        passed = [Fact(next(waits), "number")] if _has_wait(packet, before) else []
        yield fit([*_named(exchange, packet), *passed], None, 1)
        before = packet
    yield from ([(total, "number")] for total in waits)


def _waits(exchange: Exchange) -> list[str]:
    """Return the time after each packet that has one, counted from the packet before it, and of three or more all."""
    packets = exchange.packets
    if len(packets) == 1:
        return []
    found = []
    for before, packet in pairwise(packets):
        if _has_wait(packet, before):
            passed_ns = packet.time - before.time  # type: ignore[operator]
            found.append(f"+{duration(passed_ns)}" if passed_ns >= 0 else duration(passed_ns))
    if len(packets) > 2 and exchange.duration_ns is not None:
        found.append(f"in {duration(exchange.duration_ns)}")
    return found


def _has_wait(packet: HandshakePacket, before: HandshakePacket) -> bool:
    return packet.time is not None and before.time is not None


def _named(exchange: Exchange, packet: HandshakePacket) -> Iterator[Fact]:
    yield Fact(packet.name, "type")
    if packet.dup:
        yield Fact("DUP", "warning")
    if packet.reason:
        fact = reason_fact(PACKETS_BY_NAME[packet.name], packet.reason, exchange.version)
        yield fact if fact.style == "error" else fact._replace(text=fact.text[:4])


def exchange_record(exchange: Exchange) -> dict[str, Any]:
    """Return an exchange as a JSON object; names, kinds and latency are those of the table `exchanges`."""
    topic, last = exchange.topic, exchange.packets[-1]
    return {
        "begin": _time(exchange.packets[0].time),
        "end": _time(last.time),
        **connection_record(exchange.ends, exchange.client),
        "sender": exchange.sender.value if exchange.sender else None,
        "version": exchange.version.label,
        "kind": kind_of(exchange),
        "packet_id": exchange.packet_id,
        "qos": exchange.qos,
        "topic": json_text(topic.name) if topic and topic.name is not None else None,
        "alias": topic.alias if topic else None,
        "filters": [json_text(each) for each in exchange.filters],
        "payload_length": exchange.size_bytes,
        "outcome": exchange.outcome,
        "reason_code": exchange.reason,
        "reason": _reason(exchange, last),
        "dups": exchange.dups,
        "resumed": exchange.resumed,
        "latency_us": exchange.latency_us,
        "legs": [_packet_record(exchange, packet) for packet in exchange.packets],
        "legs_left_out": exchange.more,
    }


def _packet_record(exchange: Exchange, packet: HandshakePacket) -> dict[str, Any]:
    return {
        "type": packet.name,
        "time": _time(packet.time),
        "record": packet.record,
        "dup": packet.dup,
        "reason_code": packet.reason,
        "reason": _reason(exchange, packet),
    }


def _reason(exchange: Exchange, packet: HandshakePacket) -> str | None:
    return None if packet.reason is None else reason_name(PACKETS_BY_NAME[packet.name], packet.reason, exchange.version)


def _time(time: int | None) -> str | None:
    return None if time is None else iso(time)
