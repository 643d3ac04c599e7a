"""A connection whose protocol is still open: its pieces are held until its first bytes decide."""

from collections.abc import Callable, Iterator
from functools import partial

from ...codec.connect_version import connect_version
from ...traffic.events import Event, Remark
from ..types import Chunk, End, Flow, Missing, Piece, Unreadable
from .detect import LONGEST, Opening, hello_length, opening, server_name
from .evidence import VERSIONS
from .handler import ENTRY, UNCOUNTED, DemuxSettings, Handler, HandlerSlot, IgnoredConnection, ends_of
from .http_upgrade import HttpUpgrade
from .mqtt_connection import GuessedConnection, MqttConnection
from .resync import PacketFinder
from .tls_connection import TlsConnection, TlsConnections

UNKNOWN_PROOF = 8
"""Packets that have to follow one another from a place within a segment, where nothing else suggests MQTT."""
FIRST = 32
"""Bytes that `opening` looks at, at most."""


class UndecidedConnection:
    """Holds the pieces of a connection until it is clear what it is; then another handler gets them.

    `opener` is the side that opened the connection, None if unknown. `begun` says that its first bytes were
    captured, or are known to be missing. `sure` says that it is MQTT unless its bytes show another protocol;
    `unknown` is what to count it as where nothing shows what it is.
    """

    def __init__(
        self, flow: Flow, slot: HandlerSlot, settings: DemuxSettings, tls: TlsConnections, *, opener: int | None,
        begun: bool = False, sure: bool = False, unknown: str = Opening.UNKNOWN.value,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.slot = slot
        self.settings = settings
        self.tls = tls
        self.opener = opener
        self.begun = begun or opener is not None
        self.unknown = unknown
        self.forced = sure or not settings.ports.isdisjoint(flow.ports)
        self.held: list[Piece | Unreadable] = []
        self.first = [b"", b""]
        """The first bytes of each side, at most FIRST."""
        self.sizes = [0, 0]
        """Bytes of each side so far."""
        self.cost = 0
        """Bytes of memory that are held."""
        self.ended: set[int | None] = set()
        self.finders: tuple[PacketFinder, ...] = ()
        """Look for packets in both sides, anywhere or from the first byte on, where the first bytes cannot decide."""
        if not self.begun and not self.forced:
            self._find_packets()

    def chunk(self, chunk: Chunk) -> Iterator[Event]:
        """Hold the next bytes of a side, and decide if they are enough."""
        side, data = chunk.side, chunk.data
        self.held.append(chunk)
        self.sizes[side] += len(data)
        self._grow(len(data))
        if len(self.first[side]) < FIRST:
            self.first[side] += data[: FIRST - len(self.first[side])]
        found = bool(self.finders and self.finders[side].feed(data, chunk.time_ns, chunk.record))
        return self._decide(side, found)

    def missing(self, missing: Missing) -> Iterator[Event]:
        """Hold a gap: only what follows it can show what the connection is."""
        self.held.append(missing)
        self._grow(0)
        if self.finders and self.finders[0].within:
            self.finders[missing.side].missing(missing.length)
        elif self.forced:
            return self._mqtt(None)
        else:
            self._find_packets()
        return self._wait()

    def unreadable(self, unreadable: Unreadable) -> Iterator[Event]:
        """Decide without the rest of a side."""
        self.held.append(unreadable)
        return self._mqtt(None) if self.forced else self._skip(self.unknown)

    def end(self, end: End) -> Iterator[Event]:
        """Hold the end of a side; decide when both have ended."""
        self.held.append(end)
        self.ended.add(end.side)
        if end.side is not None and len(self.ended) < 2:
            return iter(())
        if not any(self.sizes):
            self.settings.budget.release(self)
            self.slot.close()
            return iter(())
        if self._begins_tls:
            return self._skip(Opening.TLS.value)
        return self._mqtt(None) if self.forced or self._is_all_packets() else self._skip(self.unknown)

    def let_go(self) -> None:
        """Drop what is held; the connection counts as unknown, or as TLS if it begins like that."""
        for _ in self._skip(Opening.TLS.value if self._begins_tls else self.unknown):
            raise AssertionError("a skipped connection has no events")

    # what it is

    @property
    def _begins_tls(self) -> bool:
        return any(opening(first) is Opening.TLS for first in self.first)

    def _decide(self, side: int, found: bool) -> Iterator[Event]:
        kind = opening(self.first[side])
        if kind is Opening.MQTT:
            return self._mqtt(side)
        if kind is Opening.TLS:
            return self._tls(side)
        if kind is Opening.HTTP and not self.first[side].startswith(b"HTTP/"):
            carried, budget = self._carried(side), self.settings.budget
            return self._switch_to(HttpUpgrade(self.flow, side, self.slot, carried, self._ignored, budget))
        if kind is Opening.UNKNOWN and side == self.opener and not self.finders and not self.forced:
            # An MQTT client speaks first, and with CONNECT. One that does not is known by its first packets only.
            found = self._find_packets(within=False)
        refuted = any(finder.refuted for finder in self.finders)
        if kind is Opening.UNKNOWN and ((found and not refuted) or self.forced):
            return self._mqtt(None)
        if kind in (Opening.HTTP, Opening.SSH):
            return self._skip(kind.value)
        if refuted or sum(self.sizes) > LONGEST or any(finder.tired for finder in self.finders):
            return self._skip(self.unknown)
        return self._wait()

    def _is_all_packets(self) -> bool:
        """Whether all bytes of the connection are packets, at least two, and if it was seen from its beginning of both
        sides.
        """
        found = [(first, finder.finish()) for first, finder in zip(self.first, self.finders, strict=False) if first]
        packets = sum(each.packets if each else 0 for _, each in found)
        enough = packets > 1 and (self.opener is None or len(found) > 1)
        return enough and all(each and each.start == 0 for _, each in found)

    def _find_packets(self, *, within: bool = True) -> bool:
        """Look for packets in all bytes, because nothing else can show what the connection is; return whether the bytes
        so far prove them.
        """
        self.finders = tuple(
            PacketFinder(0, VERSIONS, anywhere=UNKNOWN_PROOF, filling=False, within=within) for _ in (0, 1)
        )
        self.cost += sum(self.sizes)
        found = False
        for piece in self.held:
            if isinstance(piece, Chunk):
                found |= self.finders[piece.side].feed(piece.data, piece.time_ns, piece.record) is not None
            elif isinstance(piece, Missing):
                self.finders[piece.side].missing(piece.length)
        return found

    def _grow(self, size: int) -> None:
        """Count held bytes; twice while there are finders, which keep bytes of their own."""
        self.cost += ENTRY + (2 * size if self.finders else size)

    def _wait(self) -> Iterator[Event]:
        """Stay undecided."""
        if self.cost > UNCOUNTED:
            self.settings.budget.hold(self, self.cost)
        return iter(())

    def _bytes_of(self, side: int) -> bytes:
        """Return all bytes of a side."""
        return b"".join(piece.data for piece in self.held if isinstance(piece, Chunk) and piece.side == side)

    # the handlers that follow

    def _switch_to(self, handler: Handler) -> Iterator[Event]:
        """Replace this handler by another, which gets what is held."""
        self.settings.budget.release(self)
        return self.slot.switch_to(handler, self.held)

    def _mqtt(self, greeter: int | None) -> Iterator[Event]:
        """Continue as MQTT; `greeter` is the side that began with a CONNECT, None if neither did."""
        client = greeter if self.opener is None else self.opener
        connection = MqttConnection(self.flow, self.settings, client, begun=self.begun)
        if greeter is not None and (announced := connect_version(self._bytes_of(greeter))):
            connection.announce(announced, greeter)
            return self._switch_to(connection)
        # A CONNECT of unknown level does not say which version the server speaks.
        if greeter is None and not self.begun:
            for sender in connection.senders:
                sender.begin_within()
        return self._switch_to(GuessedConnection(connection, self.slot, self.settings, self.opener))

    def _tls(self, side: int) -> Iterator[Event]:
        if self.sizes[side] < hello_length(self.first[side]) and not self.ended:
            return self._wait()
        return self._switch_to_tls(side, server_name(self._bytes_of(side)))

    def _switch_to_tls(self, side: int, name: str) -> Iterator[Event]:
        """Continue as TLS, and say so unless there are keys, or this server was named before."""
        client = self.opener if self.opener is not None else self._greeter(side)
        ends = ends_of(self.flow, client)
        connection = TlsConnection(self.flow, self.settings, self._slot(client, False, "TLS"))
        self.tls.add(connection)
        server = name or ends.server or " and ".join(self.flow.ends)
        if not self.tls.keys and self.tls.is_new(server):
            last = self.held[-1]
            yield Remark(ends, last.time_ns, last.record, None, f"TLS to {server}: give --key-log FILE to read it")
        yield from self._switch_to(connection)

    def _greeter(self, side: int) -> int | None:
        """Return the side if it sent a ClientHello."""
        return side if hello_length(self.first[side]) and server_name(self._bytes_of(side)) else None

    def _carried(self, client: int) -> Callable[[bool], HandlerSlot]:
        # A lambda could not be pickled.
        return partial(self._slot, client, unknown="WebSocket")

    def _slot(self, client: int | None, sure: bool, unknown: str) -> HandlerSlot:
        """Return a slot for what this connection carries, which begins with its first byte."""
        slot = HandlerSlot(self.flow)
        slot.handler = UndecidedConnection(
            self.flow, slot, self.settings, self.tls, opener=client, begun=True, sure=sure or self.forced,
            unknown=unknown,
        )  # fmt: skip
        return slot

    def _ignored(self) -> IgnoredConnection:
        return IgnoredConnection(Opening.HTTP.value, self.settings.skipped)

    def _skip(self, kind: str) -> Iterator[Event]:
        return self._switch_to(IgnoredConnection(kind, self.settings.skipped))
