"""A connection that is MQTT: its two senders, and how version and client are guessed without a CONNECT."""

from collections.abc import Iterable, Iterator

from ...codec.connect_version import connect_layout, unknown_level
from ...spec.declare import only_sender
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ...traffic.events import Closed, Event, PacketSeen, Remark
from ..types import Chunk, End, Flow, Missing, Piece, Unreadable
from .evidence import VERSIONS, Guess
from .handler import DemuxSettings, HandlerSlot, ends_of
from .mqtt_sender import MqttSender

SERVERS = frozenset((8883, 80, 443, 8080, 8081, 8083, 8084, 9001))
"""Usual ports of MQTT servers on TLS or WebSocket."""
EPHEMERAL = 32_768
"""The lowest port that operating systems give to clients."""
MOST_HELD = 64
"""Events that are held while version or client are unknown."""
MOST_EXAMINED = 1000
"""Packets after which later ones are not examined any more."""


class MqttConnection:
    """Handles both sides of an MQTT connection; the version that a CONNECT announces holds for both."""

    __slots__ = ("begun", "client", "connected", "ends", "flow", "reset", "senders", "version")

    def __init__(self, flow: Flow, settings: DemuxSettings, client: int | None = None, *, begun: bool = False) -> None:
        self.flow = flow
        self.begun = begun
        """Whether its first bytes were captured."""
        self.connected = False
        """Whether a CONNECT announced the version."""
        self.reset = False
        on_connect = self.connect
        self.senders = (
            MqttSender(0, settings.max_packet, on_connect, settings.budget),
            MqttSender(1, settings.max_packet, on_connect, settings.budget),
        )
        self.settle(settings.version or Version.V5, settings.version is None, client)

    def connect(self, version: Version, side: int) -> None:
        """Use the version that a CONNECT announces, and the side that sent it, from now on."""
        self.announce(version, side)
        self.senders[1 - side].asked = True

    def announce(self, version: Version, side: int) -> None:
        """Use the version of a CONNECT that may still be to come, and the side that sends it."""
        self.connected = True
        self.settle(version, False, side if self.client is None else self.client)

    def settle(self, version: Version, guessed: bool, client: int | None) -> None:
        """Set the version, and the side that is the client."""
        self.version = version
        self.client = client
        self.ends = ends_of(self.flow, client, begun=self.begun)
        for sender in self.senders:
            sender.version, sender.guessed, sender.ends = version, guessed, self.ends
            sender.direction = self.direction(sender.side)

    def direction(self, side: int | None) -> Direction | None:
        """Return which end a side is; None if unknown."""
        if side is None or self.client is None:
            return None
        return Direction.CLIENT if side == self.client else Direction.SERVER

    def chunk(self, chunk: Chunk) -> list[Event]:
        """Return the packets that the next bytes complete, and gaps."""
        return self.senders[chunk.side].feed(chunk.data, chunk.time_ns, chunk.record)

    def missing(self, missing: Missing) -> list[Event]:
        """Skip bytes that were not captured."""
        return self.senders[missing.side].missing(missing)

    def unreadable(self, unreadable: Unreadable) -> list[Event]:
        """Give up the rest of a side."""
        return self.senders[unreadable.side].unreadable(unreadable)

    def end(self, end: End) -> Iterator[Event]:
        """Yield what the end of one side, or of both, leaves unfinished, and the end."""
        return (event for _, event in self.ending(end))

    def ending(self, end: End) -> Iterator[tuple[int | None, Event]]:
        """Yield the events of an end, each with the side that it is about; None is both sides."""
        self.reset = self.reset or end.how == "RST"
        how = "RST" if self.reset else end.how
        for sender in self.senders if end.side is None else (self.senders[end.side],):
            for event in sender.finish(end.time_ns, end.record, how):
                yield sender.side, event
        if end.side is not None or not self.reset:
            tcp = None if end.tcp is None or self.client is None else end.tcp.swapped if self.client else end.tcp
            direction = self.direction(end.side)
            yield end.side, Closed(self.ends, end.time_ns, end.record, direction, end.how, tcp)


