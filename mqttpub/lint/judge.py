"""Findings for all packets of a capture, each by itself and as part of its conversation."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..codec.decode import decode
from ..codec.fast_decode import Irregular, reader
from ..codec.tree import Finding
from ..spec.declare import Packet
from ..spec.packets import Connect, Puback, Pubcomp, Publish, Pubrec, Pubrel
from ..spec.versions import Direction, Version
from ..traffic.closings import Closings
from ..traffic.events import Closed, Event, GapSeen, PacketSeen
from .connection import Conversation
from .gaps import gap_finding
from .packet.check import lint
from .packet.fast import is_clean

MOST_CONNECTIONS = 2048
"""Most connections that are followed at the same time; a new one replaces the oldest."""
MOST_TOPICS = 10_000
LONGEST_TOPIC = 256
"""Characters of the longest topic that is remembered as clean; longer ones are checked each time."""
NO_FINDINGS: Sequence[Finding] = ()
PUBLISH = Publish.code
ACKS = frozenset(kind.code << 4 | kind.fields["flags"].default for kind in (Puback, Pubrec, Pubrel, Pubcomp))
"""First bytes of acks with the right flags."""
PINGS = {Direction.CLIENT: b"\xc0\0", Direction.SERVER: b"\xd0\0", None: b""}


class Judge:
    """Reads packets and returns their findings; one object for all connections of a capture.

    With `tally` it counts how often each statement was put to the test and violated.
    """

    def __init__(self, *, tally: bool = False) -> None:
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
        self._topics: dict[Version, set[str]] = {version: set() for version in Version}
        """Topic Names without findings."""
        self._acks: set[tuple[int, int, Direction | None, Version]] = set()
        """First byte, Reason Code, sender and version of acks without findings."""

    def packet(self, event: PacketSeen) -> tuple[Packet | None, Sequence[Finding]]:
        """Return the values of a packet (None if it could not be read) and its findings."""
        # Every packet of a capture passes here, so regular packets take as few steps as possible.
        ends, time, _, data, _, direction, version, _ = event
        alone: Sequence[Finding] = NO_FINDINGS
        packet: Packet | None
        try:
            code = data[0] >> 4
            short = len(data) == data[1] + 2 < 0x82
            packet = reader(code, version)(data, data[0], 2, len(data)) if short else _read_long(data, version)
            if code == PUBLISH:
                if not self._is_clean_publish(packet, version, direction):
                    alone = self._full(event)[1]
            elif (data[0] not in ACKS or len(data) != 4 or not packet.packet_id) and data != PINGS[direction]:  # type: ignore[attr-defined]
                alone = self._other(event, packet)
        except (Irregular, IndexError):
            packet, alone = self._full(event)
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

    # one packet

    def _full(self, event: PacketSeen) -> tuple[Packet | None, list[Finding]]:
        decoded = decode(event.data, event.version, direction=event.direction)
        return decoded.packet, lint(decoded, event.direction)

    def _other(self, event: PacketSeen, packet: Any) -> Sequence[Finding]:
        """Return the findings of a packet that is neither PUBLISH nor minimal; remembers clean acks by Reason Code."""
        data = event.data
        kind = None
        if len(data) == 5 and data[0] in ACKS and packet.packet_id:
            kind = data[0], data[4], event.direction, event.version
            if kind in self._acks:
                return NO_FINDINGS
        found = self._full(event)[1]
        if kind and not found:
            self._acks.add(kind)
        return found

    def _is_clean_publish(self, packet: Any, version: Version, direction: Direction | None) -> bool:
        """Whether a PUBLISH is certainly without findings; most have a topic that was seen before."""
        topics = self._topics[version]
        if packet.topic in topics and not packet.properties:
            qos = packet.qos
            return (not packet.dup) if not qos else bool(qos < 3 and packet.packet_id)
        if not is_clean(packet, version, direction):
            return False
        # A topic that begins with $ is clean only if it comes from the server.
        if packet.topic and packet.topic[0] != "$" and len(packet.topic) <= LONGEST_TOPIC:
            if len(topics) >= MOST_TOPICS:
                topics.clear()
            topics.add(packet.topic)
        return True

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


def _read_long(data: bytes, version: Version) -> Packet:
    """Return the values of a packet whose Remaining Length has two or more bytes, or is wrong.

    Raises Irregular if it is wrong, as in text whose last bytes were left out.
    """
    size, length = 2, data[1] & 0x7F
    while data[size - 1] > 0x7F:
        if size == 5:
            raise Irregular
        length |= (data[size] & 0x7F) << 7 * (size - 1)
        size += 1
    if not data[size - 1] or size + length != len(data):
        raise Irregular
    return reader(data[0] >> 4, version)(data, data[0], size, len(data))
