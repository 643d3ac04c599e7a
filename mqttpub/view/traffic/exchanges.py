"""Each QoS exchange as a line: the request, its acknowledgements with their times, the outcome."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...common.escape import escape, json_text
from ...common.lru import BoundedMemo
from ...common.times import Zero, duration, iso
from ...spec.packets import PACKETS_BY_NAME
from ...traffic.handshakes import AnyExchange, Exchange, HandshakePacket, RunSource, UsualMessage
from ...traffic.statistics import kind_of
from ..form.form import Form, Slot
from ..packet.record_json import dumps
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

    def __init__(
        self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None,
        most_forms: int = MOST_FORMS,
    ) -> None:  # fmt: skip
        super().__init__(width=width, absolute=absolute, zero=zero, most_forms=most_forms)
        self.forms: BoundedMemo[Hashable, Form | None] = BoundedMemo(most_forms)
        """What the lines have after their first columns, by the shape of the exchange; None for an exchange that few
        others are like."""
        self.messages: BoundedMemo[Hashable, Form | None] = BoundedMemo(most_forms)
        """The same for usual messages, by the widths of values and by kinds of acks."""
        self.topics: BoundedMemo[str, tuple[str, int]] = BoundedMemo(most_forms)
        """Topics as they are shown, and their cells; 0 for a topic that may end a line with a space."""

    def texts(self, found: Iterable[AnyExchange]) -> Iterator[str]:
        """Yield the text of `lines` for each exchange, with line ends between them and no spaces before these.

        Lines of one shape differ in values of equal width, so the rest is made once: of 200,000 small packets, an
        exchange takes a fifth of the time, and a usual message a tenth (tests/benchmarks/views.py).
        """
        show, topics, forms = self.clock.show, self.topics, self.messages
        latest: RunSource | None = None
        # Packets of one segment have the same time, so many values are those of the message before.
        last_ns: int | None = None
        last_wait_ns: int | None = None
        head, time, wait = "", show(last_ns), ""
        for each in found:
            if not isinstance(each, UsualMessage):
                yield self._exchange(each)
                continue
            source, qos, packet_id, topic, size_bytes, time_ns, _, acks, _ = each
            name, width = topics.get(topic) or self._topic(topic)
            size = f"{size_bytes} B"
            values: tuple[str, ...] = name, size
            key: Hashable = width, len(size)
            if qos:
                id, ack_ns = f"id {packet_id}", acks[0][1] if len(acks) == 1 and acks[0][3] is None else None
                if time_ns is not None and ack_ns is not None:
                    # A PUBACK as most are, without lists for one thing: 1.8 us a message instead of 3.0 (process time).
                    if ack_ns - time_ns != last_wait_ns:
                        last_wait_ns = ack_ns - time_ns
                        wait = _wait(last_wait_ns)
                    values, key = (id, name, size, wait), (width, len(size), len(id), acks[0][0], len(wait))
                else:
                    waits = _waits([time_ns, *[ack[1] for ack in acks]], whole=True)
                    values = id, name, size, *waits
                    key = width, len(size), len(id), *_kinds(each), *map(len, waits)
            form = forms.get(key)
            if form is None or not width:
                yield self._first(key, each, width)
                continue
            if latest is not source:
                latest, head = source, self.head(source.client, source.ends, source.direction)
            if time_ns != last_ns:
                last_ns, time = time_ns, show(time_ns)
            yield f"{time}{head}{form.filled(values)}"

    def text(self, found: AnyExchange) -> str:
        """Return the text of one exchange."""
        return next(self.texts((found,)))

    def _exchange(self, exchange: Exchange) -> str:
        values, time = _values(exchange), self.clock.show(exchange.packets[0].time)
        # A time that is too long for its column leaves less room for the rest.
        form = self._form(exchange, values) if len(time) <= self.clock.width else None
        if form is None:
            return "\n".join([text_of(line).rstrip() for line in self.lines(exchange)])
        text = time + self.head(exchange.client, exchange.ends, exchange.sender) + form.filled(values)
        return "\n".join([line.rstrip() for line in text.split("\n")]) if " \n" in text or text[-1] == " " else text

    def _first(self, key: Hashable, message: UsualMessage, width: int) -> str:
        """Return the text of a message without a form, and remember the form for others if it can have one."""
        exchange = message.exchange()
        if width:
            self.messages.keep(key, self._form(exchange, _values(exchange)))
        return self._exchange(exchange)

    def _topic(self, topic: str) -> tuple[str, int]:
        """Return the entry of a topic, and remember it."""
        name = escape(topic) or '""'
        entry = name, 0 if name[-1] == " " else cells(name)
        if len(topic) <= LONGEST_REMEMBERED:
            self.topics.keep(topic, entry)
        return entry

    def _form(self, exchange: Exchange, values: list[str]) -> Form | None:
        """Return the form of an exchange; None for an exchange that few others are like."""
        shape = _shape(exchange, values)
        if shape in self.forms:
            return self.forms[shape]
        return self.forms.keep(shape, None if shape is None else _form_of(self.lines(exchange), values))

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


def _form_of(lines: Iterable[Line], values: list[str]) -> Form | None:
    """Return the form of lines after the first columns; None if a value is not in one piece."""
    parts: list[str] = []
    for line in lines:
        row = [Slot(text, style) if style in _OF_VALUES else text for text, style in line[0 if parts else HEAD :]]
        if not isinstance(row[-1], Slot):
            row[-1] = row[-1].rstrip()
        parts += [*row, "\n"]
    form = Form.of(parts[:-1])
    return form if [*form.slots] == values else None


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
    found, before_ns = [], times_ns[0]
    for time_ns in times_ns[1:]:
        if time_ns is not None and before_ns is not None:
            found.append(_wait(time_ns - before_ns))
        before_ns = time_ns
    if whole and len(times_ns) > 2 and before_ns is not None and times_ns[0] is not None:
        found.append(f"in {duration(before_ns - times_ns[0])}")
    return found


def _wait(passed_ns: int) -> str:
    return f"+{duration(passed_ns)}" if passed_ns >= 0 else duration(passed_ns)


def _named(exchange: Exchange, packet: HandshakePacket) -> Iterator[Fact]:
    yield Fact(packet.name, "type")
    if packet.dup:
        yield Fact("DUP", "warning")
    if packet.reason:
        fact = reason_fact(PACKETS_BY_NAME[packet.name], packet.reason, exchange.version)
        yield fact if fact.style == "error" else fact._replace(text=fact.text[:4])


def _kinds(message: UsualMessage) -> list[Any]:
    """Return what determines the texts of acks, apart from numbers."""
    version = message.source.version
    return [
        name if reason is None and time_ns is not None else (name, reason, int(version), time_ns is None)
        for name, time_ns, _, reason, _ in message.acks
    ]


class ExchangeRecords:
    """Writes exchanges as JSON; keeps the text that usual messages share, of at most `most_kept` kinds."""

    def __init__(self, most_kept: int = MOST_FORMS) -> None:
        self.most_kept = most_kept
        self.messages: BoundedMemo[Hashable, Form] = BoundedMemo(most_kept)
        """What records have from the member `kind` on, by QoS and kinds of acks."""
        self.topics: BoundedMemo[str, str] = BoundedMemo(most_kept)
        """Topics in JSON."""
        self._latest: tuple[RunSource | None, str] = None, ""
        """Where the latest usual message came from, and the members that say so."""

    def line(self, found: AnyExchange) -> str:
        """Return the record of an exchange, as `exchange_record` makes it."""
        if not isinstance(found, UsualMessage):
            return dumps(exchange_record(found))
        source, qos, packet_id, topic, size_bytes, time_ns, record, acks, _ = found
        key = qos, *_kinds(found)
        form = self.messages.get(key) or self._form(key, found)
        name = self.topics.get(topic) or self._name(topic)
        latest, about = self._latest
        if latest is not source:
            whole = exchange_record(found.exchange())
            about = dumps({name: whole[name] for name in _ABOUT})[1:-1]
            self._latest = source, about
        begin = end = _quoted(time_ns)
        last_ns, legs = time_ns, [begin, record]
        for _, last_ns, number, _, _ in acks:
            end = _quoted(last_ns)
            legs += end, number
        latency_us = "null" if last_ns is None or time_ns is None else last_ns // 1000 - time_ns // 1000
        values = packet_id or "null", name, size_bytes, latency_us, *legs
        return f'{{"begin":{begin},"end":{end},{about},{form.filled(map(str, values))}}}'

    def _form(self, key: Hashable, message: UsualMessage) -> Form:
        """Return the form of messages like this one, and remember it."""
        record = exchange_record(message.exchange())
        members = {name: value for name, value in record.items() if name not in (*_TIMES, *_ABOUT)}
        _, *parts, _ = _json_parts(members)
        return self.messages.keep(key, Form.of(parts))

    def _name(self, topic: str) -> str:
        text = dumps(json_text(topic))
        return self.topics.keep(topic, text) if len(topic) <= LONGEST_REMEMBERED else text


_TIMES = ("begin", "end")
_ABOUT = ("connection", "client", "address", "server", "sender", "version")
"""The members of a record that say where an exchange came from; those above precede them, the others follow."""


_PLACES = frozenset(("packet_id", "topic", "payload_length", "latency_us", "time", "record"))
"""The members in which usual messages of one kind differ, in the order in which they have them."""


def _json_parts(value: Any) -> Iterator[str]:
    """Yield a value as JSON, in parts, with slots for the members in which usual messages differ."""
    if isinstance(value, dict):
        yield "{"
        for number, (name, each) in enumerate(value.items()):
            yield f"{',' if number else ''}{dumps(name)}:"
            yield from (Slot("", name),) if name in _PLACES else _json_parts(each)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, each in enumerate(value):
            yield "," if number else ""
            yield from _json_parts(each)
        yield "]"
    else:
        yield dumps(value)


@lru_cache(256)
def _quoted(time_ns: int | None) -> str:
    return "null" if time_ns is None else f'"{iso(time_ns)}"'


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
