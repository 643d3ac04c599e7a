"""Which packets belong together: a PUBLISH and its acknowledgements, SUBSCRIBE and SUBACK.

An exchange is reported once, when it is over. The rules of `lint.connection` pair the same packets with a state of
their own, because they judge each packet as it comes and must not forgive what is forgiven here (a superseded
identifier, an ack whose request was not seen). `columns.exchanges` gives the same exchanges for whole batches.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress
from typing import Any

from ..common.lru import WeightedLru
from ..spec.declare import Packet
from ..spec.packets import Connack, Publish, Subscribe, Unsubscribe
from ..spec.reason_codes import FAILURE
from ..spec.versions import Direction
from .aliases import Topic
from .events import SIDES, Endpoints, PacketSeen
from .handshakes import (
    ACKS,
    CODES,
    ENTRY_BYTES,
    OTHER_END,
    PACKET_BYTES,
    AckKind,
    AnyExchange,
    Exchange,
    HandshakePacket,
    RunSource,
    UsualMessage,
    ack_alone,
    as_exchange,
    handshake_packet,
    superseded,
    weight_of,
    with_packet,
)
from .runs import PacketRun

MEMORY = 48 << 20
"""About how many bytes open exchanges may take; the oldest are dropped."""
SESSIONS_MEMORY = 8 << 20
"""The same for closed connections, whose sessions may be resumed."""

_new = tuple.__new__
_ACKS_OF = {
    end: {cls.code: (ACKS[cls], SIDES[OTHER_END[end] if ACKS[cls].answers else end] << 16) for cls in CODES}
    for end in Direction
}
"""The acks that each end sends in runs, by code of the packet type, with the part of the key for the sender."""
_MOST_ACKS = 3
"""Acks of a usual exchange."""
_IS_ACK = bytes(byte >> 4 != Publish.code for byte in range(256))
_IS_ACKED = bytes(byte & 6 > 0 for byte in range(256))
"""Tables for `bytes.translate`: which packets of a run are acks, and which PUBLISH packets have QoS 1 or 2."""
_SUBSCRIBING = (Subscribe, Unsubscribe)
_Add = Callable[[PacketSeen, Any, Topic | None, str], Exchange | None]
Tally = Callable[[int, Direction | None, int, list[int | None]], None]
"""Takes the QoS of messages that were sent or are complete, their sender, how many there are, and the nanoseconds
from each PUBLISH to the last ack, None if unknown; an empty list for QoS 0."""


class Exchanges:
    """Pairs packets by connection, sender and Packet Identifier, in order of arrival.

    The identifiers of a client and of a server are two sets (5.0: 2.2.1). What a connection leaves unfinished is
    reported by `finish`, and remembered for the next connection of the same client (5.0: 4.4).
    """

    def __init__(self, memory_bytes: int = MEMORY) -> None:
        self.forgotten = 0
        """Open exchanges that were dropped for lack of memory and are not reported."""
        self._open: dict[int, dict[int, AnyExchange]] = {}
        """Of each connection, by sender and Packet Identifier, as they would be reported if it ended now."""
        self._memory_bytes = memory_bytes
        self.weight = 0
        """About how many bytes open exchanges take."""
        self._sessions: WeightedLru[str, dict[int, Exchange]] = WeightedLru(SESSIONS_MEMORY)
        self._add_by_type: dict[type[Packet] | type[None], _Add] = {
            Publish: self._publish,
            **dict.fromkeys(_SUBSCRIBING, self._request),
            **dict.fromkeys(ACKS, self._settle),
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

    def run(self, run: PacketRun, tally: Tally | None = None) -> Iterator[AnyExchange]:
        """Return an iterator that adds the packets of a run, and yields the exchanges that they complete.

        Those of usual messages are not yielded, only counted with `tally`, if there is one. Of 200,000 small packets,
        one takes 0.6 us, with `tally` 0.4 us, and in `packet` 2.6 us (process time).
        """
        acks = run.columns.first[run.start : run.stop].translate(_IS_ACK)
        if acks.count(acks[0]) == len(acks):
            return self._acks(run, tally) if acks[0] else self._messages(run, tally)
        return chain.from_iterable(self._parts(run, acks, tally))

    def finish(self, ends: Endpoints) -> Iterator[Exchange]:
        """Yield the exchanges that a connection leaves unfinished, in the order in which they began."""
        begun = self._open.pop(ends.number, {})
        self.weight -= sum(map(weight_of, begun.values()))
        left = {key: as_exchange(each) for key, each in begun.items()}
        yield from left.values()
        kept: dict[str, dict[int, Exchange]] = {}
        for key, each in left.items():
            if each.topic is not None and each.client:
                kept.setdefault(each.client, {})[key] = each
        for client, found in kept.items():
            session = (self._sessions.get(client) or {}) | found
            self._sessions.put(client, session, len(client) + sum(map(weight_of, session.values())))

    # by kind of packet

    def _publish(self, event: PacketSeen, packet: Publish, topic: Topic | None, client: str) -> Exchange | None:
        qos, dup = packet.qos, packet.dup
        if qos == 3:
            return None
        ends, direction = event.ends, event.direction
        key, leg, resumed = SIDES[direction] << 16 | (packet.packet_id or 0), handshake_packet(event, packet), False
        if qos and dup:
            older = self._find(ends.number, key)
            if older and older.topic is not None:
                self._add(key, older, leg, "unfinished")
                return None
            resumed = self._left_unfinished(ends.number, client, key) is not None
        values = (
            ends, direction, packet.packet_id if qos else None, qos, topic or Topic(packet.topic), (),
            len(packet.payload), (leg,), 0, int(dup), "unfinished" if qos else "sent", None, resumed, client,
            event.version,
        )  # fmt: skip
        begun = _new(Exchange, values)
        return self._begin(key, begun) if qos else begun

    def _request(
        self, event: PacketSeen, packet: Subscribe | Unsubscribe, topic: Topic | None, client: str
    ) -> Exchange | None:
        ends, direction, filters = event.ends, event.direction, filters_of(packet)
        key, leg = SIDES[direction] << 16 | packet.packet_id, handshake_packet(event, packet)
        older = self._find(ends.number, key)
        if older and packet.dup and older.filters:  # only in 3.1
            self._add(key, older, leg, "unfinished")
            return None
        values = (
            ends, direction, packet.packet_id, None, None, filters, None, (leg,), 0, int(packet.dup),
            "unfinished" if filters else "orphan", None, False, client, event.version,
        )  # fmt: skip
        return self._begin(key, _new(Exchange, values))

    def _settle(self, event: PacketSeen, packet: Any, topic: Topic | None, client: str) -> Exchange | None:
        return self._ack(event, client, packet.packet_id, ACKS[type(packet)], handshake_packet(event, packet))

    def _ack(
        self, source: PacketSeen | PacketRun, client: str, packet_id: int, ack: AckKind, leg: HandshakePacket
    ) -> Exchange | None:
        """Add an ack that came with this event or run; return the exchange that it completes, if any."""
        sender = OTHER_END[source.direction] if ack.answers else source.direction
        number, key = source.ends.number, SIDES[sender] << 16 | packet_id
        reason = leg.reason or 0
        ends = reason >= ack.ends_from
        outcome = "unfinished" if not ends else "refused" if reason >= FAILURE else "complete"
        found = self._find(number, key)
        if found is None:
            found = self._begin_with_ack(ack_alone(source, client, sender, packet_id, ack, leg), key, ack, outcome)
        elif found.qos != ack.qos or (ack.qos is None and found.packets[0].name != ack.request):
            return ack_alone(source, client, sender, packet_id, ack, leg)
        else:
            found = self._add(key, found, leg, outcome)
        if not ends:
            return None
        self._close(number, key)
        return found

    def _begin_with_ack(self, begun: Exchange, key: int, ack: AckKind, outcome: str) -> Exchange:
        """Begin an exchange with an ack; its request may have been sent on an earlier connection."""
        earlier = self._left_unfinished(begun.ends.number, begun.client, key)
        if earlier and earlier.qos == ack.qos:
            begun = begun._replace(topic=earlier.topic, size_bytes=earlier.size_bytes, resumed=True, outcome=outcome)
        self._begin(key, begun)
        return begun

    def _connack(self, event: PacketSeen, packet: Connack, topic: Topic | None, client: str) -> None:
        if not packet.session_present:
            self._sessions.pop(client)

    # runs

    def _parts(self, run: PacketRun, acks: bytes, tally: Tally | None) -> Iterator[Iterator[AnyExchange]]:
        """Yield what each stretch of messages or of acks completes; `acks` has 1 for each ack."""
        at = 0
        while at < len(acks):
            after = acks.find(not acks[at], at)
            if after < 0:
                after = len(acks)
            part = run.between(run.start + at, run.start + after)
            yield self._acks(part, tally) if acks[at] else self._messages(part, tally)
            at = after

    def _messages(self, run: PacketRun, tally: Tally | None) -> Iterator[AnyExchange]:
        """Add a run of PUBLISH packets."""
        columns, start, stop, ends, direction, version, _, client = run
        at, number, own = slice(start, stop), ends.number, SIDES[direction] << 16
        source, group = RunSource(ends, direction, version, client), self._open.get(number, {})
        least = ENTRY_BYTES + PACKET_BYTES + 2 * len(client)
        rows: Iterable[Any] = zip(
            columns.first[at], columns.packet_id[at], columns.topic[at], run.payload_sizes(), columns.time_ns[at],
            columns.record[at], strict=True,
        )  # fmt: skip
        if tally:
            acked = columns.first[at].translate(_IS_ACKED)
            rows = compress(rows, acked)
            if sent := acked.count(0):
                tally(0, direction, sent, [])
        for first, id, topic, size_bytes, time_ns, record in rows:
            weight = least + 4 * len(topic)
            values = source, first >> 1 & 3, id, topic, size_bytes, time_ns, record, (), weight
            message = _new(UsualMessage, values)
            if not id:
                yield message
                continue
            key = own | id
            older = self._close(number, key) if key in group else None
            if not group:
                self._open[number] = group
            group[key] = message
            self.weight += weight
            if self.weight > self._memory_bytes:
                self._make_room(number, key)
            if older:
                yield superseded(older)

    def _acks(self, run: PacketRun, tally: Tally | None) -> Iterator[AnyExchange]:
        """Add a run of acks: the usual ones to messages of runs, the others as `packet` does."""
        columns, start, stop, ends, direction, _, _, client = run
        at, number, acks, most = slice(start, stop), ends.number, _ACKS_OF[direction], self._memory_bytes - PACKET_BYTES
        group, done = self._open.get(number, {}), dict[int, list[int | None]]()
        rows = zip(
            columns.first[at], columns.packet_id[at], columns.reason[at], columns.time_ns[at], columns.record[at],
            strict=True,
        )  # fmt: skip
        for first, id, reason, time_ns, record in rows:
            ack, side = acks[first >> 4]
            key = side | id
            found, unusual = group.get(key), first & 8 or (reason and reason >= FAILURE) or self.weight > most
            if unusual or type(found) is not UsualMessage or found.qos != ack.qos or len(found.acks) == _MOST_ACKS:
                leg = _new(HandshakePacket, (ack.name, time_ns, record, reason, first & 8 > 0))
                if ended := self._ack(run, client, id, ack, leg):
                    if tally:
                        _count(done, run, tally)
                    yield ended
                group = self._open.get(number, group)
            elif ack.ends_from:
                group[key] = found.with_ack(ack.name, time_ns, record, reason)
                self.weight += PACKET_BYTES
            else:
                self.weight -= found.weight
                del group[key]
                if not group:
                    del self._open[number]
                if tally:
                    began_ns = found.time_ns
                    wait_ns = None if time_ns is None or began_ns is None else time_ns - began_ns
                    done.setdefault(found.qos, []).append(wait_ns)
                else:
                    yield found.with_ack(ack.name, time_ns, record, reason)
        if tally:
            _count(done, run, tally)

    # the tables

    def _find(self, number: int, key: int) -> Exchange | None:
        group = self._open.get(number)
        found = group.get(key) if group else None
        if group and type(found) is UsualMessage:
            found = group[key] = as_exchange(found)
        return found  # type: ignore[return-value]

    def _begin(self, key: int, begun: Exchange) -> Exchange | None:
        """Remember an exchange; return the one of the same identifier, which it supersedes."""
        number = begun.ends.number
        older = self._close(number, key)
        self._put(number, key, begun, weight_of(begun))
        return superseded(older) if older else None

    def _add(self, key: int, found: Exchange, leg: HandshakePacket, outcome: str) -> Exchange:
        """Add a packet to an open exchange; return what it is now."""
        more = with_packet(found, leg, outcome)
        self._put(found.ends.number, key, more, PACKET_BYTES if len(more.packets) > len(found.packets) else 0)
        return more

    def _put(self, number: int, key: int, open: Exchange, more_bytes: int) -> None:
        """Set an open exchange that takes more memory than before, and drop others if there is too little."""
        group = self._open.get(number)
        if group is None:
            group = self._open[number] = {}
        group[key] = open
        self.weight += more_bytes
        if self.weight > self._memory_bytes:
            self._make_room(number, key)

    def _close(self, number: int, key: int) -> AnyExchange | None:
        """Remove an open exchange and return it; None if there is none."""
        group = self._open.get(number)
        found = group.pop(key, None) if group else None
        if found:
            self.weight -= weight_of(found)
            if not group:
                del self._open[number]
        return found

    def _make_room(self, number: int, key: int) -> None:
        """Drop the oldest exchanges of the oldest connections, but none from that with this number and key on."""
        while self.weight > self._memory_bytes:
            oldest, group = next(iter(self._open.items()))
            first = next(iter(group))
            if (oldest, first) == (number, key):
                break
            self._close(oldest, first)
            self.forgotten += 1

    def _left_unfinished(self, number: int, client: str, key: int) -> Exchange | None:
        """Return what an earlier connection of the client left unfinished, and forget it there.

        A packet that comes after a reset of its own connection resumes nothing: the end that reset it ignores it.
        """
        session = self._sessions.get(client) if client else None
        if not session or key not in session or session[key].ends.number == number:
            return None
        return session.pop(key)


def _count(waits: dict[int, list[int | None]], run: PacketRun, tally: Tally) -> None:
    """Count messages that were completed by a run of acks, by QoS, and remove them from `waits`."""
    for qos, waits_ns in waits.items():
        tally(qos, OTHER_END[run.direction], len(waits_ns), waits_ns)
    waits.clear()


def filters_of(packet: Subscribe | Unsubscribe) -> tuple[str, ...]:
    """Return the Topic Filters of a SUBSCRIBE or UNSUBSCRIBE."""
    if isinstance(packet, Subscribe):
        return tuple(each.filter for each in packet.subscriptions)
    return packet.filters
