"""One line per packet."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby
from typing import Any, TypeVar

from ...common.escape import escape, remark
from ...common.lru import BoundedMemo, WeightedLru
from ...common.times import Clock, Zero
from ...spec.packets import Publish
from ...spec.versions import Direction, Version
from ...traffic.aliases import Topic
from ...traffic.clients import display_name
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Closed, Endpoints, GapSeen, Remark
from ...traffic.runs import PacketRun, RunOrItem, ends_of
from ..form.form import FILLER, ID, PAYLOAD, SIZE, SPARE, TOPIC, Form, Slot, opened
from ..packet.verdict import verdict, worst
from ..terminal.cells import Line, cells, clip, measure, reach, text_of
from .facts import (
    ACKS,
    LONGEST,
    LONGEST_REMEMBERED,
    PINGS,
    SHORTEST,
    Fact,
    facts,
    fit,
    fitted_preview,
    least_cells,
    name_of,
    preview,
)

NARROWEST = 60
_WIDE = 100
_WIDEST_TYPE = 11
HEAD = 4
"""Segments before the packet type."""
_NAMES = 4 << 20
"""Characters of Client Identifiers that are kept in memory."""
MOST_FORMS = 4096
"""Forms of lines that are remembered, beginnings of lines, and topics."""


_NO_TOPIC = Topic("")
_AS_THEY_ARE = {"id": ID, "length": SIZE}
"""Slots for facts that are never cut, by their styles."""

Drawn = TypeVar("Drawn", Line, str)
"""A line with styles, or its text."""
Shown = TypeVar("Shown", bound=RunOrItem)


class TrafficLines:
    """What lines of packets and of exchanges have in common: their width, and the columns at their beginning.

    `width` is 60 or more, or None for lines that are never cut. Times are in seconds since the first line, or with
    `absolute` in UTC. At most `most_forms` forms of lines are remembered, and as many of their beginnings and topics.
    """

    def __init__(
        self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None,
        most_forms: int = MOST_FORMS,
    ) -> None:  # fmt: skip
        self.most_forms = most_forms
        self.heads: BoundedMemo[tuple[Endpoints, str, Direction | None], str] = BoundedMemo(most_forms)
        """The text of client and direction."""
        self.clock = Clock(absolute=absolute, zero=zero)
        self.width = None if width is None else max(width, NARROWEST)
        self.client = 12 if width is None or width < _WIDE else 20
        """Cells for the name of the client."""
        self.gap = 1 if width is not None and width < _WIDE else 2
        """Spaces between facts."""

    def start(self, time_ns: int | None, client: str, ends: Endpoints, mark: str) -> Line:
        """Return the first columns: time, client, direction."""
        name = escape(display_name(client, ends))
        name = name if self.width is None else clip(name, self.client)
        return [
            (self.clock.show(time_ns), "offset"),
            (" ", ""),
            (name + " " * (self.client - reach(name, self.client)), "text" if client else "dim"),
            (f" {mark} ", "mark"),
        ]

    def head(self, client: str, ends: Endpoints, sender: Direction | None) -> str:
        """Return the text of client and direction."""
        head = self.heads.get((ends, client, sender))
        if head is None:
            head = text_of(self.start(None, client, ends, sender.mark if sender else "-")[1:])
            if len(client) <= LONGEST_REMEMBERED:
                self.heads.keep((ends, client, sender), head)
        return head


def stands_for_itself(name: str) -> bool:
    """Whether a Topic Name stands in lines as it is, each character in a cell of its own, and is not too long."""
    return name.isascii() and escape(name) is name and 0 < len(name) <= LONGEST_REMEMBERED


class SummaryLines(TrafficLines):
    """Makes the lines: time, client, direction, packet, its facts, the verdict.

    With a width of None only payloads are cut.
    """

    def __init__(
        self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None,
        most_forms: int = MOST_FORMS,
    ) -> None:  # fmt: skip
        super().__init__(width=width, absolute=absolute, zero=zero, most_forms=most_forms)
        self.forms: BoundedMemo[tuple[Hashable, bool], Form] = BoundedMemo(most_forms)
        """What lines have after their first columns, by the shape of the packet, and whether it was not judged."""
        self.topics: BoundedMemo[tuple[str, int | None], str] = BoundedMemo(most_forms)
        """Topics as they stand in lines, by the cells that they have."""
        self._names: WeightedLru[int, str] = WeightedLru(_NAMES)
        self._named: tuple[int, str] | None = None

    def line(self, known: TrafficItem) -> Line:
        """Return the line of a packet, a gap, the end of a connection or a remark."""
        return self._packet(known, facts(known)) if isinstance(known, PacketInContext) else self._event(known)

    def text(self, known: RunOrItem) -> str:
        """Return the text of `line`; of a run the texts of its packets, with line ends between them.

        Packets of one shape differ in a few places only, so the rest is made once: of 200,000 small packets, a line
        takes 4 us instead of 16 (tests/benchmarks/views.py).
        """
        if isinstance(known, PacketRun):
            return "\n".join(map(self.text, known.items()))
        if not isinstance(known, PacketInContext):
            return text_of(self._event(known))
        event, packet, client, findings = known.event, known.packet, known.client, known.findings
        time = self.clock.show(event.time)
        values: Any = packet
        id, topic, size, shown = getattr(values, "packet_id", None), _NO_TOPIC, 0, ""
        shape: Hashable = None
        if findings or len(time) > self.clock.width:
            pass
        elif isinstance(packet, Publish):
            topic, size = known.topic or Topic(packet.topic), len(packet.payload)
            shown = preview(packet.payload) if size else ""
            shape = self._message_shape(event.data[0], id, topic, size, shown)
        elif type(packet) in ACKS and not values.properties:
            shape = _ack_shape(event.data[0], id, values.reason_code, event.version)
        elif type(packet) in PINGS:
            shape = event.data[0]
        if shape is None:
            return text_of(self.line(known))
        self._keep_name(event.ends.number, client)
        key = shape, findings is None
        form = self.forms.get(key) or self._form(key, known, shown)
        head = self.head(client, event.ends, event.direction)
        return f"{time}{head}{form.filled(self._values(form, id, topic.name or '', size, shown))}"

    def begin(self, run: PacketRun) -> None:
        """Note a run whose lines follow."""
        self.clock.begin(run.columns.time_ns[run.start])
        self._keep_name(run.ends.number, run.client)

    def row_form(self, run: PacketRun, row: int, size: int) -> Form:
        """Return the form of packets like this one whose previews have the bytes of the payload as they are.

        `size` is that of the payload. Its slots are for the digits of the Packet Identifier, the Topic Name, and the
        payload, each as many characters as all packets of the form have there. Packets with other Topic Names of one
        length have the same form, if these stand for themselves.
        """
        name, digits = run.columns.topic[row], len(str(run.columns.packet_id[row]))
        stands = stands_for_itself(name)
        shown = preview(FILLER.encode() * min(size, LONGEST + 1)) if size else ""
        form = self._form_of_row(run, row, size, shown)
        values = self._values(form, FILLER * digits, FILLER * len(name) if stands else name, size, shown)
        open = {ID, PAYLOAD, TOPIC} if stands else {ID, PAYLOAD}
        return form.with_parts(
            opened(value, slot.kind) if slot.kind in open else [value]
            for value, slot in zip(values, form.slots, strict=True)
        )

    def row_text(self, run: PacketRun, row: int, size: int) -> str:
        """Return the text of a packet after the first columns."""
        columns, begin = run.columns, run.columns.payload_begin[row]
        shown = preview(columns.buffer[begin : begin + min(size, LONGEST + 1)]) if size else ""
        form = self._form_of_row(run, row, size, shown)
        return form.filled(self._values(form, columns.packet_id[row], columns.topic[row], size, shown))

    def _form_of_row(self, run: PacketRun, row: int, size: int, shown: str) -> Form:
        """Return the form of packets of the shape of this one, whose payload has this size and preview."""
        columns = run.columns
        first, packet_id = columns.first[row], columns.packet_id[row]
        if first >> 4 == Publish.code:
            shape = self._message_shape(first, packet_id or None, Topic(columns.topic[row]), size, shown)
        else:
            shape = _ack_shape(first, packet_id, columns.reason[row], run.version)
        return self.forms.get((shape, False)) or self._form((shape, False), run.item(row), shown)

    def _message_shape(self, first: int, id: int | None, topic: Topic, size: int, shown: str) -> Hashable:
        """Return what determines the line of a PUBLISH but for its values; `shown` is the preview of its payload."""
        name = topic if topic.name is None else self._reach(self._topic(topic.name, None))
        return first, 0 if id is None else len(str(id)), name, topic[1:], len(str(size)), least_cells(shown)

    def _reach(self, topic: str) -> int:
        """Return the cells of a topic, or the most that make a difference."""
        most = self.width or 1
        return min(reach(topic, most), most + 1)

    def _topic(self, name: str, room: int | None) -> str:
        """Return a topic in at most `room` cells."""
        text = self.topics.get((name, room))
        if text is None:
            text = escape(name) or '""'
            text = text if room is None else clip(text, room)
            if len(name) <= LONGEST_REMEMBERED:
                self.topics.keep((name, room), text)
        return text

    def _values(self, form: Form, id: object, topic: str, size: int, shown: str) -> list[str]:
        """Return what belongs into the slots of a form."""
        spare, values = 0, list[str]()
        for slot in form.slots:
            kind, room = slot.kind, slot.room
            if kind is ID:
                text = f"id {id}"
            elif kind is SIZE:
                text = f"{size} B"
            elif kind is SPARE:
                text = " " * spare
            else:
                text = self._topic(topic, room) if kind is TOPIC else fitted_preview(shown, room)
                spare += room - cells(text) if room else 0
            values.append(text)
        return values

    def _form(self, key: tuple[Hashable, bool], known: PacketInContext, shown: str) -> Form:
        """Return the form of the line of a packet whose payload has this preview, and remember it."""
        least = least_cells(shown)
        # Text as wide as can make a difference stands for the values of other packets.
        preview_cells = least if least < SHORTEST else self.width or 1
        given = facts(known)
        for at, fact in enumerate(given):
            slot: str = fact.text
            if fact.style == "topic":
                slot = Slot(FILLER * self._reach(fact.text), TOPIC)
            elif fact.style == "payload":
                slot = Slot(FILLER * preview_cells, PAYLOAD, None if self.width is None else preview_cells)
            elif fact.style in _AS_THEY_ARE:
                slot = Slot(fact.text, _AS_THEY_ARE[fact.style])
            given[at] = fact._replace(text=slot)
        line = self._packet(known, given)[HEAD:]
        line.insert(len(line) - (2 if known.findings is not None else 0), (Slot("", SPARE), ""))
        return self.forms.keep(key, Form.of(text for text, _ in line))

    def _keep_name(self, number: int, client: str) -> None:
        """Keep the name of the client for events that are not packets."""
        if client and self._named != (number, client):
            self._named = number, client
            if self._names.get(number) != client:
                self._names.put(number, client, len(client) + 100)

    def _packet(self, known: PacketInContext, given: list[Fact]) -> Line:
        event = known.event
        self._keep_name(event.ends.number, known.client)
        line = self.start(event.time, known.client, event.ends, mark(known))
        line.append((name_of(event.data).ljust(_WIDEST_TYPE), "type"))
        end: Line = []
        if known.findings is not None:
            bad = worst(known.findings)
            end = [(remark(verdict(bad)), bad.severity if bad else "dim")]
        return self._filled(line, given, end)

    def _event(self, event: GapSeen | Closed | Remark) -> Line:
        word, text, style = event_words(event)
        self._named = None
        line = self.start(event.time, self._names.get(event.ends.number) or "", event.ends, mark(event))
        line.append((word.ljust(_WIDEST_TYPE), style))
        return self._filled(line, [Fact(text, style, bends=True)], [])

    def _filled(self, line: Line, given: list[Fact], end: Line) -> Line:
        line.append((" ", ""))
        if self.width is None:
            return [*line, *fit(given, None, self.gap), *([("  ", ""), *end] if end else [])]
        end = [(clip(text, max(self.width - measure(line) - 2, 0)), style) for text, style in end]
        room = self.width - measure(line) - (measure(end) + 2 if end else 0)
        line += fit(given, max(room, 0), self.gap)
        if end:
            line += [(" " * (self.width - measure(line) - measure(end)), ""), *end]
        return line


def with_headings(
    events: Iterable[Shown], file_of: Callable[[int], str], draw: Callable[[Iterable[Shown]], Iterable[Drawn]],
    heading: Callable[[Line], Drawn],
) -> Iterator[Drawn]:  # fmt: skip
    """Yield what `draw` makes of events; before those of a file, what `heading` makes of its name."""
    for name, known in groupby(events, lambda each: file_of(ends_of(each).number)):
        yield heading([(f"{escape(name)}:", "heading")])
        yield from draw(known)


def _ack_shape(first: int, id: object, reason: int | None, version: Version) -> Hashable:
    """Return what determines the line of an acknowledgement but for its Packet Identifier."""
    return first, len(str(id)), reason, version


def mark(known: TrafficItem) -> str:
    """Return `>` for packets of the client, `<` for those of the server, `*` for remarks of the program."""
    if isinstance(known, Remark):
        return "*"
    direction = known.event.direction if isinstance(known, PacketInContext) else known.direction
    return direction.mark if direction else "*" if isinstance(known, Closed) else "-"


def event_words(event: GapSeen | Closed | Remark) -> tuple[str, str, str]:
    """Return a word for an event that is not a packet, its description, escaped, and its style."""
    if isinstance(event, GapSeen):
        return "GAP", remark(event.message), "error" if event.malformed else "warning"
    if isinstance(event, Remark):
        return "NOTE", remark(event.message), "note"
    return _CLOSED.get(event.how, (event.how, "closes the connection", "dim"))


_CLOSED = {
    "FIN": ("FIN", "closes the connection", "dim"),
    "RST": ("RST", "resets the connection", "warning"),
    "end": ("END", "the capture ends", "dim"),
}
