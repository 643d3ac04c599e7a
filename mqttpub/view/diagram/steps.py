"""The steps of a sequence diagram, with repeats collapsed; ladder, SVG and Mermaid draw them."""

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from ...codec.tree import Finding
from ...common.escape import escape, remark
from ...common.words import counted
from ...spec.packets import Pingreq, Pingresp, Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.versions import Direction
from ...traffic.clients import display_name
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Endpoints
from ..traffic.facts import Fact, facts, name_of
from ..traffic.summary import event_words

MOST_FINDINGS = 20
"""Findings of one packet that are shown; the others are counted."""
_PERIODS = (1, 2, 4)
"""Numbers of packets in a repeated exchange: QoS 0; QoS 1 or PINGREQ, with the answer; QoS 2."""
_COLLAPSIBLE = (Publish, Puback, Pubrec, Pubrel, Pubcomp, Pingreq, Pingresp)


class DiagramStep(NamedTuple):
    """One arrow, or one text between the lines of the two ends."""

    kind: str
    """`packet`, `gap`, `closed`, `remark`, or `more` for collapsed repeats."""
    ends: Endpoints
    client: str
    """Client Identifier or address, not escaped."""
    time_ns: int | None
    """Since 1970; None if unknown."""
    direction: Direction | None
    label: str
    """The packet type, or a word for the event."""
    facts: list[Fact]
    findings: tuple[Finding, ...] = ()
    more_findings: int = 0
    """Findings that are not among them."""
    style: str = "type"
    key: Hashable = None
    """Equal for steps that repeat one another; None for steps that are never collapsed."""
    size_bytes: int = 0

    @property
    def client_name(self) -> str:
        """The name of the client, escaped."""
        return escape(self.client)

    @property
    def server_name(self) -> str:
        """The address of the server, escaped; `server` if unknown."""
        return escape(self.ends.server) or "server"

    @property
    def arrow_style(self) -> str:
        """The style of an arrow: `error` for a packet that has a finding of that severity, otherwise `mark`."""
        return "error" if any(each.severity == "error" for each in self.findings) else "mark"

    @property
    def words(self) -> list[Fact]:
        """The label and the facts, for an arrow."""
        return [Fact(self.label, self.style), *self.facts]

    @property
    def gap_words(self) -> list[Fact]:
        """The facts of a gap, which may be shortened, and the end that sent the missing bytes."""
        sender = [Fact(f"({self.direction.value})", self.style)] if self.direction else []
        return [*self.flexible_facts, *sender]

    @property
    def flexible_facts(self) -> list[Fact]:
        """The facts, each of which may be shortened."""
        return [fact._replace(bends=True) for fact in self.facts]

    @property
    def more_findings_text(self) -> str:
        """How many findings are not shown; empty if all are."""
        return f"... {counted(self.more_findings, 'more finding')}" if self.more_findings else ""


def finding_text(finding: Finding) -> str:
    """Return severity, message and statement of a finding as one escaped line."""
    return remark(f"{finding.severity}  {finding.message}  {finding.statement}".rstrip())


def steps(events: Iterable[TrafficItem], *, squeeze: bool = True) -> Iterator[DiagramStep]:
    """Yield the steps of events; `squeeze` reduces long repeats to the first, a count, and the last."""
    squeezer = _RepeatCollapser()
    names: dict[int, str] = {}
    for known in events:
        step = _packet(known) if isinstance(known, PacketInContext) else _event(known, names)
        if step.kind == "packet":
            names = {step.ends.number: step.client}
        yield from squeezer.add(step) if squeeze else (step,)
    yield from squeezer.flush()


def _packet(known: PacketInContext) -> DiagramStep:
    event, found = known.event, known.findings or ()
    key = None
    if isinstance(known.packet, _COLLAPSIBLE) and not known.findings:
        reason = getattr(known.packet, "reason_code", None) or 0
        # Without DUP the lower bits of the first byte are QoS and RETAIN.
        key = event.ends.number, event.direction, event.data[0], reason
    return DiagramStep(
        "packet", event.ends, display_name(known.client, event.ends), event.time, event.direction, name_of(event.data),
        facts(known), tuple(found[:MOST_FINDINGS]), max(len(found) - MOST_FINDINGS, 0), key=key,
        size_bytes=len(event.data),
    )  # fmt: skip


def _event(event: TrafficItem, names: dict[int, str]) -> DiagramStep:
    assert not isinstance(event, PacketInContext)
    word, text, style = event_words(event)
    name = names.get(event.ends.number) or display_name("", event.ends)
    kind = {"GAP": "gap", "NOTE": "remark"}.get(word, "closed")
    return DiagramStep(kind, event.ends, name, event.time, event.direction, word, [Fact(text, style)], style=style)


class _RepeatCollapser:
    """Holds repeated steps until the repetition ends, then yields a count and the last period."""

    def __init__(self) -> None:
        self.keys: deque[Hashable] = deque(maxlen=2 * _PERIODS[-1])
        self.period = 0
        """Length of the repetition in progress; 0 outside one."""
        self.held: deque[DiagramStep] = deque()
        """The last period, at most."""
        self.early: list[DiagramStep] = []
        """The first hidden steps, which are shown if there are no more than two periods of them."""
        self.hidden: Counter[str] = Counter()
        """Hidden steps by label."""
        self.hidden_bytes = 0

    def add(self, step: DiagramStep) -> Iterator[DiagramStep]:
        """Add the next step and yield the steps that can be shown now."""
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
        """Whether a key equals that of the step one period earlier."""
        return key is not None and len(self.keys) >= period and self.keys[-period] == key

    def begun(self, key: Hashable) -> int:
        """Return the period of a repetition that was shown in full and continues with `key`; otherwise 0."""
        keys = [*self.keys]
        for period in _PERIODS:
            shown = keys[-2 * period :] if period > 1 else keys[-1:] * 2
            whole = len(shown) == 2 * period and None not in shown and shown[:period] == shown[period:]
            if whole and self.repeats(key, period):
                return period
        return 0

    def hold(self, step: DiagramStep) -> None:
        """Keep the steps of the last period, and count earlier ones as hidden."""
        self.held.append(step)
        if len(self.held) > self.period:
            gone = self.held.popleft()
            self.hidden[gone.label] += 1
            self.hidden_bytes += gone.size_bytes
            if len(self.early) < 2 * self.period:
                self.early.append(gone)

    def flush(self) -> Iterator[DiagramStep]:
        """End the repetition: yield the held steps after one step for all hidden ones."""
        if len(self.early) == self.hidden.total():
            yield from self.early
        else:
            yield self.more(self.early[0])
        yield from self.held
        self.period, self.hidden_bytes = 0, 0
        self.held.clear()
        self.early.clear()
        self.hidden.clear()

    def more(self, first: DiagramStep) -> DiagramStep:
        """Return the step that represents the hidden ones."""
        count, single = self.hidden.total(), len(self.hidden) == 1
        names = ", ".join(name if single else f"{each:,} {name}" for name, each in self.hidden.items())
        text = f"... {count:,} more {names}" if single else f"... {count:,} more: {names}"
        direction = first.direction if self.period == 1 else None
        facts = [Fact(text, "dim"), Fact(f"{self.hidden_bytes:,} B", "dim")]
        return DiagramStep("more", first.ends, first.client, None, direction, "*", facts, style="dim")
