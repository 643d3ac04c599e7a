"""Counts over all packets of a capture."""

from collections import Counter
from collections.abc import Iterator
from itertools import compress
from typing import Any, NamedTuple

from ..common.lru import WeightedLru
from ..common.quantiles import Latencies
from ..spec.declare import PACKETS, Packet
from ..spec.packets import Connack, Connect, Publish
from ..spec.versions import Direction, Version
from .aliases import Topic
from .events import SIDES, Closed, GapSeen, PacketSeen, Remark
from .handshakes import Exchange
from .runs import PacketRun
from .volume import ClientTotals, PublishBytes

MOST_CONNECTIONS = 10_000
"""Most connections that are counted separately at the same time."""
MOST_CLIENTS = 10_000
"""Most clients that are counted separately; all others are counted together."""
OTHERS = ""
"""Name of the entry for all other clients."""
PERCENTILES = (50, 90, 99)
_OFFERING = (Connect, Connack)
"""Packets that announce a Topic Alias Maximum."""
_KINDS = ("QoS 0", "QoS 1", "QoS 2")
_MEASURED = frozenset(("complete", "refused"))
"""Outcomes of exchanges whose time counts."""
_ONLY = [bytes(byte == chosen for byte in range(256)) for chosen in range(256)]
"""For each byte a table for `bytes.translate` that selects it."""


class PacketKind(NamedTuple):
    """What packets that are counted together have in common."""

    type: str
    direction: Direction | None
    version: Version
    qos: int | None
    """Of PUBLISH; None for other types."""


class Count(NamedTuple):
    """Number of packets, and their bytes with fixed headers."""

    packets: int
    bytes: int


