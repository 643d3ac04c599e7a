"""The upgrade of an HTTP connection to WebSocket (RFC 6455, section 4)."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...traffic.events import Event, Remark
from ..types import Chunk, End, Flow, Missing, Piece, Unreadable
from .handler import ENTRY, UNCOUNTED, HandlerSlot, IgnoredConnection, MemoryBudget, ends_of
from .websocket import WebSocketConnection

LONGEST_HEAD = 1 << 16
"""Bytes of HTTP headers, at most."""
PROTOCOL = "sec-websocket-protocol"


class HttpHead(NamedTuple):
    """The first line and the headers of an HTTP request or response."""

    first: list[str]
    """The words of the first line."""
    headers: dict[str, str]
    """By names in lower case; the values of a repeated name are joined by commas."""
    size: int
    """Bytes before the body."""


def head(data: bytes | bytearray, searched: int = 0) -> HttpHead | None:
    """Return the head of an HTTP message; None while its end is not there.

    `searched` is the number of bytes that an earlier call had.
    """
    end = data.find(b"\r\n\r\n", max(searched - 3, 0))
    if end < 0:
        return None
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return HttpHead(first.split(" ", 2), headers, end + 4)


class HttpUpgrade:
    """Handles an HTTP connection until it is clear whether it becomes a WebSocket.

    `carried` makes the slot for what the WebSocket carries; its argument says whether the sub-protocol is MQTT.
    """

    def __init__(
        self, flow: Flow, client: int, slot: HandlerSlot, carried: Callable[[bool], HandlerSlot],
        skip: Callable[[], IgnoredConnection], budget: MemoryBudget,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.client = client
        self.slot = slot
        self.carried = carried
        self.skip = skip
        self.budget = budget
        self.held: list[Piece | Unreadable] = []
        """The pieces after the heads."""
        self.first = [bytearray(), bytearray()]
        """The beginning of a head, of each side."""
        self.heads: list[HttpHead | None] = [None, None]
        """The head of each side; parsed once, because there may be as many segments as bytes."""
        self.sizes = [0, 0]
        self.mqtt = False
        """Whether the client asks for MQTT."""
        self.full = False
        """Whether bytes were dropped for want of memory."""

    def chunk(self, chunk: Chunk) -> Iterator[Event]:
        """Hold the next bytes, and decide once both heads are there."""
        self.sizes[chunk.side] += len(chunk.data)
        if self.full:
            return self._refused(chunk, self.budget.no_room("the upgrade to WebSocket"))
        self._add(chunk)
        asked, answered = self.heads[self.client], self.heads[1 - self.client]
        if asked and "websocket" not in asked.headers.get("upgrade", "").lower():
            return self._skipped()
        if asked and answered:
            return self._answered(asked, answered, chunk)
        if max(self.sizes) > LONGEST_HEAD:
            return self._skipped()
        cost = sum(self.sizes) + ENTRY * len(self.held)
        if cost > UNCOUNTED:
            self.budget.hold(self, cost)
        return iter(())

    def _add(self, chunk: Chunk) -> None:
        """Add bytes to the head of a side, or to what follows it."""
        side, data = chunk.side, chunk.data
        if not self.heads[side]:
            first = self.first[side]
            first += data
            found = head(first, len(first) - len(data))
            if not found:
                return
            self.heads[side] = found
            self.mqtt = self.mqtt or (side == self.client and "mqtt" in found.headers.get(PROTOCOL, "").lower())
            self.first[side] = bytearray()
            data = bytes(first[found.size :])
        if data:
            self.held.append(chunk._replace(data=data))

    def let_go(self) -> None:
        """Drop what is held; a remark says so when more bytes come."""
        self.full = True
        self.held = []
        self.first = [bytearray(), bytearray()]
        self.heads = [None, None]

    def missing(self, missing: Missing) -> Iterator[Event]:
        """Give up: nothing shows what follows an upgrade that is not whole."""
        text = f"{missing.message}, within the upgrade to WebSocket; the connection is not read"
        return self._refused(missing, text)

    def unreadable(self, unreadable: Unreadable) -> Iterator[Event]:
        """Give up."""
        return self._refused(unreadable, f"{unreadable.message}, within the upgrade to WebSocket")

    def end(self, end: End) -> Iterator[Event]:
        """Handle the end of a side; without a response it is not a WebSocket."""
        self.held.append(end)
        if end.side == self.client and end.how == "FIN":
            return iter(())
        return self._refused(end, "the upgrade to WebSocket was not answered")

    def _answered(self, asked: HttpHead, answered: HttpHead, chunk: Chunk) -> Iterator[Event]:
        line = f"WebSocket: GET {asked.first[1]} -> {' '.join(answered.first[1:])}"
        if answered.first[1:2] != ["101"]:
            yield from self._refused(chunk, f"{line}; the upgrade was refused")
            return
        protocol = answered.headers.get(PROTOCOL, "")
        extensions = answered.headers.get("sec-websocket-extensions", "")
        named = f"sub-protocol {protocol}" if protocol else "no sub-protocol"
        text = ", ".join(filter(None, (line, named, extensions and f"with {extensions}")))
        remark = self._remark(chunk, text)
        mqtt = protocol.lower().startswith("mqtt")
        if mqtt:
            yield remark
        self.budget.release(self)
        handler = WebSocketConnection(self.flow, self.client, self.carried(mqtt), extensions, None if mqtt else remark)
        yield from self.slot.switch_to(handler, self.held)

    def _refused(self, piece: Piece | Unreadable, text: str) -> Iterator[Event]:
        if self.mqtt:
            yield self._remark(piece, text)
        yield from self._skipped()

    def _remark(self, piece: Piece | Unreadable, text: str) -> Remark:
        return Remark(ends_of(self.flow, self.client), piece.time_ns, piece.record, None, text)

    def _skipped(self) -> Iterator[Event]:
        """Continue as a connection that is not MQTT, with the bytes so far counted."""
        self.budget.release(self)
        handler = self.skip()
        handler.skipped.add(handler.kind, sum(self.sizes))
        return self.slot.switch_to(handler)
