"""One message on its way: what to send, and how far its handshake has come (5.0: 4.3)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...codec.publish_writer import PublishWriter
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec
from ...spec.versions import Version
from ..receive import PACKET_NOT_FOUND

PUBACK, PUBREC, PUBCOMP = Puback.code, Pubrec.code, Pubcomp.code
NAMES = {PUBACK: "PUBACK", PUBREC: "PUBREC", PUBCOMP: "PUBCOMP"}
FIRST_ANSWER = {1: PUBACK, 2: PUBREC}
"""Packet type of the first answer to a PUBLISH, by QoS."""
REFUSAL = 0x80
"""The lowest Reason Code that refuses a message."""


class Publication(NamedTuple):
    """A message to publish."""

    writer: PublishWriter
    payload: bytes
    packet_id: int | None = None
    """Packet Identifier to use; None for a free one."""
    token: Any = None
    """Anything by which the caller recognizes the message."""

    @classmethod
    def of(cls, packet: Publish, version: Version, token: Any = None) -> "Publication":
        """Return the message that a PUBLISH carries."""
        return cls(PublishWriter(packet, version), packet.payload, packet.packet_id, token)


class NotSent(NamedTuple):
    """A message that goes beyond a limit of the broker, and was therefore not sent."""

    message: Publication
    reason: str


class OutgoingMessage:
    """The handshake of one message: what was sent, what is awaited, how it ended.

    Times are seconds since the epoch.
    """

    __slots__ = (
        "acked_at_s", "acked_in", "awaits", "message", "packet_id", "payload_bytes", "qos", "reason_code",
        "reason_string", "recovered", "reported", "sendings", "sent_at_s", "sent_in", "token", "writer",
    )  # fmt: skip

    def __init__(self, message: Publication, packet_id: int | None, time_s: float) -> None:
        self.message: Publication | None = message
        """The message to send again; None once it must not be sent again."""
        self.writer = message.writer
        self.payload_bytes = len(message.payload)
        self.packet_id = packet_id
        self.qos = message.writer.qos
        self.token = message.token
        self.awaits = FIRST_ANSWER.get(self.qos, 0)
        """Packet type of the next acknowledgement; 0 for none."""
        self.sent_at_s = time_s
        self.acked_at_s: float | None = None
        self.reason_code: int | None = None
        """Reason Code that ended the handshake; None for QoS 0 and before MQTT 5.0."""
        self.reason_string = ""
        self.sendings = 1
        """Number of times the PUBLISH was sent."""
        self.sent_in = 0
        """Number of the write that its last packet went out with."""
        self.acked_in = 0
        """Number of the last write before it ended."""
        self.recovered = False
        """Whether a PUBREL was sent again on a later connection."""
        self.reported = False
        """Whether the caller was given its outcome."""

    @property
    def refused(self) -> bool:
        """Whether the receiver ended it with a Reason Code of 0x80 or above.

        Packet Identifier not found does not refuse a PUBREL that was sent again (5.0: 3.7.2.1).
        """
        if self.recovered and self.reason_code == PACKET_NOT_FOUND:
            return False
        return self.reason_code is not None and self.reason_code >= REFUSAL

    @property
    def latency_s(self) -> float | None:
        """Seconds from the first sending to the last acknowledgement."""
        return None if self.acked_at_s is None else self.acked_at_s - self.sent_at_s

    # transitions

    def end(self, reason: int | None, time_s: float, text: str) -> None:
        """End with a PUBACK or a PUBCOMP, or with a PUBREC that refuses."""
        self.acked_at_s = time_s
        self.awaits = 0
        if self.writer.version == Version.V5:
            self.reason_code = reason or self.reason_code or 0
            self.reason_string = text

    def release(self, reason: int | None, time_s: float, text: str) -> None:
        """Take a PUBREC: PUBREL follows, or nothing where it refuses (5.0: 4.3.3)."""
        if (reason or 0) >= REFUSAL:
            self.end(reason, time_s, text)
            return
        # Only PUBREC can say 0x10, that nobody subscribes; PUBCOMP cannot.
        self.reason_code = reason
        self.awaits = PUBCOMP
        self.message = None


Transition = Callable[[OutgoingMessage, int | None, float, str], None]

TRANSITIONS: dict[tuple[int, int], Transition] = {
    (PUBACK, PUBACK): OutgoingMessage.end,
    (PUBREC, PUBREC): OutgoingMessage.release,
    (PUBCOMP, PUBREC): OutgoingMessage.release,
    (PUBCOMP, PUBCOMP): OutgoingMessage.end,
}
"""Transition by the packet type that is awaited and the one that came; any other pair breaks the protocol."""
