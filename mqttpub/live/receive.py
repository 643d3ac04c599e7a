"""Messages from the broker: received, kept and acknowledged (5.0: 4.3, 4.5, 4.6).

Messages go to a MessageStore, which has them before they are acknowledged, or to a queue, whose reader says which it
has taken; `subscribe/` drives both. A session that only publishes receives with neither, because a broker may send
messages to any session that it still has.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ..codec.encode import encode
from ..spec.declare import Packet, Property
from ..spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ..spec.reason_codes import FAILURE
from ..spec.versions import Version
from .failures import PeerFault

PACKET_NOT_FOUND = 0x92
"""Reason Code Packet Identifier not found."""


class ReceivedMessage(NamedTuple):
    """A message from the broker."""

    topic: str
    """The Topic Name; where the PUBLISH has only a Topic Alias, the one that the alias stands for."""
    payload: bytes
    qos: int
    retain: bool
    dup: bool
    packet_id: int | None
    """The Packet Identifier; None at QoS 0."""
    properties: tuple[Property, ...]
    """The properties in the order in which they came, repetitions and the Topic Alias included."""
    time_ns: int
    """When it arrived, in nanoseconds since the epoch."""


class Answering(NamedTuple):
    """How messages are answered: as the specification asks, or otherwise on purpose, to test a broker."""

    acknowledge: bool = True
    """Whether QoS 1 and 2 messages are answered at all."""
    delay_s: float = 0.0
    """How many seconds each acknowledgement is held back."""
    reason_code: int | None = None
    """Reason Code of PUBACK and PUBREC; None for none."""


AT_ONCE = Answering()


class MessageStore(Protocol):
    """Keeps what arrives. It is flushed before anything is acknowledged, so nothing acknowledged is lost."""

    def connected(self, session_present: bool) -> None:
        """Begin a new connection, on which messages of an earlier one may come again if the session is present."""

    def message(self, time_ns: int, data: bytes) -> object:
        """Add a PUBLISH that arrived at a time since the epoch; a QoS 2 message may come more than once."""

    def release(self, time_ns: int, packet_id: int) -> bool:
        """Add the PUBREL of a QoS 2 message; return whether there was such a message."""

    def flush(self) -> None:
        """Make what was added survive."""


class Receiver:
    """The receiver's half of the publish flows of a session, without sockets.

    Packets go in through `receive`; `take_output` returns the acknowledgements to write. With a `queue`, messages are
    appended to it, each QoS 2 message once, and are acknowledged when `taken` is called; otherwise they are
    acknowledged as soon as the store has them. A receiver with a queue lasts longer than a connection, because it
    remembers the Packet Identifiers of QoS 2 messages.
    """

    def __init__(
        self, version: Version, store: MessageStore | None = None, *, queue: deque[ReceivedMessage] | None = None,
        answering: Answering = AT_ONCE,
    ) -> None:  # fmt: skip
        self.version = version
        self.store = store
        self.excess: PeerFault | None = None
        """The first message above our Receive Maximum, where messages are kept."""
        self.most_unanswered = 0
        """The largest value that `unanswered` has had, on any connection."""
        self.stopped = False
        """Whether messages are ignored from now on; exchanges that have begun are completed."""
        self.drop: Callable[[ReceivedMessage], None] | None = None
        """Takes QoS 0 messages, which nothing acknowledges, while the queue has no room for them."""
        self._queue = queue
        self._answering = answering
        self._owes = False
        """Whether the queue may hold messages that need an answer."""
        self._stale = 0
        """How many messages at the front of the queue came on an earlier connection, and are not answered any more."""
        self._offered: list[ReceivedMessage] = []
        """What the queue held at the last `offer`; nothing where none of it needed an answer."""
        self._output: list[bytes] = []
        self._delayed: deque[tuple[float, bytes, int | None]] = deque()
        """Acknowledgements that are held back: when they are due on the monotonic clock, and as in `_answered`."""
        self._answered: list[int] = []
        """Packet Identifiers whose exchanges the output ends."""
        self._in_flight: set[int] = set()
        """Packet Identifiers of this connection's messages that the broker cannot know to be acknowledged."""
        self._waiting: set[int] = set()
        """Packet Identifiers of the QoS 2 messages in the queue."""
        self._unreleased: set[int] = set()
        """Packet Identifiers of QoS 2 messages whose PUBREL has not come."""
        self._has_unflushed = False
        """Whether the store was given something since it was flushed."""

    def connected(self, session_present: bool) -> None:
        """Take what CONNACK says of the session, before the messages that may have come with it."""
        self._output.clear()
        self._delayed.clear()
        self._answered.clear()
        self._in_flight.clear()
        self._unreleased |= self._waiting
        self._waiting.clear()
        if not session_present:
            self._unreleased.clear()
        self._stale = len(self._queue or ())
        if self.store:
            self.store.connected(session_present)

    def exceed(self, fault: PeerFault) -> None:
        """Raise the fault of a message above our Receive Maximum, unless it is kept already.

        mosquitto 2.0.11 sends more as soon as one message is acknowledged. The excess is kept like any message, and
        to close would bring the same messages, and the same fault, with every new connection.
        """
        if self.store is None and self._queue is None:
            raise fault
        self.excess = self.excess or fault

    @property
    def unanswered(self) -> int:
        """Number of QoS 1 and 2 messages that the broker cannot know to be acknowledged (5.0: 3.3.4)."""
        return len(self._in_flight)

    @property
    def unreleased(self) -> int:
        """Number of QoS 2 messages of this connection that were answered, and whose PUBREL has not come."""
        return len((self._unreleased & self._in_flight) - self._waiting) if self._answering.acknowledge else 0

    def due_in_s(self) -> float | None:
        """Return after how many seconds the next acknowledgement is due; None where none is held back."""
        return max(self._delayed[0][0] - time.monotonic(), 0.0) if self._delayed else None

    def take_output(self) -> bytes:
        """Flush the store, then return the packets to write and forget them."""
        if self.store and self._has_unflushed:
            self.store.flush()
            self._has_unflushed = False
        while self._delayed and self._delayed[0][0] <= time.monotonic():
            self._put(*self._delayed.popleft()[1:])
        data = b"".join(self._output)
        self._output.clear()
        self._in_flight.difference_update(self._answered)
        self._answered.clear()
        return data

    def receive(self, packet: Packet, data: bytes, time_ns: int, topic: str = "") -> None:
        """Take a PUBLISH or a PUBREL, `data` being its bytes, and put its acknowledgement into the output.

        `topic` is the Topic Name of a PUBLISH that has only a Topic Alias.
        """
        _FLOWS[type(packet)](self, packet, data, time_ns, topic)

    def _publish(self, packet: Any, data: bytes, time_ns: int, topic: str) -> None:
        if self._queue is not None:
            self.publish(
                ReceivedMessage(
                    topic or packet.topic, packet.payload, packet.qos, packet.retain, packet.dup, packet.packet_id,
                    packet.properties, time_ns,
                )
            )  # fmt: skip
            return
        if packet.qos:
            self._count(packet.packet_id)
        self._has_unflushed = True
        if self.store:
            self.store.message(time_ns, data)
        if packet.qos:
            self._acknowledge(packet.qos, packet.packet_id)

    @property
    def queues(self) -> bool:
        """Whether messages go to a queue."""
        return self._queue is not None

    def publish(self, message: ReceivedMessage) -> None:
        """Append a message to the queue, unless it is a QoS 2 message that was there already."""
        assert self._queue is not None
        if self.stopped:
            return
        if message.packet_id is not None:
            self._count(message.packet_id)
            if message.qos == 2 and self._is_known(message.packet_id):
                return
            self._owes = True
        elif self.drop:
            self.drop(message)
            return
        self._queue.append(message)

    def _count(self, packet_id: int) -> None:
        self._in_flight.add(packet_id)
        self.most_unanswered = max(self.most_unanswered, len(self._in_flight))

    def _is_known(self, packet_id: int) -> bool:
        """Whether a QoS 2 message was handed on already, which is answered again, or is still in the queue."""
        if packet_id in self._waiting:
            return True
        if packet_id in self._unreleased:
            self._acknowledge(2, packet_id)
            return True
        self._waiting.add(packet_id)
        return False

    def offer(self) -> None:
        """Note what the queue holds, before its reader takes some of it."""
        self._offered = list(self._queue or ()) if self._owes else []
        self._owes = False

    def taken(self, count: int) -> None:
        """Acknowledge the first messages of those that were offered; the reader has taken so many."""
        stale = self._stale
        self._stale = max(stale - count, 0)
        for message in self._offered[stale:count]:
            if message.packet_id is not None:
                self._waiting.discard(message.packet_id)
                self._acknowledge(message.qos, message.packet_id)
        self._owes = self._owes or count < len(self._offered)
        self._offered = []

    def _acknowledge(self, qos: int, packet_id: int) -> None:
        code = self._answering.reason_code
        if qos == 1:
            self._send(encode(Puback(packet_id=packet_id, reason_code=code), self.version), packet_id)
            return
        refused = (code or 0) >= FAILURE
        if not refused:
            self._unreleased.add(packet_id)
        answer = encode(Pubrec(packet_id=packet_id, reason_code=code), self.version)
        self._send(answer, packet_id if refused else None)

    def _pubrel(self, packet: Any, data: bytes, time_ns: int, topic: str) -> None:
        known = packet.packet_id in self._unreleased
        self._unreleased.discard(packet.packet_id)
        if self.store:
            # A store also knows the messages of earlier connections.
            self._has_unflushed = True
            known = self.store.release(time_ns, packet.packet_id)
        code = None if known or self.version < Version.V5 else PACKET_NOT_FOUND
        self._in_flight.discard(packet.packet_id)
        self._send(encode(Pubcomp(packet_id=packet.packet_id, reason_code=code), self.version), None)

    def _send(self, data: bytes, ends: int | None) -> None:
        """Put an acknowledgement into the output, when it is due; `ends` is the Packet Identifier that it frees."""
        if not self._answering.acknowledge:
            return
        if self._answering.delay_s:
            self._delayed.append((time.monotonic() + self._answering.delay_s, data, ends))
        else:
            self._put(data, ends)

    def _put(self, data: bytes, ends: int | None) -> None:
        self._output.append(data)
        if ends is not None:
            self._answered.append(ends)


_FLOWS = {Publish: Receiver._publish, Pubrel: Receiver._pubrel}
