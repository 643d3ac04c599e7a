"""The sequence diagram as one SVG file, which follows the light or dark scheme of the reader."""

from collections.abc import Callable, Iterable, Iterator
from html import escape as entities

from ...common.times import Clock, Zero
from ...spec.versions import Direction
from ...traffic.context import TrafficItem
from ..terminal.cells import Line, clip, wrap
from ..traffic.facts import fit
from .steps import DiagramStep, finding_text, steps

MOST_STEPS = 2000
"""Steps that are drawn; the rest are only counted."""
WIDTH = 960
_ROW = 34
_LINE = 17
_CELL = 7.3
"""Width of a character in pixels, at most, in any of the monospaced fonts."""
_TIMES = 110
_CLIENT = 130
_SERVER = WIDTH - 30
_ROOM = int((_SERVER - _CLIENT - 24) / _CELL)

_LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "dim": "#59636e", "life": "#afb8c1", "mark": "#0969da", "topic": "#116329",
    "id": "#8250df", "error": "#cf222e", "warning": "#9a6700", "note": "#0550ae",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "dim": "#9198a1", "life": "#484f58", "mark": "#58a6ff", "topic": "#7ee787",
    "id": "#d2a8ff", "error": "#ff7b72", "warning": "#e3b341", "note": "#79c0ff",
}  # fmt: skip
_CLASSES = {
    "type": "type", "flag": "note", "length": "dim", "id": "id", "topic": "topic", "property": "id",
    "reason": "note", "number": "note", "text": "topic", "payload": "topic", "gap": "warning", "error": "error",
    "warning": "warning", "note": "note", "dim": "dim",
}  # fmt: skip
"""CSS classes by the style of the terminal."""


def ladder_svg(
    events: Iterable[TrafficItem],
    *,
    absolute: bool = False,
    squeeze: bool = True,
    limit: int = MOST_STEPS,
    zero: Zero | None = None,
) -> Iterator[str]:
    """Yield the lines of the file. The drawing of at most `limit` steps is held in memory."""
    drawing = _SvgDrawing(Clock(absolute=absolute, zero=zero))
    left = 0
    for number, step in enumerate(steps(events, squeeze=squeeze)):
        if number < limit:
            drawing.step(step)
        else:
            left += 1
    if left:
        drawing.rest(left)
    yield from drawing.file()


