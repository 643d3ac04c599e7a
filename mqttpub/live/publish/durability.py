"""A sender whose messages survive the program, and a broker that loses what it acknowledged last.

What a packet depends on is in the journal before the packet is sent. A broker that writes its state to disk after it
has acknowledged loses, when it is killed, what it acknowledged last. mosquitto writes between the packets of a
connection: its answer to a packet sent after an acknowledgement shows that what was acknowledged is on disk. Until
then a message is kept, and is sent again if the broker was lost: at QoS 1 from PUBLISH, at QoS 2 from PUBREL, which
cannot deliver the message twice (5.0: 3.7.2.1, 4.4).
"""

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from ...codec.publish_writer import PublishWriter
from ...spec.versions import Version
from .sender import PUBACK, PUBCOMP, OutgoingMessage, Publication, Resumed, Sender


class Journal(Protocol):
    """Keeps what is not acknowledged yet, beyond the life of the program."""

    def note(self, sent: list[OutgoingMessage], released: list[OutgoingMessage], ended: list[OutgoingMessage]) -> None:
        """Write down, durably, what is about to be sent, and what no longer needs to be kept."""

    def doubt(self, messages: list[OutgoingMessage]) -> None:
        """Write down that it cannot be known whether these arrived."""

    def outgoing(self, version: Version) -> Iterable[OutgoingMessage]:
        """Return the messages that an earlier run began to send and that have not ended."""


class NoJournal:
    """The journal of messages that need not survive the program: only a broker that loses them is guarded against."""

    def note(self, sent: list[OutgoingMessage], released: list[OutgoingMessage], ended: list[OutgoingMessage]) -> None:
        """Do nothing."""

    def doubt(self, messages: list[OutgoingMessage]) -> None:
        """Do nothing."""

    def outgoing(self, version: Version) -> Iterable[OutgoingMessage]:
        """Return nothing."""
        return ()


class DurableSender(Sender):
    """A Sender with a journal. A message ends for the journal once the broker cannot lose it any more."""

    repeats_acknowledged = True

    def __init__(self, version: Version, journal: Journal, *, window: int = 65535) -> None:
        super().__init__(version, window=window)
        self._journal = journal
        self._begun: list[OutgoingMessage] = []
        """Messages whose PUBLISH is in the output."""
        self._released: list[OutgoingMessage] = []
        """Messages whose PUBREL is in the output."""
        self._safe: list[OutgoingMessage] = []
        """Ended messages that the journal may forget."""
        self._unsafe: deque[OutgoingMessage] = deque()
        """Acknowledged messages that the broker may still lose, in the order of their ends."""

    def restore(self) -> None:
        """Open the messages that an earlier run began and the journal still has."""
        for message in self._journal.outgoing(self.version):
            self._open(message)

    def publish(
        self, message: Publication, time_s: float = 0.0, *, writer: PublishWriter | None = None
    ) -> OutgoingMessage:
        """Put a PUBLISH into the output."""
        outgoing = super().publish(message, time_s, writer=writer)
        self._begun.append(outgoing)
        return outgoing

    def take_output(self) -> bytes:
        """Return the packets to write and forget them; the journal notes them first."""
        if self._begun or self._released:
            self._note()
        return super().take_output()

    def acknowledge(self, code: int, packet_id: int, reason: int | None, time_s: float, text: str = "") -> bool:
        """Take a PUBACK, PUBREC or PUBCOMP; return whether a message is one step further. Raises OutOfOrder."""
        progress = super().acknowledge(code, packet_id, reason, time_s, text)
        if message := self.open.get(packet_id):
            self._released.append(message)
        return progress

    def acknowledge_many(self, code: int, packet_ids: list[int], reasons: bytes | None, time_s: float) -> int:
        """Take acknowledgements of one type, up to the first that is not what is awaited; return how many."""
        taken = super().acknowledge_many(code, packet_ids, reasons, time_s)
        self._released += [self.open[packet_id] for packet_id in packet_ids[:taken] if packet_id in self.open]
        return taken

    def take_ended(self) -> list[OutgoingMessage]:
        """Return the messages that have ended since the last call and were not returned before."""
        for message in self.ended:
            self._settle(message)
        return super().take_ended()

    def finish(self) -> bool:
        """Note what has ended; return whether only `confirm` makes sure of the last messages."""
        self._note()
        return super().finish() or bool(self._unsafe)

    def take_written(self, writes: int) -> list[OutgoingMessage]:
        """Return the unproved messages that left with one of the first writes; the journal may forget them."""
        written = super().take_written(writes)
        self._safe += written
        return written

    def confirm(self) -> None:
        """Note that the broker answered something that was sent after the last message ended."""
        super().confirm()
        self._safe += self._unsafe
        self._unsafe.clear()
        self._note()

    def resume(self, session_present: bool) -> Resumed:
        """Put into the output what must be sent again, also what the lost broker acknowledged last."""
        unacknowledged = len(self.open)
        acknowledged = self._reopen(session_present)
        self._note()
        super().resume(session_present)
        return Resumed(unacknowledged, acknowledged)

    def _reopen(self, session_present: bool) -> int:
        """Open again what the lost broker acknowledged last, where that is possible; return how many."""
        while self.ended:
            self._settle(self.ended.popleft())
        before = len(self.open)
        for message in self._unsafe:
            if (session_present or message.qos == 1) and message.packet_id not in self.open:
                message.awaits = PUBACK if message.qos == 1 else PUBCOMP
                self._open(message)
            else:
                # It cannot continue: its session is gone, or another message has its Packet Identifier by now.
                self._safe.append(message)
        self._unsafe.clear()
        self.ended.extend(each for each in self._safe if not each.reported)
        return len(self.open) - before

    def _open(self, message: OutgoingMessage) -> None:
        assert message.packet_id is not None
        self.open[message.packet_id] = message

    def _settle(self, ended: OutgoingMessage) -> None:
        """Take in a message that has ended; its answer shows that those which ended before it was sent are safe."""
        if not ended.qos:
            return
        while self._unsafe and self._unsafe[0].acked_in < ended.sent_in:
            self._safe.append(self._unsafe.popleft())
        (self._safe if ended.refused else self._unsafe).append(ended)

    def _doubt(self) -> list[OutgoingMessage]:
        doubtful = super()._doubt()
        if doubtful:
            self._journal.doubt(doubtful)
        return doubtful

    def _note(self) -> None:
        """Write into the journal what is about to be sent and what has ended."""
        noted = self._begun, self._released, self._safe
        if any(noted):
            self._journal.note(*noted)
        for each in noted:
            each.clear()
