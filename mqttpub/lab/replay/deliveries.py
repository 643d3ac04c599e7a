"""The messages that come for the subscriptions of a connection, held against those of the capture."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from ...common.words import counted

CAPTURED, CAME = 0, 1
MOST_TOPIC_BYTES = 64 << 20
"""Memory of the topics that are followed one by one, over all connections; the messages of others are counted."""
TOPIC_BYTES = 600
"""About what a topic takes besides its name."""
MOST_AHEAD = 500_000
"""Messages by which capture and replay may be apart, over all connections, for their order to be compared."""
_MASK = (1 << 64) - 1


class Room:
    """What the connections of a run may remember together."""

    def __init__(self, topic_bytes: int = MOST_TOPIC_BYTES, ahead: int = MOST_AHEAD) -> None:
        self.topic_bytes = topic_bytes
        self.ahead = ahead


class _TopicDeliveries:
    """The messages of one topic: how many, and what one of the two has before the other."""

    __slots__ = ("ahead", "counts", "differs_at", "is_followed", "sums")

    def __init__(self, *, is_followed: bool) -> None:
        self.counts = [0, 0]
        self.sums = [0, 0]
        """Of the hashes, which the order does not change."""
        self.ahead: deque[int] = deque()
        """Hashes of the payloads that one of the two has and the other not yet."""
        self.differs_at = 0
        """The first message that is not the same, from 1; 0 for none."""
        self.is_followed = is_followed
        """Whether the order is compared."""


class TopicDifference(NamedTuple):
    """How the messages of a topic came otherwise than captured."""

    topic: str
    """Empty for several topics together."""
    what: str
    """`missing`, `more`, `order` or `payload`."""
    position: int
    """The first message that differs, from 1; 0 where that is not known."""
    captured: int
    came: int

    @property
    def message(self) -> str:
        """The difference as a sentence, without the topic."""
        if self.what == "order":
            return f"message {self.position:,} is the first that came in another order"
        if self.what == "payload":
            differs = f"message {self.position:,} is the first with another payload" if self.position else ""
            return differs or "some payloads are others"
        came = f"{self.came:,} of {counted(self.captured, 'message')} came"
        if self.what == "more":
            came = f"{counted(self.came, 'message')} came instead of {self.captured:,}"
        return f"{came}; message {self.position:,} is the first that differs" if self.position else came


class ComparedMessages:
    """Compares two streams of messages, topic by topic, in whatever order their messages become known."""

    def __init__(self, room: Room) -> None:
        self.counts = [0, 0]
        self._room = room
        self._topics: dict[str, _TopicDeliveries] = {}
        self._rest = _TopicDeliveries(is_followed=False)
        """All topics together that are beyond what is kept by topic."""

    def add(self, which: int, topic: str, payload: bytes) -> None:
        """Take the next message that was CAPTURED, or CAME."""
        self.counts[which] += 1
        known = self._topics.get(topic)
        if known is None:
            known = self._new(topic)
        # Payloads that differ have the same hash once in 10^19; the seed is new in each process.
        seen = hash((topic, payload) if known is self._rest else payload)
        known.counts[which] += 1
        known.sums[which] = (known.sums[which] + seen) & _MASK
        if not known.is_followed or known.differs_at:
            return
        if known.counts[which] <= known.counts[1 - which]:
            self._room.ahead += 1
            if known.ahead.popleft() != seen:
                known.differs_at = known.counts[which]
                self._give_up(known)
        elif self._room.ahead:
            self._room.ahead -= 1
            known.ahead.append(seen)
        else:
            known.is_followed = False
            self._give_up(known)

    def _new(self, topic: str) -> _TopicDeliveries:
        if self._room.topic_bytes < _size_bytes(topic):
            return self._rest
        self._room.topic_bytes -= _size_bytes(topic)
        made = self._topics[topic] = _TopicDeliveries(is_followed=True)
        return made

    def _give_up(self, known: _TopicDeliveries) -> None:
        self._room.ahead += len(known.ahead)
        known.ahead.clear()

    def differences(self) -> Iterator[TopicDifference]:
        """Yield what differs, topic by topic, and give the room back."""
        for topic, known in self._topics.items():
            yield from _compared(topic, known)
            self._give_up(known)
        yield from _compared("", self._rest)
        self._room.topic_bytes += sum(map(_size_bytes, self._topics))
        self._topics.clear()


def _size_bytes(topic: str) -> int:
    return TOPIC_BYTES + 4 * len(topic)


def _compared(topic: str, known: _TopicDeliveries) -> Iterator[TopicDifference]:
    captured, came = known.counts
    at = known.differs_at
    if captured != came:
        # What is left is the part that one of the two has in addition.
        at = at or (min(captured, came) + 1 if known.is_followed and came < captured else 0)
        yield TopicDifference(topic, "missing" if came < captured else "more", at, captured, came)
    elif known.sums[CAPTURED] != known.sums[CAME]:
        yield TopicDifference(topic, "payload", at, captured, came)
    elif at:
        yield TopicDifference(topic, "order", at, captured, came)
