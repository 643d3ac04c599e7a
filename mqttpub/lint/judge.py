"""Findings for all packets of a capture, each by itself and as part of its conversation."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ..codec.decode import decode
from ..codec.tree import Finding
from ..spec.declare import Packet
from ..spec.packets import Connect
from ..spec.versions import Version
from ..traffic.closings import Closings
from ..traffic.events import Closed, Event, GapSeen, PacketSeen
from ..traffic.runs import PacketRun
from .connection import Conversation
from .gaps import gap_finding
from .packet.judge import NO_FINDINGS, PacketJudge

MOST_ALONE = 64
"""Packets of a run that are judged one by one at most before the rest is tried as a whole again."""
MOST_CONNECTIONS = 2048
"""Most connections that are followed at the same time; a new one replaces the oldest."""


class Judge(PacketJudge):
    """Reads packets and returns their findings; one object for all connections of a capture.

    With `tally` it counts how often each statement was put to the test and violated.
    """

    def __init__(self, *, tally: bool = False) -> None:
        super().__init__()
        self.exercised: Counter[str] = Counter()
        """How often conversations that have ended put each statement to the test."""
        self.broken: Counter[str] = Counter()
        """How often each was violated, in those conversations and in packets by themselves."""
        self._tally = tally
        self._conversations: dict[int, Conversation] = {}
        self._closings: Closings[int] = Closings()
        """Connections with one closed end."""
        self._ended: dict[int, None] = {}
        """The latest connections that ended or were dropped; a late packet of theirs is not the beginning."""
        self._forgotten = 0
        """The highest number that was dropped from `_ended`."""

    def packet(self, event: PacketSeen) -> tuple[Packet | None, Sequence[Finding]]:
        """Return the values of a packet (None if it could not be read) and its findings."""
        ends, time, _, data, _, direction, version, _ = event
        packet, alone = self.alone(data, version, direction)
        conversation = self._conversations.get(ends.number) or self._begin(event, packet)
        if direction is not None:
            together: Sequence[Finding] = conversation.fast(data, packet, direction, time, version)
        else:
            together = conversation.packet(decode(data, version), time)
        if alone and self._tally:
            self.broken.update(each.statement for each in alone)
        if alone and together:
            return packet, sorted([*alone, *together], key=lambda each: (each.span.start, each.span.stop, -each.mask))
        return packet, alone or together

    def parts(self, run: PacketRun) -> Iterator[tuple[PacketRun, bool]]:
        """Yield a run, whose packets have no findings by themselves, in parts: some without findings, the others not
        judged, with False; give their packets to `packet` before the next part is taken.
        """
        row, alone = run.start, 1
        while row < run.stop:
            conversation = self._conversations.get(run.ends.number)
            after = conversation.run(run, row) if conversation else row
            if after > row:
                yield run.between(row, after), True
                row, alone = after, 1
            if row < run.stop:
                # Each try costs as much as a few packets, so it waits longer each time that it fails.
                stop = min(row + alone, run.stop)
                yield run.between(row, stop), False
                row, alone = stop, min(2 * alone, MOST_ALONE)

    def event(self, event: Event) -> Sequence[Finding]:
        """Process an event that is not a packet; return findings for what a closing end left undone."""
        number = event.ends.number
        conversation = self._conversations.get(number)
        if isinstance(event, GapSeen):
            if conversation is None:
                conversation = self._begin(event, None)
            conversation.gap(event.direction, event.length)
        elif isinstance(event, Closed) and conversation:
            found = conversation.closed(event.direction, event.how, event.time)
            if self._closings.over(number, event):
                self._end(number)
            return found
        return NO_FINDINGS

    def version(self, number: int) -> Version:
        """Return the version of a connection by its number; 5.0 while it is unknown."""
        conversation = self._conversations.get(number)
        return conversation.version if conversation else Version.V5

    def unread(self, event: GapSeen) -> Finding:
        """Return the finding for bytes of a peer that are not a packet."""
        found = gap_finding(event, self.version(event.ends.number))
        if found.statement and self._tally:
            self.broken[found.statement] += 1
        return found

    def finish(self) -> None:
        """Add the conversations that are still open to the tally."""
        for number in list(self._conversations):
            self._end(number)

    def add(self, other: "Judge") -> None:
        """Add the tally of another judge, which has finished."""
        self.exercised.update(other.exercised)
        self.broken.update(other.broken)

    # the conversation

    def _begin(self, event: PacketSeen | GapSeen, packet: Packet | None) -> Conversation:
        # Packets from text are not a stream, so their offsets say nothing about the connection.
        number, begun, conversations = event.ends.number, event.ends.begun, self._conversations
        first = not (event.offset and event.record)
        new = number > self._forgotten and number not in self._ended
        whole = first and (isinstance(packet, Connect) or (begun and new))
        conversation = Conversation(event.version if isinstance(event, PacketSeen) else None, complete=whole)
        if len(conversations) >= MOST_CONNECTIONS:
            self._end(next(iter(conversations)))
        conversations[number] = conversation
        return conversation

    def _end(self, number: int) -> None:
        self._closings.forget(number)
        self._ended[number] = None
        if len(self._ended) > MOST_CONNECTIONS:
            oldest = next(iter(self._ended))
            del self._ended[oldest]
            self._forgotten = max(self._forgotten, oldest)
        conversation = self._conversations.pop(number, None)
        if conversation and self._tally:
            tally = conversation.tally
            for total, counted in ((self.exercised, tally.exercised), (self.broken, tally.broken)):
                total.update(counted)
