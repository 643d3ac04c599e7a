"""Events with their findings, and the statements of the specification that they tested."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..codec.decode import decode
from ..codec.tree import Decoded, Finding
from ..lint.coverage import Coverage, StatementResult
from ..lint.judge import MOST_CONNECTIONS
from ..spec.versions import Direction, Version
from ..traffic.context import PacketInContext
from ..traffic.events import Closed, Event, GapSeen, PacketSeen
from ..traffic.runs import PacketRun
from .follow import TrafficJudge
from .located import Location


class JudgedEvent(NamedTuple):
    """A packet, a gap or the end of a connection, with its findings."""

    event: PacketSeen | GapSeen | Closed
    findings: Sequence[Finding]
    version: Version
    decoded: Decoded | None = None
    """The bytes; None for the end of a connection."""
    number: int = 0
    """Of the packet, counted over both directions of its connection from 1; 0 where packets are not counted."""
    client: str = ""
    topic: str = ""
    """The topic of a PUBLISH that holds only a Topic Alias."""
    location: Location = Location()


class EventJudge(TrafficJudge):
    """Judges events as the views do, and counts what each statement came to."""

    def __init__(self) -> None:
        super().__init__(tally=True)
        self.packets = 0
        self.connections = 0
        self._coverage = Coverage()
        self._numbers: dict[int, int] = {}
        """The number of packets of each connection so far."""

    def packet(self, event: PacketSeen) -> PacketInContext:
        """Return a packet in the context of its connection, with its findings."""
        known = super().packet(event)
        self._coverage.packet(event, known.packet)
        self._count(event.ends.number, event.direction)
        return known

    def run(self, run: PacketRun) -> Iterator[PacketInContext]:
        """Judge a run of packets; yield those that were judged one by one, as `packet` returns them."""
        for known in self.parts(run):
            if isinstance(known, PacketRun):
                self._coverage.run(known)
                self._count(known.ends.number, known.direction, known.stop - known.start)
            else:
                yield known

    def judged(self, known: PacketInContext, findings: Sequence[Finding], location: Location) -> JudgedEvent:
        """Return the packet that `packet` returned last, with some of its findings."""
        event, _, topic, client, _ = known
        decoded = decode(event.data, event.version, direction=event.direction, offset=event.offset)
        # The rules of a conversation treat a packet without a sender as a gap, and do not count it.
        number = self._numbers[event.ends.number] if event.direction else 0
        name = topic.name if topic and topic.alias and topic.name else ""
        return JudgedEvent(event, findings, event.version, decoded, number, client, name, location)

    def other(self, event: Event, location: Location) -> JudgedEvent | None:
        """Judge an event that is not a packet; return it with its findings, None where it has none."""
        version, client = self.rules.version(event.ends.number), self.conversations.name(event.ends)
        found = self.rules.event(event)
        if isinstance(event, GapSeen) and event.malformed:
            decoded = decode(event.data, version, direction=event.direction, offset=event.offset)
            findings = [self.rules.unread(event)]
            return JudgedEvent(event, findings, version, decoded, client=client, location=location)
        if isinstance(event, Closed) and found:
            return JudgedEvent(event, found, version, client=client, location=location)
        return None

    def finish(self) -> None:
        """Add the conversations that are still open to the results, so that `add` of another judge takes them."""
        self.rules.finish()

    def add(self, other: "EventJudge") -> None:
        """Add the results of other connections, from a judge that has finished."""
        self.packets += other.packets
        self.connections += other.connections
        self.rules.add(other.rules)
        self._coverage.add(other._coverage)

    def end(self) -> Iterator[tuple[Version, list[StatementResult]]]:
        """Yield each version that was spoken with the result of every statement that can be checked."""
        judge = self.rules
        judge.finish()
        for version in self._coverage.versions:
            yield version, list(self._coverage.rows(version, judge.exercised, judge.broken))

    def _count(self, connection: int, direction: Direction | None, times: int = 1) -> None:
        self.packets += times
        numbers = self._numbers
        if connection not in numbers:
            self.connections += 1
            if len(numbers) >= MOST_CONNECTIONS:
                for old in list(islice(numbers, MOST_CONNECTIONS // 2)):
                    del numbers[old]
            numbers[connection] = 0
        if direction:
            numbers[connection] += times
