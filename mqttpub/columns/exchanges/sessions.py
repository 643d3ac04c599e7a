"""Exchanges that go on on the next connection of a client (5.0: 4.1, 4.4).

What a connection leaves unfinished is remembered for its client, if it is a message. A PUBLISH
with DUP that begins an exchange, or an ack that no open one waits for, takes what an earlier
connection of its client left under the same sender and Packet Identifier; the exchange is then
`resumed`, an ack only if it answers what was left. A CONNACK without Session Present means that
the server knows nothing of all that.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ...common.lru import WeightedLru
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel

MEMORY = 32 << 20
"""About how many bytes it takes to remember what clients left; the one longest ago makes room."""
_ENTRY = 300
_ANSWERED = {1: frozenset((Puback.code,)), 2: frozenset((Pubrec.code, Pubrel.code, Pubcomp.code))}


class Left(NamedTuple):
    """A message that a connection left unfinished."""

    topic: str | None
    size: int
    qos: int
    connection: str
    """The key of the connection that left it."""


class Moment(NamedTuple):
    """Something that matters to a session; they sort by when it happened."""

    frame: int
    close: bool
    """Whether it is the close of a connection, which is behind the packets of its record."""
    place: int
    """Where a packet stands in the bytes of its direction."""
    client: str
    leg: int
    """The packet that begins an exchange, or began it; -1 for a CONNACK without Session Present."""
    key: int
    """Sender and Packet Identifier."""
    code: int
    """Packet type of that packet."""
    connection: str = ""
    """The key of its connection."""
    left: Left | None = None
    """What a close leaves, where the packet is a PUBLISH."""


class Sessions:
    """What clients left, by Client Identifier; it can be pickled."""

    def __init__(self) -> None:
        self._table: WeightedLru[str, dict[int, Left]] = WeightedLru(MEMORY)

    def resumed(self, moments: Iterable[Moment]) -> "Course":
        """Return what comes of moments, without taking it for true."""
        course = Course(self._table)
        for moment in sorted(moments, key=lambda each: each[:3]):
            course.take(moment)
        return course

    def keep(self, course: "Course") -> None:
        """Take what came of moments for true."""
        for client, session in course.changed.items():
            if session:
                weight = sum(_ENTRY + len(each.connection) + 4 * len(each.topic or "") for each in session.values())
                self._table.put(client, session, weight + 2 * len(client))
            else:
                self._table.pop(client)


class Course:
    """One way things may have gone."""

    def __init__(self, table: WeightedLru[str, dict[int, Left]]) -> None:
        self._table = table
        self.changed: dict[str, dict[int, Left]] = {}
        self.found: dict[int, Left] = {}
        """What each leg that resumes a message resumes."""

    def take(self, moment: Moment) -> None:
        """Take the next moment."""
        if moment.leg < 0:
            self.changed[moment.client] = {}
            return
        session = self.changed.get(moment.client)
        if session is None:
            session = self.changed[moment.client] = dict(self._table.get(moment.client) or {})
        if moment.close:
            left = moment.left or self.found.get(moment.leg)
            if left:
                session[moment.key] = left._replace(connection=moment.connection)
            return
        earlier = session.get(moment.key)
        if earlier is None or earlier.connection == moment.connection:
            # What comes after a reset of its own connection resumes nothing: the end that reset it does not take it.
            return
        del session[moment.key]
        if moment.code == Publish.code or moment.code in _ANSWERED[earlier.qos]:
            self.found[moment.leg] = earlier
