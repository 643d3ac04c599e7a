"""What the bytes of PUBLISH packets are, and how many Topic Aliases save."""

from collections import Counter
from itertools import compress
from typing import Any

from ..spec.packets import Connack, Connect, Publish
from ..spec.properties import TOPIC_ALIAS_MAXIMUM, value_of
from ..spec.versions import Direction, Version
from .aliases import Topic
from .clients import display_name, shortened
from .events import SIDES, Endpoints, PacketSeen
from .runs import PacketRun

MOST_TOPICS = 100_000
"""Most Topic Names without an alias that are remembered, over all connections."""
ALIAS_SIZE = 3
"""Bytes of the Topic Alias property: its identifier and two bytes."""
_PUBLISHES = bytes(byte >> 4 == Publish.code for byte in range(256))
"""A table for `bytes.translate` that selects PUBLISH packets by their first bytes."""
_LONGEST = (129, 16_386, 2_097_155)
"""Bytes of the longest packets whose Remaining Length has one, two and three bytes (5.0: 1.5.5)."""


class ClientTotals:
    """The counts of one connection or, added up, of one client."""

    __slots__ = (
        "bytes", "client", "client_hash", "closed", "connections", "dups", "ends", "limits", "number", "others",
        "packets", "publishes", "topics",
    )  # fmt: skip

    def __init__(self, ends: Endpoints) -> None:
        self.number = ends.number
        self.ends = ends
        """Of the latest connection."""
        self.client = ""
        """Client Identifier; empty if unknown. A very long one ends with the number of characters left out."""
        self.client_hash = 0
        """Hash of the whole identifier, to see when it changes."""
        self.others = False
        """Whether this is the sum over the clients that are not counted separately."""
        self.closed = False
        self.connections = 1
        self.packets = 0
        self.bytes = 0
        self.publishes = [0, 0, 0]
        """PUBLISH packets of QoS 1 and 2: from an unknown end, from the client, from the server."""
        self.dups = [0, 0, 0]
        """Those of them with DUP."""
        self.limits: list[int | None] = [None, None, None]
        """Topic Alias Maximum for the packets of each end; None if CONNECT or CONNACK was not seen."""
        self.topics: tuple[dict[int, list[int]], ...] = ({}, {}, {})
        """By the hash of a Topic Name: bytes that an alias would have saved so far, and whether it was allowed."""

    @property
    def name(self) -> str:
        """The Client Identifier, else the address."""
        return display_name(self.client, self.ends)

    def set_client(self, client: str) -> None:
        """Set the Client Identifier."""
        self.client_hash, self.client = hash(client), shortened(client)

    def dup_rate(self, direction: Direction) -> float | None:
        """Return the share of its PUBLISH packets of QoS 1 and 2 with DUP, 0 to 1; None if there are none."""
        side = SIDES[direction]
        return self.dups[side] / self.publishes[side] if self.publishes[side] else None

    def offers(self, packet: Connect | Connack) -> None:
        """Note the Topic Alias Maximum that the sender of a CONNECT or CONNACK announces."""
        limit = value_of(packet.properties, TOPIC_ALIAS_MAXIMUM, 0)
        self.limits[SIDES[Direction.SERVER if isinstance(packet, Connect) else Direction.CLIENT]] = limit

    def add(self, other: "ClientTotals") -> None:
        """Add the counts of another connection of the same client."""
        self.number, self.ends = other.number, other.ends
        self.connections += other.connections
        self.packets += other.packets
        self.bytes += other.bytes
        self.publishes = [sum(pair) for pair in zip(self.publishes, other.publishes, strict=True)]
        self.dups = [sum(pair) for pair in zip(self.dups, other.dups, strict=True)]

    def copy(self, *, others: bool = False) -> "ClientTotals":
        """Return a copy with the counts only, as the start of a sum."""
        made = ClientTotals(self.ends)
        made.connections = 0
        made.client, made.others = self.client, others or self.others
        made.add(self)
        return made


