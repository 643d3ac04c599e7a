"""Events in the context of their connection: judged, with client and topic, and filtered."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..codec.tree import Finding
from ..common.times import Zero
from ..lint.judge import Judge
from ..traffic.closings import OpenConnections
from ..traffic.context import ContextTracker, PacketInContext, TrafficItem
from ..traffic.events import Closed, GapSeen, PacketSeen, Remark
from ..traffic.runs import PacketRun, RunOrEvent, RunOrItem

if TYPE_CHECKING:
    from ..traffic.query import PacketFilter


class JudgedTraffic:
    """Iterates over events once, and yields packets with their findings, client and topic.

    `picked` selects the packets and other events that are yielded. Without it, runs of packets among the events stay
    runs as far as they have no findings. Afterwards `errors` says whether one of what was yielded has an error, and
    `packets` how many packets there were.
    """

    def __init__(self, events: Iterable[RunOrEvent], picked: "PacketFilter | None" = None) -> None:
        self.judge = Judge()
        self.errors = False
        self.packets = 0
        self.zero = Zero()
        """The time of the first event, picked or not."""
        self._events = events
        self._picked = picked
        self._conversations = ContextTracker()
        self._open = OpenConnections()

    def __iter__(self) -> Iterator[RunOrItem]:
        """Yield packets in their context or in runs, and the other events as they are."""
        return self._judged(self._events)

    def _judged(self, events: Iterable[RunOrEvent]) -> Iterator[RunOrItem]:
        judge, known, picked = self.judge.packet, self._conversations.packet, self._picked
        for event in events:
            if isinstance(event, PacketRun):
                yield from self._run(event) if picked is None else self._judged(event.events())
                continue
            if self.zero.time_ns is None:
                self.zero.time_ns = event.time
            if not isinstance(event, PacketSeen):
                yield from self._other(event)
                continue
            packet, findings = judge(event)
            whole = known(event, packet, findings)
            if picked and not picked.matches(*whole):
                continue
            if findings and not self.errors:
                self.errors = is_bad(findings)
            self.packets += 1
            yield whole

    def _run(self, run: PacketRun) -> Iterator[RunOrItem]:
        """Yield a run in parts, and between them the packets that have to be judged one by one."""
        if self.zero.time_ns is None:
            times = run.columns.time_ns[run.start : run.stop]
            self.zero.time_ns = next((each for each in times if each is not None), None)
        for part, clean in self.judge.parts(run.of_client(self._conversations.name(run.ends))):
            if clean:
                self.packets += part.stop - part.start
                yield part
            else:
                yield from self._judged(part.events())

    def _other(self, event: GapSeen | Closed | Remark) -> Iterator[TrafficItem]:
        findings = self.judge.event(event)
        client = self._conversations.name(event.ends)
        ended = self._open.ended(event)
        for each in (event, *(_told(event, found) for found in findings)):
            if not self._picked or self._picked.matches(each, client=client):
                self.errors = self.errors or _is_error(each)
                yield each
        # After a reset, packets of the other end may still follow.
        if ended and isinstance(event, Closed) and event.how != "RST":
            self._conversations.end(event.ends)


def _told(event: GapSeen | Closed | Remark, found: Finding) -> Remark:
    """Return the remark that states a finding about the end of a connection, which belongs to no packet."""
    about = f"{found.statement}, {found.whose}" if found.at_fault else found.statement
    return Remark(event.ends, event.time, event.record, None, f"{found.severity}: {found.message} ({about})", found)


def _is_error(event: GapSeen | Closed | Remark) -> bool:
    if isinstance(event, Remark):
        return event.finding is not None and is_bad([event.finding])
    return isinstance(event, GapSeen) and event.malformed


def is_bad(findings: Iterable[Finding]) -> bool:
    """Whether one of the findings is an error."""
    return any(each.severity == "error" for each in findings)


def packets_of(events: Iterable[TrafficItem]) -> Iterator[PacketInContext]:
    """Yield the packets among events."""
    return (known for known in events if isinstance(known, PacketInContext))


def by_connection(events: Iterable[TrafficItem], most: int) -> Iterator[TrafficItem]:
    """Yield the events of each connection together, in the order in which the connections begin.

    Only the first `most` events are held and sorted; those after them keep their order.
    """
    held: dict[int, list[TrafficItem]] = {}
    rest = iter(events)
    for known in islice(rest, most):
        ends = known.event.ends if isinstance(known, PacketInContext) else known.ends
        held.setdefault(ends.number, []).append(known)
    for number in sorted(held):
        yield from held.pop(number)
    yield from rest
