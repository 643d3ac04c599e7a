"""A connection that is MQTT: its two senders, and what is guessed where its CONNECT was not captured."""

from collections.abc import Iterable, Iterator

from ...codec.framing import CONNECT, connect_layout, unknown_level
from ...spec.versions import Direction, Version
from ...traffic.events import Closed, Event, PacketSeen, Remark
from ..types import Flow
from .evidence import VERSIONS, Guess, only_sender
from .handler import Settings, Slot, ends_of
from .mqtt_sender import Sender

SERVERS = frozenset((8883, 80, 443, 8080, 8081, 8083, 8084, 9001))
"""Ports by which a server of MQTT on TLS or WebSocket is known."""
EPHEMERAL = 32_768
"""The lowest port that clients are given by themselves."""
MOST_HELD = 64
"""Events that are held while it is open what they are."""
MOST_LOOKED_AT = 1000
"""Packets after which nothing more is expected of those to come."""


class Connection:
    """Both sides of a connection; the version that a CONNECT tells holds for both."""

    __slots__ = ("begun", "client", "connected", "ends", "flow", "reset", "senders", "version")

    def __init__(self, flow: Flow, settings: Settings, client: int | None = None, *, begun: bool = False) -> None:
        self.flow = flow
        self.begun = begun
        """Whether its first bytes were captured."""
        self.connected = False
        """Whether a CONNECT told the version."""
        self.reset = False
        told = self.connect
        self.senders = (
            Sender(0, settings.max_packet, told, settings.held),
            Sender(1, settings.max_packet, told, settings.held),
        )
        self.tell(settings.version or Version.V5, settings.version is None, client)

    def connect(self, version: Version, side: int) -> None:
        """Take a CONNECT that comes: the version that it announces, and who sent it."""
        self.announce(version, side)
        self.senders[1 - side].asked = True

    def announce(self, version: Version, side: int) -> None:
        """Take the version that a CONNECT tells, which may still be to come, and who sends it."""
        self.connected = True
        self.tell(version, False, side if self.client is None else self.client)

    def tell(self, version: Version, guessed: bool, client: int | None) -> None:
        """Set the version, and which side is the client."""
        self.version = version
        self.client = client
        self.ends = ends_of(self.flow, client, begun=self.begun)
        for sender in self.senders:
            sender.version, sender.guessed, sender.ends = version, guessed, self.ends
            sender.direction = self.direction(sender.side)

    def direction(self, side: int | None) -> Direction | None:
        """Return which end a side is."""
        if side is None or self.client is None:
            return None
        return Direction.CLIENT if side == self.client else Direction.SERVER

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> list[Event]:
        """Take the next bytes of a side."""
        return self.senders[side].feed(data, time, record)

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> list[Event]:
        """Pass over bytes of a side that were not captured."""
        return self.senders[side].missing(length, message, time, record)

    def lost(self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool) -> list[Event]:
        """Give up the rest of a side."""
        return self.senders[side].give_up(time, record, message, data, malformed)

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterator[Event]:
        """Take the end of a side, or of all that was captured."""
        return (event for _, event in self.ending(side, time, record, how))

    def ending(self, side: int | None, time: int | None, record: int, how: str) -> Iterator[tuple[int | None, Event]]:
        """Take an end as `end` does, and yield with each event the side that it is about; None is both."""
        self.reset = self.reset or how == "RST"
        for sender in self.senders if side is None else (self.senders[side],):
            for event in sender.finish(time, record, "RST" if self.reset else how):
                yield sender.side, event
        if side is not None or not self.reset:
            yield side, Closed(self.ends, time, record, self.direction(side), how)


