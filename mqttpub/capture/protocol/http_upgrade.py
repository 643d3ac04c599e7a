"""The upgrade of an HTTP connection to WebSocket (RFC 6455, section 4)."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...traffic.events import Event, Remark
from ..types import Flow
from .handler import ENTRY, UNCOUNTED, Held, Ignored, Slot, ends_of
from .websocket import WebSocket

LONGEST_HEAD = 1 << 16
"""Bytes of HTTP headers, at most."""
PROTOCOL = "sec-websocket-protocol"


class Head(NamedTuple):
    """The first line and the headers of an HTTP request or answer."""

    first: list[str]
    headers: dict[str, str]
    """By names in lower case; the values of a repeated name are joined by commas."""
    size: int
    """Bytes up to the body."""


def head(data: bytes | bytearray, looked: int = 0) -> Head | None:
    """Return the head of an HTTP message; None while its end is not there, which is not in the bytes looked at."""
    end = data.find(b"\r\n\r\n", max(looked - 3, 0))
    if end < 0:
        return None
    first, *lines = data[:end].decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(first.split(" ", 2), headers, end + 4)


class Upgrade:
    """An HTTP connection until it is clear whether it becomes a WebSocket.

    `carried` makes the slot of what the WebSocket carries; its argument says whether the
    sub-protocol is MQTT.
    """

    def __init__(
        self, flow: Flow, client: int, slot: Slot, carried: Callable[[bool], Slot], skip: Callable[[], Ignored],
        budget: Held,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.client = client
        self.slot = slot
        self.carried = carried
        self.skip = skip
        self.budget = budget
        self.held: list[tuple[Any, ...]] = []
        """What came behind the heads."""
        self.first = [bytearray(), bytearray()]
        """What came of heads that do not end yet."""
        self.heads: list[Head | None] = [None, None]
        """What each side said; read once, as there may be as many segments as bytes."""
        self.sizes = [0, 0]
        self.mqtt = False
        """Whether the client asks for MQTT."""
        self.full = False
        """Whether there was no room for what came."""

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterator[Event]:
        """Take the next bytes of a side."""
        self.sizes[side] += len(data)
        if self.full:
            text = f"no room for the upgrade to WebSocket: more than {self.budget.limit:,} bytes wait for others"
            return self._refused(time, record, f"{text} in all connections")
        self._add(side, time, record, data)
        asked, answered = self.heads[self.client], self.heads[1 - self.client]
        if asked and "websocket" not in asked.headers.get("upgrade", "").lower():
            return self._skipped()
        if asked and answered:
            return self._answered(asked, answered, time, record)
        if max(self.sizes) > LONGEST_HEAD:
            return self._skipped()
        cost = sum(self.sizes) + ENTRY * len(self.held)
        if cost > UNCOUNTED:
            self.budget.hold(self, cost)
        return iter(())

    def _add(self, side: int, time: int | None, record: int, data: bytes) -> None:
        """Add bytes to the head of a side, or to what is behind it."""
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
            self.held.append(("chunk", side, time, record, data))

    def let_go(self) -> None:
        """Do without what is held, and say so when more comes."""
        self.full = True
        self.held = []
        self.first = [bytearray(), bytearray()]
        self.heads = [None, None]

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> Iterator[Event]:
        """Give up: without the whole upgrade there is no telling what follows."""
        text = f"{message}, within the upgrade to WebSocket; the connection is not read"
        return self._refused(time, record, text)

    def lost(
        self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool
    ) -> Iterator[Event]:
        """Give up."""
        return self._refused(time, record, f"{message}, within the upgrade to WebSocket")

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterator[Event]:
        """Take the end of a side; without an answer there is no WebSocket."""
        self.held.append(("end", side, time, record, how))
        if side == self.client and how == "FIN":
            return iter(())
        return self._refused(time, record, "the upgrade to WebSocket was not answered")

    def _answered(self, asked: Head, answered: Head, time: int | None, record: int) -> Iterator[Event]:
        line = f"WebSocket: GET {asked.first[1]} -> {' '.join(answered.first[1:])}"
        if answered.first[1:2] != ["101"]:
            yield from self._refused(time, record, f"{line}; the upgrade was refused")
            return
        protocol = answered.headers.get(PROTOCOL, "")
        extensions = answered.headers.get("sec-websocket-extensions", "")
        told = f"sub-protocol {protocol}" if protocol else "no sub-protocol"
        text = ", ".join(filter(None, (line, told, extensions and f"with {extensions}")))
        remark = Remark(ends_of(self.flow, self.client), time, record, None, text)
        mqtt = protocol.lower().startswith("mqtt")
        if mqtt:
            yield remark
        self.budget.release(self)
        stage = WebSocket(self.flow, self.client, self.carried(mqtt), extensions, None if mqtt else remark)
        yield from self.slot.become(stage, self.held)

    def _refused(self, time: int | None, record: int, text: str) -> Iterator[Event]:
        if self.mqtt:
            yield Remark(ends_of(self.flow, self.client), time, record, None, text)
        yield from self._skipped()

    def _skipped(self) -> Iterator[Event]:
        """Go on as a connection that is not MQTT; what came so far is counted."""
        self.budget.release(self)
        stage = self.skip()
        stage.skipped.add(stage.kind, sum(self.sizes))
        return self.slot.become(stage)
