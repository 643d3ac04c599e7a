"""One line per packet."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from ...common.escape import escape, remark
from ...common.lru import WeightedLru
from ...common.times import Clock, Zero
from ...traffic.clients import display_name
from ...traffic.context import PacketInContext, TrafficItem, ends_of
from ...traffic.events import Closed, Endpoints, GapSeen, Remark
from ..packet.verdict import verdict, worst
from ..terminal.cells import Line, clip, measure, reach
from .facts import Fact, facts, fit, name_of

NARROWEST = 60
_WIDE = 100
_WIDEST_TYPE = 11
_NAMES = 4 << 20
"""Characters of Client Identifiers that are kept in memory."""


class TrafficLines:
    """What lines of packets and of exchanges have in common: their width, and the columns at their beginning.

    `width` is 60 or more, or None for lines that are never cut. Times are in seconds since the first line, or with
    `absolute` in UTC.
    """

    def __init__(self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None) -> None:
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


class SummaryLines(TrafficLines):
    """Makes the lines: time, client, direction, packet, its facts, the verdict.

    With a width of None only payloads are cut.
    """

    def __init__(self, *, width: int | None = 80, absolute: bool = False, zero: Zero | None = None) -> None:
        super().__init__(width=width, absolute=absolute, zero=zero)
        self._names: WeightedLru[int, str] = WeightedLru(_NAMES)

    def line(self, known: TrafficItem) -> Line:
        """Return the line of a packet, a gap, the end of a connection or a remark."""
        return self._packet(known) if isinstance(known, PacketInContext) else self._event(known)

    def _packet(self, known: PacketInContext) -> Line:
        event = known.event
        if known.client and self._names.get(event.ends.number) != known.client:
            self._names.put(event.ends.number, known.client, len(known.client) + 100)
        line = self.start(event.time, known.client, event.ends, mark(known))
        line.append((name_of(event.data).ljust(_WIDEST_TYPE), "type"))
        end: Line = []
        if known.findings is not None:
            bad = worst(known.findings)
            end = [(remark(verdict(bad)), bad.severity if bad else "dim")]
        return self._filled(line, facts(known), end)

    def _event(self, event: GapSeen | Closed | Remark) -> Line:
        word, text, style = event_words(event)
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
    events: Iterable[TrafficItem], file_of: Callable[[int], str], line: Callable[[TrafficItem], Line]
) -> Iterator[Line]:
    """Yield the lines of events; the name of a file precedes its first line."""
    for name, known in groupby(events, lambda each: file_of(ends_of(each).number)):
        yield [(f"{escape(name)}:", "heading")]
        yield from map(line, known)


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
