"""One line per packet."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import groupby, repeat
from typing import Any, NamedTuple, TypeVar

from ...common.escape import escape, remark
from ...common.lru import WeightedLru
from ...common.times import Clock, Zero
from ...spec.packets import Publish
from ...spec.versions import Direction
from ...traffic.clients import display_name
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Closed, Endpoints, GapSeen, Remark
from ...traffic.runs import PacketRun, RunOrItem, ends_of
from ..packet.verdict import verdict, worst
from ..terminal.cells import Line, Segment, cells, clip, measure, reach, text_of
from .facts import (
    LONGEST,
    LONGEST_REMEMBERED,
    SHORTEST,
    Fact,
    facts,
    fit,
    fitted_preview,
    least_cells,
    name_of,
    preview,
    shape_of,
)

NARROWEST = 60
_WIDE = 100
_WIDEST_TYPE = 11
HEAD = 4
"""Segments before the packet type."""
_NAMES = 4 << 20
"""Characters of Client Identifiers that are kept in memory."""
MOST_FORMS = 4096
"""Forms of lines that are remembered, and beginnings of lines."""


RowKey = tuple[int, str, int | None, int, int, int]
"""First byte, topic, Reason Code, digits of the Packet Identifier, bytes of the payload, number of the version."""
_AS_IT_IS = bytes(range(0x20, 0x7F)).replace(b"\\", b"")
"""Bytes of a payload that its preview has as they are."""

Drawn = TypeVar("Drawn", Line, str)
"""A line with styles, or its text."""
Shown = TypeVar("Shown", bound=RunOrItem)


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
        return self.clock.show(time_ns) + self.head(client, ends, sender)

    def head(self, client: str, ends: Endpoints, sender: Direction | None) -> str:
        """Return the text of client and direction."""
        head = self.heads.get((ends, client, sender))
        if head is None:
            head = text_of(self.start(None, client, ends, sender.mark if sender else "-")[1:])
            if len(client) <= LONGEST_REMEMBERED:
                self.remember(self.heads, (ends, client, sender), head)
        return head

    def remember(self, texts: dict[Any, Any], key: Hashable, text: Any) -> None:
        """Keep a text in `forms` or `heads`."""
        if len(texts) >= self.most_forms:
            texts.clear()
        texts[key] = text


class LineForm(NamedTuple):
    """The text that lines of one shape share, after time, client and direction, around the places that differ."""

    begin: str
    """Up to the digits of the Packet Identifier."""
    identified: bool
    """Whether these follow; they do not if the packet has none, or the line has no room for them."""
    middle: str
    """Up to the preview of the payload."""
    room: int | None
    """Cells for the preview, 0 without one; None if it is never cut."""
    end: str

    def fitted(self, shown: str) -> str:
        """Return a preview as it stands in the line."""
        if self.room is None:
            return shown
        shown = fitted_preview(shown, self.room) if self.room else ""
        return shown + " " * (self.room - cells(shown))


class RowForm(NamedTuple):
    """The same for a packet of a run, whose payload stands in the line byte for byte as far as it is shown."""

    begin: str
    middle: str
    """Up to the first byte of the payload."""
    kept: int
    """Bytes of the payload that are shown."""
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
        self.rows: dict[RowKey, RowForm] = {}
        """By what determines the form of a packet of a run."""
        self._crowded = False
        """Whether lines were so narrow that Packet Identifiers were left out."""
        self._names: WeightedLru[int, str] = WeightedLru(_NAMES)
        self._named: tuple[int, str] | None = None

    def line(self, known: TrafficItem) -> Line:
        """Return the line of a packet, a gap, the end of a connection or a remark."""
        return self._packet(known, facts(known)) if isinstance(known, PacketInContext) else self._event(known)

    def text(self, known: RunOrItem) -> str:
        """Return the text of `line`; of a run the texts of its packets, with line ends between them.

        Packets of one shape differ in a few places only, so the rest is made once: of 200,000 small packets, a line
        takes 4 us instead of 16, and in runs 0.6 us (tests/benchmarks/views.py).
        """
        if isinstance(known, PacketRun):
            return self._run(known)
        if not isinstance(known, PacketInContext):
            return text_of(self._event(known))
        event, time = known.event, self.clock.show(known.event.time)
        packet: Any = known.packet
        self._keep_name(event.ends.number, known.client)
        shown = preview(packet.payload) if isinstance(packet, Publish) and packet.payload else ""
        form = self._form(known, shown, remembered=len(time) <= self.clock.width)
        id = packet.packet_id if form.identified else ""
        begin = f"{time}{self.head(known.client, event.ends, event.direction)}{form.begin}"
        return f"{begin}{id}{form.middle}{form.fitted(shown)}{form.end}"

    def _run(self, run: PacketRun) -> str:
        columns, rows = run.columns, slice(run.start, run.stop)
        times = self.clock.shows(columns.time_ns[rows])
        if max(map(len, times)) > self.clock.width:
            return self._one_by_one(run)
        self._keep_name(run.ends.number, run.client)
        head = self.head(run.client, run.ends, run.direction)
        ids = [str(id) if id else "" for id in columns.packet_id[rows]]
        sizes = run.payload_sizes()
        payloads = run.payloads(sizes, LONGEST + 1)
        forms = self._row_forms(run, ids, sizes, payloads)
        if self._crowded:
            return self._one_by_one(run)
        texts = [payload.decode("latin-1") for payload in payloads] if any(sizes) else repeat("")
        made = zip(times, forms, ids, texts, strict=False)
        return "\n".join(
            [f"{time}{head}{begin}{id}{mid}{text[:kept]}{end}" for time, (begin, mid, kept, end), id, text in made]
        )

    def _one_by_one(self, run: PacketRun) -> str:
        return "\n".join(map(self.text, run.items()))

    def _row_forms(self, run: PacketRun, ids: list[str], sizes: list[int], payloads: list[bytes]) -> list[RowForm]:
        columns, rows, forms = run.columns, slice(run.start, run.stop), self.rows
        first, topics, reasons = columns.first[rows], columns.topic[rows], columns.reason[rows]
        digits, version = list(map(len, ids)), int(run.version)
        found = list(map(forms.get, zip(first, topics, reasons, digits, sizes, repeat(version))))
        if b"".join(payloads).translate(None, _AS_IT_IS):
            for at, payload in enumerate(payloads):
                if payload.translate(None, _AS_IT_IS):
                    found[at] = self._row_form(run.item(run.start + at), preview(payload))
        if not all(found):
            for at, key in enumerate(zip(first, topics, reasons, digits, sizes, repeat(version))):
                if found[at] is None:
                    found[at] = forms.get(key) or self._shared_form(run.item(run.start + at), key)
        return found  # type: ignore[return-value]  # those that were missing have been made

    def _shared_form(self, known: PacketInContext, key: RowKey) -> RowForm:
        """Return the form of packets whose previews have the bytes of the payload as they are, and remember it."""
        _, topic, _, _, size, _ = key
        form = self._row_form(known, preview(b"x" * min(size, LONGEST + 1)) if size else "", as_it_is=True)
        if len(topic) <= LONGEST_REMEMBERED:
            self.remember(self.rows, key, form)
        return form

    def _row_form(self, known: PacketInContext, shown: str, *, as_it_is: bool = False) -> RowForm:
        """Return the form of a packet with this preview; `as_it_is` leaves out its letters, which are all `x`."""
        form = self._form(known, shown)
        self._crowded = self._crowded or not (form.identified or getattr(known.packet, "packet_id", None) is None)
        fitted = form.fitted(shown)
        kept = fitted.count("x") if as_it_is else 0
        return RowForm(form.begin, form.middle + fitted[:1], kept, fitted[1 + kept :] + form.end)

    def _form(self, known: PacketInContext, shown: str, *, remembered: bool = True) -> LineForm:
        """Return the form of the line of a packet whose payload has this preview."""
        shape = shape_of(known, shown) if remembered and not known.findings else None
        key = shape, known.findings is None
        form = None if shape is None else self.forms.get(key)
        if form is None:
            given = facts(known)
            if least_cells(shown) == SHORTEST:
                # Text that is never narrower than its room stands for previews of any width.
                given[-1] = given[-1]._replace(text="x" * (self.width or 1))
            id = f"id {getattr(known.packet, 'packet_id', None)}", "id"
            form = self._form_of(self._packet(known, given), id, previewed=bool(shown))
            if shape is not None:
                self.remember(self.forms, key, form)
        return form

    def _form_of(self, line: Line, id: Segment, *, previewed: bool) -> LineForm:
        """Return the form of a line around the identifier and, if it is `previewed`, the payload."""
        styles = [style for _, style in line]
        previewed = previewed and "payload" in styles
        last = styles.index("payload") if previewed else len(line)
        room = (None if self.width is None else cells(line[last][0])) if previewed else 0
        identified = id in line
        at = line.index(id) if identified else HEAD - 1
        begin = text_of(line[HEAD:at]) + "id " * identified
        return LineForm(begin, identified, text_of(line[at + 1 : last]), room, text_of(line[last + 1 :]))

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
    events: Iterable[Shown], file_of: Callable[[int], str], draw: Callable[[Shown], Drawn],
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