class GuessedConnection:
    """Handles an MQTT connection without a CONNECT that announces a version: events are held until it is guessed.

    The number of held events is bounded. After that, packets are yielded as they come, in the version that is most
    likely so far; 5.0 as long as they are the same in all versions. The first packet that is correct in only some
    versions settles it for all that follow.
    """

    def __init__(
        self, connection: MqttConnection, slot: HandlerSlot, settings: DemuxSettings, opener: int | None
    ) -> None:  # fmt: skip
        self.connection = connection
        self.slot = slot
        self.settings = settings
        self.opener = opener
        self.guess = Guess(VERSIONS if settings.version is None else (settings.version,))
        self.held: list[tuple[int | None, Event]] = []
        """Events, each with the side that it is about."""
        self.released = False
        self.settled = False
        """Whether the version is final."""
        self.level: int | None = None
        """The protocol level of a CONNECT, if no version has it."""

    def chunk(self, chunk: Chunk) -> Iterator[Event]:
        """Handle the next bytes of a side."""
        return self._examine_side(chunk, self.connection.chunk(chunk))

    def missing(self, missing: Missing) -> Iterator[Event]:
        """Skip bytes of a side that were not captured."""
        return self._examine_side(missing, self.connection.missing(missing))

    def unreadable(self, unreadable: Unreadable) -> Iterator[Event]:
        """Give up the rest of a side."""
        return self._examine_side(unreadable, self.connection.unreadable(unreadable))

    def end(self, end: End) -> Iterator[Event]:
        """Yield all events at the end of a side, because little may follow."""
        yield from self._examine(end, self.connection.ending(end))
        if self.held:
            yield from self._release(end)

    def _examine_side(self, piece: Chunk | Missing | Unreadable, events: Iterable[Event]) -> Iterator[Event]:
        return self._examine(piece, ((piece.side, event) for event in events))

    def _examine(self, piece: Piece | Unreadable, events: Iterable[tuple[int | None, Event]]) -> Iterator[Event]:
        for side, event in events:
            self.held.append((side, event))
            if isinstance(event, PacketSeen) and not self.connection.connected:
                self.guess.add(event.data, side)
                if event.data[0] >> 4 == Connect.code and self.level is None:
                    self.level = unknown_level(event.data)
        if self.held and (self.released or self._ready):
            yield from self._release(piece)

    @property
    def _ready(self) -> bool:
        return self.connection.connected or self.guess.settled or len(self.held) >= MOST_HELD

    def _release(self, piece: Piece | Unreadable) -> Iterator[Event]:
        """Yield the held events, with the version and the client that are most likely now."""
        connection, guess = self.connection, self.guess
        client, because = self._client()
        certain = connection.connected or guess.certain or self.settings.version is not None
        if not connection.connected:
            version = connection.version if self.settled else guess.version
            connection.settle(version, self.settings.version is None, client)
            self.settled = certain
            if not self.released or (certain and client is not None):
                text = f"{self._missing_version()}: {self._why()}; {because}"
                first = self.held[0][1] if self.held else None
                time_ns, record = (first.time, first.record) if first else (piece.time_ns, piece.record)
                yield Remark(connection.ends, time_ns, record, None, text)
        self.released = True
        held, self.held = self.held, []
        for side, event in held:
            yield self._settled(side, event)
        if (certain and connection.client is not None) or guess.packets >= MOST_EXAMINED:
            yield from self.slot.switch_to(connection)

    def _missing_version(self) -> str:
        return (
            "no CONNECT was captured"
            if self.level is None
            else f"protocol level {self.level} belongs to no version of MQTT"
        )

    def _why(self) -> str:
        given = self.settings.version
        return f"version {given.label} as given" if given else self.guess.why

    def _settled(self, side: int | None, event: Event) -> Event:
        """Return an event with what is known by now."""
        ends, direction = self.connection.ends, self.connection.direction(side)
        if isinstance(event, PacketSeen) and event.guessed:
            version = connect_layout(event.data) or self.connection.version
            direction = direction or only_sender(event.data[0] >> 4, version)
            return event._replace(ends=ends, direction=direction, version=version)
        return event._replace(ends=ends, direction=direction)

    def _client(self) -> tuple[int | None, str]:
        """Return which side is the client, and why."""
        flow = self.connection.flow
        # Packets are weaker evidence: an end may wrongly send those of the other end.
        if self.opener is not None:
            return self.opener, "the client is the end that opened the connection"
        if self.connection.client is not None and self.level is not None:
            return self.connection.client, "the client is the end that sends CONNECT"
        if self.guess.client is not None:
            return self.guess.client, self.guess.client_because
        for ports, text in ((self.settings.ports | SERVERS, "is a server's"), (range(EPHEMERAL), "is not a client's")):
            servers = [side for side in (0, 1) if flow.ports[side] in ports]
            if len(servers) == 1:
                return 1 - servers[0], f"port {flow.ports[servers[0]]} {text}"
        return None, f"nothing shows whether {flow.ends[0]} or {flow.ends[1]} is the client"
