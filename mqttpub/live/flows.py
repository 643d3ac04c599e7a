"""The sender's side of QoS 0, 1 and 2 as a state machine without sockets (5.0: 4.3).

Packets and times go in; packets to write and finished exchanges come out.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from ..codec.encode import encode
from ..spec.fields import Packet
from ..spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ..spec.terms import Version

PACKET_NOT_FOUND = 0x92
"""Reason Code Packet Identifier not found."""
REASON_STRING = 0x1F


class Exchange:
    """One message on its way: what was sent, what is awaited, how it ended.

    Times are seconds since the epoch.
    """

    __slots__ = (
        "acked_at", "awaits", "packet", "packet_id", "qos", "reason_code", "reason_string", "sent_at", "token",
    )  # fmt: skip

    def __init__(self, packet: Publish, token: Any, now: float) -> None:
        self.packet: Publish | None = packet
        self.packet_id = packet.packet_id
        self.qos = packet.qos
        self.token = token
        """Whatever the caller wants to find the message by."""
        self.awaits: type[Packet] | None = AWAITED.get(packet.qos)
        """The packet that comes next from the receiver; None when nothing does."""
        self.sent_at = now
        self.acked_at: float | None = None
        self.reason_code: int | None = None
        """Reason Code that ended it; None for QoS 0 and before MQTT 5.0."""
        self.reason_string = ""

    @property
    def refused(self) -> bool:
        """Whether the receiver ended it with a Reason Code of 0x80 or above."""
        return self.reason_code is not None and self.reason_code >= 0x80

    @property
    def seconds(self) -> float | None:
        """Time from sending to the last acknowledgement."""
        return None if self.acked_at is None else self.acked_at - self.sent_at


class Violation(Exception):
    """The receiver sent an acknowledgement that fits nothing, or in the wrong order."""


AWAITED: dict[int, type[Packet]] = {1: Puback, 2: Pubrec}
"""First answer to a PUBLISH, by QoS."""


class Sender:
    """Packet Identifiers, exchanges and their transitions, for one direction of one session.

    `window` is how many QoS 1 and 2 messages may be unacknowledged (5.0: 4.9).
    """

    def __init__(self, version: Version, *, window: int = 65535, first_id: int = 1) -> None:
        self.version = version
        self.window = window
        self.open: dict[int, Exchange] = {}
        """Unfinished exchanges by Packet Identifier, in the order they began."""
        self.output: deque[bytes] = deque()
        """Packets to write."""
        self.done: deque[Exchange] = deque()
        """Finished exchanges, for the caller to take away."""
        self.unknown: deque[Packet] = deque()
        """Acknowledgements of identifiers that are not in flight."""
        self._next_id = first_id

    @property
    def has_room(self) -> bool:
        """Whether another QoS 1 or 2 message may be sent now."""
        return len(self.open) < self.window

    def publish(self, packet: Publish, token: Any = None, now: float = 0.0) -> Exchange:
        """Begin an exchange; a Packet Identifier is given where the packet needs one and has none."""
        if packet.qos and packet.packet_id is None:
            packet = packet.replace(packet_id=self._free_id())
        exchange = Exchange(packet, token, now)
        self.output.append(encode(packet, self.version))
        if exchange.awaits and packet.packet_id is not None:
            self.open[packet.packet_id] = exchange
        else:
            self.done.append(exchange)
        return exchange

    def receive(self, packet: Packet, now: float) -> None:
        """Take an acknowledgement; raises Violation when it comes out of order."""
        exchange = self.open.get(packet.packet_id)  # type: ignore[attr-defined]
        if exchange is None:
            self._unknown(packet)
            return
        act = TRANSITIONS.get((exchange.awaits, type(packet)))
        if act is None:
            awaited = exchange.awaits.name if exchange.awaits else "nothing"
            raise Violation(f"{packet.name} for Packet Identifier {exchange.packet_id}, but {awaited} was awaited")
        act(self, exchange, packet, now)

    def _unknown(self, packet: Packet) -> None:
        self.unknown.append(packet)
        if isinstance(packet, Pubrec) and self.version == Version.V5 and not _refuses(packet):
            self.output.append(encode(Pubrel(packet_id=packet.packet_id, reason_code=PACKET_NOT_FOUND), self.version))

    def _free_id(self) -> int:
        for _ in range(65535):
            candidate = self._next_id
            self._next_id = candidate % 65535 + 1
            if candidate and candidate not in self.open:
                return candidate
        raise ValueError("all 65535 Packet Identifiers are in flight")

    # transitions

    def finish(self, exchange: Exchange, packet: Packet, now: float) -> None:
        """End an exchange with the code that its last acknowledgement carries."""
        exchange.acked_at = now
        exchange.awaits = None
        exchange.packet = None
        if self.version == Version.V5:
            exchange.reason_code = packet.reason_code or 0  # type: ignore[attr-defined]
            exchange.reason_string = _reason_string(packet)
        self.done.append(exchange)
        assert exchange.packet_id is not None
        del self.open[exchange.packet_id]

    def release(self, exchange: Exchange, packet: Packet, now: float) -> None:
        """Answer a PUBREC: with PUBREL, or with nothing when it refuses (5.0: 4.3.3)."""
        if _refuses(packet):
            self.finish(exchange, packet, now)
            return
        # A PUBREC of 0x10 tells what PUBCOMP cannot: that nobody subscribes.
        exchange.reason_code = packet.reason_code if self.version == Version.V5 else None  # type: ignore[attr-defined]
        exchange.awaits = Pubcomp
        exchange.packet = None
        self.output.append(encode(Pubrel(packet_id=packet.packet_id), self.version))  # type: ignore[attr-defined]

    def complete(self, exchange: Exchange, packet: Packet, now: float) -> None:
        """End a QoS 2 exchange; the code of PUBREC stands unless PUBCOMP has one of its own."""
        earlier = exchange.reason_code
        self.finish(exchange, packet, now)
        exchange.reason_code = exchange.reason_code or earlier or (0 if self.version == Version.V5 else None)


class Receiver:
    """The receiver's side: answers what the other end publishes (5.0: 4.3, 4.5)."""

    def __init__(self, version: Version) -> None:
        self.version = version
        self.output: deque[bytes] = deque()
        """Packets to write."""
        self._received: set[int] = set()

    def receive(self, packet: Packet) -> bool:
        """Answer a PUBLISH or PUBREL; return whether it brings a message not seen before."""
        return RECEIVED[type(packet)](self, packet)

    def _publish(self, packet: Any) -> bool:
        if packet.qos == 0 or packet.packet_id is None:
            return True
        known = packet.packet_id in self._received
        if packet.qos == 1:
            self.output.append(encode(Puback(packet_id=packet.packet_id), self.version))
        else:
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

Act = Callable[[Sender, Exchange, Packet, float], None]

TRANSITIONS: dict[tuple[type[Packet] | None, type[Packet]], Act] = {
    (Puback, Puback): Sender.finish,
    (Pubrec, Pubrec): Sender.release,
    (Pubcomp, Pubrec): Sender.release,
    (Pubcomp, Pubcomp): Sender.complete,
}
"""What to do when a packet is awaited and a packet comes; anything else breaks the protocol."""


def _refuses(packet: Packet) -> bool:
    return (packet.reason_code or 0) >= 0x80  # type: ignore[attr-defined]


def _reason_string(packet: Packet) -> str:
    properties = packet.properties or ()  # type: ignore[attr-defined]
    return next((value for id, value in properties if id == REASON_STRING), "")
