"""A message on its way, and all that are: Packet Identifiers and handshakes, without sockets (5.0: 4.3, 4.4).

Publications and acknowledgements go in; packets to write and ended messages come out. Who needs a message to survive
the program as well takes the DurableSender of `durability`.
"""

from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Any, Literal, NamedTuple

from ...codec.encode import encode
from ...codec.publish_writer import PublishWriter
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.reason_codes import FAILURE, Codes
from ...spec.versions import Version
from ..failures import OutOfOrder
from ..incoming import Mark
from ..limits import Violation
from ..receive import PACKET_NOT_FOUND

MOST_STRAYS = 1000
"""Stray acknowledgements that are remembered."""
PUBACK, PUBREC, PUBCOMP = Puback.code, Pubrec.code, Pubcomp.code
CODES = {1: Codes("PUBACK"), 2: Codes("PUBREC")}
"""The Reason Codes of the answer to a PUBLISH, by QoS."""
NAMES = {PUBACK: "PUBACK", PUBREC: "PUBREC", PUBCOMP: "PUBCOMP"}
FIRST_ANSWER = (0, PUBACK, PUBREC, 0)
"""Packet type of the first answer to a PUBLISH, by QoS; 0 for none. Only a forged packet has QoS 3."""


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
    violation: Violation


class OutgoingMessage:
    """The handshake of one message: what was sent, what is awaited, how it ended.

    Times are seconds since the epoch.
    """

    acked_at_s: float | None = None
    reason_code: int | None = None
    """Reason Code that ended the handshake; None for QoS 0 and before MQTT 5.0."""
    reason_string = ""
    sendings = 1
    """Number of times the PUBLISH was sent."""
    acked_in = 0
    """Number of the last write before it ended."""
    recovered = False
    """Whether a PUBREL was sent again on a later connection."""
    reported = False
    """Whether the caller was given its outcome."""
    may_repeat = True
    """Whether the PUBLISH may be sent again."""

    def __init__(self, publication: Publication, packet_id: int | None, time_s: float, write: int = 0) -> None:
        # What begins the same for all is an attribute of the class, as this bounds the messages per second
        # (tests/benchmarks/publish.py).
        self.publication = publication
        self.packet_id = packet_id
        self.awaits = FIRST_ANSWER[publication[0].qos]
        """Packet type of the next acknowledgement; 0 for none."""
        self.sent_at_s = time_s
        self.sent_in = write
        """Number of the write that its last packet went out with."""

    @property
    def writer(self) -> PublishWriter:
        """What writes the PUBLISH."""
        return self.publication.writer

    @property
    def qos(self) -> int:
        """The QoS of the message."""
        return self.publication.writer.qos

    @property
    def payload_bytes(self) -> int:
        """Length of the payload."""
        return len(self.publication.payload)

    @property
    def token(self) -> Any:
        """The token of the message."""
        return self.publication.token

    @property
    def refused(self) -> bool:
        """Whether the receiver ended it with a Reason Code of 0x80 or above.

        Packet Identifier not found does not refuse a PUBREL that was sent again (5.0: 3.7.2.1).
        """
        if self.recovered and self.reason_code == PACKET_NOT_FOUND:
            return False
        return self.reason_code is not None and self.reason_code >= FAILURE

    @property
    def reason_name(self) -> str | None:
        """The name of the Reason Code; None without a code."""
        return None if self.reason_code is None else CODES[self.qos].name(self.reason_code, self.writer.version)

    @property
    def reason(self) -> str:
        """The Reason Code with its name, and the Reason String if there is one."""
        text = f": {self.reason_string}" if self.reason_string else ""
        return f"0x{self.reason_code or 0:02x} {self.reason_name}{text}"

    @property
    def outcome(self) -> Literal["accepted", "sent", "refused"]:
        """How it ended, in a word; `sent` is QoS 0, which nothing answers."""
        return "refused" if self.refused else "sent" if self.acked_at_s is None else "accepted"

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
            if text:
                self.reason_string = text

    def release(self, reason: int | None, time_s: float, text: str) -> None:
        """Take a PUBREC: PUBREL follows, or nothing where it refuses (5.0: 4.3.3)."""
        if (reason or 0) >= FAILURE:
            self.end(reason, time_s, text)
            return
        # Only PUBREC can say 0x10, that nobody subscribes; PUBCOMP cannot.
        self.reason_code = reason
        self.awaits = PUBCOMP
        self.may_repeat = False


Transition = Callable[[OutgoingMessage, int | None, float, str], None]

TRANSITIONS: dict[int, dict[int, Transition]] = {
    PUBACK: {PUBACK: OutgoingMessage.end},
    PUBREC: {PUBREC: OutgoingMessage.release},
    PUBCOMP: {PUBREC: OutgoingMessage.release, PUBCOMP: OutgoingMessage.end},
}
"""Transition by the packet type that is awaited, then by the one that came; any other pair breaks the protocol."""


