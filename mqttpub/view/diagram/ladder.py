"""The sequence diagram of a connection in a terminal: the client at the left, the server at the right."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...common.times import Clock, Zero
from ...spec.versions import Direction
from ...traffic.context import TrafficItem
from ..packet.marks import sentence
from ..terminal.cells import Line, cells, clip, measure
from ..traffic.facts import Fact, fit
from .steps import DiagramStep, steps

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

    Each change of the connection draws a new head. `ascii` uses no box characters; `squeeze` reduces long repeats
    to the first, a count, and the last.
    """
    drawing = _LadderDrawing(max(width, NARROWEST), Clock(absolute=absolute, zero=zero), ASCII if ascii else BOX)
    connection = 0
    for step in steps(events, squeeze=squeeze):
        if step.ends.number != connection:
            if connection:
                yield []
            yield from drawing.head(step)
            connection = step.ends.number
        yield from drawing.step(step)


class _LadderDrawing:
    def __init__(self, width: int, clock: Clock, strokes: Strokes) -> None:
        self.clock = clock
        self.strokes = strokes
        self.left = clock.width + 3
        """Column of the line of the client."""
        self.lane = width - self.left - 2
        """Cells between the two lines."""

    def head(self, step: DiagramStep) -> Iterator[Line]:
        """Yield the names above the lines."""
        title = f"connection {step.ends.number}"
        server = clip(step.server_name, self.lane // 2)
        room = self.left + self.lane + 2 - len(title) - 3
        client = clip(step.client_name, room - cells(server) - 2)
        before = max(self.left - cells(client) // 2 - len(title), 2)
        line: Line = [(title, "heading"), (" " * before, ""), (client, "text")]
        fill = self.left + self.lane + 2 - measure(line) - cells(server)
        yield [*line, (" " * max(fill, 1), ""), (server, "text")]

    def step(self, step: DiagramStep) -> Iterator[Line]:
        """Yield the lines of a step and of its findings."""
        start = f"{'*'.rjust(self.clock.width) if step.kind == 'more' else self.clock.show(step.time_ns)}  "
        between = _DRAW[step.kind](self, step)
        yield [(start, "offset"), *self.lives(between)]
        for finding in step.findings:
            for line in sentence(finding, self.lane - 4):
                red = [(text, finding.severity) for text, _ in line]
                yield [(" " * len(start), ""), *self.lives([("  ", ""), *red])]
        if more := step.more_findings_text:
            yield [(" " * len(start), ""), *self.lives([("  ", ""), (more, "dim")])]

    def lives(self, between: Line) -> Line:
        """Return a line of the screen: `between` the lines of client and server."""
        fill = " " * (self.lane - measure(between))
        return [(f" {self.strokes.life}", "dim"), *between, (fill, ""), (self.strokes.life, "dim")]

    def packet(self, step: DiagramStep) -> Line:
        """Return an arrow with the packet on it."""
        style = "error" if step.arrow_style == "error" else step.style
        return self.arrow(step, [Fact(step.label, style), *step.facts], self.strokes.right, self.strokes.left)

    def closed(self, step: DiagramStep) -> Line:
        """Return an arrow that ends in a cross, or words if neither end closed the connection."""
        if step.direction is None:
            return self.words(step, self.strokes.line)
        return self.arrow(step, step.words, self.strokes.cross, self.strokes.cross)

    def arrow(self, step: DiagramStep, facts: list[Fact], right: str, left: str) -> Line:
        """Return facts on an arrow to the receiver; without a head if the receiver is unknown."""
        line, words = self.strokes.line, fit(facts, self.lane - 6, 1)
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

    def words(self, step: DiagramStep, stroke: str) -> Line:
        """Return the facts in the middle of a line of strokes."""
        words = fit(step.facts, self.lane - 8, 1)
        fill = self.lane - measure(words) - 2
        before = stroke * (fill // 2)
        return [(before, step.style), (" ", ""), *words, (" ", ""), (stroke * (fill - len(before)), step.style)]

    def gap(self, step: DiagramStep) -> Line:
        """Return how many bytes are missing, and which end sent them."""
        return self.words(step._replace(facts=step.gap_words), self.strokes.gap)

    def remark(self, step: DiagramStep) -> Line:
        """Return a remark of the program."""
        return [(" * ", "note"), *fit(step.flexible_facts, self.lane - 4, 1)]

    def more(self, step: DiagramStep) -> Line:
        """Return the count of collapsed packets."""
        words = fit(step.facts, self.lane - 6, 1)
        if step.direction is Direction.SERVER:
            return [(" " * (self.lane - measure(words) - 2), ""), *words]
        return [("  ", ""), *words]


_DRAW: dict[str, Callable[[_LadderDrawing, DiagramStep], Line]] = {
    "packet": _LadderDrawing.packet,
    "closed": _LadderDrawing.closed,
    "gap": _LadderDrawing.gap,
    "remark": _LadderDrawing.remark,
    "more": _LadderDrawing.more,
}
