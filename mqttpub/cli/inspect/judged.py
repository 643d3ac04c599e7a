"""Events judged: what is wrong in them as cases, and what they put to the test."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ...codec.decode import decode
from ...codec.tree import Finding
from ...lint.coverage import Coverage, Fared
from ...lint.judge import MOST_CONNECTIONS, Judge
from ...spec.versions import Version
from ...traffic.context import Conversations, KnownPacket
from ...traffic.events import Closed, Event, GapSeen, PacketSeen
from ...view.traffic.findings import Case, Source


class Cases:
    """Judges the events of any number of connections, in order."""

    def __init__(self) -> None:
        self.packets = 0
        self.connections = 0
        self._judge = Judge(tally=True)
        self._coverage = Coverage()
        self._conversations = Conversations()
        self._numbers: dict[int, int] = {}
        """Packets of each connection so far."""

    def packet(self, event: PacketSeen) -> KnownPacket:
        """Return a packet with what is known about it and what is wrong with it."""
        packet, findings = self._judge.packet(event)
        self._coverage.packet(event, packet)
        self._count(event)
        return self._conversations.packet(event, packet, findings)

    def case(self, known: KnownPacket, findings: Sequence[Finding], source: Source) -> Case:
        """Return the case of the packet that came last."""
        event, _, topic, client, _ = known
        decoded = decode(event.data, event.version, direction=event.direction, offset=event.offset)
        # The rules of a conversation take a packet from nobody for a gap, and do not count it.
        number = self._numbers[event.ends.number] if event.direction else 0
        name = topic.name if topic and topic.alias and topic.name else ""
        return Case(event, findings, event.version, decoded, number, client, name, source)

    def other(self, event: Event, source: Source) -> Case | None:
        """Take an event that is no packet; return what is wrong there, if anything is."""
        version, client = self._judge.version(event.ends.number), self._conversations.name(event.ends)
        found = self._judge.event(event)
        if isinstance(event, GapSeen) and event.malformed:
            decoded = decode(event.data, version, direction=event.direction, offset=event.offset)
            return Case(event, [self._judge.unread(event)], version, decoded, client=client, source=source)
        if isinstance(event, Closed) and found:
            return Case(event, found, version, client=client, source=source)
        return None

    def end(self) -> Iterator[tuple[Version, list[Fared]]]:
        """Yield how all statements fared that can be checked, for each version that was spoken."""
        judge = self._judge
        judge.finish()
        for version in self._coverage.versions:
            yield version, list(self._coverage.rows(version, judge.exercised, judge.broken))

    def _count(self, event: PacketSeen) -> None:
        self.packets += 1
        numbers, connection = self._numbers, event.ends.number
        if connection not in numbers:
            self.connections += 1
            if len(numbers) >= MOST_CONNECTIONS:
                for old in list(islice(numbers, MOST_CONNECTIONS // 2)):
                    del numbers[old]
            numbers[connection] = 0
        if event.direction:
            numbers[connection] += 1