class Resumed(NamedTuple):
    """What a new connection begins with."""

    unacknowledged: int
    """Messages that are sent again because nothing acknowledged them."""
    acknowledged: int = 0
    """Messages that are sent again although they were acknowledged, because the broker may have lost them."""


class Sender:
    """The messages that are on their way, over as many connections as it takes.

    `window` is the largest number of QoS 1 and 2 messages that may be unacknowledged (5.0: 4.9).
    """

    repeats_acknowledged = False
    """Whether a QoS 1 message may be sent again after its PUBACK."""

    def __init__(self, version: Version, *, window: int = 65535) -> None:
        self.version = version
        self.window = window
        self.writes = 0
        """Number of times that `take_output` returned packets."""
        self.output: list[bytes] = []
        """Packets that `take_output` will return."""
        self.open: dict[int, OutgoingMessage] = {}
        """Messages without their last acknowledgement, by Packet Identifier, in the order they began."""
        self.ended: deque[OutgoingMessage] = deque()
        """Messages that have ended and were not taken."""
        self.doubtful: list[OutgoingMessage] = []
        """Messages that may or may not have arrived: of QoS 2 because the session was lost, of QoS 0 because the
        connection was lost right after they were sent."""
        self.unproved: list[OutgoingMessage] = []
        """QoS 0 messages that are in the output, or of which nothing shows yet that they left."""
        self.unproved_in_batches = self.lost_in_batches = 0
        """The same as numbers, for QoS 0 messages without an outcome of their own: unproved, and doubtful."""
        self.batched = 0
        """Messages in batches so far."""
        self.strays: deque[tuple[int, int]] = deque(maxlen=MOST_STRAYS)
        """Packet type and Packet Identifier of acknowledgements of nothing that is in flight."""
        self.unconfirmed = False
        """Whether the last message was one that nothing acknowledges."""
        self._next_id = 1

    @property
    def awaited(self) -> str:
        """The acknowledgement that the broker owes first, in words; empty for none."""
        for message in self.open.values():
            return f"{NAMES[message.awaits]} for Packet Identifier {message.packet_id}"
        return ""

    @property
    def settled(self) -> bool:
        """Whether the broker has answered for every message, so that no end of the connection leaves one in doubt."""
        return not self.open and not self.unconfirmed

    def restore(self) -> None:
        """Open what an earlier run left open; without a journal that is nothing."""

    # what goes out

    def publish(
        self, message: Publication, time_s: float = 0.0, *, writer: PublishWriter | None = None
    ) -> OutgoingMessage:
        """Put a PUBLISH into the output; `writer` writes it instead of the message's own, as with a Topic Alias."""
        own_writer, payload, packet_id, _ = message
        if packet_id is None and own_writer.qos:
            packet_id = self._free_id()
        outgoing = OutgoingMessage(message, packet_id, time_s, self.writes + 1)
        self.output.append((writer or own_writer).write(payload, packet_id))
        if outgoing.awaits and packet_id is not None:
            self.unconfirmed = False
            self.open[packet_id] = outgoing
        else:
            self.unconfirmed = not outgoing.awaits
            self.unproved.append(outgoing)
        return outgoing

    def count_batch(self, count: int) -> None:
        """Take in QoS 0 messages that are written at once, without an outcome each."""
        self.unconfirmed = True
        self.unproved_in_batches += count
        self.batched += count

    def take_output(self) -> bytes:
        """Return the packets to write, and forget them."""
        output = self.output
        if not output:
            return b""
        data = output[0] if len(output) == 1 else b"".join(output)
        output.clear()
        self.writes += 1
        return data

    # what comes in

    def acknowledge(self, code: int, packet_id: int, reason: int | None, time_s: float, text: str = "") -> bool:
        """Take a PUBACK, PUBREC or PUBCOMP; return whether a message is one step further.

        Raises OutOfOrder for one that cannot come now.
        """
        message = self.open.get(packet_id)
        if message is None:
            self._stray(code, packet_id, reason)
            return False
        before = message.awaits
        transition = TRANSITIONS[before].get(code)
        if transition is None:
            raise OutOfOrder(f"{NAMES[code]} for Packet Identifier {packet_id}, but {NAMES[before]} was awaited")
        transition(message, reason, time_s, text)
        if message.awaits:
            message.sent_in = self.writes + 1
            self.output.append(self._pubrel(packet_id))
            return message.awaits != before
        self._end(packet_id, message)
        return True

    def acknowledge_many(self, code: int, packet_ids: list[int], reasons: bytes | None, time_s: float) -> int:
        """Take acknowledgements of one type, up to the first that is not what is awaited; return how many."""
        transition, open, taken = TRANSITIONS[code][code], self.open, 0
        for packet_id, reason in zip(packet_ids, reasons or repeat(None), strict=False):
            message = open.get(packet_id)
            if message is None or message.awaits != code:
                break
            transition(message, reason, time_s, "")
            if message.awaits:
                message.sent_in = self.writes + 1
                self.output.append(self._pubrel(packet_id))
            else:
                self._end(packet_id, message)
            taken += 1
        return taken

    def _end(self, packet_id: int, message: OutgoingMessage) -> None:
        """Take a message that has ended from those that are open."""
        message.acked_in = self.writes
        if not self.repeats_acknowledged:
            message.may_repeat = False
        self.ended.append(message)
        del self.open[packet_id]

    def _stray(self, code: int, packet_id: int, reason: int | None) -> None:
        self.strays.append((code, packet_id))
        if code == PUBREC and self.version == Version.V5 and (reason or 0) < FAILURE:
            self.output.append(self._pubrel(packet_id, PACKET_NOT_FOUND))

    def take_ended(self) -> list[OutgoingMessage]:
        """Return the messages that have ended since the last call and were not returned before."""
        taken = [message for message in self.ended if not message.reported]
        for message in taken:
            message.reported = True
        self.ended.clear()
        return taken

    def finish(self) -> bool:
        """End the run, once nothing is open; return whether only `confirm` makes sure of the last messages.

        Before 5.0, nothing else shows that the broker took a last message of QoS 0.
        """
        return self.unconfirmed and self.version < Version.V5

    def confirm(self) -> None:
        """Note that the broker answered something that was sent after the last message ended."""
        self.unconfirmed = False
        self.prove()

    def prove(self) -> None:
        """Note that the peer ended the connection after it had received everything, or answered after it."""
        self.ended += self.take_written(self.writes)
        self.unproved_in_batches = 0

    def mark(self) -> Mark:
        """Return how much was put out so far."""
        return self.writes, self.batched

    def outlive(self, mark: Mark) -> None:
        """Note that the connection is open some time after what was put out by then had left: QoS 0 messages end so."""
        writes, batched = mark
        self.ended += self.take_written(writes)
        self.unproved_in_batches = min(self.unproved_in_batches, self.batched - batched)

    def lose(self) -> None:
        """Note the end of the connection: QoS 0 messages that were perhaps sent must not be sent twice."""
        self.doubtful += self.take_written(self.writes)
        self.lost_in_batches += self.unproved_in_batches
        self.unproved_in_batches = 0

    def take_written(self, writes: int) -> list[OutgoingMessage]:
        """Return the unproved messages that left the output with one of the first writes, and forget them."""
        if not self.unproved:
            return []
        # They are in the order of `sent_in`: what `resume` puts out again was in no write, so its number still holds.
        written = [each for each in self.unproved if each.sent_in <= writes]
        self.unproved = self.unproved[len(written) :]
        return written

    # connections

    def resume(self, session_present: bool) -> Resumed:
        """Put into the output what must be sent again on a new connection, in the original order (5.0: 4.4).

        Where the broker has lost the session, QoS 1 messages start from the beginning, and whether
        QoS 2 messages arrived cannot be known: they become doubtful. QoS 0 messages that were not sent come last.
        """
        unacknowledged = len(self.open)
        self.output.clear()
        if not session_present:
            self._doubt()
        for message in self.open.values():
            self.output.append(self._again(message, dup=session_present))
        for message in self.unproved:
            self.output.append(message.writer.write(message.publication.payload, message.packet_id))
        self.unconfirmed = bool(self.unproved)
        return Resumed(unacknowledged)

    def _doubt(self) -> list[OutgoingMessage]:
        """Take QoS 2 messages for doubtful, and return them."""
        doubtful = [message for message in self.open.values() if message.qos == 2]
        for message in doubtful:
            del self.open[message.packet_id or 0]
        self.doubtful += doubtful
        return doubtful

    def _again(self, message: OutgoingMessage, *, dup: bool) -> bytes:
        message.sent_in = self.writes + 1
        if not message.may_repeat:
            message.recovered = True
            return self._pubrel(message.packet_id or 0)
        message.sendings += 1
        return message.writer.write(message.publication.payload, message.packet_id, dup=dup and message.sendings > 1)

    def _pubrel(self, packet_id: int, reason: int | None = None) -> bytes:
        if reason is None:
            return b"\x62\x02" + packet_id.to_bytes(2, "big")
        return encode(Pubrel(packet_id=packet_id, reason_code=reason), self.version)

    def _free_id(self) -> int:
        packet_id = self._next_id
        while packet_id in self.open:
            packet_id = packet_id % 65535 + 1
            if packet_id == self._next_id:
                raise ValueError("all 65535 Packet Identifiers are in flight")
        self._next_id = packet_id % 65535 + 1
        return packet_id
