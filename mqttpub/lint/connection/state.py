"""What is known of a connection: its two ends, what each may send, what is in flight."""

from collections import defaultdict
from contextlib import suppress
from typing import Any

from ...spec.constraints import Law
from ...spec.properties import BY_KEY
from ...spec.versions import Direction, Version
from .registry import CLIENT, SERVER, Fault, Occasion, value_of
from .subscriptions import Subscriptions

SECOND = 1_000_000_000
PATIENCE = 10 * SECOND
"""How long an end may be at work on an answer before its silence counts as none; the specification sets no time."""

RECEIVE_MAXIMUM = BY_KEY["receive_maximum"].id
ALIAS_MAXIMUM = BY_KEY["topic_alias_maximum"].id
PACKET_SIZE = BY_KEY["maximum_packet_size"].id
MAXIMUM_QOS = BY_KEY["maximum_qos"].id
RETAIN = BY_KEY["retain_available"].id
WILDCARDS = BY_KEY["wildcard_subscription_available"].id
IDENTIFIERS = BY_KEY["subscription_identifier_available"].id
SHARED = BY_KEY["shared_subscription_available"].id

ENDLESS = 1 << 62
"""Above every size and time."""


class Limits:
    """What one end may send, as the other end told; nothing is forbidden as long as nothing is known."""

    __slots__ = ("alias_maximum", "identifiers", "known", "number", "qos", "receive_maximum", "retain", "shared",
                 "size", "wildcards")  # fmt: skip

    def __init__(self, properties: Any = None, number: int = 0) -> None:
        self.known = number > 0
        self.number = number
        """The packet that told them."""
        self.size: int = value_of(properties, PACKET_SIZE) or ENDLESS
        self.receive_maximum: int = value_of(properties, RECEIVE_MAXIMUM) or 65535
        self.alias_maximum: int = value_of(properties, ALIAS_MAXIMUM, 0) if self.known else 65535
        self.qos: int = value_of(properties, MAXIMUM_QOS, 2)
        self.retain: bool = value_of(properties, RETAIN, 1) != 0
        self.wildcards: bool = value_of(properties, WILDCARDS, 1) != 0
        self.identifiers: bool = value_of(properties, IDENTIFIERS, 1) != 0
        self.shared: bool = value_of(properties, SHARED, 1) != 0


class Exchange:
    """A Packet Identifier in use: a request, or a message above QoS 0, and what it waits for."""

    interval = 0
    """How long the last repeat waited."""
    received = 0
    """The packet with its PUBREC."""
    again = 0
    """Repeats that were not answered yet."""
    releases = 0
    """Repeats of the PUBREC that were not answered yet."""
    content = 0
    """What tells a repeat from another packet, before 5.0."""
    filters: tuple[Any, ...] = ()
    count = 0
    """How many codes its answer has."""
    size = 0
    """Bytes that its filters take."""

    # Most exchanges need no more than these, and there is one for every message.
    def __init__(self, request: str, number: int, time: int | None, awaits: int, qos: int = 0) -> None:
        self.request = request
        self.number = number
        """The packet that began it."""
        self.last = time
        """When it was last sent."""
        self.awaits = awaits
        """The packet type that is to come next."""
        self.qos = qos
        """0 for a request."""

    def __str__(self) -> str:
        return f"{self.request} (packet {self.number})"


class Identifiers:
    """A set of Packet Identifiers, small if they are few and never more than 8 KiB."""

    __slots__ = ("_few", "_many")
    FEW = 128

    def __init__(self) -> None:
        self._few: set[int] | None = None
        self._many: bytearray | None = None

    def add(self, id: int) -> None:
        """Take one in."""
        if self._many is not None:
            self._many[id >> 3] |= 1 << (id & 7)
        elif self._few is None:
            # Most connections have none, and a set takes memory even when it is empty.
            self._few = {id}
        else:
            self._few.add(id)
            if len(self._few) > self.FEW:
                self._many = bytearray(8192)
                for each in self._few:
                    self.add(each)
                self._few = None

    def __contains__(self, id: int) -> bool:
        if self._many is not None:
            return bool(self._many[id >> 3] & 1 << (id & 7))
        return self._few is not None and id in self._few

    def __bool__(self) -> bool:
        return self._few is not None or self._many is not None


