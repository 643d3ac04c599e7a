"""Which packets belong together: a PUBLISH and its acknowledgements, SUBSCRIBE and SUBACK.

An exchange is reported once, when it is over. The rules of `lint.connection` pair the same packets with a state of
their own, because they judge each packet as it comes and must not forgive what is forgiven here (a superseded
identifier, an ack whose request was not seen). `columns.exchanges` gives the same exchanges for whole batches.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..common.lru import WeightedLru
from ..spec.declare import Packet
from ..spec.packets import Connack, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from ..spec.versions import Direction, Version
from .aliases import Topic
from .events import SIDES, Endpoints, PacketSeen

MEMORY = 48 << 20
"""About how many bytes open exchanges may take; the oldest are dropped."""
MOST_PACKETS = 32
"""Most packets of one exchange that are remembered one by one."""
SESSIONS_MEMORY = 8 << 20
"""The same for closed connections, whose sessions may be resumed."""
ENTRY_BYTES, PACKET_BYTES = 800, 160
"""About how much memory an exchange takes without its texts, and each packet of it."""

# Every ack passes here. With the constructors pairing takes 3.6 us a packet, with the bare tuple 2.6 (process time).
_new = tuple.__new__


class HandshakePacket(NamedTuple):
    """One packet of an exchange."""

    name: str
    """Type of the packet, `PUBACK`."""
    time: int | None
    """Nanoseconds since 1970."""
    record: int
    reason: int | None = None
    """Reason Code; the highest of several."""
    dup: bool = False


class Exchange(NamedTuple):
    """A message or a request, and all packets that settle it."""

    ends: Endpoints
    sender: Direction | None
    """The end that sent the PUBLISH, SUBSCRIBE or UNSUBSCRIBE."""
    packet_id: int | None
    """None with QoS 0."""
    qos: int | None
    """None for SUBSCRIBE and UNSUBSCRIBE, and if only acks were seen that do not show it."""
    topic: Topic | None
    """Topic of the PUBLISH; None if that was not seen."""
    filters: tuple[str, ...]
    """Topic Filters of SUBSCRIBE and UNSUBSCRIBE."""
    size_bytes: int | None
    """Size of the payload; None if no PUBLISH was seen."""
    packets: tuple[HandshakePacket, ...]
    """In order of arrival; a resumed exchange begins with the first packet on the new connection."""
    more: int
    """Further packets, which are only counted."""
    dups: int
    """Packets with DUP, which are re-deliveries."""
    outcome: str
    """`complete`, `sent` (QoS 0), `refused` (Reason Code 0x80 or above), `unfinished`, `orphan` (acks without
    their request), `superseded` (the sender used the Packet Identifier again before the last ack)."""
    reason: int | None
    """Reason Code of the last ack; the highest of several."""
    resumed: bool
    """Whether it began on an earlier connection of the same client."""
    client: str
    """Client Identifier; empty if it is unknown."""
    version: Version

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds from the request to the last packet; None if a time or the request is missing."""
        first, last = self.packets[0], self.packets[-1]
        if first.name not in _REQUESTS or first.time is None or last.time is None:
            return None
        return last.time - first.time

    @property
    def latency_us(self) -> int | None:
        """Microseconds from the request to the last packet, both times rounded down to microseconds, as in tables."""
        first, last = self.packets[0], self.packets[-1]
        if self.duration_ns is None or first.time is None or last.time is None:
            return None
        return last.time // 1000 - first.time // 1000


class _Open:
    __slots__ = ("client", "dups", "ends", "filters", "more", "packet_id", "packets", "qos", "resumed", "sender",
                 "size_bytes", "topic", "version", "wants", "weight")  # fmt: skip

    def __init__(self, event: PacketSeen, packet: Any, sender: Direction | None, client: str) -> None:
        self.ends = event.ends
        self.sender = sender
        self.client = client
        self.packet_id: int | None = packet.packet_id
        self.qos: int | None = None
        self.topic: Topic | None = None
        self.filters: tuple[str, ...] = ()
        self.size_bytes: int | None = None
        self.packets: list[HandshakePacket] = []
        self.more = 0
        self.dups = 0
        self.resumed = False
        self.version = event.version
        self.wants: frozenset[type[Packet]] = frozenset()
        """Types of packets that may follow."""
        self.weight = ENTRY_BYTES + 2 * len(client)
        """About how many bytes it takes."""

    def add(self, event: PacketSeen, packet: Any) -> int | None:
        """Add a packet; return its Reason Code."""
        reason = _reason(packet)
        dup = bool(getattr(packet, "dup", False))
        self.dups += dup
        if len(self.packets) == MOST_PACKETS:
            self.packets[-1:] = []
            self.more += 1
        else:
            self.weight += PACKET_BYTES
        self.packets.append(_new(HandshakePacket, (packet.name, event.time, event.record, reason, dup)))
        return reason

    def ended(self, outcome: str) -> Exchange:
        """Return the exchange with this outcome."""
        reason = self.packets[-1].reason
        if self.topic is None and not self.filters and not self.resumed and outcome != "sent":
            outcome = "orphan"
        values = (
            self.ends, self.sender, self.packet_id, self.qos, self.topic, self.filters, self.size_bytes,
            tuple(self.packets), self.more, self.dups, outcome, reason, self.resumed, self.client, self.version,
        )  # fmt: skip
        return _new(Exchange, values)


