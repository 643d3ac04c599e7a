"""Which packets belong together: a PUBLISH and its acknowledgements, SUBSCRIBE and SUBACK."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..common.lru import WeightedLru
from ..spec.declare import Packet
from ..spec.packets import Connack, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from ..spec.versions import Direction, Version
from .aliases import Topic
from .events import Endpoints, PacketSeen

MEMORY = 48 << 20
"""About how many bytes open exchanges take; the oldest make room."""
MOST_LEGS = 32
"""Packets of one exchange that are remembered one by one."""
SESSIONS_MEMORY = 8 << 20
"""The same of closed connections, whose sessions may be resumed."""
_ENTRY, _LEG = 800, 160
"""About how many bytes an exchange takes without its texts, and a leg."""

_new = tuple.__new__


class HandshakePacket(NamedTuple):
    """One packet of an exchange."""

    name: str
    """The specification's word for the packet."""
    time: int | None
    """Nanoseconds since 1970."""
    record: int
    reason: int | None = None
    """Reason Code; of several, the highest."""
    dup: bool = False


class Exchange(NamedTuple):
    """A message, or a request, and all that was sent to settle it."""

    ends: Endpoints
    sender: Direction | None
    """The end that sent the PUBLISH, SUBSCRIBE or UNSUBSCRIBE."""
    packet_id: int | None
    """None with QoS 0."""
    qos: int | None
    """None for SUBSCRIBE and UNSUBSCRIBE, and where only acks were seen that do not tell it."""
    topic: Topic | None
    """Of the PUBLISH; None when that was not seen."""
    filters: tuple[str, ...]
    """Topic Filters of SUBSCRIBE and UNSUBSCRIBE."""
    size: int | None
    """Bytes of the payload; None when no PUBLISH was seen."""
    legs: tuple[HandshakePacket, ...]
    """In the order in which they came; a resumed exchange begins with the first leg on the new connection."""
    more: int
    """Legs beyond those, not kept one by one."""
    dups: int
    """Packets that had DUP: re-deliveries."""
    outcome: str
    """`complete`, `sent` (QoS 0), `refused` (Reason Code 0x80 or above), `unfinished`, `orphan` (acks without
    their request), `superseded` (the sender used the Packet Identifier again before the last ack)."""
    reason: int | None
    """Reason Code of the last ack; of several in one ack, the highest."""
    resumed: bool
    """Whether it began on an earlier connection of the same client."""
    client: str
    """Client Identifier; empty when no packet told it."""
    version: Version

    @property
    def duration(self) -> int | None:
        """Nanoseconds from the request to the last leg; None when a time, or the request, is missing."""
        first, last = self.legs[0], self.legs[-1]
        if first.name not in _REQUESTS or first.time is None or last.time is None:
            return None
        return last.time - first.time

    @property
    def latency_us(self) -> int | None:
        """Microseconds from the request to the last leg, both times cut to microseconds, as tables have them."""
        first, last = self.legs[0], self.legs[-1]
        if self.duration is None or first.time is None or last.time is None:
            return None
        return last.time // 1000 - first.time // 1000


class _Open:
    __slots__ = ("client", "dups", "ends", "filters", "legs", "more", "packet_id", "qos", "resumed", "sender", "size",
                 "topic", "version", "wants", "weight")  # fmt: skip

    def __init__(self, event: PacketSeen, packet: Any, sender: Direction | None, client: str) -> None:
        self.ends = event.ends
        self.sender = sender
        self.client = client
        self.packet_id: int | None = packet.packet_id
        self.qos: int | None = None
        self.topic: Topic | None = None
        self.filters: tuple[str, ...] = ()
        self.size: int | None = None
        self.legs: list[HandshakePacket] = []
        self.more = 0
        self.dups = 0
        self.resumed = False
        self.version = event.version
        self.wants: frozenset[type[Packet]] = frozenset()
        """Packets that can follow."""
        self.weight = _ENTRY + 2 * len(client)
        """About how many bytes it takes."""

    def leg(self, event: PacketSeen, packet: Any) -> int | None:
        """Add a packet and return its Reason Code."""
        reason = _reason(packet)
        dup = bool(getattr(packet, "dup", False))
        self.dups += dup
        if len(self.legs) == MOST_LEGS:
            self.legs[-1:] = []
            self.more += 1
        else:
            self.weight += _LEG
        self.legs.append(_new(HandshakePacket, (packet.name, event.time, event.record, reason, dup)))
        return reason

    def ended(self, outcome: str) -> Exchange:
        """Return the exchange as it ended."""
        reason = self.legs[-1].reason
        if self.topic is None and not self.filters and not self.resumed and outcome != "sent":
            outcome = "orphan"
        return _new(
            Exchange,
            (
                self.ends, self.sender, self.packet_id, self.qos, self.topic, self.filters, self.size,
                tuple(self.legs), self.more, self.dups, outcome, reason, self.resumed, self.client, self.version,
            ),
        )  # fmt: skip


