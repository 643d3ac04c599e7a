"""An exchange: a message or a request, and the packets that settle it."""

from typing import Any, NamedTuple

from ..spec.declare import Packet
from ..spec.packets import Puback, Pubcomp, Pubrec, Pubrel, Suback, Unsuback
from ..spec.reason_codes import FAILURE
from ..spec.versions import Direction, Version
from .aliases import Topic
from .events import Endpoints, PacketSeen
from .runs import PacketRun

MOST_PACKETS = 32
"""Most packets of one exchange that are remembered one by one."""
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


class RunSource(NamedTuple):
    """What packets of a run have in common."""

    ends: Endpoints
    direction: Direction
    version: Version
    client: str


class UsualMessage(NamedTuple):
    """An exchange of the usual kind, open or over: a PUBLISH and acks without DUP that refuse nothing, all from runs.

    Most exchanges are counted or shown as they are here; to make an Exchange of each takes 0.7 us more (process time).
    """

    source: RunSource
    qos: int
    packet_id: int
    """0 with QoS 0."""
    topic: str
    size_bytes: int
    time_ns: int | None
    record: int
    acks: tuple[HandshakePacket, ...]
    weight: int
    """About how many bytes it takes."""

    def with_ack(self, name: str, time_ns: int | None, record: int, reason: int | None) -> "UsualMessage":
        """Return it with one more packet."""
        source, qos, packet_id, topic, size_bytes, sent_ns, sent_record, acks, weight = self
        ack = _new(HandshakePacket, (name, time_ns, record, reason, False))
        values = source, qos, packet_id, topic, size_bytes, sent_ns, sent_record, (*acks, ack), weight + PACKET_BYTES
        return _new(UsualMessage, values)

    def exchange(self) -> Exchange:
        """Return what it is as an Exchange; it is complete with PUBACK or PUBCOMP."""
        (ends, direction, version, client), qos, packet_id, topic, size_bytes, time_ns, record, acks, _ = self
        outcome = "sent" if not qos else "complete" if acks and acks[-1][0] in _LAST else "unfinished"
        packets = (_new(HandshakePacket, ("PUBLISH", time_ns, record, None, False)), *acks)
        values = (
            ends, direction, packet_id or None, qos, _new(Topic, (topic, None, False, False)), (), size_bytes, packets,
            0, 0, outcome, packets[-1][3], False, client, version,
        )  # fmt: skip
        return _new(Exchange, values)


AnyExchange = Exchange | UsualMessage


class AckKind(NamedTuple):
    """How acks of one type settle exchanges."""

    name: str
    qos: int | None
    """QoS of the messages that they acknowledge; None for SUBACK and UNSUBACK."""
    request: str
    """Type of the packet that begins the exchange."""
    answers: bool
    """Whether they come from the receiver of the request."""
    ends_from: int
    """The lowest Reason Code with which they end the exchange."""


_NEVER = 0x100
"""A number above all Reason Codes."""
ACKS: dict[type[Packet], AckKind] = {
    cls: AckKind(cls.name, *how)
    for cls, how in (
        (Puback, (1, "PUBLISH", True, 0)),
        (Pubrec, (2, "PUBLISH", True, FAILURE)),
        (Pubrel, (2, "PUBLISH", False, _NEVER)),
        (Pubcomp, (2, "PUBLISH", True, 0)),
        (Suback, (None, "SUBSCRIBE", True, 0)),
        (Unsuback, (None, "UNSUBSCRIBE", True, 0)),
    )
}
OTHER_END = {Direction.CLIENT: Direction.SERVER, Direction.SERVER: Direction.CLIENT, None: None}
CODES = (Puback, Pubrec, Pubrel, Pubcomp)
_REQUESTS = frozenset(("PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"))
_LAST = frozenset(("PUBACK", "PUBCOMP"))


def handshake_packet(event: PacketSeen, packet: Any) -> HandshakePacket:
    """Return a packet as a part of its exchange."""
    reason = packet.reason_code if isinstance(packet, CODES) else max(getattr(packet, "reason_codes", ()), default=None)
    return _new(HandshakePacket, (packet.name, event.time, event.record, reason, getattr(packet, "dup", False)))


def with_packet(found: Exchange, leg: HandshakePacket, outcome: str) -> Exchange:
    """Return an exchange with one more packet."""
    ends, sender, packet_id, qos, topic, filters, size, packets, more, dups, _, _, resumed, client, version = found
    if len(packets) == MOST_PACKETS:
        packets, more = packets[:-1], more + 1
    if topic is None and not filters and not resumed:
        outcome = "orphan"
    values = (
        ends, sender, packet_id, qos, topic, filters, size, (*packets, leg), more, dups + leg[4], outcome, leg[3],
        resumed, client, version,
    )  # fmt: skip
    return _new(Exchange, values)


def weight_of(open: AnyExchange) -> int:
    """Return about how many bytes an open exchange takes."""
    if isinstance(open, UsualMessage):
        return open.weight
    weight = ENTRY_BYTES + 2 * len(open.client) + PACKET_BYTES * len(open.packets)
    if open.packets[0].name == "PUBLISH" and open.topic:
        return weight + 4 * len(open.topic.name or "")
    return weight + sum([4 * len(each) + 64 for each in open.filters])


def as_exchange(found: AnyExchange) -> Exchange:
    """Return an exchange of any kind as an Exchange."""
    return found.exchange() if isinstance(found, UsualMessage) else found


def superseded(open: AnyExchange) -> Exchange:
    """Return an open exchange with the outcome that its identifier was used again."""
    older = as_exchange(open)
    return older if older.outcome == "orphan" else older._replace(outcome="superseded")


def ack_alone(
    source: PacketSeen | PacketRun, client: str, sender: Direction | None, packet_id: int, ack: AckKind,
    leg: HandshakePacket,
) -> Exchange:  # fmt: skip
    """Return an exchange of which only this ack was seen."""
    return Exchange(
        source.ends, sender, packet_id, ack.qos, None, (), None, (leg,), 0, int(leg.dup), "orphan", leg.reason, False,
        client, source.version,
    )  # fmt: skip
