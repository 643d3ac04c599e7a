"""Messages from the broker: received, kept and acknowledged (5.0: 4.3, 4.5).

`sub` and the Spark source stand on it with a store of their own; a session that only publishes
receives without one, because a broker may send messages to any session that it still has.
"""

from typing import Any, Protocol

from ..codec.encode import encode
from ..spec.declare import Packet
from ..spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ..spec.versions import Version
from .failures import PeerFault

PACKET_NOT_FOUND = 0x92
"""Reason Code Packet Identifier not found."""


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
    """The receiver's half of the publish flows of one connection, without sockets.

    Packets go in through `receive`; `take_output` returns the acknowledgements to write.
    """

    def __init__(self, version: Version, store: MessageStore | None = None) -> None:
        self.version = version
        self.store = store
        self._output: list[bytes] = []
        self._unreleased: set[int] = set()
        """Packet Identifiers of QoS 2 messages whose PUBREL has not come."""
        self._pubacks = 0
        """Number of PUBACK packets in the output."""
        self._has_unflushed = False
        """Whether the store was given something since it was flushed."""

        self.excess: PeerFault | None = None
        """The first message above our Receive Maximum, where messages are stored."""

    def connected(self, session_present: bool) -> None:
        """Take what CONNACK says of the session, before the messages that may have come with it."""
        if self.store:
            self.store.connected(session_present)

    def exceed(self, fault: PeerFault) -> None:
        """Raise the fault of a message above our Receive Maximum, unless a store has it already.

        mosquitto 2.0.11 sends more as soon as one message is acknowledged. The excess is stored like any message, and
        to close would bring the same messages, and the same fault, with every new connection.
        """
        if self.store is None:
            raise fault
        self.excess = self.excess or fault

    @property
    def unanswered(self) -> int:
        """Number of QoS 1 and 2 messages that the broker cannot know to be acknowledged (5.0: 3.3.4)."""
        return len(self._unreleased) + self._pubacks

    def take_output(self) -> bytes:
        """Flush the store, then return the packets to write and forget them."""
        if self.store and self._has_unflushed:
            self.store.flush()
            self._has_unflushed = False
        data = b"".join(self._output)
        self._output.clear()
        self._pubacks = 0
        return data

    def receive(self, packet: Packet, data: bytes, time_ns: int) -> None:
        """Take a PUBLISH or a PUBREL, `data` being its bytes, and put its acknowledgement into the output."""
        self._has_unflushed = True
        _ANSWERS[type(packet)](self, packet, data, time_ns)

    def _publish(self, packet: Any, data: bytes, time_ns: int) -> None:
        if self.store:
            self.store.message(time_ns, data)
        if packet.qos == 1:
            self._output.append(encode(Puback(packet_id=packet.packet_id), self.version))
            self._pubacks += 1
        elif packet.qos == 2:
            self._unreleased.add(packet.packet_id)
            self._output.append(encode(Pubrec(packet_id=packet.packet_id), self.version))

    def _pubrel(self, packet: Any, data: bytes, time_ns: int) -> None:
        known = packet.packet_id in self._unreleased
        self._unreleased.discard(packet.packet_id)
        if self.store:
            # A store also knows the messages of earlier connections.
            known = self.store.release(time_ns, packet.packet_id)
        code = None if known or self.version < Version.V5 else PACKET_NOT_FOUND
        self._output.append(encode(Pubcomp(packet_id=packet.packet_id, reason_code=code), self.version))


_ANSWERS = {Publish: Receiver._publish, Pubrel: Receiver._pubrel}
