"""The pieces of TCP connections in, the events of those that carry MQTT out."""

from collections.abc import Iterable, Iterator

from ...codec.stream import MAX_PACKET
from ...spec.versions import Version
from ...traffic.events import Event
from ..types import Chunk, End, Flow, Piece
from .handler import DemuxSettings, HandlerSlot, MemoryBudget, SkippedConnections
from .mqtt_connection import MqttConnection
from .tls_connection import TlsConnections
from .undecided import UndecidedConnection

PORT = 1883


class MqttDemux:
    """Turns the pieces of TCP connections into the events of those that carry MQTT.

    MQTT is recognized by its CONNECT; on port 1883 and on `ports` by not being TLS, HTTP or SSH; elsewhere by packets
    that follow one another without an error, from the first byte on if that was captured. `version` is for
    connections without a CONNECT; it is guessed if None.

    Offsets of events count the bytes of each direction, including missing ones; on WebSocket and TLS those of the
    data inside. The events that `feed` returns must be used up before the next call; between two calls the object
    can be pickled.
    """

    def __init__(
        self, *, ports: Iterable[int] = (), version: Version | None = None, max_packet: int = MAX_PACKET,
        budget: MemoryBudget | None = None,
    ) -> None:  # fmt: skip
        self.skipped = SkippedConnections()
        """The connections so far that are not MQTT."""
        self.budget = budget or MemoryBudget()
        self._settings = DemuxSettings(frozenset((PORT, *ports)), version, max_packet, self.skipped, self.budget)
        self._slots: dict[int, HandlerSlot] = {}
        self._closing: dict[int, int] = {}
        """The side that has ended, of each connection whose other side has not."""
        self._tls = TlsConnections()

    def feed(self, piece: Piece) -> Iterable[Event]:
        """Return the events that the next piece completes."""
        slot = self._slots.get(piece[0][0]) or self._begin(piece[0])
        if type(piece) is Chunk:
            # Nearly all pieces are chunks; `slot.feed` would be one more call for each.
            return slot.handler.chunk(piece)
        return self._end(slot, piece) if type(piece) is End else slot.feed(piece)

    def expect_keys(self) -> None:
        """Announce that `decrypted` will be called with what connections on TLS carry."""
        self._tls.keys = True

    def decrypted(self, source: str, target: str, time_ns: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Return the events of bytes that one end sent to another within TLS; none for an unknown connection."""
        connection = self._tls.find(source, target)
        return connection.decrypted(source, time_ns, record, data) if connection else ()

    def connection(self, flow: Flow) -> MqttConnection | None:
        """Return the handler of a flow that is MQTT for certain, its version and client known; else None."""
        slot = self._slots.get(flow.number)
        return slot.handler if slot and type(slot.handler) is MqttConnection else None

    def numbers(self) -> Iterable[int]:
        """Return the numbers of the flows that have not ended."""
        return self._slots.keys()

    def finish(self) -> Iterator[Event]:
        """Yield the events of connections that have not ended when the capture does."""
        for number in sorted(self._slots):
            slot = self._slots[number]
            yield from slot.handler.end(End(slot.flow, None, None, 0, "end"))
            slot.close()
        self._slots.clear()
        self._closing.clear()

    def _begin(self, flow: Flow) -> HandlerSlot:
        slot = self._slots[flow.number] = HandlerSlot(flow)
        opener = 0 if flow.opened else None
        slot.handler = UndecidedConnection(flow, slot, self._settings, self._tls, opener=opener)
        return slot

    def _end(self, slot: HandlerSlot, end: End) -> Iterator[Event]:
        yield from slot.handler.end(end)
        flow = end.flow
        if end.side is not None and self._closing.setdefault(flow.number, end.side) == end.side:
            return
        self._closing.pop(flow.number, None)
        self._slots.pop(flow.number, None)
        self._tls.forget(flow)
        slot.close()
