"""One line per packet."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from ...common.escape import escape, remark
from ...common.lru import WeightedLru
from ...common.times import Clock, Zero
from ...spec.packets import Publish
from ...spec.versions import Direction
from ...traffic.clients import display_name
from ...traffic.context import PacketInContext, TrafficItem, ends_of
from ...traffic.events import Closed, Endpoints, GapSeen, Remark
from ..packet.verdict import verdict, worst
from ..terminal.cells import Line, cells, clip, measure, reach, text_of
from .facts import LONGEST_REMEMBERED, Fact, facts, fit, fitted_preview, has_wide_preview, name_of, shape_of

NARROWEST = 60
_WIDE = 100
_WIDEST_TYPE = 11
HEAD = 4
"""Segments before the packet type."""
_NAMES = 4 << 20
"""Characters of Client Identifiers that are kept in memory."""
MOST_FORMS = 4096
"""Forms of lines that are remembered, and beginnings of lines."""


Drawn = TypeVar("Drawn", Line, str)
"""A line with styles, or its text."""


class TrafficLines:
    """What lines of packets and of exchanges have in common: their width, and the columns at their beginning.

    `width` is 60 or more, or None for lines that are never cut. Times are in seconds since the first line, or with
    `absolute` in UTC. At most `most_forms` forms of lines are remembered, and as many of their beginnings.
    """

    def __init__(
        self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None,
        most_forms: int = MOST_FORMS,
    ) -> None:  # fmt: skip
        self.most_forms = most_forms
        self.forms: dict[Hashable, Any] = {}
        self.heads: dict[tuple[Endpoints, str, Direction | None], str] = {}
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

    def begin(self, time_ns: int | None, client: str, ends: Endpoints, sender: Direction | None) -> str:
        """Return the text of `start` for what an end sent."""
        head = self.heads.get((ends, client, sender))
        if head is None:
            head = text_of(self.start(time_ns, client, ends, sender.mark if sender else "-")[1:])
            if len(client) <= LONGEST_REMEMBERED:
                self.remember(self.heads, (ends, client, sender), head)
        return self.clock.show(time_ns) + head

    def remember(self, texts: dict[Any, Any], key: Hashable, text: Any) -> None:
        """Keep a text in `forms` or `heads`."""
        if len(texts) >= self.most_forms:
            texts.clear()
        texts[key] = text


class LineForm(NamedTuple):
    """The text that lines of one shape share, after time, client and direction, around the places that differ."""

    begin: str
    """Up to the digits of the Packet Identifier, if there is one."""
    identified: bool
    """Whether the Packet Identifier follows."""
    middle: str
    room: int | None
    """Cells for the preview of the payload, which follows; None if it is never cut."""
    previewed: bool
    """Whether a preview follows."""
    end: str


class SummaryLines(TrafficLines):
    """Makes the lines: time, client, direction, packet, its facts, the verdict.

    With a width of None only payloads are cut.
    """

    forms: dict[Hashable, LineForm]
    """By the shape of the packet."""

    def __init__(
        self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None,
        most_forms: int = MOST_FORMS,
    ) -> None:  # fmt: skip
        super().__init__(width=width, absolute=absolute, zero=zero, most_forms=most_forms)
        self._names: WeightedLru[int, str] = WeightedLru(_NAMES)
        self._named: tuple[int, str] | None = None

    def line(self, known: TrafficItem) -> Line:
        """Return the line of a packet, a gap, the end of a connection or a remark."""
        return self._packet(known, facts(known)) if isinstance(known, PacketInContext) else self._event(known)

    def text(self, known: TrafficItem) -> str:
        """Return the text of `line`.

        Packets of one shape differ in a few places only, so the rest is made once: of 200,000 small packets, a line
        takes 4 us instead of 16 (tests/benchmarks/views.py).
        """
        if not isinstance(known, PacketInContext):
            return text_of(self._event(known))
        shape = None if known.findings else shape_of(known)
        if shape is None:
            return text_of(self.line(known))
        event, _, _, client, findings = known
        packet: Any = known.packet
        self._keep_name(event.ends.number, client)
        key = shape, findings is None
        form = self.forms.get(key) or self._form(key, known)
        text = self.begin(event.time, client, event.ends, event.direction) + form.begin
        if form.identified:
            text += f"{packet.packet_id}{form.middle}"
        if form.previewed:
            shown = fitted_preview(packet.payload, form.room)
            text += shown if form.room is None else shown + " " * (form.room - cells(shown))
        return text + form.end

    def _form(self, key: Hashable, known: PacketInContext) -> LineForm:
        """Return the form of the line of a packet, and remember it."""
        given, packet = facts(known), known.packet
        if isinstance(packet, Publish) and has_wide_preview(packet.payload):
            # Text that is never narrower than its room stands for previews of any width.
            given[-1] = given[-1]._replace(text="x" * (self.width or 1))
            form = self._form_of(self._packet(known, given), "payload")
        else:
            form = self._form_of(self._packet(known, given), None)
        self.remember(self.forms, key, form)
        return form

    def _form_of(self, line: Line, preview: str | None) -> LineForm:
        """Return the form of a line; the segment with the style `preview` is where previews are."""
        styles = [style for _, style in line]
        first, last = HEAD, styles.index(preview) if preview in styles else len(line)
        at = styles.index("id") if "id" in styles else last
        room = cells(line[last][0]) if self.width is not None and last < len(line) else None
        begin = text_of(line[first:at]) + "id " * (at < last)
        return LineForm(
            begin, at < last, text_of(line[at + 1 : last]), room, last < len(line), text_of(line[last + 1 :])
        )

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
    events: Iterable[TrafficItem], file_of: Callable[[int], str], draw: Callable[[TrafficItem], Drawn],
    heading: Callable[[Line], Drawn],
) -> Iterator[Drawn]:  # fmt: skip
    """Yield what `draw` makes of events; before the first of a file, what `heading` makes of its name."""
    for name, known in groupby(events, lambda each: file_of(ends_of(each).number)):
        yield heading([(f"{escape(name)}:", "heading")])
        yield from map(draw, known)


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
