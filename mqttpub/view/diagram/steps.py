"""The steps of a sequence diagram, repeats squeezed: what ladder, SVG and Mermaid draw."""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ...codec.tree import Finding
from ...common.escape import escape
from ...common.words import counted
from ...spec.packets import Pingreq, Pingresp, Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.versions import Direction
from ...traffic.clients import called
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Endpoints
from ..traffic.facts import Fact, facts, name_of
from ..traffic.summary import told

MOST_FINDINGS = 20
"""Findings that are shown of one packet."""
_PERIODS = (1, 2, 4)
"""Lengths of what repeats: QoS 0; QoS 1 or PINGREQ, each with its answer; QoS 2."""
_SQUEEZED = (Publish, Puback, Pubrec, Pubrel, Pubcomp, Pingreq, Pingresp)


class Step(NamedTuple):
    """One arrow, or a word between the arrows."""

    kind: str
    """`packet`, `gap`, `closed`, `remark` or, for what was squeezed, `more`."""
    ends: Endpoints
    client: str
    """Client Identifier or address, not escaped."""
    time: int | None
    direction: Direction | None
    label: str
    """The packet, or the word for the event."""
    facts: list[Fact]
    findings: tuple[Finding, ...] = ()
    left: int = 0
    """Findings beyond those."""
    style: str = "type"
    key: Hashable = None
    """Equal for steps that repeat one another; None for those that are never squeezed."""
    size: int = 0
    """Bytes."""


def steps(events: Iterable[TrafficItem], *, squeeze: bool = True) -> Iterator[Step]:
    """Yield the steps of events; of long repeats the first, how many there were, and the last."""
    squeezer = _Squeezer()
    names: dict[int, str] = {}
    for known in events:
        step = _packet(known) if isinstance(known, PacketInContext) else _event(known, names)
        if step.kind == "packet":
            names = {step.ends.number: step.client}
        yield from squeezer.take(step) if squeeze else (step,)
    yield from squeezer.flush()


def _packet(known: PacketInContext) -> Step:
    event, found = known.event, known.findings or ()
    key = None
    if isinstance(known.packet, _SQUEEZED) and not known.findings:
        reason = getattr(known.packet, "reason_code", None) or 0
        # Without DUP the lower bits of the first byte are QoS and RETAIN.
        key = event.ends.number, event.direction, event.data[0], reason
    return Step(
        "packet", event.ends, called(known.client, event.ends), event.time, event.direction, name_of(event.data),
        facts(known), tuple(found[:MOST_FINDINGS]), max(len(found) - MOST_FINDINGS, 0), key=key, size=len(event.data),
    )  # fmt: skip


def _event(event: TrafficItem, names: dict[int, str]) -> Step:
    assert not isinstance(event, PacketInContext)
    word, text, style = told(event)
    name = names.get(event.ends.number) or called("", event.ends)
    kind = {"GAP": "gap", "NOTE": "remark"}.get(word, "closed")
    return Step(kind, event.ends, name, event.time, event.direction, word, [Fact(text, style)], style=style)


class _Squeezer:
    """Holds back what repeats: at least as much as it takes to show the last of it."""

    def __init__(self) -> None:
        self.keys: deque[Hashable] = deque(maxlen=2 * _PERIODS[-1])
        self.period = 0
        self.held: deque[Step] = deque()
        self.early: list[Step] = []
        self.hidden: Counter[str] = Counter()
        self.bytes = 0

    def take(self, step: Step) -> Iterator[Step]:
        """Take the next step and yield what is to be shown now."""
        if self.period and not self.repeats(step.key, self.period):
            yield from self.flush()
        if not self.period:
            self.period = self.begun(step.key)
        self.keys.append(step.key)
        if self.period:
            self.hold(step)
        else:
            yield step

    def repeats(self, key: Hashable, period: int) -> bool:
        """Whether a key is the one that the period demands."""
        return key is not None and len(self.keys) >= period and self.keys[-period] == key

    def begun(self, key: Hashable) -> int:
        """Return the period of a repetition that has been shown once in full and goes on; else 0."""
        keys = [*self.keys]
        for period in _PERIODS:
            shown = keys[-2 * period :] if period > 1 else keys[-1:] * 2
            whole = len(shown) == 2 * period and None not in shown and shown[:period] == shown[period:]
            if whole and self.repeats(key, period):
                return period
        return 0

    def hold(self, step: Step) -> None:
        """Keep the last period; count what goes before it."""
        self.held.append(step)
        if len(self.held) > self.period:
            gone = self.held.popleft()
            self.hidden[gone.label] += 1
            self.bytes += gone.size
            if len(self.early) < 2 * self.period:
                self.early.append(gone)

    def flush(self) -> Iterator[Step]:
        """Yield what is held back, with one step for all that stays hidden."""
        if len(self.early) == self.hidden.total():
            yield from self.early
        else:
            yield self.more(self.early[0])
        yield from self.held
        self.period, self.bytes = 0, 0
        self.held.clear()
        self.early.clear()
        self.hidden.clear()

    def more(self, first: Step) -> Step:
        """Return the step that stands for the hidden ones."""
        count, single = self.hidden.total(), len(self.hidden) == 1
        names = ", ".join(name if single else f"{each:,} {name}" for name, each in self.hidden.items())
        text = f"... {count:,} more {names}" if single else f"... {count:,} more: {names}"
        direction = first.direction if self.period == 1 else None
        told = [Fact(text, "dim"), Fact(f"{self.bytes:,} B", "dim")]
        return Step("more", first.ends, first.client, None, direction, "*", told, style="dim")


def left_out(step: Step) -> str:
    """Return how many findings are not shown, or nothing."""
    return f"... {counted(step.left, 'more finding')}" if step.left else ""


def name(step: Step) -> str:
    """Return what to call the client, escaped."""
    return escape(step.client)
