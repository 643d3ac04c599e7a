"""The sender's half of a session: Packet Identifiers, handshakes and the journal, without sockets (5.0: 4.3, 4.4).

Messages and acknowledgements go in; packets to write and ended messages come out. What the journal must
know is noted in `take_output`, so it is on disk before the packet is sent.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ...codec.encode import encode
from ...codec.publish_writer import PublishWriter
from ...spec.packets import Pubrel
from ...spec.versions import Version
from ..failures import OutOfOrder
from ..receive import PACKET_NOT_FOUND
from .durability import AckedUntilSafe
from .outgoing import NAMES, PUBACK, PUBCOMP, PUBREC, REFUSAL, TRANSITIONS, OutgoingMessage, Publication

MOST_STRAYS = 1000
"""Stray acknowledgements that are remembered."""


class Journal(Protocol):
    """Keeps what is not acknowledged yet, beyond the life of the program."""

    def note(self, sent: list[OutgoingMessage], released: list[OutgoingMessage], ended: list[OutgoingMessage]) -> None:
        """Write down, durably, what is about to be sent, and what no longer needs to be kept."""

    def doubt(self, messages: list[OutgoingMessage]) -> None:
        """Write down that it cannot be known whether these arrived."""

    def outgoing(self, version: Version) -> Iterable[OutgoingMessage]:
        """Return the messages that an earlier run began to send and that have not ended."""


class Resumed(NamedTuple):
    """What a new connection begins with."""

    unacknowledged: int
    """Messages that are sent again because nothing acknowledged them."""
    acknowledged: int
    """Messages that are sent again although they were acknowledged, because the broker may have lost them."""


class Sender:
    """The messages that are on their way, over as many connections as it takes.

    `window` is the largest number of QoS 1 and 2 messages that may be unacknowledged (5.0: 4.9).
    """

    def __init__(self, version: Version, *, window: int = 65535, journal: Journal | None = None) -> None:
        self.version = version
        self.window = window
        self.writes = 0
        """Number of times that `take_output` returned packets."""
        self.open: dict[int, OutgoingMessage] = {}
        """Messages without their last acknowledgement, by Packet Identifier, in the order they began."""
        self.ended: deque[OutgoingMessage] = deque()
        """Messages that have ended and were not taken."""
        self.doubtful: list[OutgoingMessage] = []
        """QoS 2 messages that may or may not have arrived, because the session was lost."""
        self.strays: deque[tuple[int, int]] = deque(maxlen=MOST_STRAYS)
        """Packet type and Packet Identifier of acknowledgements of nothing that is in flight."""
        self.unconfirmed = False
        """Whether the last message was one that nothing acknowledges."""
        self._output: list[bytes] = []
        self._next_id = 1
        self._journal = journal
        self._begun: list[OutgoingMessage] = []
        """Messages whose PUBLISH is in the output, for the journal."""
        self._released: list[OutgoingMessage] = []
        """Messages whose PUBREL is in the output, for the journal."""
        self._safe: list[OutgoingMessage] = []
        """Ended messages that the journal may forget."""
        self._unsafe = AckedUntilSafe()

    @property
    def awaited(self) -> str:
        """The acknowledgement that the broker owes first, in words; empty for none."""
        for message in self.open.values():
            return f"{NAMES[message.awaits]} for Packet Identifier {message.packet_id}"
        return ""

    @property
    def has_room(self) -> bool:
        """Whether another QoS 1 or 2 message may be sent now."""
        return len(self.open) < self.window

    @property
    def settled(self) -> bool:
        """Whether the broker has answered for every message, so that no end of the connection leaves one in doubt."""
        return not self.open and not self.unconfirmed

    @property
    def has_unsafe(self) -> bool:
        """Whether the broker may still lose a message that it acknowledged."""
        return bool(self._unsafe.messages)

    def restore(self) -> None:
        """Open the messages that an earlier run began and the journal still has."""
        for message in self._journal.outgoing(self.version) if self._journal else ():
            self._open(message)

    # what goes out

    def publish(
        self, message: Publication, time_s: float = 0.0, *, writer: PublishWriter | None = None
    ) -> OutgoingMessage:
        """Put a PUBLISH into the output; `writer` writes it instead of the message's own, as with a Topic Alias."""
        packet_id = message.packet_id
        if packet_id is None and message.writer.qos:
            packet_id = self._free_id()
        outgoing = OutgoingMessage(message, packet_id, time_s)
        outgoing.sent_in = self.writes + 1
        self.unconfirmed = not outgoing.awaits
        self._output.append((writer or message.writer).write(message.payload, packet_id))
        if outgoing.awaits and packet_id is not None:
            self.open[packet_id] = outgoing
        else:
            self.ended.append(outgoing)
        if self._journal:
            self._begun.append(outgoing)
        return outgoing

    def take_output(self) -> bytes:
        """Return the packets to write and forget them; the journal notes them first."""
        output = self._output
        if not output:
            return b""
        if self._begun or self._released:
            self.note()
        data = output[0] if len(output) == 1 else b"".join(output)
        output.clear()
        self.writes += 1
        return data

    def note(self) -> None:
        """Write into the journal what is about to be sent and what has ended."""
        if self._journal and (self._begun or self._released or self._safe):
            self._journal.note(self._begun, self._released, self._safe)
        for each in (self._begun, self._released, self._safe):
            each.clear()

    # what comes in

    def acknowledge(self, code: int, packet_id: int, reason: int | None, time_s: float, text: str = "") -> bool:
        """Take a PUBACK, PUBREC or PUBCOMP; return whether it brings a message forward.

        Raises OutOfOrder for one that cannot come now.
        """
        message = self.open.get(packet_id)
        if message is None:
            self._stray(code, packet_id, reason)
            return False
        before = message.awaits
        transition = TRANSITIONS.get((before, code))
        if transition is None:
            raise OutOfOrder(f"{NAMES[code]} for Packet Identifier {packet_id}, but {NAMES[before]} was awaited")
        transition(message, reason, time_s, text)
        if message.awaits:
            message.sent_in = self.writes + 1
            if self._journal:
                self._released.append(message)
            self._output.append(self._pubrel(packet_id))
            return message.awaits != before
        message.acked_in = self.writes
        if message.qos == 2 or not self._journal:
            message.message = None
        self.ended.append(message)
        del self.open[packet_id]
        return True

    def _stray(self, code: int, packet_id: int, reason: int | None) -> None:
        self.strays.append((code, packet_id))
        if code == PUBREC and self.version == Version.V5 and (reason or 0) < REFUSAL:
            self._output.append(self._pubrel(packet_id, PACKET_NOT_FOUND))

    def take_ended(self) -> list[OutgoingMessage]:
        """Return the messages that have ended since the last call and were not returned before."""
        taken: list[OutgoingMessage] = []
        while self.ended:
            message = self.ended.popleft()
            if self._journal:
                self._safe += self._unsafe.settle(message)
            if not message.reported:
                message.reported = True
                taken.append(message)
        return taken

    def confirm(self) -> None:
        """Note that the broker answered something that was sent after the last message ended."""
        self._safe += self._unsafe.rest()
        self.note()

    # connections

    def forget_output(self) -> None:
        """Drop what a lost connection did not send; `resume` puts it into the output again."""
        self._output.clear()

    def resume(self, session_present: bool) -> Resumed:
        """Put into the output what must be sent again on a new connection, in the original order (5.0: 4.4).

        Where the broker has lost the session, QoS 1 messages start from the beginning, and whether
        QoS 2 messages arrived cannot be known: they become doubtful.
        """
        unacknowledged = len(self.open)
        acknowledged = self._reopen(session_present) if self._journal else 0
        self.note()
        self._output.clear()
        if not session_present:
            self._doubt()
        for message in self.open.values():
            self._output.append(self._again(message, dup=session_present))
        return Resumed(unacknowledged, acknowledged)

    def _reopen(self, session_present: bool) -> int:
        """Open again what the lost broker acknowledged last, where that is possible; return how many."""
        ended, self.ended = self.ended, deque()
        for message in ended:
            self._safe += self._unsafe.settle(message)
        before = len(self.open)
        for message in self._unsafe.rest():
            if (session_present or message.qos == 1) and message.packet_id not in self.open:
                message.awaits = PUBACK if message.qos == 1 else PUBCOMP
                self._open(message)
            else:
                # It cannot continue: its session is gone, or another message has its Packet Identifier by now.
                self._safe.append(message)
        self.ended.extend(each for each in self._safe if not each.reported)
        return len(self.open) - before

    def _open(self, message: OutgoingMessage) -> None:
        assert message.packet_id is not None
        self.open[message.packet_id] = message

    def _doubt(self) -> None:
        doubtful = [message for message in self.open.values() if message.qos == 2]
        for message in doubtful:
            del self.open[message.packet_id or 0]
        self.doubtful += doubtful
        if self._journal and doubtful:
            self._journal.doubt(doubtful)

    def _again(self, message: OutgoingMessage, *, dup: bool) -> bytes:
        message.sent_in = self.writes + 1
        if message.message is None:
            message.recovered = True
            return self._pubrel(message.packet_id or 0)
        message.sendings += 1
        again = message.message
        return again.writer.write(again.payload, message.packet_id, dup=dup and message.sendings > 1)

    def _pubrel(self, packet_id: int, reason: int | None = None) -> bytes:
        if reason is None:
            return b"\x62\x02" + packet_id.to_bytes(2, "big")
        return encode(Pubrel(packet_id=packet_id, reason_code=reason), self.version)

    def _free_id(self) -> int:
        for _ in range(65536):
            candidate = self._next_id
            self._next_id = candidate % 65535 + 1
            if candidate and candidate not in self.open:
                return candidate
        raise ValueError("all 65535 Packet Identifiers are in flight")
