"""The publish flows of QoS 0, 1 and 2 as state machines without sockets (5.0: 4.3).

Packets and times go in; packets to write and finished exchanges come out.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ...codec.encode import encode
from ...codec.publish_writer import PublishWriter
from ...spec.declare import Packet
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.versions import Version

PACKET_NOT_FOUND = 0x92
"""Reason Code Packet Identifier not found."""
NO_SUBSCRIBERS = 0x10
REASON_STRING = 0x1F
PUBACK, PUBREC, PUBREL, PUBCOMP = Puback.code, Pubrec.code, Pubrel.code, Pubcomp.code
NAMES = {PUBACK: "PUBACK", PUBREC: "PUBREC", PUBCOMP: "PUBCOMP"}
ALL_SENT = "all was sent"
"""What is awaited where no acknowledgement is."""
FIRST_ANSWER = {1: PUBACK, 2: PUBREC}
"""Packet type of the first answer to a PUBLISH, by QoS."""


class Message(NamedTuple):
    """One message to publish."""

    writer: PublishWriter
    payload: bytes
    packet_id: int | None = None
    """Packet Identifier to use; None takes a free one."""
    token: Any = None
    """Whatever the caller wants to find the message by."""

    @classmethod
    def of(cls, packet: Publish, version: Version, token: Any = None) -> "Message":
        """Return the message that a PUBLISH carries."""
        return cls(PublishWriter(packet, version), packet.payload, packet.packet_id, token)


class Exchange:
    """One message on its way: what was sent, what is awaited, how it ended.

    Times are seconds since the epoch.
    """

    __slots__ = (
        "acked_at", "acked_in", "awaits", "message", "packet_id", "payload_bytes", "qos", "reason_code",
        "reason_string", "recovered", "reported", "sendings", "sent_at", "sent_in", "token", "writer",
    )  # fmt: skip

    def __init__(self, message: Message, packet_id: int | None, awaits: int, now: float) -> None:
        self.message: Message | None = message
        """What to send again; None once it must not be."""
        self.writer = message.writer
        self.payload_bytes = len(message.payload)
        self.packet_id = packet_id
        self.qos = message.writer.qos
        self.token = message.token
        self.awaits = awaits
        """Packet type that comes next from the receiver; 0 when nothing does."""
        self.sent_at = now
        self.acked_at: float | None = None
        self.reason_code: int | None = None
        """Reason Code that ended it; None for QoS 0 and before MQTT 5.0."""
        self.reason_string = ""
        self.sendings = 1
        """How often the PUBLISH was sent."""
        self.sent_in = 0
        """Number of the write that its last packet went out with."""
        self.acked_in = 0
        """Number of the last write before it ended."""
        self.recovered = False
        """Whether a PUBREL was sent again on a later connection."""
        self.reported = False
        """Whether the caller had it as finished before."""

    @property
    def refused(self) -> bool:
        """Whether the receiver ended it with a Reason Code of 0x80 or above.

        Packet Identifier not found is no refusal of a PUBREL that was sent again (5.0: 3.7.2.1).
        """
        if self.recovered and self.reason_code == PACKET_NOT_FOUND:
            return False
        return self.reason_code is not None and self.reason_code >= 0x80

    @property
    def seconds(self) -> float | None:
        """Time from first sending to the last acknowledgement."""
        return None if self.acked_at is None else self.acked_at - self.sent_at


class Violation(Exception):
    """The receiver sent an acknowledgement in the wrong order."""


class Sender:
    """Packet Identifiers, exchanges and their transitions: the sender's half of a session.

    It outlives connections: `resume` says what goes out first on the next one. `window` is
    how many QoS 1 and 2 messages may be unacknowledged (5.0: 4.9).
    """

    def __init__(self, version: Version, *, window: int = 65535, first_id: int = 1) -> None:
        self.version = version
        self.window = window
        self.writes = 0
        """How often `output` was written."""
        self.keeps = False
        """Whether finished QoS 1 exchanges keep their message, so that they can begin again."""
        self.open: dict[int, Exchange] = {}
        """Unfinished exchanges by Packet Identifier, in the order they began."""
        self.output: list[bytes] = []
        """Packets to write."""
        self.done: deque[Exchange] = deque()
        """Finished exchanges, for the caller to take away."""
        self.released: list[Exchange] = []
        """Exchanges whose PUBREL is in `output`, for an outbox to note before it is written."""
        self.unknown: deque[tuple[int, int]] = deque(maxlen=1000)
        """Packet type and Packet Identifier of acknowledgements that belong to nothing."""
        self.unconfirmed = False
        """Whether the last message was one that nothing acknowledges."""
        self._next_id = first_id

    @property
    def awaited(self) -> str:
        """What the receiver owes us first, in words."""
        for exchange in self.open.values():
            return f"{NAMES[exchange.awaits]} for Packet Identifier {exchange.packet_id}"
        return ALL_SENT

    @property
    def has_room(self) -> bool:
        """Whether another QoS 1 or 2 message may be sent now."""
        return len(self.open) < self.window

    def publish(self, message: Message, now: float = 0.0, *, writer: PublishWriter | None = None) -> Exchange:
        """Begin an exchange; `writer` writes it instead of the message's own, as with a Topic Alias."""
        qos = message.writer.qos
        packet_id = message.packet_id
        if packet_id is None and qos:
            packet_id = self._free_id()
        exchange = Exchange(message, packet_id, FIRST_ANSWER.get(qos, 0), now)
        exchange.sent_in = self.writes + 1
        self.unconfirmed = not exchange.awaits
        self.output.append((writer or message.writer).write(message.payload, packet_id))
        if exchange.awaits and packet_id is not None:
            self.open[packet_id] = exchange
        else:
            self.done.append(exchange)
        return exchange

    def restore(self, exchange: Exchange) -> None:
        """Take up an exchange that an earlier run began."""
        assert exchange.packet_id is not None
        self.open[exchange.packet_id] = exchange

    def reopen(self, exchange: Exchange) -> bool:
        """Take a finished exchange up again, from PUBLISH at QoS 1 and from PUBREL at QoS 2; False where it cannot be.

        Its Packet Identifier may belong to another exchange by now.
        """
        if exchange.packet_id in self.open:
            return False
        exchange.awaits = PUBACK if exchange.qos == 1 else PUBCOMP
        self.restore(exchange)
        return True

    def acknowledge(self, code: int, packet_id: int, reason: int | None, now: float, text: str = "") -> bool:
        """Take PUBACK, PUBREC or PUBCOMP; return whether it brings an exchange forward.

        Raises Violation when it comes out of order.
        """
        exchange = self.open.get(packet_id)
        if exchange is None:
            self._unknown(code, packet_id, reason)
            return False
        act = TRANSITIONS.get((exchange.awaits, code))
        if act is None:
            awaited = NAMES[exchange.awaits]
            raise Violation(f"{NAMES[code]} for Packet Identifier {packet_id}, but {awaited} was awaited")
        before = exchange.awaits
        act(self, exchange, reason, now, text)
        return exchange.awaits != before

    def resume(self, session_present: bool) -> list[Exchange]:
        """Put out what is to be sent again on a new connection, in the order it began (5.0: 4.4).

        Where the receiver has no session any more, QoS 1 messages begin anew and the QoS 2
        messages are returned: whether they arrived cannot be known.
        """
        exchanges = list(self.open.values())
        if not session_present:
            return self._begin_anew(exchanges)
        for exchange in exchanges:
            self.output.append(self._again(exchange))
        return []

    def _begin_anew(self, exchanges: list[Exchange]) -> list[Exchange]:
        doubtful = [exchange for exchange in exchanges if exchange.qos == 2]
        for exchange in doubtful:
            del self.open[exchange.packet_id or 0]
        for exchange in self.open.values():
            assert exchange.message is not None
            exchange.sendings += 1
            exchange.sent_in = self.writes + 1
            self.output.append(exchange.message.writer.write(exchange.message.payload, exchange.packet_id))
        return doubtful

    def _again(self, exchange: Exchange) -> bytes:
        exchange.sent_in = self.writes + 1
        if exchange.message is None:
            exchange.recovered = True
            return self._pubrel(exchange.packet_id or 0)
        exchange.sendings += 1
        return exchange.message.writer.write(exchange.message.payload, exchange.packet_id, dup=exchange.sendings > 1)

    def _pubrel(self, packet_id: int, reason: int | None = None) -> bytes:
        if reason is None:
            return b"\x62\x02" + packet_id.to_bytes(2, "big")
        return encode(Pubrel(packet_id=packet_id, reason_code=reason), self.version)

    def _unknown(self, code: int, packet_id: int, reason: int | None) -> None:
        self.unknown.append((code, packet_id))
        if code == PUBREC and self.version == Version.V5 and (reason or 0) < 0x80:
            self.output.append(self._pubrel(packet_id, PACKET_NOT_FOUND))

    def _free_id(self) -> int:
        for _ in range(65536):
            candidate = self._next_id
            self._next_id = candidate % 65535 + 1
            if candidate and candidate not in self.open:
                return candidate
        raise ValueError("all 65535 Packet Identifiers are in flight")

    # transitions

    def finish(self, exchange: Exchange, reason: int | None, now: float, text: str) -> None:
        """End an exchange with the code that its last acknowledgement carries."""
        exchange.acked_at = now
        exchange.acked_in = self.writes
        exchange.awaits = 0
        if exchange.qos == 2 or not self.keeps:
            exchange.message = None
        if self.version == Version.V5:
            exchange.reason_code = reason or exchange.reason_code or 0
            exchange.reason_string = text
        self.done.append(exchange)
        del self.open[exchange.packet_id or 0]

    def release(self, exchange: Exchange, reason: int | None, now: float, text: str) -> None:
        """Answer a PUBREC: with PUBREL, or with nothing when it refuses (5.0: 4.3.3)."""
        if (reason or 0) >= 0x80:
            self.finish(exchange, reason, now, text)
            return
        # A PUBREC of 0x10 tells what PUBCOMP cannot: that nobody subscribes.
        exchange.reason_code = reason
        exchange.awaits = PUBCOMP
        exchange.message = None
        exchange.sent_in = self.writes + 1
        self.released.append(exchange)
        self.output.append(self._pubrel(exchange.packet_id or 0))


