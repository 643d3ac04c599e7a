"""Messages whose exchange continues on the next connection of a client (5.0: 4.1, 4.4).

A message that is unfinished when its connection closes is remembered for its client. A PUBLISH with DUP that begins an
exchange, or an ack that does not answer an open one, resumes the message that an earlier connection of its client left
with the same sender and Packet Identifier; an ack only if it answers that message. The new exchange is then `resumed`.
A CONNACK without Session Present means that the server has forgotten all of these messages.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ...common.lru import WeightedLru
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel

MEMORY = 32 << 20
"""Approximate bytes for unfinished messages; those of the client unused for longest are forgotten first."""
_ENTRY = 300
_ANSWERED = {1: frozenset((Puback.code,)), 2: frozenset((Pubrec.code, Pubrel.code, Pubcomp.code))}


class UnfinishedMessage(NamedTuple):
    """A message that was unfinished when its connection closed."""

    topic: str | None
    size: int
    qos: int
    connection: str
    """Key of the connection that closed."""


class SessionEvent(NamedTuple):
    """A packet or a close that changes a session; the first three fields sort events by time."""

    frame: int
    close: bool
    """Whether it is the close of a connection, which comes after the packets of its record."""
    place: int
    """Place of the packet in the bytes of its direction."""
    client: str
    leg: int
    """Row of the packet that begins, or began, the exchange; -1 for a CONNACK without Session Present."""
    key: int
    """Sender and Packet Identifier."""
    code: int
    """Packet type of that packet."""
    connection: str = ""
    """The key of its connection."""
    left: UnfinishedMessage | None = None
    """The message that a close leaves unfinished, if the packet is a PUBLISH."""


class Sessions:
    """Unfinished messages, by Client Identifier; can be pickled."""

    def __init__(self) -> None:
        self._table: WeightedLru[str, dict[int, UnfinishedMessage]] = WeightedLru(MEMORY)

    def resumed(self, events: Iterable[SessionEvent]) -> "Replay":
        """Replay events in the order of time and return the result, without changing the sessions."""
        replay = Replay(self._table)
        for event in sorted(events, key=lambda each: each[:3]):
            replay.apply(event)
        return replay

    def keep(self, replay: "Replay") -> None:
        """Keep the state that `resumed` computed."""
        for client, session in replay.changed.items():
            if session:
                weight = sum(_ENTRY + len(each.connection) + 4 * len(each.topic or "") for each in session.values())
                self._table.put(client, session, weight + 2 * len(client))
            else:
                self._table.pop(client)


class Replay:
    """The sessions after some events, beside those before."""

    def __init__(self, table: WeightedLru[str, dict[int, UnfinishedMessage]]) -> None:
        self._table = table
        self.changed: dict[str, dict[int, UnfinishedMessage]] = {}
        self.found: dict[int, UnfinishedMessage] = {}
        """The message that each packet resumes, by its row."""

    def apply(self, event: SessionEvent) -> None:
        """Apply the next event."""
        if event.leg < 0:
            self.changed[event.client] = {}
            return
        session = self.changed.get(event.client)
        if session is None:
            session = self.changed[event.client] = dict(self._table.get(event.client) or {})
        if event.close:
            left = event.left or self.found.get(event.leg)
            if left:
                session[event.key] = left._replace(connection=event.connection)
            return
        earlier = session.get(event.key)
        if earlier is None or earlier.connection == event.connection:
            # A packet after the reset of its own connection resumes nothing: the end that reset it does not read it.
            return
        del session[event.key]
        if event.code == Publish.code or event.code in _ANSWERED[earlier.qos]:
            self.found[event.leg] = earlier
