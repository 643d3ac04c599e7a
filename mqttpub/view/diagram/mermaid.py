"""The sequence diagram as Mermaid text."""

import re
from collections.abc import Iterable, Iterator

from ...common.times import Clock, Zero
from ...spec.versions import Direction
from ...traffic.context import TrafficItem
from ..terminal.cells import clip
from .steps import DiagramStep, finding_text, steps

MOST_CHARACTERS = 45_000
"""Characters of a diagram; Mermaid refuses more than 50,000."""
_LONGEST = 160
_PLAIN = frozenset(" _./+-=()*,@'")
_KEYWORD = re.compile(r"\b(e)(?=nd\b)", re.IGNORECASE)
_ARROWS = {"packet": "->>", "closed": "-x", "more": "-->>"}


def mermaid(
    events: Iterable[TrafficItem], *, absolute: bool = False, squeeze: bool = True, zero: Zero | None = None
) -> Iterator[str]:
    """Yield the lines of a `sequenceDiagram`; if it is too long for Mermaid, a last line counts the steps left out."""
    clock, seen, size, left = Clock(absolute=absolute, zero=zero), set[int](), 0, 0
    last: DiagramStep | None = None
    yield "sequenceDiagram"
    for step in steps(events, squeeze=squeeze):
        lines = [*_participants(step, seen), *_lines(step, clock)]
        size += sum(len(line) + 1 for line in lines)
        if size > MOST_CHARACTERS:
            left += 1
            continue
        last = step
        seen.add(step.ends.number)
        yield from lines
    if last and left:
        yield f"    Note over {_over(last)}: ... {left} more steps"


def text(shown: str) -> str:
    """Return escaped text for Mermaid, with codes such as `#59;` for characters that have a meaning there."""
    coded = "".join(each if each.isalnum() or each in _PLAIN else f"#{ord(each)};" for each in shown)
    return _KEYWORD.sub(lambda found: f"#{ord(found[1])};", coded)


def _participants(step: DiagramStep, seen: set[int]) -> Iterator[str]:
    number = step.ends.number
    if number not in seen:
        yield f"    participant C{number} as {text(clip(step.client_name, 40))}"
        yield f"    participant S{number} as {text(clip(step.server_name, 40))}"


def _over(step: DiagramStep) -> str:
    return f"C{step.ends.number},S{step.ends.number}"


def _lines(step: DiagramStep, clock: Clock) -> Iterator[str]:
    time = [clock.text(step.time_ns)] if step.time_ns is not None else []
    shown = text(clip(" ".join([*time, *_words(step)]), _LONGEST))
    arrow = _ARROWS.get(step.kind)
    if arrow and step.direction:
        ends = _over(step).split(",")
        sender, receiver = ends if step.direction is Direction.CLIENT else reversed(ends)
        yield f"    {sender}{arrow}{receiver}: {shown}"
    else:
        yield f"    Note over {_over(step)}: {shown}"
    for finding in step.findings:
        yield f"    Note over {_over(step)}: {text(clip(finding_text(finding), _LONGEST))}"
    if more := step.more_findings_text:
        yield f"    Note over {_over(step)}: {more}"


def _words(step: DiagramStep) -> list[str]:
    words = [fact.text for fact in step.facts]
    return words if step.kind == "more" else [step.label, *words]