_CODES = (Puback, Pubrec, Pubrel, Pubcomp)
_LISTS = (Suback, Unsuback)
_REQUESTS = frozenset(("PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"))
_SUBSCRIBING = (Subscribe, Unsubscribe)


def _reason(packet: Any) -> int | None:
    if isinstance(packet, _CODES):
        return packet.reason_code
    return max(packet.reason_codes, default=None) if isinstance(packet, _LISTS) else None


_QOS1: frozenset[type[Packet]] = frozenset((Puback,))
_QOS2: frozenset[type[Packet]] = frozenset((Pubrec, Pubrel, Pubcomp))
_FOLLOW: dict[type[Packet], frozenset[type[Packet]]] = {
    Subscribe: frozenset((Suback,)),
    Unsubscribe: frozenset((Unsuback,)),
}
_ACK_QOS: dict[type[Packet], int] = {Puback: 1, Pubrec: 2, Pubrel: 2, Pubcomp: 2}
_LAST = frozenset((Puback, Pubcomp, Suback, Unsuback))
"""Packets that complete an exchange."""
_ANSWERS = frozenset((Puback, Pubrec, Pubcomp, Suback, Unsuback))
"""Packets that come from the receiver of the request."""
_OTHER = {Direction.CLIENT: Direction.SERVER, Direction.SERVER: Direction.CLIENT, None: None}


_Add = Callable[[PacketSeen, Any, Topic | None, str], Exchange | None]