_CODES = (Puback, Pubrec, Pubrel, Pubcomp)
_REQUESTS = frozenset(("PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"))
_SUBSCRIBING = (Subscribe, Unsubscribe)


def _reason(packet: Any) -> int | None:
    if isinstance(packet, Suback | Unsuback):
        return max(packet.reason_codes, default=None)
    return packet.reason_code if isinstance(packet, _CODES) else None


_QOS1: frozenset[type[Packet]] = frozenset((Puback,))
_QOS2: frozenset[type[Packet]] = frozenset((Pubrec, Pubrel, Pubcomp))
_FOLLOW: dict[type[Packet], frozenset[type[Packet]]] = {
    Subscribe: frozenset((Suback,)),
    Unsubscribe: frozenset((Unsuback,)),
}
_ACK_QOS: dict[type[Packet], int] = {Puback: 1, Pubrec: 2, Pubrel: 2, Pubcomp: 2}
_LAST = frozenset((Puback, Pubcomp, Suback, Unsuback))
"""Packets after which the exchange is over."""
_ANSWERS = frozenset((Puback, Pubrec, Pubcomp, Suback, Unsuback))
"""Packets that come from the other end than the request."""
_OTHER = {Direction.CLIENT: Direction.SERVER, Direction.SERVER: Direction.CLIENT, None: None}
_SIDES = {Direction.CLIENT: 1, Direction.SERVER: 2, None: 0}