Act = Callable[[Sender, Exchange, int | None, float, str], None]

TRANSITIONS: dict[tuple[int, int], Act] = {
    (PUBACK, PUBACK): Sender.finish,
    (PUBREC, PUBREC): Sender.release,
    (PUBCOMP, PUBREC): Sender.release,
    (PUBCOMP, PUBCOMP): Sender.finish,
}
"""What to do when a packet type is awaited and one comes; anything else breaks the protocol."""


class Receiver:
    """The receiver's half: answers what the other end publishes (5.0: 4.3, 4.5)."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.output: list[bytes] = []
        """Packets to write."""
        self._received: set[int] = set()
        self._pubacks = 0
        """How many PUBACK `output` holds."""

    @property
    def unanswered(self) -> int:
        """How many QoS 1 and 2 messages the sender has no PUBACK or PUBCOMP for, as far as it can know (5.0: 3.3.4)."""
        return len(self._received) + self._pubacks

    def take_output(self) -> bytes:
        """Return the packets to write, and forget them."""
        data = b"".join(self.output)
        self.output.clear()
        self._pubacks = 0
        return data

    def receive(self, packet: Packet) -> bool:
        """Answer a PUBLISH or PUBREL; return whether it brings a message not seen before."""
        return RECEIVED[type(packet)](self, packet)

    def _publish(self, packet: Any) -> bool:
        if packet.qos == 0 or packet.packet_id is None:
            return True
        if packet.qos == 1:
            self.output.append(encode(Puback(packet_id=packet.packet_id), self.version))
            self._pubacks += 1
            return True
        known = packet.packet_id in self._received
        self._received.add(packet.packet_id)
        self.output.append(encode(Pubrec(packet_id=packet.packet_id), self.version))
        return not known

    def _pubrel(self, packet: Any) -> bool:
        known = packet.packet_id in self._received
        self._received.discard(packet.packet_id)
        code = None if known or self.version < Version.V5 else PACKET_NOT_FOUND
        self.output.append(encode(Pubcomp(packet_id=packet.packet_id, reason_code=code), self.version))
        return False


RECEIVED = {Publish: Receiver._publish, Pubrel: Receiver._pubrel}