class Exchanges:
    """Pairs packets by connection, sender and Packet Identifier, in order of arrival.

    The identifiers of a client and of a server are two sets (5.0: 2.2.1). What a connection leaves unfinished is
    reported by `finish`, and remembered for the next connection of the same client (5.0: 4.4).
    """

    def __init__(self, memory_bytes: int = MEMORY) -> None:
        self.forgotten = 0
        """Open exchanges that were dropped for lack of memory and are not reported."""
        self._open: dict[int, dict[int, _Open]] = {}
        self._memory_bytes = memory_bytes
        self.weight = 0
        """About how many bytes open exchanges take."""
        self._sessions: WeightedLru[str, dict[int, _Open]] = WeightedLru(SESSIONS_MEMORY)
        self._add_by_type: dict[type[Packet] | type[None], _Add] = {
            Publish: self._publish,
            **dict.fromkeys(_SUBSCRIBING, self._request),
            **dict.fromkeys((Puback, Pubrec, Pubrel, Pubcomp, Suback, Unsuback), self._ack),
            Connack: self._connack,
        }

    def packet(
        self, event: PacketSeen, packet: Packet | None, topic: Topic | None = None, client: str = ""
    ) -> Exchange | None:
        """Add a packet; return the exchange that it completes, if any.

        `topic` is the topic of a PUBLISH as `Aliases` resolves it; without it, the Topic Name is used as it is.
        """
        add = self._add_by_type.get(type(packet))
        return add(event, packet, topic, client) if add else None

    def finish(self, ends: Endpoints) -> Iterator[Exchange]:
        """Yield the exchanges that a connection leaves unfinished, in the order in which they began."""
        left = self._open.pop(ends.number, {})
        self.weight -= sum(each.weight for each in left.values())
        kept = {key: each for key, each in left.items() if each.topic is not None and each.client}
        for each in left.values():
            yield each.ended("unfinished")
        for key, each in kept.items():
            session = self._sessions.get(each.client) or {}
            session[key] = each
            self._sessions.put(each.client, session, len(each.client) + sum(one.weight for one in session.values()))

    # by kind of packet

    def _publish(self, event: PacketSeen, packet: Publish, topic: Topic | None, client: str) -> Exchange | None:
        if packet.qos not in (1, 2):
            return self._sent(event, packet, topic, client) if packet.qos == 0 else None
        key = SIDES[event.direction] << 16 | (packet.packet_id or 0)
        older = self._find(event, key)
        if older and packet.dup and older.topic is not None:
            self._add(older, event, packet)
            return None
        begun = self._begin(event, packet, event.direction, client, key)
        self._fill(begun, packet, topic)
        begun.resumed = packet.dup and self._left_unfinished(event, client, key) is not None
        self._add(begun, event, packet, 4 * len(begun.topic.name or "") if begun.topic else 0)
        return older.ended("superseded") if older else None

    def _fill(self, begun: _Open, packet: Publish, topic: Topic | None) -> None:
        begun.qos, begun.size_bytes = packet.qos, len(packet.payload)
        begun.topic = topic or Topic(packet.topic)
        begun.wants = _QOS1 if packet.qos == 1 else _QOS2

    def _sent(self, event: PacketSeen, packet: Publish, topic: Topic | None, client: str) -> Exchange:
        only = _new(HandshakePacket, ("PUBLISH", event.time, event.record, None, packet.dup))
        values = (
            event.ends, event.direction, None, 0, topic or Topic(packet.topic), (), len(packet.payload),
            (only,), 0, int(packet.dup), "sent", None, False, client, event.version,
        )  # fmt: skip
        return _new(Exchange, values)

    def _request(
        self, event: PacketSeen, packet: Subscribe | Unsubscribe, topic: Topic | None, client: str
    ) -> Exchange | None:
        key = SIDES[event.direction] << 16 | packet.packet_id
        older = self._find(event, key)
        if older and packet.dup and older.filters:  # only in 3.1
            self._add(older, event, packet)
            return None
        begun = self._begin(event, packet, event.direction, client, key)
        begun.filters = filters_of(packet)
        begun.wants = _FOLLOW[type(packet)]
        self._add(begun, event, packet, sum(4 * len(each) + 64 for each in begun.filters))
        return older.ended("superseded") if older else None

    def _ack(self, event: PacketSeen, packet: Any, topic: Topic | None, client: str) -> Exchange | None:
        kind = type(packet)
        sender = _OTHER[event.direction] if kind in _ANSWERS else event.direction
        key = SIDES[sender] << 16 | packet.packet_id
        found = self._find(event, key)
        if found and kind not in found.wants:
            return self._stray(_Open(event, packet, sender, client), event, packet)
        if found is None:
            found = self._begin_with_ack(event, packet, sender, client, key)
        refused = (self._add(found, event, packet) or 0) >= 0x80
        if kind in _LAST or (refused and kind is Pubrec):
            self._close(event, key)
            return found.ended("refused" if refused else "complete")
        return None

    def _stray(self, alone: _Open, event: PacketSeen, packet: Any) -> Exchange:
        """Return an ack that no open exchange waits for, as an exchange of its own."""
        alone.qos = _ACK_QOS.get(type(packet))
        alone.add(event, packet)
        return alone.ended("orphan")

    def _begin_with_ack(self, event: PacketSeen, packet: Any, sender: Direction | None, client: str, key: int) -> _Open:
        """Begin an exchange with an ack; its request may have been sent on an earlier connection."""
        begun = self._begin(event, packet, sender, client, key)
        begun.qos, begun.wants = _ACK_QOS.get(type(packet)), _QOS2
        earlier = self._left_unfinished(event, client, key)
        if earlier and type(packet) in earlier.wants:
            begun.topic, begun.size_bytes, begun.qos = earlier.topic, earlier.size_bytes, earlier.qos
            begun.resumed = True
        return begun

    def _connack(self, event: PacketSeen, packet: Connack, topic: Topic | None, client: str) -> None:
        if not packet.session_present:
            self._sessions.pop(client)

    # the tables

    def _find(self, event: PacketSeen, key: int) -> _Open | None:
        group = self._open.get(event.ends.number)
        return group.get(key) if group else None

    def _begin(self, event: PacketSeen, packet: Any, sender: Direction | None, client: str, key: int) -> _Open:
        self._close(event, key)
        group = self._open.setdefault(event.ends.number, {})
        begun = group[key] = _Open(event, packet, sender, client)
        self.weight += begun.weight
        return begun

    def _add(self, found: _Open, event: PacketSeen, packet: Any, texts: int = 0) -> int | None:
        """Add a packet to an open exchange, with the memory of its texts in bytes; return the Reason Code."""
        before = found.weight
        reason = found.add(event, packet)
        found.weight += texts
        self.weight += found.weight - before
        while self.weight > self._memory_bytes and self._drop(found):
            self.forgotten += 1
        return reason

    def _close(self, event: PacketSeen, key: int) -> None:
        self._pop(event.ends.number, key)

    def _drop(self, kept: _Open) -> bool:
        """Drop the oldest exchange of the oldest connection; return False if that is `kept`."""
        number, group = next(iter(self._open.items()))
        key, oldest = next(iter(group.items()))
        if oldest is not kept:
            self._pop(number, key)
        return oldest is not kept

    def _pop(self, number: int, key: int) -> None:
        group = self._open.get(number)
        found = group.pop(key, None) if group else None
        if found:
            self.weight -= found.weight
        if group is not None and not group:
            del self._open[number]

    def _left_unfinished(self, event: PacketSeen, client: str, key: int) -> _Open | None:
        """Return what an earlier connection of the client left unfinished, and forget it there.

        A packet that comes after a reset of its own connection resumes nothing: the end that reset it ignores it.
        """
        session = self._sessions.get(client) if client else None
        if not session or key not in session or session[key].ends.number == event.ends.number:
            return None
        return session.pop(key)


def filters_of(packet: Subscribe | Unsubscribe) -> tuple[str, ...]:
    """Return the Topic Filters of a SUBSCRIBE or UNSUBSCRIBE."""
    if isinstance(packet, Subscribe):
        return tuple(each.filter for each in packet.subscriptions)
    return packet.filters