class PublishBytes:
    """Bytes of PUBLISH packets by kind, and what Topic Aliases save."""

    def __init__(self) -> None:
        self.payload = 0
        self.headers = 0
        """Fixed headers."""
        self.topics = 0
        """Topic Names with their length fields."""
        self.identifiers = 0
        """Packet Identifiers."""
        self.properties = 0
        """Properties with their length fields."""
        self.aliased = 0
        """PUBLISH packets with an alias instead of a Topic Name."""
        self.saved = 0
        """Bytes that aliases saved, minus those of the Topic Alias properties; negative if they cost more."""
        self.unresolved = 0
        """Those of them whose Topic Name was not captured, so that the saving is unknown."""
        self.savable = 0
        """Bytes that aliases could have saved where a Topic Name was repeated on a connection of MQTT 5.0."""
        self.allowed = 0
        """The part of `savable` that Topic Alias Maximum allowed."""
        self.full = False
        """Whether there were more Topic Names than are remembered, so that `savable` and `allowed` are too low."""
        self._remembered = 0

    def publish(
        self, event: PacketSeen, packet: Publish, topic: Topic | None, connection: ClientTotals, side: int
    ) -> None:
        """Count one PUBLISH."""
        data, name = event.data, packet.topic
        header = 2 if data[1] < 0x80 else 3 if data[2] < 0x80 else 4 if data[3] < 0x80 else 5
        text = _utf8_bytes(name) + 2
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

    def run(self, run: PacketRun, published: int, identified: int, connection: ClientTotals, side: int) -> None:
        """Count the PUBLISH packets of a run, so many, `identified` of which have QoS 1 or 2."""
        columns, start, stop, _, _, version, _, _ = run
        at = slice(start, stop)
        values: Any = columns.topic[at], columns.begin[at], columns.size[at], columns.payload_begin[at]
        if published < stop - start:
            chosen = columns.first[at].translate(_PUBLISHES)
            values = [list(compress(each, chosen)) for each in values]
        names, begins, sizes, payload_begins = values
        size = sum(sizes)
        header, text = _header_bytes(sizes), _utf8_bytes("".join(names)) + 2 * published
        payload = sum(begins) + size - sum(payload_begins)
        self.payload += payload
        self.headers += header
        self.topics += text
        self.identifiers += 2 * identified
        self.properties += size - header - text - 2 * identified - payload
        connection.publishes[side] += identified
        if version == Version.V5:
            for name, times in Counter(names).items():
                self._repeated(hash(name), _utf8_bytes(name), connection, side, times)

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
                self.saved += _utf8_bytes(topic.name) - ALIAS_SIZE

    def _repeated(self, key: int, length: int, connection: ClientTotals, side: int, times: int = 1) -> None:
        """Count so many PUBLISH packets with the same Topic Name, of `length` bytes."""
        entry = connection.topics[side].get(key)
        if entry is None:
            entry = self._first(key, connection, side)
            times -= 1
        if entry and times:
            before = max(entry[0], 0)
            entry[0] += times * (length - ALIAS_SIZE)
            gained = max(entry[0], 0) - before
            self.savable += gained
            self.allowed += gained * entry[1]

    def _first(self, key: int, connection: ClientTotals, side: int) -> list[int] | None:
        """Remember a Topic Name, if there is room; its first packet with an alias would cost the property."""
        if self._remembered >= MOST_TOPICS:
            self.full = True
            return None
        self._remembered += 1
        topics, limit = connection.topics[side], connection.limits[side] or 0
        entry = topics[key] = [-ALIAS_SIZE, int(len(topics) < limit)]
        return entry


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _header_bytes(sizes: list[int]) -> int:
    """Return the sum of the sizes of the fixed headers of packets with these sizes."""
    longest, header = max(sizes), 2 * len(sizes)
    for limit in _LONGEST:
        if longest > limit:
            header += sum(map(limit.__lt__, sizes))
    return header