class Exchanges:
    """Pairs packets by connection, sender and Packet Identifier, in the order in which they came.

    A client's identifiers and a server's are two sets (5.0: 2.2.1). What a connection leaves
    unfinished is reported by `finish`, and remembered for the next connection of the same client.
    """

    def __init__(self) -> None:
        self.forgotten = 0
        """Open exchanges that made room for others and are reported nowhere."""
        self._open: dict[int, dict[int, _Open]] = {}
        self._weight = 0
        self._sessions: WeightedLru[str, dict[int, _Open]] = WeightedLru(SESSIONS_MEMORY)
        self._take: dict[type[Packet] | type[None], Callable[[PacketSeen, Any, Topic | None, str], Exchange | None]] = {
            Publish: self._publish,
            **dict.fromkeys(_SUBSCRIBING, self._request),
            **dict.fromkeys((Puback, Pubrec, Pubrel, Pubcomp, Suback, Unsuback), self._ack),
            Connack: self._connack,
        }

    def packet(
        self, event: PacketSeen, packet: Packet | None, topic: Topic | None = None, client: str = ""
    ) -> Exchange | None:
        """Take a packet; return the exchange that it ends, if any.

        `topic` is that of a PUBLISH as Aliases resolves it; without it the Topic Name stands as it is.
        """
        take = self._take.get(type(packet))
        return take(event, packet, topic, client) if take else None

    def finish(self, ends: Endpoints) -> Iterator[Exchange]:
        """Yield what a connection leaves unfinished, in the order in which it began."""
        left = self._open.pop(ends.number, {})
        self._weight -= sum(each.weight for each in left.values())
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
        key = _SIDES[event.direction] << 16 | (packet.packet_id or 0)
        older = self._find(event, key)
        if older and packet.dup and older.topic is not None:
            self._leg(older, event, packet)
            return None
        begun = self._begin(event, packet, event.direction, client, key)
        self._fill(begun, packet, topic)
        begun.resumed = packet.dup and self._left(event, client, key) is not None
        self._leg(begun, event, packet, 4 * len(begun.topic.name or "") if begun.topic else 0)
        return older.ended("superseded") if older else None

    def _fill(self, begun: _Open, packet: Publish, topic: Topic | None) -> None:
        begun.qos, begun.size = packet.qos, len(packet.payload)
        begun.topic = topic or Topic(packet.topic)
        begun.wants = _QOS1 if packet.qos == 1 else _QOS2

    def _sent(self, event: PacketSeen, packet: Publish, topic: Topic | None, client: str) -> Exchange:
        leg = _new(HandshakePacket, ("PUBLISH", event.time, event.record, None, packet.dup))
        return _new(
            Exchange,
            (
                event.ends, event.direction, None, 0, topic or Topic(packet.topic), (), len(packet.payload),
                (leg,), 0, int(packet.dup), "sent", None, False, client, event.version,
            ),
        )  # fmt: skip

    def _request(
        self, event: PacketSeen, packet: Subscribe | Unsubscribe, topic: Topic | None, client: str
    ) -> Exchange | None:
        key = _SIDES[event.direction] << 16 | packet.packet_id
        older = self._find(event, key)
        if older and packet.dup and older.filters:  # only in 3.1
            self._leg(older, event, packet)
            return None
        begun = self._begin(event, packet, event.direction, client, key)
        begun.filters = filters_of(packet)
        begun.wants = _FOLLOW[type(packet)]
        self._leg(begun, event, packet, sum(4 * len(each) + 64 for each in begun.filters))
        return older.ended("superseded") if older else None

    def _ack(self, event: PacketSeen, packet: Any, topic: Topic | None, client: str) -> Exchange | None:
        kind = type(packet)
        sender = _OTHER[event.direction] if kind in _ANSWERS else event.direction
        key = _SIDES[sender] << 16 | packet.packet_id
        found = self._find(event, key)
        if found and kind not in found.wants:
            return self._stray(_Open(event, packet, sender, client), event, packet)
        if found is None:
            found = self._stray_begun(event, packet, sender, client, key)
        refused = (self._leg(found, event, packet) or 0) >= 0x80
        if kind in _LAST or (refused and kind is Pubrec):
            self._close(event, key)
            return found.ended("refused" if refused else "complete")
        return None

    def _stray(self, alone: _Open, event: PacketSeen, packet: Any) -> Exchange:
        """Return an ack that no open exchange waits for as an exchange of its own."""
        alone.qos = _ACK_QOS.get(type(packet))
        alone.leg(event, packet)
        return alone.ended("orphan")

    def _stray_begun(self, event: PacketSeen, packet: Any, sender: Direction | None, client: str, key: int) -> _Open:
        """Begin an exchange with an ack; its request may have been sent on an earlier connection."""
        begun = self._begin(event, packet, sender, client, key)
        begun.qos, begun.wants = _ACK_QOS.get(type(packet)), _QOS2
        earlier = self._left(event, client, key)
        if earlier and type(packet) in earlier.wants:
            begun.topic, begun.size, begun.qos, begun.resumed = earlier.topic, earlier.size, earlier.qos, True
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
        self._weight += begun.weight
        return begun

    def _leg(self, found: _Open, event: PacketSeen, packet: Any, texts: int = 0) -> int | None:
        """Add a packet to an open exchange, and the bytes that texts take; return the Reason Code."""
        before = found.weight
        reason = found.leg(event, packet)
        found.weight += texts
        self._weight += found.weight - before
        while self._weight > MEMORY and self._drop(found):
            self.forgotten += 1
        return reason

    def _close(self, event: PacketSeen, key: int) -> None:
        self._pop(event.ends.number, key)

    def _drop(self, kept: _Open) -> bool:
        """Forget the oldest exchange of the oldest connection; return False when that is the one to be kept."""
        number, group = next(iter(self._open.items()))
        key, oldest = next(iter(group.items()))
        if oldest is not kept:
            self._pop(number, key)
        return oldest is not kept

    def _pop(self, number: int, key: int) -> None:
        group = self._open.get(number)
        found = group.pop(key, None) if group else None
        if found:
            self._weight -= found.weight
        if group is not None and not group:
            del self._open[number]

    def _left(self, event: PacketSeen, client: str, key: int) -> _Open | None:
        """Return what an earlier connection of the client left unfinished, and forget it there.

        What comes after a reset of its own connection resumes nothing: the end that sent the reset does not take it.
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