class Guessing:
    """A connection without a CONNECT that announces a version; what comes is held until it tells version and ends.

    What is held is bounded. Beyond that packets are handed on as they come, read by the version that is the likeliest
    so far; that is 5.0 as long as they are the same in all versions. The first one that is right in some versions
    only settles it, for all that follow.
    """

    def __init__(self, connection: Connection, slot: Slot, settings: Settings, opener: int | None) -> None:
        self.connection = connection
        self.slot = slot
        self.settings = settings
        self.opener = opener
        self.guess = Guess(VERSIONS if settings.version is None else (settings.version,))
        self.held: list[tuple[int | None, Event]] = []
        self.released = False
        self.settled = False
        """Whether the version is final."""
        self.level: int | None = None
        """The protocol level of a CONNECT, which no version has."""

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterator[Event]:
        """Take the next bytes of a side."""
        return self._take(side, time, record, self.connection.chunk(side, time, record, data))

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> Iterator[Event]:
        """Pass over bytes of a side that were not captured."""
        return self._take(side, time, record, self.connection.missing(side, time, record, length, message))

    def lost(
        self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool
    ) -> Iterator[Event]:
        """Give up the rest of a side."""
        return self._take(side, time, record, self.connection.lost(side, time, record, message, data, malformed))

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterator[Event]:
        """Take the end of a side; nothing is held any longer, as little may follow."""
        yield from self._take_each(time, record, self.connection.ending(side, time, record, how))
        if self.held:
            yield from self._release(time, record)

    def _take(self, side: int, time: int | None, record: int, events: Iterable[Event]) -> Iterator[Event]:
        return self._take_each(time, record, ((side, event) for event in events))

    def _take_each(self, time: int | None, record: int, events: Iterable[tuple[int | None, Event]]) -> Iterator[Event]:
        for side, event in events:
            self.held.append((side, event))
            if isinstance(event, PacketSeen) and not self.connection.connected:
                self.guess.add(event.data, side)
                if event.data[0] >> 4 == CONNECT and self.level is None:
                    self.level = unknown_level(event.data)
        if self.held and (self.released or self._ready):
            yield from self._release(time, record)

    @property
    def _ready(self) -> bool:
        return self.connection.connected or self.guess.settled or len(self.held) >= MOST_HELD

    def _release(self, time: int | None, record: int) -> Iterator[Event]:
        """Hand on what is held, with what is known by now."""
        connection, guess = self.connection, self.guess
        client, because = self._client()
        told = connection.connected or guess.certain or self.settings.version is not None
        if not connection.connected:
            version = connection.version if self.settled else guess.version
            connection.tell(version, self.settings.version is None, client)
            self.settled = told
            if not self.released or (told and client is not None):
                text = f"{self._missing_version()}: {self._why()}; {because}"
                first = self.held[0][1] if self.held else None
                time, record = (first.time, first.record) if first else (time, record)
                yield Remark(connection.ends, time, record, None, text)
        self.released = True
        held, self.held = self.held, []
        for side, event in held:
            yield self._stamped(side, event)
        if (told and connection.client is not None) or guess.packets >= MOST_LOOKED_AT:
            yield from self.slot.become(connection)

    def _missing_version(self) -> str:
        return "no CONNECT was captured" if self.level is None else f"no version has protocol level {self.level}"

    def _why(self) -> str:
        given = self.settings.version
        return f"version {given.label} as given" if given else self.guess.why

    def _stamped(self, side: int | None, event: Event) -> Event:
        ends, direction = self.connection.ends, self.connection.direction(side)
        if isinstance(event, PacketSeen) and event.guessed:
            version = connect_layout(event.data) or self.connection.version
            direction = direction or only_sender(event.data[0] >> 4, version)
            return event._replace(ends=ends, direction=direction, version=version)
        return event._replace(ends=ends, direction=direction)

    def _client(self) -> tuple[int | None, str]:
        """Return which side is the client, and why."""
        flow = self.connection.flow
        # Packets prove less: whoever is at fault may send those of the other end.
        if self.opener is not None:
            return self.opener, "the client is the end that opened the connection"
        if self.connection.client is not None and self.level is not None:
            return self.connection.client, "the client is the end that sends CONNECT"
        if self.guess.client is not None:
            return self.guess.client, self.guess.client_because
        for ports, text in ((self.settings.ports | SERVERS, "is a server's"), (range(EPHEMERAL), "is no client's")):
            servers = [side for side in (0, 1) if flow.ports[side] in ports]
            if len(servers) == 1:
                return 1 - servers[0], f"port {flow.ports[servers[0]]} {text}"
        return None, f"nothing tells whether {flow.ends[0]} or {flow.ends[1]} is the client"
