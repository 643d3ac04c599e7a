"""Where the bytes of PUBLISH packets go, and what Topic Aliases save of them."""

from ..spec.packets import Connack, Connect, Publish
from ..spec.properties import TOPIC_ALIAS_MAXIMUM, value_of
from ..spec.versions import Direction, Version
from .aliases import Topic
from .clients import called
from .events import Endpoints, PacketSeen

LONGEST_NAME = 256
"""Characters of a Client Identifier that are kept."""
MOST_TOPICS = 100_000
"""Topic Names without alias that are remembered, over all connections."""
ALIAS_SIZE = 3
"""Bytes of the property that an alias takes: its identifier and two bytes."""
SIDES = {None: 0, Direction.CLIENT: 1, Direction.SERVER: 2}


class ClientTotals:
    """What is counted of one connection or, added up, of one client."""

    __slots__ = (
        "bytes", "client", "closed", "connections", "dups", "ends", "limits", "number", "others", "packets",
        "publishes", "told", "topics",
    )  # fmt: skip

    def __init__(self, ends: Endpoints) -> None:
        self.number = ends.number
        self.ends = ends
        """Of the last connection."""
        self.client = ""
        """Client Identifier; empty when no packet told it; a very long one ends with how much is left out."""
        self.told = 0
        """Its hash, to see when it changes."""
        self.others = False
        """Whether this stands for all clients that there was no room for."""
        self.closed = False
        self.connections = 1
        self.packets = 0
        self.bytes = 0
        self.publishes = [0, 0, 0]
        """PUBLISH with QoS 1 and 2 from an end not known, from the client, from the server."""
        self.dups = [0, 0, 0]
        """Those of them that had DUP."""
        self.limits: list[int | None] = [None, None, None]
        """Topic Alias Maximum for what those ends send; None when CONNECT or CONNACK was not seen."""
        self.topics: tuple[dict[int, list[int]], ...] = ({}, {}, {})
        """By the hash of a Topic Name: what an alias would have saved by now, and whether it was allowed."""

    @property
    def name(self) -> str:
        """The Client Identifier, else the address."""
        return called(self.client, self.ends)

    def called(self, client: str) -> None:
        """Take the Client Identifier."""
        self.told, left = hash(client), len(client) - LONGEST_NAME
        self.client = f"{client[:LONGEST_NAME]}...+{left}" if left > 0 else client

    def dup_rate(self, direction: Direction) -> float | None:
        """Return the part of its PUBLISH packets of QoS 1 and 2 that are re-deliveries; None when there are none."""
        side = SIDES[direction]
        return self.dups[side] / self.publishes[side] if self.publishes[side] else None

    def offers(self, packet: Connect | Connack) -> None:
        """Note how many aliases the sender of a CONNECT or CONNACK accepts."""
        limit = value_of(packet.properties, TOPIC_ALIAS_MAXIMUM, 0)
        self.limits[SIDES[Direction.SERVER if isinstance(packet, Connect) else Direction.CLIENT]] = limit

    def add(self, other: "ClientTotals") -> None:
        """Add what was counted of another connection of the same client."""
        self.number, self.ends = other.number, other.ends
        self.connections += other.connections
        self.packets += other.packets
        self.bytes += other.bytes
        self.publishes = [sum(pair) for pair in zip(self.publishes, other.publishes, strict=True)]
        self.dups = [sum(pair) for pair in zip(self.dups, other.dups, strict=True)]

    def copy(self, *, others: bool = False) -> "ClientTotals":
        """Return the counts alone, as the beginning of a sum."""
        made = ClientTotals(self.ends)
        made.connections = 0
        made.client, made.others = self.client, others or self.others
        made.add(self)
        return made


class Traffic:
    """Bytes of PUBLISH packets by what they are, and Topic Aliases."""

    def __init__(self) -> None:
        self.payload = 0
        self.headers = 0
        """Fixed headers."""
        self.topics = 0
        """Topic Names with their lengths."""
        self.identifiers = 0
        """Packet Identifiers."""
        self.properties = 0
        """Properties with their lengths."""
        self.aliased = 0
        """PUBLISH packets with an alias instead of a Topic Name."""
        self.saved = 0
        """Bytes that aliases saved, less those that it took to send them; below zero when they cost more."""
        self.unresolved = 0
        """Those of them whose Topic Name was not captured; what they saved is not known."""
        self.savable = 0
        """Bytes that an alias would have saved where a Topic Name was sent again on a connection of MQTT 5.0."""
        self.allowed = 0
        """The part of it that Topic Alias Maximum allowed."""
        self.full = False
        """Whether there were more Topic Names than are remembered, so that the last two are too low."""
        self._remembered = 0

    def publish(
        self, event: PacketSeen, packet: Publish, topic: Topic | None, connection: ClientTotals, side: int
    ) -> None:
        """Count one PUBLISH."""
        data, name = event.data, packet.topic
        header = 2 if data[1] < 0x80 else 3 if data[2] < 0x80 else 4 if data[3] < 0x80 else 5
        text = (len(name) if name.isascii() else len(name.encode("utf-8", "surrogateescape"))) + 2
        payload = len(packet.payload)
        self.payload += payload
        self.headers += header
        self.topics += text
        own = header + text + payload
        if packet.qos:
            self.identifiers += 2
            own += 2
            connection.publishes[side] += 1
            connection.dups[side] += packet.dup
        self.properties += len(data) - own
        if event.version == Version.V5:
            self._alias(topic or Topic(name), text - 2, connection, side)

    def forget(self, connection: ClientTotals) -> None:
        """Forget the Topic Names of a connection."""
        for topics in connection.topics:
            self._remembered -= len(topics)
            topics.clear()

    def _alias(self, topic: Topic, length: int, connection: ClientTotals, side: int) -> None:
        if topic.alias is None:
            self._repeated(hash(topic.name), length, connection, side)
        elif topic.sets or topic.alias == 0:
            self.saved -= ALIAS_SIZE
        else:
            self.aliased += 1
            if topic.name is None:
                self.unresolved += 1
            else:
                self.saved += len(topic.name.encode("utf-8", "surrogateescape")) - ALIAS_SIZE

    def _repeated(self, key: int, length: int, connection: ClientTotals, side: int) -> None:
        topics = connection.topics[side]
        entry = topics.get(key)
        if entry is None:
            self._first(key, connection, side)
            return
        before = max(entry[0], 0)
        entry[0] += length - ALIAS_SIZE
        gained = max(entry[0], 0) - before
        self.savable += gained
        self.allowed += gained * entry[1]

    def _first(self, key: int, connection: ClientTotals, side: int) -> None:
        """Remember a Topic Name; the first packet with an alias costs the property."""
        if self._remembered >= MOST_TOPICS:
            self.full = True
            return
        self._remembered += 1
        topics, limit = connection.topics[side], connection.limits[side] or 0
        topics[key] = [-ALIAS_SIZE, int(len(topics) < limit)]
