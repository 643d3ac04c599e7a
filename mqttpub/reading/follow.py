"""Events in the context of their connection: judged, with client and topic, and filtered."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ..codec.tree import Finding
from ..common.times import Zero
from ..lint.judge import Judge
from ..traffic.closings import Closings
from ..traffic.context import ContextTracker, PacketInContext, TrafficItem
from ..traffic.events import Closed, GapSeen, PacketSeen, Remark
from ..traffic.runs import PacketRun, RunOrEvent, RunOrItem

if TYPE_CHECKING:
    from ..traffic.query import PacketFilter


class TrafficJudge:
    """Judges the events of any number of connections in order, and adds what is known of their connections.

    With `tally`, `rules` counts how often each statement was put to the test and violated.
    """

    def __init__(self, *, tally: bool = False) -> None:
        self.rules = Judge(tally=tally)
        self.conversations = ContextTracker()

    def packet(self, event: PacketSeen) -> PacketInContext:
        """Return a packet in the context of its connection, with its findings."""
        return self.conversations.packet(event, *self.rules.packet(event))

    def parts(self, run: PacketRun) -> Iterator[PacketRun | PacketInContext]:
        """Yield a run in parts without findings, and between them the packets that were judged one by one."""
        for part, clean in self.rules.parts(run.of_client(self.conversations.name(run.ends))):
            if clean:
                yield part
            else:
                yield from map(self.packet, part.events())


class JudgedTraffic:
    """Iterates over events once, and yields packets with their findings, client and topic.

    `picked` selects the packets and other events that are yielded. Without it, runs of packets among the events stay
    runs as far as they have no findings. Afterwards `errors` says whether one of what was yielded has an error, and
    `packets` how many packets there were.
    """

    def __init__(self, events: Iterable[RunOrEvent], picked: "PacketFilter | None" = None) -> None:
        self.errors = False
        self.packets = 0
        self.zero = Zero()
        """The time of the first event, picked or not."""
        self._events = events
        self._picked = picked
        self.judge = TrafficJudge()
        self._closings: Closings[int] = Closings()

    def __iter__(self) -> Iterator[RunOrItem]:
        """Yield packets in their context or in runs, and the other events as they are."""
        picked = self._picked
        for known in self._judged():
            if isinstance(known, PacketInContext):
                if picked and not picked.matches(*known):
                    continue
                self.errors = self.errors or bool(known.findings and is_bad(known.findings))
                self.packets += 1
            elif isinstance(known, PacketRun):
                self.packets += known.stop - known.start
            elif picked and not picked.matches(known, client=self.judge.conversations.name(known.ends)):
                continue
            else:
                self.errors = self.errors or _is_error(known)
            yield known

    def _judged(self) -> Iterator[RunOrItem]:
        judge, zero = self.judge, self.zero
        for event in self._events:
            if zero.time_ns is None:
                zero.time_ns = _first_time(event)
            if isinstance(event, PacketSeen):
                yield judge.packet(event)
            elif not isinstance(event, PacketRun):
                yield from self._other(event)
            elif self._picked is None:
                yield from judge.parts(event)
            else:
                yield from map(judge.packet, event.events())

    def _other(self, event: GapSeen | Closed | Remark) -> Iterator[TrafficItem]:
        findings = self.judge.rules.event(event)
        yield event
        yield from (_told(event, found) for found in findings)
        # After a reset, packets of the other end may still follow.
        if isinstance(event, Closed) and self._closings.over(event.ends.number, event) and event.how != "RST":
            self.judge.conversations.end(event.ends)


def _first_time(event: RunOrEvent) -> int | None:
    if not isinstance(event, PacketRun):
        return event.time
    return next((each for each in event.columns.time_ns[event.start : event.stop] if each is not None), None)


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
