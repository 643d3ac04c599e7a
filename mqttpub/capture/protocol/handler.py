"""What the handlers of a connection share: a handler takes its pieces, and another can take its place."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from ...spec.versions import Version
from ...traffic.events import Endpoints, Event
from ..types import Chunk, End, Flow, Missing, Piece, Unreadable
from .detect import Opening

BUDGET_BYTES = 32 << 20
"""Memory for what all connections hold until more of it arrives; one connection may exceed it alone."""
UNKNOWN = Opening.UNKNOWN.value
UNCOUNTED = 512
"""Bytes that a connection may hold without counting them in the budget."""
ENTRY = 200
"""Bytes of memory that a held piece takes besides its data."""


class Holder(Protocol):
    """Holds bytes until more of them arrive."""

    def let_go(self) -> None:
        """Drop the bytes; the budget has already released them."""


class MemoryBudget:
    """Limits the bytes that all connections hold together until more of them arrive.

    Above the limit, the holders that have not grown for longest drop their bytes. No holder counts for more than
    three quarters of the limit: so a packet larger than the limit can still be read, one at a time, and others need
    not drop everything for it.
    """

    def __init__(self, limit: int = BUDGET_BYTES) -> None:
        self.limit = limit
        self.size = 0
        self.shares: OrderedDict[Holder, int] = OrderedDict()
        """The bytes that are counted for each holder."""

    def hold(self, holder: Holder, size: int) -> None:
        """Record how many bytes a holder that has grown holds now."""
        share = min(size, self.limit // 4 * 3)
        self.size += share - self.shares.pop(holder, 0)
        self.shares[holder] = share
        while self.size > self.limit:
            oldest = next(iter(self.shares))
            self.release(oldest)
            oldest.let_go()

    def no_room(self, what: str) -> str:
        """Return the sentence about something that was dropped."""
        return f"no room for {what}: all connections together hold more than {self.limit:,} bytes of incomplete data"

    def release(self, holder: Holder) -> None:
        """Record that a holder holds nothing any longer."""
        self.size -= self.shares.pop(holder, 0)


class SkippedConnections:
    """Counts the connections that are not MQTT and their bytes, by kind: TLS, HTTP, WebSocket, SSH or unknown."""

    def __init__(self) -> None:
        self.connections: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def add(self, kind: str, size: int, connections: int = 0) -> None:
        """Count bytes, and connections if they begin with these bytes."""
        self.connections[kind] += connections
        self.bytes[kind] += size

    @property
    def sentence(self) -> str:
        """Such as `3 connections are not MQTT: 2 TLS, 1 HTTP`; empty if all connections are MQTT."""
        total = self.connections.total()
        if not total:
            return ""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.connections.most_common() if count)
        advice = "; --port PORT reads what is on a port as MQTT" if self.connections[UNKNOWN] else ""
        return f"{total:,} {'connection is' if total == 1 else 'connections are'} not MQTT: {kinds}{advice}"


class DemuxSettings(NamedTuple):
    """What holds for all connections of a capture."""

    ports: frozenset[int]
    """TCP ports on which everything that is not another known protocol is MQTT."""
    version: Version | None
    """Of connections without a CONNECT; None to guess it."""
    max_packet: int
    """The largest packet that is read, in bytes."""
    skipped: SkippedConnections
    budget: MemoryBudget


class Handler(Protocol):
    """Takes the pieces of both sides of a connection, and returns the events that they complete."""

    def chunk(self, chunk: Chunk) -> Iterable[Event]:
        """Handle the next bytes of a side."""

    def missing(self, missing: Missing) -> Iterable[Event]:
        """Handle bytes of a side that the capture does not hold."""

    def unreadable(self, unreadable: Unreadable) -> Iterable[Event]:
        """Handle a side whose remaining bytes cannot be read."""

    def end(self, end: End) -> Iterable[Event]:
        """Handle the end of a side or, where the side is None, of both."""


class HandlerSlot:
    """Holds the handler of a connection, so that another handler can take its place."""

    __slots__ = ("flow", "handler")

    handler: Handler

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def feed(self, piece: Piece | Unreadable) -> Iterable[Event]:
        """Hand a piece to the handler; the events must be used up before the next call."""
        if type(piece) is Chunk:
            return self.handler.chunk(piece)
        if type(piece) is Missing:
            return self.handler.missing(piece)
        if type(piece) is Unreadable:
            return self.handler.unreadable(piece)
        assert type(piece) is End
        return self.handler.end(piece)

    def switch_to(self, handler: Handler, held: Iterable[Piece | Unreadable] = ()) -> Iterator[Event]:
        """Replace the handler, and feed the new one what the old one held."""
        self.handler = handler
        for piece in held:
            yield from self.feed(piece)

    def close(self) -> None:
        """Drop the last handler, which may refer to this slot: without the circle its memory is free at once."""
        self.handler = _FINISHED


class Finished:
    """Handles a connection of which nothing more is of interest."""

    __slots__ = ()

    def chunk(self, chunk: Chunk) -> Iterable[Event]:
        """Do nothing."""
        return ()

    def missing(self, missing: Missing) -> Iterable[Event]:
        """Do nothing."""
        return ()

    def unreadable(self, unreadable: Unreadable) -> Iterable[Event]:
        """Do nothing."""
        return ()

    def end(self, end: End) -> Iterable[Event]:
        """Do nothing."""
        return ()


_FINISHED = Finished()


class IgnoredConnection(Finished):
    """Counts the bytes of a connection that is not MQTT."""

    __slots__ = ("kind", "skipped")

    def __init__(self, kind: str, skipped: SkippedConnections) -> None:
        self.kind = kind
        self.skipped = skipped
        skipped.add(kind, 0, connections=1)

    def chunk(self, chunk: Chunk) -> Iterable[Event]:
        """Count the bytes."""
        self.skipped.bytes[self.kind] += len(chunk.data)
        return ()


def ends_of(flow: Flow, client: int | None, *, begun: bool = False) -> Endpoints:
    """Return the ends of a flow; without addresses while it is unknown which side is the client.

    `begun` says that the beginning of the MQTT connection was captured, whether or not that of the flow was.
    """
    begun = begun or flow.opened
    if client is None:
        return Endpoints(flow.number, "", "", begun)
    return Endpoints(flow.number, flow.ends[client], flow.ends[1 - client], begun)
