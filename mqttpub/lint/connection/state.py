"""What the rules know of one connection: its two peers, what each may send, and what is in flight.

The table in the docstring of this package says which module writes which attribute.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from ...common.times import SECOND_NS
from ...spec.constraints import StatementRef
from ...spec.packets import Connack, Connect, Puback, Pubrec
from ...spec.properties import (
    MAXIMUM_PACKET_SIZE,
    MAXIMUM_QOS,
    RECEIVE_MAXIMUM,
    RETAIN_AVAILABLE,
    SHARED_SUBSCRIPTION_AVAILABLE,
    SUBSCRIPTION_IDENTIFIER_AVAILABLE,
    TOPIC_ALIAS_MAXIMUM,
    WILDCARD_SUBSCRIPTION_AVAILABLE,
    value_of,
)
from ...spec.versions import Direction, Version
from ...traffic.aliases import Aliases
from ...traffic.runs import PUBLISHES, PacketRun
from ..fault import Fault
from ..registry import TestPoint
from .published import PublishHistory
from .subscriptions import ClientSubscriptions

CLIENT, SERVER = 0, 1
"""The two sides, as indexes."""
PATIENCE_NS = 10 * SECOND_NS
"""Silence after which a missing answer is reported; the specification sets no time."""

RETAIN = RETAIN_AVAILABLE.id
_NOT_RETAINED = PUBLISHES[::2]

ENDLESS = 1 << 62
"""Greater than every size in bytes and every time in nanoseconds."""


class SendLimits:
    """What one peer may send, as the other announced it in CONNECT or CONNACK; without properties, no limits."""

    __slots__ = ("alias_maximum", "identifiers", "known", "number", "packet_size_bytes", "qos", "receive_maximum",
                 "retain", "shared", "wildcards")  # fmt: skip

    def __init__(self, properties: Any = None, number: int = 0) -> None:
        self.known = number > 0
        self.number = number
        """The packet that announced them."""
        self.packet_size_bytes: int = value_of(properties, MAXIMUM_PACKET_SIZE) or ENDLESS
        self.receive_maximum: int = value_of(properties, RECEIVE_MAXIMUM) or 65535
        self.alias_maximum: int = value_of(properties, TOPIC_ALIAS_MAXIMUM, 0) if self.known else 65535
        self.qos: int = value_of(properties, MAXIMUM_QOS, 2)
        self.retain: bool = value_of(properties, RETAIN_AVAILABLE, 1) != 0
        self.wildcards: bool = value_of(properties, WILDCARD_SUBSCRIPTION_AVAILABLE, 1) != 0
        self.identifiers: bool = value_of(properties, SUBSCRIPTION_IDENTIFIER_AVAILABLE, 1) != 0
        self.shared: bool = value_of(properties, SHARED_SUBSCRIPTION_AVAILABLE, 1) != 0


class IdentifierInUse:
    """A Packet Identifier in use, by a request or by a message of QoS 1 or 2, and what it waits for."""

    # Class attributes stand for the values that few of them need: there is one for every message, and those
    # that are set in __init__ are all that most have.
    interval_ns = 0
    """How long the last repeat waited."""
    pubrec_number = 0
    """The packet that was its PUBREC."""
    unanswered_repeats = 0
    """Repeats that have not been answered yet."""
    pubrec_repeats = 0
    """Repeats of the PUBREC that have not been answered yet."""
    content_hash = 0
    """Tells a repeat from another packet before 5.0."""
    filters: tuple[Any, ...] = ()
    filter_count = 0
    """How many codes the answer must have."""
    size_bytes = 0
    """What its filters take in memory."""

    def __init__(self, request: str, number: int, time_ns: int | None, awaits: int, qos: int = 0) -> None:
        self.request = request
        """Type of the packet that took the identifier."""
        self.number = number
        """That packet."""
        self.sent_ns = time_ns
        """When it was last sent."""
        self.awaits = awaits
        """The packet type that must come next."""
        self.qos = qos
        """0 for a request."""

    def __str__(self) -> str:
        return f"{self.request} (packet {self.number})"


MessageInUse = tuple[int, int | None, int, int]
"""A message in progress that is only begun: its packet, when that was sent, its QoS, and the hash of its content."""
_AWAITS = (0, Puback.code, Pubrec.code)
"""What the PUBLISH of each QoS waits for."""


class IdentifiersInUse:
    """The requests and messages of one end that are in progress, by Packet Identifier."""

    # A message that is begun with many others is an IdentifierInUse only once it is looked at: most are not before
    # they end. A tuple is made in a fifth of the time.
    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def get(self, id: int | None) -> IdentifierInUse | None:
        """Return what is in progress with an identifier."""
        found: IdentifierInUse | MessageInUse | None = self._known.get(id)  # type: ignore[arg-type]
        if type(found) is tuple:
            number, time_ns, qos, content_hash = found
            begun = self._known[id] = IdentifierInUse("PUBLISH", number, time_ns, _AWAITS[qos], qos)  # type: ignore[index]
            begun.content_hash = content_hash
            return begun
        return found  # type: ignore[return-value]

    def items(self) -> Iterator[tuple[int, IdentifierInUse]]:
        """Yield all, those that have begun first before the others."""
        return ((id, found) for id in self._known if (found := self.get(id)))

    def __contains__(self, id: int) -> bool:
        return id in self._known

    def __setitem__(self, id: int, begun: IdentifierInUse) -> None:
        self._known[id] = begun

    def __delitem__(self, id: int) -> None:
        del self._known[id]

    def are_free(self, ids: list[int]) -> bool:
        """Whether all identifiers are free and different."""
        return len(set(ids)) == len(ids) and self._known.keys().isdisjoint(ids)

    def begin(self, ids: list[int], messages: list[MessageInUse]) -> None:
        """Note messages, whose identifiers are free."""
        self._known.update(zip(ids, messages, strict=True))


class Identifiers:
    """A set of Packet Identifiers that never takes more than 8 KiB."""

    __slots__ = ("_few", "_many")
    FEW = 128
    """From here on, a bit for each of the 65,536 identifiers takes less memory than a set."""

    def __init__(self) -> None:
        self._few: set[int] | None = None
        self._many: bytearray | None = None

    def add(self, id: int) -> None:
        """Add an identifier."""
        if self._many is not None:
            self._many[id >> 3] |= 1 << (id & 7)
        elif self._few is None:
            # Most connections have none, and even an empty set takes memory.
            self._few = {id}
        else:
            self._few.add(id)
            if len(self._few) > self.FEW:
                self._many = bytearray(8192)
                for each in self._few:
                    self.add(each)
                self._few = None

    def update(self, ids: list[int]) -> None:
        """Add identifiers."""
        many = self._many
        if many is None and self._few is not None and len(self._few) + len(ids) <= self.FEW:
            self._few.update(ids)
        elif many is None:
            for id in ids:
                self.add(id)
        else:
            # A call for each takes twice as long (timeit).
            for id in ids:
                many[id >> 3] |= 1 << (id & 7)

    def __contains__(self, id: int) -> bool:
        if self._many is not None:
            return bool(self._many[id >> 3] & 1 << (id & 7))
        return self._few is not None and id in self._few

    def __bool__(self) -> bool:
        return self._few is not None or self._many is not None


class Peer:
    """One end of a connection, and what it sent."""

    __slots__ = (
        "aliases_valid", "answered_multiple", "answered_requests", "closed", "closing_since_ns", "constrained",
        "direction", "disconnect_number", "finished", "follows_runs", "ids_reused_early", "in_flight", "in_use",
        "keep_alive_s", "last_acked", "last_ns", "last_released", "limits", "name", "other", "packets", "pings",
        "qos0_count", "reason_code", "refused_ids", "refused_number", "repeats_due", "side", "silence_ns",
        "silence_reported",
    )  # fmt: skip

    other: "Peer"

    def __init__(self, direction: Direction) -> None:
        self.direction = direction
        self.name = direction.value
        self.side = CLIENT if direction is Direction.CLIENT else SERVER
        self.limits = SendLimits()
        self.constrained = False
        """Whether each of its packets must be checked against a Maximum Packet Size or Request Problem Information."""
        self.packets = 0
        self.follows_runs = False
        """Whether all packets of its last run were followed together (see `run.advance`)."""
        self.last_ns: int | None = None
        """When it last sent a packet."""
        self.keep_alive_s = 0
        self.silence_ns = ENDLESS
        """How long it may be silent without a finding."""
        self.silence_reported = ""
        """The severity with which its silence was last reported, for a server that continues."""
        self.disconnect_number = 0
        """Its DISCONNECT packet."""
        self.reason_code = 0
        """Reason Code of its DISCONNECT or of its refusing CONNACK."""
        self.refused_number = 0
        """Its CONNACK packet that refused the connection."""
        self.closing_since_ns: int | None = None
        """When it sent the packet after which it must close."""
        self.closed = False
        self.forget()

    def forget(self) -> None:
        """Forget all that unseen bytes may have changed."""
        self.in_use = IdentifiersInUse()
        """Its requests and messages in progress, by Packet Identifier."""
        self.finished = Identifiers()
        """Identifiers of its messages whose exchange is complete."""
        self.answered_requests = Identifiers()
        """Identifiers of its SUBSCRIBE and UNSUBSCRIBE packets that were answered."""
        self.answered_multiple = Identifiers()
        """Those of them that had more than one filter."""
        self.refused_ids: set[int] = set()
        """Identifiers of its messages that were refused."""
        self.repeats_due: dict[int, IdentifierInUse] = {}
        """Complete exchanges with repeats that were not answered yet."""
        self.ids_reused_early: set[int] = set()
        """Identifiers that were used again before their exchange was complete, so that acks are ambiguous."""
        self.in_flight = 0
        """Its messages of QoS 1 and 2 that were not acknowledged yet."""
        self.qos0_count = 0
        """Its messages of QoS 0."""
        self.last_acked = [0] * 8
        """For each type of ack that it sent, the latest packet acknowledged."""
        self.last_released = 0
        """The latest PUBREC that it answered with PUBREL."""
        self.aliases_valid = True
        """Whether every Topic Alias that it sent was in range and set."""
        self.pings: list[tuple[int, int | None]] = []
        """Its PINGREQ packets without an answer: packet, time in nanoseconds."""
        self.last_ns = None

    def finish(self, id: int, exchange: IdentifierInUse) -> None:
        """End an exchange that this peer began."""
        del self.in_use[id]
        if exchange.unanswered_repeats:
            self.repeats_due[id] = exchange
        if exchange.qos:
            self.finished.add(id)
            return
        self.answered_requests.add(id)
        if exchange.filter_count > 1:
            self.answered_multiple.add(id)

    def answers_repeat(self, id: int) -> bool:
        """Whether one more answer with this identifier was due because its request was repeated; counts it."""
        exchange = self.repeats_due.get(id)
        if exchange is None:
            return False
        exchange.unanswered_repeats -= 1
        if not exchange.unanswered_repeats:
            del self.repeats_due[id]
        return True


class MustClose(NamedTuple):
    """A packet of the client after which the server must close."""

    law: StatementRef
    number: int


class ConnectionState:
    """One connection as its rules see it."""

    __slots__ = (
        "aliases", "auth_method", "check_order", "client", "complete", "connack", "connack_number", "connack_time_ns",
        "connect", "connect_error", "connect_number", "data", "early_packets", "end_reported", "exercised", "faults",
        "first_disconnect_ns", "held_bytes", "must_close", "new_session", "number", "only_auth_sent", "peers",
        "pending_limits", "problem_information", "published", "reauthenticating", "retained", "server",
        "server_keep_alive", "size_bytes", "subscriptions", "time_ns", "topic", "version", "version_announced",
    )  # fmt: skip

    def __init__(self, version: Version, *, complete: bool) -> None:
        self.version = version
        self.version_announced = False
        """Whether a CONNECT announced the version, so that it is final."""
        self.client = Peer(Direction.CLIENT)
        self.server = Peer(Direction.SERVER)
        self.client.other, self.server.other = self.server, self.client
        self.peers = (self.client, self.server)
        self.complete = complete
        """Whether everything since the connection was opened was seen."""
        self.new_session = False
        """Whether everything was seen, and the session began with this connection."""
        self.number = 0
        """The current packet, counted from 1 over both directions."""
        self.time_ns: int | None = None
        """When the current packet was seen."""
        self.size_bytes = 0
        """Size of the current packet."""
        self.data: Any = b""
        """Bytes of the current packet."""
        self.topic: str | None = None
        """Topic of the current PUBLISH with its alias resolved; None if it is unknown."""
        self.connect: Connect | None = None
        """The first CONNECT, without what no rule compares later."""
        self.connect_number = 0
        self.connect_error = ""
        """The first error of that CONNECT by itself."""
        self.connack: Connack | None = None
        """The CONNACK that accepted the connection, without its properties."""
        self.connack_number = 0
        """The first CONNACK, whether it accepts or refuses."""
        self.connack_time_ns: int | None = None
        self.only_auth_sent = True
        """Whether the server has sent nothing but AUTH."""
        self.check_order = [complete, complete]
        """For each side, whether the order of its next packet needs a check (around CONNACK and after DISCONNECT)."""
        self.early_packets = 0
        """Packets that the client sent between CONNECT and CONNACK."""
        self.pending_limits: SendLimits | None = None
        """Limits that a client that did not wait for CONNACK may not know yet."""
        self.server_keep_alive = False
        """Whether the server replaced Keep Alive."""
        self.auth_method: str | None = None
        """The Authentication Method of CONNECT."""
        self.reauthenticating = False
        self.problem_information = True
        self.must_close: MustClose | None = None
        """The packet of the client after which the server must close."""
        self.subscriptions = ClientSubscriptions()
        self.aliases: Aliases | None = None
        """Topic Aliases of both directions; None until one is used."""
        self.published: PublishHistory | None = None
        """What the client published, if it may get it back."""
        self.retained: dict[str, int] = {}
        """How often a message with RETAIN 1 came, by topic."""
        self.held_bytes = 0
        """Bytes of the filters of unanswered requests."""
        self.first_disconnect_ns: int | None = None
        self.end_reported = [False, False]
        """For each side, whether what it left undone was reported."""
        self.faults: list[Fault] = []
        """Faults of the current packet."""
        self.exercised: defaultdict[TestPoint, int] = defaultdict(int)
        """How often each test point occurred."""

    def __del__(self) -> None:
        # The peers refer to each other. Without that cycle the memory of a connection is free as soon as it ends.
        # A state that was read from a broken file may have no peers.
        with suppress(AttributeError):
            del self.client.other, self.server.other

    def fault(
        self, law: StatementRef, path: str, message: str, *also: StatementRef, severity: str = "",
        at_fault: Direction | None = None,
    ) -> None:  # fmt: skip
        """Report a violation, if the version of this connection has the statement.

        Without `at_fault` it is the sender of the packet; without a packet, the end that the statement binds.
        """
        if law.id(self.version):
            self.faults.append(Fault(path, message, law, also, severity, at_fault=at_fault))

    def forget(self) -> None:
        """Forget all that unseen bytes may have changed."""
        self.complete = self.new_session = False
        for peer in self.peers:
            peer.forget()
            peer.aliases_valid = False
        self.held_bytes = 0
        self.aliases = self.published = None
        if not self.connack_number and self.version == Version.V5:
            # The CONNACK that was missed may hold a Server Keep Alive.
            self.client.silence_ns = ENDLESS
        if self.pending_limits:
            self.client.limits, self.pending_limits = self.pending_limits, None
            self.client.constrained = self.client.limits.packet_size_bytes != ENDLESS


class Stretch:
    """A run of packets from one peer, of which what is declared as `runs` of rules follows some rows at a time."""

    __slots__ = ("_begun", "columns", "first_number", "is_client", "peer", "run", "state")

    def __init__(self, state: ConnectionState, peer: Peer, run: PacketRun, row: int) -> None:
        self.state = state
        self.peer = peer
        self.run = run
        self.columns = run.columns
        self.is_client = peer.side == CLIENT
        self.first_number = state.number + 1 - row
        """Added to a row, this gives the number of its packet."""
        self._begun: tuple[int, int, list[int]] = 0, 0, []

    def begun(self, row: int, stop: int) -> list[int]:
        """Return the Packet Identifiers of the messages of QoS 1 and 2 among PUBLISH packets."""
        known = self._begun
        if known[0] != row or known[1] != stop:
            known = self._begun = row, stop, list(filter(None, self.columns.packet_id[row:stop]))
        return known[2]

    def retained(self, row: int, stop: int) -> int:
        """Return how many PUBLISH packets have RETAIN 1."""
        return len(self.columns.first[row:stop].translate(None, _NOT_RETAINED))

    def payload(self, row: int) -> bytes:
        """Return the payload of a PUBLISH packet."""
        columns = self.columns
        return columns.buffer[columns.payload_begin[row] : columns.begin[row] + columns.size[row]]

    def count(self, point: TestPoint, times: int) -> None:
        """Count how often packets put statements to the test."""
        if times:
            self.state.exercised[point] += times
