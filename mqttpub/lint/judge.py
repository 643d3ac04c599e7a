"""All packets of a capture, each by itself and in the light of its conversation."""

from collections import Counter
from collections.abc import Sequence

from ..codec.decode import decode
from ..codec.nodes import Finding
from ..codec.values import Irregular, reader
from ..conversation.events import Closed, Event, GapSeen, PacketSeen
from ..conversation.tables import Table
from ..spec.fields import Packet
from ..spec.packets import Connect, Publish
from ..spec.terms import Version
from .conversation import Conversation
from .packet import lint
from .quick import sound

MOST_CONNECTIONS = 65_536
"""Connections that are judged at the same time; the one that was quiet for longest makes room."""
MOST_TOPICS = 10_000
NOTHING: Sequence[Finding] = ()


class Judge:
    """Reads and judges packets; one for all connections of a capture."""

    def __init__(self) -> None:
        self.exercised: Counter[str] = Counter()
        """How often ended conversations put each statement to the test."""
        self.broken: Counter[str] = Counter()
        self._talks: Table[int, Conversation] = Table(MOST_CONNECTIONS)
        self._last: tuple[int, Conversation | None] = (-1, None)
        self._topics: set[str] = set()
        """Topic Names in which nothing is wrong."""

    def packet(self, event: PacketSeen) -> tuple[Packet | None, Sequence[Finding]]:
        """Return the values of a packet, None where its bytes do not hold them, and what is wrong with it."""
        data, version = event.data, event.version
        try:
            packet: Packet | None = _regular(data, version)
            alone = NOTHING if self._sound(packet, version) else self._full(event)[1]
        except (Irregular, IndexError):
            packet, alone = self._full(event)
        together = self._together(event, packet)
        if alone and together:
            return packet, sorted([*alone, *together], key=lambda each: (each.span.start, each.span.stop, -each.mask))
        return packet, alone or together

    def event(self, event: Event) -> Sequence[Finding]:
        """Take what is no packet; return what was left undone by an end that closed."""
        number = event.ends.number
        talk = self._talks.get(number)
        if isinstance(event, GapSeen):
            if talk is None:
                talk = self._begin(number, None, complete=False)
            talk.gap(event.direction, event.length)
        elif isinstance(event, Closed) and talk:
            found = talk.closed(event.direction, event.how, event.time)
            if event.direction is None or event.how == "RST":
                self._end(number)
            return found
        return NOTHING

    def finish(self) -> None:
        """Count in the conversations that are still open."""
        for number in self._talks:
            self._end(number)

    # one packet

    def _full(self, event: PacketSeen) -> tuple[Packet | None, list[Finding]]:
        decoded = decode(event.data, event.version, direction=event.direction)
        return decoded.packet, lint(decoded, event.direction)

    def _sound(self, packet: Packet | None, version: Version) -> bool:
        """Tell quickly that nothing is wrong with a packet; most are PUBLISH with a topic that came before."""
        if type(packet) is Publish and not packet.properties:
            if packet.topic in self._topics and packet.qos < 3:
                return not packet.dup if not packet.qos else packet.packet_id != 0
            if packet.topic and sound(packet, version):
                if len(self._topics) >= MOST_TOPICS:
                    self._topics.clear()
                self._topics.add(packet.topic)
                return True
            return False
        return packet is not None and sound(packet, version)

    # the conversation

    def _together(self, event: PacketSeen, packet: Packet | None) -> Sequence[Finding]:
        number = event.ends.number
        known, talk = self._last
        if known != number or talk is None:
            talk = self._talks.get(number)
            if talk is None:
                begins = isinstance(packet, Connect) and not event.offset
                talk = self._begin(number, event.version, complete=begins)
            self._last = (number, talk)
        if event.direction is None:
            return talk.packet(decode(event.data, event.version), event.time)
        return talk.fast(event.data, packet, event.direction, event.time, event.version)

    def _begin(self, number: int, version: Version | None, *, complete: bool) -> Conversation:
        talk = Conversation(version, complete=complete)
        self._talks.put(number, talk)
        return talk

    def _end(self, number: int) -> None:
        talk = self._talks.pop(number)
        self._last = (-1, None)
        if talk:
            tally = talk.tally
            for total, counted in ((self.exercised, tally.exercised), (self.broken, tally.broken)):
                total.update(counted)


def _regular(data: bytes, version: Version) -> Packet:
    """Return the values of a packet for which the decoder has no finding; raises Irregular and IndexError."""
    size = 2
    if data[1] > 0x7F:
        while data[size - 1] > 0x7F:
            size += 1
            if size > 5:
                raise Irregular
        if not data[size - 1]:
            raise Irregular
    return reader(data[0] >> 4, version)(data, data[0], size, len(data))