class _SvgDrawing:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.y = 0
        self.connection = 0
        self.tops: list[int] = []
        self.bottoms: list[int] = []
        """y of the begin and the end of each connection's lines."""
        self.parts: list[str] = []

    def step(self, step: DiagramStep) -> None:
        """Draw a step and its findings."""
        if step.ends.number != self.connection:
            self.head(step)
        self.y += _ROW
        self.parts.append(f"<g><title>{_xml(_whole(step))}</title>")
        if step.time_ns is not None:
            self.text(_TIMES, [(self.clock.text(step.time_ns), "dim")], "end")
        elif step.kind == "more":
            self.text(_TIMES, [("*", "dim")], "end")
        _DRAW[step.kind](self, step)
        self.y += 8 if step.findings else 0
        for finding in step.findings:
            for line in wrap([(finding_text(finding), finding.severity)], _ROOM - 2):
                self.y += _LINE
                self.text(_CLIENT + 24, line)
        if more := step.more_findings_text:
            self.y += _LINE
            self.text(_CLIENT + 24, [(more, "dim")])
        self.parts.append("</g>")

    def head(self, step: DiagramStep) -> None:
        """Begin the lines of another connection."""
        if self.tops:
            self.bottoms.append(self.y + 12)
        self.connection = step.ends.number
        self.y += 40
        half = _ROOM // 2
        self.text(12, [(f"connection {step.ends.number}", "dim")])
        self.text(_CLIENT, [(clip(step.client_name, half), "type")])
        self.text(_SERVER, [(clip(step.server_name, half), "type")], "end")
        self.y += 10
        self.tops.append(self.y)
        self.y -= 8

    def rest(self, left: int) -> None:
        """Say how many steps are not drawn."""
        self.y += _ROW
        self.middle([(f"... {left:,} more steps", "dim")])

    # pieces

    def text(self, x: float, line: Line, anchor: str = "start") -> None:
        """Write styled text."""
        spans = "".join(_span(text, style) for text, style in line)
        at = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text x="{x:g}" y="{self.y}"{at}>{spans}</text>')

    def middle(self, line: Line) -> None:
        self.text((_CLIENT + _SERVER) / 2, line, "middle")

    def arrow(self, step: DiagramStep) -> None:
        """Draw an arrow with the packet above it."""
        self.stroke(step, fit(step.words, _ROOM), step.arrow_style, "cross" if step.kind == "closed" else "head")

    def stroke(self, step: DiagramStep, line: Line, style: str, end: str) -> None:
        """Draw a line from the sender to the receiver, and what it carries above it."""
        to_client = step.direction is Direction.SERVER
        self.text(_SERVER - 12 if to_client else _CLIENT + 12, line, "end" if to_client else "start")
        start, stop = (_SERVER, _CLIENT) if to_client else (_CLIENT, _SERVER)
        marker = f' marker-end="url(#{end}-{style})"' if step.direction else ""
        y = self.y + 7
        self.parts.append(f'<line class="{style}" x1="{start}" y1="{y}" x2="{stop}" y2="{y}"{marker}/>')

    def closed(self, step: DiagramStep) -> None:
        if step.direction is not None:
            self.arrow(step)
            return
        self.middle(fit(step.words, _ROOM))

    def gap(self, step: DiagramStep) -> None:
        """Draw a dashed line with words above it."""
        self.middle(fit(step.gap_words, _ROOM))
        y = self.y + 7
        line = f'x1="{_CLIENT}" y1="{y}" x2="{_SERVER}" y2="{y}"'
        self.parts.append(f'<line class="{_CLASSES[step.style]} dashed" {line}/>')

    def words(self, step: DiagramStep) -> None:
        self.middle(fit(step.flexible_facts, _ROOM))

    # the file

    def file(self) -> Iterator[str]:
        """Yield the whole file."""
        height = self.y + 30
        self.bottoms.append(self.y + 16)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" role="img">'
        )
        yield "<title>MQTT sequence diagram</title>"
        yield f"<style>{_style()}</style>"
        yield f"<defs>{''.join(_markers())}</defs>"
        yield f'<rect class="paper" width="{WIDTH}" height="{height}"/>'
        for top, bottom in zip(self.tops, self.bottoms, strict=False):
            for x in (_CLIENT, _SERVER):
                yield f'<line class="life" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>'
        yield from self.parts
        yield "</svg>"


_DRAW: dict[str, Callable[[_SvgDrawing, DiagramStep], None]] = {
    "packet": _SvgDrawing.arrow,
    "closed": _SvgDrawing.closed,
    "gap": _SvgDrawing.gap,
    "remark": _SvgDrawing.words,
    "more": _SvgDrawing.words,
}


def _xml(text: str) -> str:
    """Return escaped text for XML; escaped text has no character that XML forbids."""
    return entities(text, quote=True)


def _span(text: str, style: str) -> str:
    kind = _CLASSES.get(style, "")
    return f'<tspan class="{kind}">{_xml(text)}</tspan>' if kind else _xml(text)


def _whole(step: DiagramStep) -> str:
    """Return the whole text of a step, for the tooltip of a browser."""
    return clip("  ".join([step.label, *(fact.text for fact in step.facts)]), 1000)


def _markers() -> Iterator[str]:
    for style in ("mark", "error"):
        box = 'viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" orient="auto"'
        yield f'<marker id="head-{style}" {box}><path class="fill-{style}" d="M0 0 10 5 0 10z"/></marker>'
        yield f'<marker id="cross-{style}" {box}><path class="{style}" d="M2 1 9 9M9 1 2 9"/></marker>'


def _style() -> str:
    fixed = (
        "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}"
        "line{stroke-width:1.2}path{fill:none;stroke-width:1.6}.type{font-weight:bold}.dashed{stroke-dasharray:5 4}"
    )
    return f"{fixed}{_colors(_LIGHT)}@media(prefers-color-scheme:dark){{{_colors(_DARK)}}}"


def _colors(scheme: dict[str, str]) -> str:
    rules = [f".paper{{fill:{scheme['paper']}}}text,.type{{fill:{scheme['ink']}}}.life{{stroke:{scheme['life']}}}"]
    for style in ("dim", "mark", "topic", "id", "error", "warning", "note"):
        color = scheme[style]
        rules.append(f"tspan.{style},.fill-{style}{{fill:{color}}}line.{style},path.{style}{{stroke:{color}}}")
    return "".join(rules)
