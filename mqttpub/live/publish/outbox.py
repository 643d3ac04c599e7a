"""Messages that are not acknowledged yet, kept in a file until they are.

Every change that a handshake depends on is on disk before its packet is sent. So a message
survives the program, the broker and the machine, and a QoS 2 message whose session survives is
delivered once: after a crash it continues from PUBLISH (with DUP) or from PUBREL, whichever was
noted last (5.0: 4.3.3, 4.4).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...codec.decode import decode_packet
from ...codec.publish_writer import PublishWriter
from ...spec.packets import Publish
from ...spec.versions import Version
from .sender import PUBCOMP, OutgoingMessage, Publication
from .store import WHOLE, OutboxError, OutboxFile, OutboxNotWritten, seal

__all__ = ["Kept", "Outbox", "OutboxError", "OutboxNotWritten"]

STORED, SENT, RELEASED, DOUBTFUL = range(4)
"""State of a message: only kept; perhaps sent; PUBREC received, so it is not sent again; unknown."""
QOS_BITS = 0b0110
"""The bits of the QoS in the first byte of a PUBLISH (5.0: 3.3.1.2)."""
PLACEHOLDER = 1
"""Packet Identifier in stored packets to which none is assigned yet."""


class Kept(NamedTuple):
    """One message of an outbox."""

    number: int
    state: int
    packet_id: int | None
    packet: Publish


class Outbox:
    """An open outbox; a journal for a Publisher. Raises OutboxError, and OutboxNotWritten on a full disk.

    One program at a time uses it: another waits up to `wait_s` seconds, and `remark` gets a sentence about it.
    """

    def __init__(self, path: str, *, wait_s: float = 0.0, remark: Callable[[str], None] = lambda text: None) -> None:
        self._store = OutboxFile(path, wait_s=wait_s, remark=remark)
        self.path = path

    def __enter__(self) -> "Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    # the session it belongs to

    @property
    def client_id(self) -> str | None:
        """The Client Identifier whose session the messages belong to."""
        data = self._store.head.client_id
        return None if data is None else data.decode("utf-8", "surrogatepass")

    def claim(self, client_id: str, version: Version) -> None:
        """Bind the outbox to a Client Identifier and a version, or check that it is bound to them."""
        if self.client_id is None:
            data = client_id.encode("utf-8", "surrogatepass")
            with self._store.change() as change:
                change.head = change.head._replace(client_id=data, version=version.label)
        if self.client_id != client_id:
            raise OutboxError(f"'{self.path}' belongs to Client Identifier '{self.client_id}', not '{client_id}'")
        if self._store.head.version != version.label:
            raise OutboxError(f"'{self.path}' belongs to MQTT {self._store.head.version}, not {version.label}")

    # messages

    def add(self, messages: Iterable[Publication], place: tuple[str, int] | None = None) -> list[Publication]:
        """Keep new messages and return them with their numbers as tokens.

        `place` is the input and the offset in it after them, from which to continue after a crash.
        """
        with self._store.change() as change:
            head = change.head
            numbered = [each._replace(token=number) for number, each in enumerate(messages, head.last + 1)]
            change.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", [_row(each) for each in numbered])
            head = head._replace(messages=head.messages + len(numbered), last=head.last + len(numbered))
            change.head = head._replace(input=place[0], place=place[1]) if place else head
        return numbered

    def place(self, input: str) -> int:
        """Return the offset up to which an earlier run read an input; 0 for another input."""
        head = self._store.head
        return head.place if head.input == input else 0

    def forget_place(self) -> None:
        """Note that the input was read to its end and all of it was acknowledged."""
        if self._store.head.input is not None:
            with self._store.change() as change:
                change.head = change.head._replace(input=None, place=0)

    def note(
        self, sent: Sequence[OutgoingMessage], released: Sequence[OutgoingMessage], ended: Sequence[OutgoingMessage]
    ) -> None:
        """Write down which messages are about to be sent, which PUBREL packets are, and which messages have ended."""
        with self._store.change() as change:
            change.execute(
                f"UPDATE message SET state = {SENT}, packet_id = ?, seal = seal(number, {SENT}, ?, packet) "
                "WHERE number = ?",
                [(each.packet_id, each.packet_id, each.token) for each in sent],
            )
            change.execute(_MOVE.format(RELEASED), [(each.token,) for each in released])
            gone = change.execute("DELETE FROM message WHERE number = ?", [(each.token,) for each in ended])
            change.head = change.head._replace(messages=change.head.messages - gone)

    def doubt(self, messages: Sequence[OutgoingMessage]) -> None:
        """Note that it cannot be known whether these arrived; they stay, and are not sent again by themselves."""
        with self._store.change() as change:
            change.execute(_MOVE.format(DOUBTFUL), [(each.token,) for each in messages])

    def renew_doubtful(self) -> int:
        """Make the doubtful messages new ones, and return how many."""
        with self._store.change() as change:
            return change.execute(
                f"UPDATE message SET state = {STORED}, packet_id = NULL, seal = seal(number, {STORED}, NULL, packet) "
                f"WHERE state = ? AND {WHOLE}",
                [(DOUBTFUL,)],
            )

    @property
    def has_place(self) -> bool:
        """Whether a run is to be continued within its input."""
        return self._store.head.input is not None

    def waiting(self) -> tuple[int, int]:
        """Return how many messages the next run will send, and how many are in doubt; damaged ones are neither."""
        counts = [0, 0]
        query = f"SELECT state, substr(packet, 1, 1), count(*) FROM message WHERE {WHOLE} GROUP BY 1, 2"
        for state, head, count in self._store.rows(query):
            # A QoS 0 message that was perhaps sent is not sent again.
            if state != SENT or head[0] & QOS_BITS:
                counts[state == DOUBTFUL] += count
        return counts[0], counts[1]

    @property
    def damaged(self) -> list[int]:
        """The numbers of messages that are damaged; they are not sent, and stay."""
        return list(self._store.damaged)

    @property
    def may_resume(self) -> bool:
        """Whether the Packet Identifiers that the broker may have are known.

        A new message must not get one that a damaged message has with a broker that kept the session: the broker
        would take it for that message, and drop it (5.0: 4.3.3).
        """
        return not any(self._store.damaged.values())

    def count(self) -> int:
        """Return how many messages are kept."""
        return self._store.head.messages

    def kept(self, version: Version, *, begun: bool, after: int = 0) -> Iterator[Kept]:
        """Yield the messages that were begun, or those that were not, in order; memory stays small.

        `after` is the number of the last one that the caller has already.

        Messages that are added in the meantime are not among them: the caller that added them has them.
        """
        return self._kept(version, (SENT, RELEASED) if begun else (STORED, STORED), after, self.newest)

    @property
    def newest(self) -> int:
        """The number of the message that was added last; 0 for none."""
        return self._store.head.last

    def _kept(self, version: Version, states: tuple[int, int], last: int, newest: int) -> Iterator[Kept]:
        query = (
            "SELECT number, state, packet_id, packet FROM message "
            "WHERE state IN (?, ?) AND number > ? AND number <= ? ORDER BY number LIMIT 1000"
        )
        while rows := self._store.some_rows(query, (*states, last, newest)):
            for number, state, packet_id, data in rows:
                if number in self._store.damaged:
                    continue
                packet = decode_packet(data, version)
                if not isinstance(packet, Publish):
                    raise OutboxError(f"'{self.path}': message {number} cannot be read")
                yield Kept(number, state, packet_id, packet)
            last = rows[-1][0]

    def outgoing(self, version: Version) -> Iterator[OutgoingMessage]:
        """Yield the messages that an earlier run began to send, each at the point of its handshake."""
        begun = list(self.kept(version, begun=True))
        # At most once: a QoS 0 message was perhaps sent, so it is not sent again.
        once = [(each.number,) for each in begun if not each.packet.qos]
        with self._store.change() as change:
            gone = change.execute("DELETE FROM message WHERE number = ?", once)
            change.head = change.head._replace(messages=change.head.messages - gone)
        for number, state, packet_id, packet in begun:
            if not packet.qos:
                continue
            message = Publication(PublishWriter(packet, version), packet.payload, packet_id, number)
            outgoing = OutgoingMessage(message, packet_id, 0.0)
            if state == RELEASED:
                outgoing.awaits, outgoing.may_repeat = PUBCOMP, False
            yield outgoing


_MOVE = "UPDATE message SET state = {0}, seal = seal(number, {0}, packet_id, packet) WHERE number = ?"


def _row(message: Publication) -> tuple[object, ...]:
    packet = message.writer.write(message.payload, PLACEHOLDER if message.writer.qos else None)
    return message.token, STORED, None, packet, seal(message.token, STORED, None, packet)
