"""What all stages of understanding a connection share."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from ...spec.versions import Version
from ...traffic.events import Endpoints, Event
from ..types import Flow

MOST_TOGETHER = 32 << 20
"""Bytes that all connections hold together of what is not whole yet; one of them may hold more than that besides."""
UNCOUNTED = 512
"""Bytes that a holder need not tell of."""
ENTRY = 200
"""Bytes of memory that a call takes which is held, besides its data."""


class Holder(Protocol):
    """What holds bytes until more of them come."""

    def let_go(self) -> None:
        """Do without the bytes; it is not to be told to `Held`, which knows."""


class Held:
    """How many bytes all connections hold together of what is not whole yet.

    Above the limit those let go that have not grown for longest. No holder counts for more than three
    quarters of it: so the packet that is larger than all of the limit can be read, one at a time, and
    others need not make room for all of it.
    """

    def __init__(self, limit: int = MOST_TOGETHER) -> None:
        self.limit = limit
        self.size = 0
        self._shares: OrderedDict[Holder, int] = OrderedDict()

    def hold(self, holder: Holder, size: int) -> None:
        """Learn how many bytes a holder that has grown has now."""
        share = min(size, self.limit // 4 * 3)
        self.size += share - self._shares.pop(holder, 0)
        self._shares[holder] = share
        while self.size > self.limit:
            oldest = next(iter(self._shares))
            self.release(oldest)
            oldest.let_go()

    def release(self, holder: Holder) -> None:
        """Learn that a holder has no bytes any longer."""
        self.size -= self._shares.pop(holder, 0)


class Skipped:
    """What was not MQTT, by kind: TLS, HTTP, WebSocket, SSH or unknown."""

    def __init__(self) -> None:
        self.connections: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def add(self, kind: str, size: int, connections: int = 0) -> None:
        """Count bytes, and connections that begin with them."""
        self.connections[kind] += connections
        self.bytes[kind] += size

    @property
    def sentence(self) -> str:
        """Such as `3 connections are not MQTT: 2 TLS, 1 HTTP`; empty when all are."""
        total = self.connections.total()
        if not total:
            return ""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.connections.most_common() if count)
        return f"{total:,} {'connection is' if total == 1 else 'connections are'} not MQTT: {kinds}"


class Settings(NamedTuple):
    """What was said about the connections to come."""

    ports: frozenset[int]
    """Where everything is MQTT that is nothing else."""
    version: Version | None
    """Of connections without a CONNECT."""
    max_packet: int
    skipped: Skipped
    held: Held


class Stage(Protocol):
    """What is known of a connection so far; it takes the pieces of its two sides."""

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Take the next bytes of a side."""

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> Iterable[Event]:
        """Pass over bytes of a side that were not captured."""

    def lost(
        self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool
    ) -> Iterable[Event]:
        """Give up the rest of a side, which is not what it should be or cannot be read."""

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterable[Event]:
        """Take the end of a side, or with None of all that was captured."""


class Slot:
    """Holds the stage of a connection, so that one can follow another."""

    __slots__ = ("stage",)

    stage: Stage

    def become(self, stage: Stage, held: Iterable[tuple[Any, ...]] = ()) -> Iterator[Event]:
        """Put a stage in the place of the one before, and give it what that has held: calls of its methods."""
        self.stage = stage
        for method, *arguments in held:
            yield from getattr(self.stage, method)(*arguments)

    def close(self) -> None:
        """Let the last stage go, which may know this slot: without the circle its memory is free at once."""
        self.stage = _OVER


class Over:
    """A connection of which nothing more is of interest."""

    __slots__ = ()

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Do nothing."""
        return ()

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> Iterable[Event]:
        """Do nothing."""
        return ()

    def lost(
        self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool
    ) -> Iterable[Event]:
        """Do nothing."""
        return ()

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterable[Event]:
        """Do nothing."""
        return ()


_OVER = Over()


class Ignored(Over):
    """A connection that is not MQTT; its bytes are counted."""

    __slots__ = ("kind", "skipped")

    def __init__(self, kind: str, skipped: Skipped) -> None:
        self.kind = kind
        self.skipped = skipped
        skipped.add(kind, 0, connections=1)

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Count the next bytes."""
        self.skipped.bytes[self.kind] += len(data)
        return ()


def ends_of(flow: Flow, client: int | None, *, begun: bool = False) -> Endpoints:
    """Return the ends of a flow; without names when it is not known which side is the client.

    `begun` says that the beginning of what the flow carries was captured, whether or not that of the flow was.
    """
    begun = begun or flow.opened
    if client is None:
        return Endpoints(flow.number, "", "", begun)
    return Endpoints(flow.number, flow.ends[client], flow.ends[1 - client], begun)
