"""Each QoS exchange as a line: the request, its acknowledgements with their times, the outcome."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from ...common.escape import escape, json_text
from ...common.times import Zero, duration, iso
from ...spec.packets import PACKETS_BY_NAME
from ...traffic.handshakes import AnyExchange, Exchange, HandshakePacket, RunSource, UsualMessage
from ...traffic.statistics import kind_of
from ..terminal.cells import Line, cells, measure, text_of, wrap
from .facts import (
    LONGEST_REMEMBERED,
    OUTCOMES,
    Fact,
    connection_record,
    fit,
    reason_fact,
    reason_name,
    topic_facts,
)
from .summary import HEAD, MOST_FORMS, TrafficLines

_REQUESTS = ("PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE")


class ExchangeLines(TrafficLines):
    """Makes the lines: time, client, direction of the request, its main facts, its packets, its outcome.

    The time after a packet counts from the packet shown before it. With `width` (60 or more) a long exchange
    continues on indented lines; with None it is always one line.
    """

    forms: dict[Hashable, str]
    """The lines after the first columns, with places for values, by the shape of the exchange."""

    def __init__(
        self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None,
        most_forms: int = MOST_FORMS,
    ) -> None:  # fmt: skip
        super().__init__(width=width, absolute=absolute, zero=zero, most_forms=most_forms)
        self.messages: dict[Hashable, str] = {}
        """The same of usual messages, with topic and size in their places."""
        self._latest: tuple[RunSource | None, str] = None, ""
        """Where the latest usual message came from, and the text of it."""

    def texts(self, found: AnyExchange) -> Sequence[str]:
        """Return the texts of `lines`.

        Lines of one shape differ in values of equal width, so the rest is made once: of 200,000 small packets, an
        exchange takes a fifth of the time, and a usual message a tenth (tests/benchmarks/views.py).
        """
        if isinstance(found, UsualMessage):
            return self._message(found)
        values = _values(found)
        form = self._form(found, values)
        if not form:
            return [text_of(line) for line in self.lines(found)]
        text = self.begin(found.packets[0].time, found.client, found.ends, found.sender) + form % tuple(values)
        return text.split("\n") if "\n" in text else (text,)

    def _message(self, message: UsualMessage) -> Sequence[str]:
        source, qos, packet_id, topic, size_bytes, time_ns, _, acks, _ = message
        key: list[Any] = [topic, size_bytes]
        values, times_ns = [], [time_ns]
        if qos:
            values.append(f"id {packet_id}")
            for name, ack_ns, _, reason, _ in acks:
                key.append(name if reason is None else (name, reason, int(source.version)))
                times_ns.append(ack_ns)
            values += _waits(times_ns, whole=True)
            key += map(len, values)
        whole = tuple(key)
        form = self.messages.get(whole)
        if form is None or None in times_ns:
            exchange = message.exchange()
            if len(topic) <= LONGEST_REMEMBERED and None not in times_ns:
                self._keep_form(whole, exchange)
            return self.texts(exchange)
        latest, head = self._latest
        if latest is not source:
            head = self.head(source.client, source.ends, source.direction)
            self._latest = source, head
        text = f"{self.clock.show(time_ns)}{head}{form % tuple(values)}"
        return text.split("\n") if "\n" in text else (text,)

    def _form(self, exchange: Exchange, values: list[str]) -> str:
        """Return the form of an exchange; an empty one for an exchange that few others are like."""
        shape = _shape(exchange, values)
        form = self.forms.get(shape)
        if form is None:
            form = "" if shape is None else _form_of(list(self.lines(exchange)), values)
            self.remember(self.forms, shape, form)
        return form

    def _keep_form(self, key: Hashable, exchange: Exchange) -> None:
        """Remember the form of a usual message."""
        values = _values(exchange)
        if form := self._form(exchange, values):
            at = 1 if exchange.qos else 0
            texts = ["%s"] * len(values)
            texts[at : at + 2] = [text.replace("%", "%%") for text in values[at : at + 2]]
            self.remember(self.messages, key, form.replace("%%", "%%%%") % tuple(texts))

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
    return values + _waits_of(exchange)


def _shape(exchange: Exchange, values: list[str]) -> Hashable:
    """Return what determines the lines of an exchange, apart from its values; None for rare lines."""
    _, _, packet_id, qos, topic, filters, _, packets, _, _, outcome, _, resumed, _, version = exchange
    if filters or len(packets) > _MOST_ALIKE:
        return None
    # A number is hashed at once, a member of an Enum by a function of Python.
    about: list[Any] = [qos, outcome, resumed, int(version), packet_id is None]
    about += [None] if topic is None else [topic[0] is None, topic[1], topic[2], topic[3]]
    for name, time_ns, _, reason, dup in packets:
        usual = reason is None and not dup and time_ns is not None
        about.append(name if usual else (name, reason, dup, time_ns is None))
    about += [len(text) if text.isascii() else cells(text) for text in values]
    return tuple(about)


def _form_of(lines: list[Line], values: list[str]) -> str:
    """Return lines after the first columns, with places for values; nothing if a value is not in one piece."""
    lines = [lines[0][HEAD:], *lines[1:]]
    if [text for line in lines for text, style in line if style in _OF_VALUES] != values:
        return ""
    return "\n".join(
        ["".join(["%s" if style in _OF_VALUES else text.replace("%", "%%") for text, style in line]) for line in lines]
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
    waits = iter(_waits_of(exchange))
    if first.name not in _REQUESTS or first.dup:
        yield fit(_named(exchange, first), None, 1)
    before = first
    for number, packet in enumerate(later, 1):
        if exchange.more and number == len(later):
            yield [(f"... {exchange.more} more ...", "dim")]
        has_wait = packet.time is not None and before.time is not None
        passed = [Fact(next(waits), "number")] if has_wait else []
        yield fit([*_named(exchange, packet), *passed], None, 1)
        before = packet
    yield from ([(total, "number")] for total in waits)


def _waits_of(exchange: Exchange) -> list[str]:
    packets = exchange.packets
    return _waits([each.time for each in packets], whole=packets[0].name in _REQUESTS) if len(packets) > 1 else []


def _waits(times_ns: Sequence[int | None], *, whole: bool) -> list[str]:
    """Return the time after each packet that has one, counted from the packet before it.

    Of three or more packets with their request, which are a `whole` exchange, the time of all follows.
    """
    found, before_ns = [], None
    for time_ns in times_ns:
        if time_ns is not None and before_ns is not None:
            found.append(f"{'+' if time_ns >= before_ns else ''}{duration(time_ns - before_ns)}")
        before_ns = time_ns
    first_ns, last_ns = times_ns[0], times_ns[-1]
    if whole and len(times_ns) > 2 and first_ns is not None and last_ns is not None:
        found.append(f"in {duration(last_ns - first_ns)}")
    return found


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
