"""All packets of a capture, each by itself and in the light of its conversation."""

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
from .gaps import wrong
from .packet.check import lint
from .packet.fast import is_clean

MOST_CONNECTIONS = 2048
"""Connections that are judged at the same time; the oldest makes room."""
MOST_TOPICS = 10_000
LONGEST_TOPIC = 256
"""Characters of topics that are remembered; there is no need to be quick with longer ones."""
NOTHING: Sequence[Finding] = ()
PUBLISH = Publish.code
ACKS = frozenset(kind.code << 4 | kind.fields["flags"].default for kind in (Puback, Pubrec, Pubrel, Pubcomp))
"""First bytes of acks that are right."""
PINGS = {Direction.CLIENT: b"\xc0\0", Direction.SERVER: b"\xd0\0", None: b""}


class Judge:
    """Reads and judges packets; one for all connections of a capture."""

    def __init__(self, *, tally: bool = False) -> None:
        self.exercised: Counter[str] = Counter()
        """With `tally`, how often conversations that ended put each statement to the test."""
        self.broken: Counter[str] = Counter()
        """With `tally`, how often each was broken, in those conversations and in packets by themselves."""
        self._tally = tally
        self._talks: dict[int, Conversation] = {}
        self._closings: Closings[int] = Closings()
        """Connections of which one end has closed."""
        self._over: dict[int, None] = {}
        """The latest connections that are over or had to make room; what comes late is not their beginning."""
        self._forgotten = 0
        """The highest number that was dropped from `_over`."""
        self._topics: dict[Version, set[str]] = {version: set() for version in Version}
        """Topic Names in which nothing is wrong."""
        self._acks: set[tuple[int, int, Direction | None, Version]] = set()
        """First byte and Reason Code, sender and version of acks in which nothing is wrong."""

    def packet(self, event: PacketSeen) -> tuple[Packet | None, Sequence[Finding]]:
        """Return the values of a packet, None where its bytes do not hold them, and what is wrong with it."""
        # Every packet of a capture passes here, so what is regular takes as few steps as can be.
        ends, time, _, data, _, direction, version, _ = event
        alone: Sequence[Finding] = NOTHING
        packet: Packet | None
        try:
            code = data[0] >> 4
            short = len(data) == data[1] + 2 < 0x82
            packet = reader(code, version)(data, data[0], 2, len(data)) if short else _odd(data, version)
            if code == PUBLISH:
                if not self._good_publish(packet, version, direction):
                    alone = self._full(event)[1]
            elif (data[0] not in ACKS or len(data) != 4 or not packet.packet_id) and data != PINGS[direction]:  # type: ignore[attr-defined]
                alone = self._other(event, packet)
        except (Irregular, IndexError):
            packet, alone = self._full(event)
        talk = self._talks.get(ends.number) or self._begin(event, packet)
        if direction is not None:
            together: Sequence[Finding] = talk.fast(data, packet, direction, time, version)
        else:
            together = talk.packet(decode(data, version), time)
        if alone and self._tally:
            self.broken.update(each.statement for each in alone)
        if alone and together:
            return packet, sorted([*alone, *together], key=lambda each: (each.span.start, each.span.stop, -each.mask))
        return packet, alone or together

    def event(self, event: Event) -> Sequence[Finding]:
        """Take what is no packet; return what was left undone by an end that closed."""
        number = event.ends.number
        talk = self._talks.get(number)
        if isinstance(event, GapSeen):
            if talk is None:
                talk = self._begin(event, None)
            talk.gap(event.direction, event.length)
        elif isinstance(event, Closed) and talk:
            found = talk.closed(event.direction, event.how, event.time)
            if self._closings.over(number, event):
                self._end(number)
            return found
        return NOTHING

    def version(self, number: int) -> Version:
        """Return the version of a connection by its number, 5.0 as long as nothing tells it."""
        talk = self._talks.get(number)
        return talk.version if talk else Version.V5

    def unread(self, event: GapSeen) -> Finding:
        """Return what is wrong with bytes that a peer sent and that are no packet."""
        found = wrong(event, self.version(event.ends.number))
        if found.statement and self._tally:
            self.broken[found.statement] += 1
        return found

    def finish(self) -> None:
        """Count in the conversations that are still open."""
        for number in list(self._talks):
            self._end(number)

    # one packet

    def _full(self, event: PacketSeen) -> tuple[Packet | None, list[Finding]]:
        decoded = decode(event.data, event.version, direction=event.direction)
        return decoded.packet, lint(decoded, event.direction)

    def _other(self, event: PacketSeen, packet: Any) -> Sequence[Finding]:
        """Judge what is neither PUBLISH nor as short as can be; of acks with a Reason Code each kind once."""
        data = event.data
        kind = None
        if len(data) == 5 and data[0] in ACKS and packet.packet_id:
            kind = data[0], data[4], event.direction, event.version
            if kind in self._acks:
                return NOTHING
        found = self._full(event)[1]
        if kind and not found:
            self._acks.add(kind)
        return found

    def _good_publish(self, packet: Any, version: Version, direction: Direction | None) -> bool:
        """Tell quickly that nothing is wrong with a PUBLISH; most have a topic that came before."""
        topics = self._topics[version]
        if packet.topic in topics and not packet.properties:
            qos = packet.qos
            return (not packet.dup) if not qos else bool(qos < 3 and packet.packet_id)
        if not is_clean(packet, version, direction):
            return False
        # Those that begin with $ are right from the server only.
        if packet.topic and packet.topic[0] != "$" and len(packet.topic) <= LONGEST_TOPIC:
            if len(topics) >= MOST_TOPICS:
                topics.clear()
            topics.add(packet.topic)
        return True

    # the conversation

    def _begin(self, event: PacketSeen | GapSeen, packet: Packet | None) -> Conversation:
        # What somebody wrote down is no stream, and its offsets tell nothing about the connection.
        number, begun, talks = event.ends.number, event.ends.begun, self._talks
        first = not (event.offset and event.record)
        new = number > self._forgotten and number not in self._over
        whole = first and (isinstance(packet, Connect) or (begun and new))
        talk = Conversation(event.version if isinstance(event, PacketSeen) else None, complete=whole)
        if len(talks) >= MOST_CONNECTIONS:
            self._end(next(iter(talks)))
        talks[number] = talk
        return talk

    def _end(self, number: int) -> None:
        self._closings.forget(number)
        self._over[number] = None
        if len(self._over) > MOST_CONNECTIONS:
            oldest = next(iter(self._over))
            del self._over[oldest]
            self._forgotten = max(self._forgotten, oldest)
        talk = self._talks.pop(number, None)
        if talk and self._tally:
            tally = talk.tally
            for total, counted in ((self.exercised, tally.exercised), (self.broken, tally.broken)):
                total.update(counted)


def _odd(data: bytes, version: Version) -> Packet:
    """Return the values of a packet whose Remaining Length has two bytes or more, or is wrong.

    Raises Irregular when it is wrong: somebody who writes bytes down may leave out the last of them.
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