class End:
    """One end of a connection and what it sent."""

    __slots__ = (
        "acked", "alias_room", "aliases", "closed", "direction", "disconnect", "exchanges", "in_flight", "keep_alive",
        "last", "late", "leaving", "limits", "muddled", "name", "over", "packets", "peer", "pings", "plain", "quiet",
        "range_kept", "reason", "refused", "refused_ids", "released", "requests_over", "several_over", "side",
        "silence", "special",
    )  # fmt: skip

    peer: "End"

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.name = direction.value
        self.side = CLIENT if direction is Direction.CLIENT else SERVER
        self.limits = Limits()
        self.special = False
        """Whether the other end told something that binds each of its packets."""
        self.packets = 0
        self.last: int | None = None
        """When it last sent a packet."""
        self.keep_alive = 0
        self.silence = ENDLESS
        """Nanoseconds that it may be silent."""
        self.quiet = False
        """Whether its silence was already reported."""
        self.disconnect = 0
        """The packet in which it sent DISCONNECT."""
        self.reason = 0
        """The reason code of its DISCONNECT or of its refusing CONNACK."""
        self.refused = 0
        """The packet in which it sent a CONNACK that refuses."""
        self.leaving: int | None = None
        """When it sent what obliges it to close."""
        self.closed = False
        self.forget()

    def forget(self) -> None:
        """Forget what may have changed in bytes that nobody saw."""
        self.exchanges: dict[int, Exchange] = {}
        """What it began and what is not over, by Packet Identifier."""
        self.over = Identifiers()
        """Identifiers of its messages that are over."""
        self.requests_over = Identifiers()
        """Identifiers of its SUBSCRIBE and UNSUBSCRIBE packets that were answered."""
        self.several_over = Identifiers()
        """Those that had several filters."""
        self.refused_ids: set[int] = set()
        """Identifiers of messages that were refused."""
        self.late: dict[int, Exchange] = {}
        """Exchanges that are over, but of which repeats were not answered yet."""
        self.muddled: set[int] = set()
        """Identifiers that were used again before their time, so that nobody can tell whose answer an answer is."""
        self.in_flight = 0
        """Its messages above QoS 0 that are not acknowledged."""
        self.plain = 0
        """Its messages of QoS 0."""
        self.acked = [0] * 8
        """For each type of ack that it sent, the latest packet acknowledged."""
        self.released = 0
        """The latest PUBREC that it answered."""
        self.aliases: dict[int, str] = {}
        self.alias_room = 1 << 20
        """Characters of topics that may still be remembered for aliases."""
        self.range_kept = True
        """Whether every Topic Alias that it sent was in range and set."""
        self.pings: list[tuple[int, int | None]] = []
        """PINGREQ packets without an answer, by packet and time."""
        self.last = None

    def finish(self, id: int, exchange: Exchange) -> None:
        """End an exchange that this end began."""
        del self.exchanges[id]
        if exchange.again:
            self.late[id] = exchange
        if exchange.qos:
            self.over.add(id)
            return
        self.requests_over.add(id)
        if exchange.count > 1:
            self.several_over.add(id)

    def overdue(self, id: int) -> bool:
        """Whether one more answer for this identifier was due, because its request was repeated."""
        exchange = self.late.get(id)
        if exchange is None:
            return False
        exchange.again -= 1
        if not exchange.again:
            del self.late[id]
        return True


class State:
    """One connection as its rules see it."""

    __slots__ = (
        "announced", "client", "complete", "connack", "connack_number", "connack_time", "connect", "connect_number",
        "counts", "data", "early", "ends", "faults", "fresh", "greeting", "held", "history", "judged",
        "keep_alive_told", "method", "number", "over_at", "pending", "problem_information", "renewing", "retained",
        "server", "size", "spoiled", "subscriptions", "time", "topic", "version", "watched", "wrong",
    )  # fmt: skip

    def __init__(self, version: Version, *, complete: bool) -> None:
        self.version = version
        self.announced = False
        """Whether a CONNECT announced the version, so that it is final."""
        self.client = End(Direction.CLIENT)
        self.server = End(Direction.SERVER)
        self.client.peer, self.server.peer = self.server, self.client
        self.ends = (self.client, self.server)
        self.complete = complete
        """Whether nothing was missed since the connection was opened."""
        self.fresh = False
        """Whether nothing was missed, and the session began with this connection."""
        self.number = 0
        """The current packet, counted from 1 over both directions."""
        self.time: int | None = None
        self.size = 0
        self.data: Any = b""
        """The bytes of the current packet."""
        self.topic: str | None = None
        """The topic of the current PUBLISH, with its alias resolved; None when nothing tells it."""
        self.connect: Any = None
        self.connect_number = 0
        self.wrong = ""
        """What is wrong with CONNECT by itself."""
        self.connack: Any = None
        """The CONNACK that accepted the connection."""
        self.connack_number = 0
        self.connack_time: int | None = None
        self.greeting = True
        """Whether the server has sent nothing but AUTH."""
        self.watched = [complete, complete]
        """For each side, whether its next packet is more than routine."""
        self.early = 0
        """Packets of the client between CONNECT and CONNACK."""
        self.pending: Limits | None = None
        """Limits of which a client that did not wait for CONNACK may not know yet."""
        self.keep_alive_told = False
        """Whether Keep Alive is the server's."""
        self.method: str | None = None
        """The Authentication Method of CONNECT."""
        self.renewing = False
        """Whether a re-authentication is under way."""
        self.problem_information = True
        self.spoiled: Any = None
        """The packet of the client after which the server has to close."""
        self.subscriptions = Subscriptions()
        self.history: Any = None
        """What the client published, if it may get it back."""
        self.retained: dict[str, int] = {}
        """How often a message with RETAIN 1 came, by topic."""
        self.held = 0
        """Bytes of the filters that unanswered requests hold."""
        self.over_at: int | None = None
        """When the first DISCONNECT was sent."""
        self.judged = [False, False]
        """For each side, whether what it left undone was reported."""
        self.faults: list[Fault] = []
        self.counts: defaultdict[Occasion, int] = defaultdict(int)

    def __del__(self) -> None:
        # Each end knows the other. Without that circle the memory of a connection is free as soon as it is over.
        # What comes out of a file that is broken may have no ends.
        with suppress(AttributeError):
            del self.client.peer, self.server.peer

    def fault(self, law: Law, path: str, message: str, *also: Law, severity: str = "") -> None:
        """Note that a rule is broken, if this version has it."""
        if law.id(self.version):
            self.faults.append(Fault(law, path, message, also, severity))

    def forget(self) -> None:
        """Forget all that may have changed in bytes that nobody saw."""
        self.complete = self.fresh = False
        for end in self.ends:
            end.forget()
            end.range_kept = False
        self.held = 0
        self.history = None
        if not self.connack_number and self.version == Version.V5:
            # A Server Keep Alive may be among what was missed.
            self.client.silence = ENDLESS
        if self.pending:
            self.client.limits, self.pending = self.pending, None
            self.client.special = self.client.limits.size != ENDLESS
