"""The sequence diagram of a connection in a terminal: the client at the left, the server at the right."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...common.escape import escape
from ...common.times import Clock, Zero
from ...spec.versions import Direction
from ...traffic.context import TrafficItem
from ..packet.marks import sentence
from ..terminal.cells import Line, cells, clip, measure
from ..traffic.facts import Fact, fit
from .steps import Step, left_out, name, steps

NARROWEST = 60


class Strokes(NamedTuple):
    """The characters of the drawing, each one cell wide."""

    life: str
    line: str
    right: str
    left: str
    gap: str
    cross: str


BOX = Strokes("│", "─", "▶", "◀", "┄", "×")
ASCII = Strokes("|", "-", ">", "<", "~", "x")


def ladder(
    events: Iterable[TrafficItem],
    *,
    width: int = 80,
    absolute: bool = False,
    ascii: bool = False,
    squeeze: bool = True,
    zero: Zero | None = None,
) -> Iterator[Line]:
    """Yield the lines of the diagram, none wider than `width` (60 or more).

    Where the events of several connections alternate, each change draws a new head. `ascii` does
    without box characters; `squeeze` shows of long repeats the first, their number and the last.
    """
    drawing = _Drawing(max(width, NARROWEST), Clock(absolute=absolute, zero=zero), ASCII if ascii else BOX)
    connection = 0
    for step in steps(events, squeeze=squeeze):
        if step.ends.number != connection:
            if connection:
                yield []
            yield from drawing.head(step)
            connection = step.ends.number
        yield from drawing.step(step)


class _Drawing:
    def __init__(self, width: int, clock: Clock, strokes: Strokes) -> None:
        self.clock = clock
        self.strokes = strokes
        self.left = clock.width + 3
        """Where the line of the client stands."""
        self.lane = width - self.left - 2
        """Cells between the two lines."""

    def head(self, step: Step) -> Iterator[Line]:
        """Yield the names above the lines."""
        title = f"connection {step.ends.number}"
        server = clip(escape(step.ends.server) or "server", self.lane // 2)
        room = self.left + self.lane + 2 - len(title) - 3
        client = clip(name(step), room - cells(server) - 2)
        before = max(self.left - cells(client) // 2 - len(title), 2)
        line: Line = [(title, "heading"), (" " * before, ""), (client, "text")]
        fill = self.left + self.lane + 2 - measure(line) - cells(server)
        yield [*line, (" " * max(fill, 1), ""), (server, "text")]

    def step(self, step: Step) -> Iterator[Line]:
        """Yield the lines of a step, its findings below it."""
        start = f"{'*'.rjust(self.clock.width) if step.kind == 'more' else self.clock.show(step.time)}  "
        between = _DRAW[step.kind](self, step)
        yield [(start, "offset"), *self.lives(between)]
        for finding in step.findings:
            for line in sentence(finding, self.lane - 4):
                red = [(text, finding.severity) for text, _ in line]
                yield [(" " * len(start), ""), *self.lives([("  ", ""), *red])]
        if more := left_out(step):
            yield [(" " * len(start), ""), *self.lives([("  ", ""), (more, "dim")])]

    def lives(self, between: Line) -> Line:
        """Return a line between the two lines of client and server."""
        fill = " " * (self.lane - measure(between))
        return [(f" {self.strokes.life}", "dim"), *between, (fill, ""), (self.strokes.life, "dim")]

    def packet(self, step: Step) -> Line:
        """Return an arrow with the packet on it."""
        word = Fact(step.label, "error" if any(each.severity == "error" for each in step.findings) else step.style)
        return self.arrow(step, [word, *step.facts], self.strokes.right, self.strokes.left)

    def closed(self, step: Step) -> Line:
        """Return an arrow that ends in a cross, or words for an end that nobody made."""
        if step.direction is None:
            return self.words(step, self.strokes.line)
        told = [Fact(step.label, step.style), *step.facts]
        return self.arrow(step, told, self.strokes.cross, self.strokes.cross)

    def arrow(self, step: Step, told: list[Fact], right: str, left: str) -> Line:
        """Return facts on an arrow towards the receiver; without a head when it is not known."""
        line, words = self.strokes.line, fit(told, self.lane - 6, 1)
        fill = line * (self.lane - measure(words) - 4)
        if step.direction is Direction.SERVER:
            return [(left + fill, "mark"), (" ", ""), *words, (" ", ""), (line, "mark")]
        return [
            (line, "mark"),
            (" ", ""),
            *words,
            (" ", ""),
            (fill, "mark"),
            (right if step.direction else line, "mark"),
        ]

    def words(self, step: Step, stroke: str) -> Line:
        """Return words in the middle."""
        words = fit(step.facts, self.lane - 8, 1)
        fill = self.lane - measure(words) - 2
        before = stroke * (fill // 2)
        return [(before, step.style), (" ", ""), *words, (" ", ""), (stroke * (fill - len(before)), step.style)]

    def gap(self, step: Step) -> Line:
        """Return what is missing, with the end that sent it."""
        told = [fact._replace(bends=True) for fact in step.facts]
        if step.direction:
            told.append(Fact(f"({step.direction.value})", step.style))
        return self.words(step._replace(facts=told), self.strokes.gap)

    def remark(self, step: Step) -> Line:
        """Return words of ours."""
        return [(" * ", "note"), *fit([fact._replace(bends=True) for fact in step.facts], self.lane - 4, 1)]

    def more(self, step: Step) -> Line:
        """Return how many packets are squeezed."""
        words = fit(step.facts, self.lane - 6, 1)
        if step.direction is Direction.SERVER:
            return [(" " * (self.lane - measure(words) - 2), ""), *words]
        return [("  ", ""), *words]


_DRAW: dict[str, Callable[[_Drawing, Step], Line]] = {
    "packet": _Drawing.packet,
    "closed": _Drawing.closed,
    "gap": _Drawing.gap,
    "remark": _Drawing.remark,
    "more": _Drawing.more,
}