class Statistics:
    """Counts packets, exchanges and events in bounded memory."""

    def __init__(self) -> None:
        self.first: int | None = None
        """Earliest time, nanoseconds since 1970."""
        self.last: int | None = None
        self.unreadable = 0
        """Packets that could not be read."""
        self.traffic = PublishBytes()
        """The bytes of PUBLISH packets by kind, and what Topic Aliases save."""
        self.reasons: Counter[tuple[str, int, Version]] = Counter()
        """How often each Reason Code occurred, by packet type, code and version."""
        self.latencies: dict[tuple[str, Direction | None], Latencies] = {}
        """Times from a request to its last ack, by `QoS 1`, `QoS 2`, `SUBSCRIBE`, `UNSUBSCRIBE` and the sender."""
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """How exchanges ended, by `QoS 1` and so on and by outcome."""
        self.gaps: Counter[bool] = Counter()
        """Gaps, by whether a peer caused them."""
        self.missing = 0
        """Bytes in gaps whose length is known."""
        self.closes: Counter[tuple[Direction | None, str]] = Counter()
        """How connections ended: which end closed first, and how (FIN, RST or end)."""
        self.remarks = 0
        self._kinds: dict[int, list[int]] = {}
        self._live: WeightedLru[int, ClientTotals] = WeightedLru(MOST_CONNECTIONS)
        self._recent: ClientTotals | None = None
        self._clients: dict[str, ClientTotals] = {}

    def packet(self, event: PacketSeen, packet: Packet | None, topic: Topic | None = None, client: str = "") -> None:
        """Count a packet, with the topic and the client that a ContextTracker found."""
        data, side = event.data, SIDES[event.direction]
        key = (data[0] if data else 0) | event.version << 8 | side << 16
        count = self._kinds.get(key)
        if count is None:
            count = self._kinds[key] = [0, 0]
        count[0] += 1
        count[1] += len(data)
        self._time(event.time)
        connection = self._connection(event, client)
        connection.packets += 1
        connection.bytes += len(data)
        if isinstance(packet, Publish):
            self.traffic.publish(event, packet, topic, connection, side)
        elif packet is None:
            self.unreadable += 1
        else:
            self._other(packet, event.version, connection)

    def run(self, run: PacketRun) -> None:
        """Count the packets of a run."""
        columns, start, stop, _, direction, version, _, client = run
        at, side = slice(start, stop), SIDES[direction]
        first, sizes, times_ns = columns.first[at], columns.size[at], columns.time_ns[at]
        size, published = sum(sizes), [0, 0, 0]
        for byte in set(first):
            packets = first.count(byte)
            count = self._kinds.setdefault(byte | version << 8 | side << 16, [0, 0])
            count[0] += packets
            count[1] += size if packets == len(first) else sum(compress(sizes, first.translate(_ONLY[byte])))
            if byte >> 4 == Publish.code:
                published[byte >> 1 & 3] += packets
        if None in times_ns:
            times_ns = [each for each in times_ns if each is not None]
        if times_ns:
            self._time(min(times_ns))  # type: ignore[type-var]
            self._time(max(times_ns))  # type: ignore[type-var]
        connection = self._connection(run, client)
        connection.packets += stop - start
        connection.bytes += size
        if any(published):
            self.traffic.run(run, sum(published), published[1] + published[2], connection, side)
        reasons = columns.reason[at]
        if reasons.count(None) < len(reasons):
            for (byte, code), packets in Counter(zip(first, reasons, strict=True)).items():
                if code is not None:
                    self.reasons[PACKETS[byte >> 4].name, code, version] += packets

    def exchange(self, exchange: Exchange) -> None:
        """Count an exchange that is over."""
        outcome = exchange.outcome
        kind = "acks" if outcome == "orphan" else kind_of(exchange)
        self.outcomes[kind, outcome] += 1
        duration_ns = exchange.duration_ns if outcome in _MEASURED else None
        if duration_ns is not None:
            self._latencies(kind, exchange.sender).add(duration_ns)

    def messages(self, qos: int, sender: Direction | None, count: int, durations_ns: list[int | None]) -> None:
        """Count messages that were sent or are complete, as `exchange` does for each; see exchanges.Tally."""
        kind = _KINDS[qos]
        self.outcomes[kind, "complete" if qos else "sent"] += count
        if known := [each for each in durations_ns if each is not None]:
            self._latencies(kind, sender).extend(known)

    def event(self, event: GapSeen | Closed | Remark) -> None:
        """Count an event that is not a packet."""
        self._time(event.time)
        if isinstance(event, GapSeen):
            self.gaps[event.malformed] += 1
            self.missing += event.length or 0
        elif isinstance(event, Remark):
            self.remarks += 1
        else:
            connection = self._connection(event, "")
            if not connection.closed:
                connection.closed = True
                self.closes[event.direction, event.how] += 1

    # results

    def kinds(self) -> Iterator[tuple[PacketKind, Count]]:
        """Yield the count of each kind."""
        sums: dict[PacketKind, Count] = {}
        for key, (packets, bytes) in sorted(self._kinds.items(), key=lambda entry: (entry[0] & 0xFF, entry[0])):
            kind = _kind(key)
            before = sums.get(kind, Count(0, 0))
            sums[kind] = Count(before.packets + packets, before.bytes + bytes)
        yield from sums.items()

    def total(self, **wanted: Any) -> Count:
        """Return the sum over all kinds with these values: `total(type="PUBLISH", qos=1)`."""
        found = [count for kind, count in self.kinds() if all(getattr(kind, name) == wanted[name] for name in wanted)]
        return Count(sum(count.packets for count in found), sum(count.bytes for count in found))

    @property
    def overhead(self) -> dict[str, int]:
        """Bytes other than payload, by kind; their sum is all bytes minus the payload."""
        acks = sum(self.total(type=name).bytes for name in ("PUBACK", "PUBREC", "PUBREL", "PUBCOMP"))
        publish = self.total(type="PUBLISH").bytes
        read = self.traffic
        known = read.headers + read.topics + read.identifiers + read.properties
        return {
            "fixed headers of PUBLISH": read.headers,
            "Topic Names": read.topics,
            "Packet Identifiers of PUBLISH": read.identifiers,
            "properties of PUBLISH": read.properties,
            "unreadable PUBLISH": publish - known - read.payload,
            "PUBACK, PUBREC, PUBREL, PUBCOMP": acks,
            "all other packets": self.total().bytes - publish - acks,
        }

    def clients(self) -> list[ClientTotals]:
        """Return the counts of all clients, those with the most packets first."""
        merged = {name: each.copy() for name, each in self._clients.items()}
        for connection in self._live.values():
            _merge(merged, connection)
        return sorted(merged.values(), key=lambda each: (-each.packets, each.name))

    @property
    def connections(self) -> int:
        """Number of connections."""
        return len(self._live) + sum(each.connections for each in self._clients.values())

    # counting

    def _latencies(self, kind: str, sender: Direction | None) -> Latencies:
        found = self.latencies.get((kind, sender))
        if found is None:
            found = self.latencies[kind, sender] = Latencies()
        return found

    def _time(self, time: int | None) -> None:
        if time is None:
            return
        if self.first is None or self.last is None:
            self.first = self.last = time
        elif time > self.last:
            self.last = time
        elif time < self.first:
            self.first = time

    def _connection(self, event: PacketSeen | PacketRun | Closed, client: str) -> ClientTotals:
        found = self._recent
        if found is None or found.number != event.ends.number:
            found = self._live.get(event.ends.number)
            if found is None:
                found = ClientTotals(event.ends)
                self._make_room()
                self._live.put(event.ends.number, found)
            self._recent = found
        if client and hash(client) != found.client_hash:
            found.set_client(client)
        return found

    def _make_room(self) -> None:
        if len(self._live) >= MOST_CONNECTIONS:
            oldest = next(iter(self._live))
            if gone := self._live.pop(oldest):
                self.traffic.forget(gone)
                _merge(self._clients, gone)

    def _other(self, packet: Any, version: Version, connection: ClientTotals) -> None:
        codes = getattr(packet, "reason_codes", None)
        if codes is None:
            code = getattr(packet, "reason_code", None)
            codes = () if code is None else (code,)
        for code in codes:
            self.reasons[packet.name, code, version] += 1
        if isinstance(packet, _OFFERING):
            connection.offers(packet)


def kind_of(exchange: Exchange) -> str:
    """Return the kind of an exchange: `QoS 1`, `QoS 2`, `SUBSCRIBE`, `UNSUBSCRIBE` or, of a stray ack, its type."""
    return exchange.packets[0].name if exchange.qos is None else _KINDS[exchange.qos]


def _kind(key: int) -> PacketKind:
    code, flags = key >> 4 & 15, key & 15
    type = PACKETS[code].name if code in PACKETS else f"TYPE {code}"
    qos = flags >> 1 & 3 if type == "PUBLISH" else None
    return PacketKind(type, tuple(SIDES)[key >> 16], Version(key >> 8 & 0xFF), qos)


def _merge(clients: dict[str, ClientTotals], connection: ClientTotals) -> None:
    name = connection.name
    if name not in clients and len(clients) >= MOST_CLIENTS:
        name = OTHERS
    if name in clients:
        clients[name].add(connection)
    else:
        clients[name] = connection.copy(others=name == OTHERS)
