"""The pieces of TCP connections in, MQTT packets out."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from ...codec.framing import connect_version
from ...codec.stream import MAX_PACKET
from ...spec.versions import Version
from ...traffic.events import Event, Remark
from ..types import Chunk, Flow, Missing, Piece
from .detect import LONGEST, Opening, hello_length, opening, server_name
from .evidence import VERSIONS
from .handler import ENTRY, UNCOUNTED, Held, Ignored, Settings, Skipped, Slot, Stage, ends_of
from .http_upgrade import Upgrade
from .mqtt_connection import Connection, Guessing
from .resync import Search

__all__ = ["PORT", "Skipped", "Streams"]

PORT = 1883
UNKNOWN_PROOF = 8
"""Packets that have to follow one another within segments, where nothing else speaks for MQTT."""
FIRST = 32
"""Bytes that `opening` looks at, at most."""
MOST_NAMES = 100
"""Servers on TLS that are named, at most."""


class Streams:
    """Turns the pieces of TCP connections into the events of those that carry MQTT.

    MQTT is recognised by its CONNECT; on port 1883 and on `ports` by not being TLS, HTTP or SSH; in
    a connection whose beginning was not captured by packets that follow one another without an
    error. `version` is for connections without a CONNECT; when it is not given it is guessed.

    Offsets count the bytes of each direction, those that are missing included; on WebSocket and
    TLS the bytes that these carry. What `feed` returns has to be used up before the next call;
    between two calls all can be pickled.
    """

    def __init__(
        self, *, ports: Iterable[int] = (), version: Version | None = None, max_packet: int = MAX_PACKET
    ) -> None:
        self.skipped = Skipped()
        """What was not MQTT so far."""
        self._settings = Settings(frozenset((PORT, *ports)), version, max_packet, self.skipped, Held())
        self._slots: dict[int, Slot] = {}
        self._closing: dict[int, int] = {}
        self._secured = Security()

    def feed(self, piece: Piece) -> Iterable[Event]:
        """Take the next piece and return what it completes."""
        slot = self._slots.get(piece[0][0]) or self._begin(piece[0])
        if type(piece) is Chunk:
            return slot.stage.chunk(piece[1], piece[2], piece[3], piece[4])
        if type(piece) is Missing:
            return slot.stage.missing(piece[1], piece[2], piece[3], piece[4], piece[5])
        return self._end(slot, *piece)

    def expect_keys(self) -> None:
        """Learn that what connections on TLS carry will be told by `decrypted`."""
        self._secured.keys = True

    def decrypted(self, source: str, target: str, time: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Take bytes that one end sent to another within TLS; nothing comes of those of unknown connections."""
        stage = self._secured.find(source, target)
        return stage.decrypted(source, time, record, data) if stage else ()

    def connection(self, flow: Flow) -> Connection | None:
        """Return a connection that is MQTT for certain, its version and its client known; else None."""
        slot = self._slots.get(flow.number)
        return slot.stage if slot and type(slot.stage) is Connection else None

    def numbers(self) -> Iterable[int]:
        """Return the numbers of the flows that are not at their end."""
        return self._slots.keys()

    def finish(self) -> Iterator[Event]:
        """Yield what is left of connections that have not come to their end."""
        for number in sorted(self._slots):
            yield from self._slots[number].stage.end(None, None, 0, "end")
            self._slots[number].close()
        self._slots.clear()
        self._closing.clear()

    def _begin(self, flow: Flow) -> Slot:
        slot = self._slots[flow.number] = Slot()
        slot.stage = Undecided(flow, slot, self._settings, self._secured, opener=0 if flow.opened else None)
        return slot

    def _end(
        self, slot: Slot, flow: Flow, side: int | None, time: int | None, record: int, how: str
    ) -> Iterator[Event]:
        yield from slot.stage.end(side, time, record, how)
        if side is not None and self._closing.setdefault(flow.number, side) == side:
            return
        self._closing.pop(flow.number, None)
        self._slots.pop(flow.number, None)
        self._secured.forget(flow)
        slot.close()


class Security:
    """The connections on TLS, by their ends, and the servers that were named."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str, str], Secured] = {}
        self._named: set[str] = set()
        self.keys = False
        """Whether what they carry will be told."""

    def add(self, stage: "Secured") -> None:
        """Add a connection, in the place of an earlier one with the same ends."""
        self._stages[stage.flow.ends] = stage

    def find(self, source: str, target: str) -> "Secured | None":
        """Return the connection between two ends."""
        return self._stages.get((source, target)) or self._stages.get((target, source))

    def forget(self, flow: Flow) -> None:
        """Forget a connection that came to its end."""
        stage = self._stages.get(flow.ends)
        if stage and stage.flow.number == flow.number:
            del self._stages[flow.ends]

    def first(self, name: str) -> bool:
        """Tell whether a server is to be named, which is done once."""
        new = name not in self._named and len(self._named) < MOST_NAMES
        if new:
            self._named.add(name)
        return new


class Undecided:
    """A connection of which it is open what it is; what comes is held until that is clear.

    `sure` says that it is MQTT, as long as it is nothing else.
    """

    def __init__(
        self, flow: Flow, slot: Slot, settings: Settings, secured: Security, *, opener: int | None,
        begun: bool = False, sure: bool = False, unknown: str = Opening.UNKNOWN.value,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.slot = slot
        self.settings = settings
        self.secured = secured
        self.opener = opener
        """The side that opened the connection; None when nothing shows it."""
        self.begun = begun or opener is not None
        """Whether the first bytes of the connection were captured, or are known to be missing."""
        self.unknown = unknown
        self.forced = sure or not settings.ports.isdisjoint(flow.ports)
        self.held: list[tuple[Any, ...]] = []
        self.first = [b"", b""]
        """As much of each side as is needed to tell what it is."""
        self.sizes = [0, 0]
        self.cost = 0
        """Bytes of memory that are held."""
        self.ended: set[int | None] = set()
        self.searches: tuple[Search, ...] = ()
        if not self.begun and not self.forced:
            self._search()

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterator[Event]:
        """Take the next bytes of a side."""
        self.held.append(("chunk", side, time, record, data))
        self.sizes[side] += len(data)
        self._grow(len(data))
        if len(self.first[side]) < FIRST:
            self.first[side] += data[: FIRST - len(self.first[side])]
        found = bool(self.searches and self.searches[side].feed(data, time, record))
        return self._decide(side, found)

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> Iterator[Event]:
        """Pass over bytes of a side that were not captured; what they were nothing else can tell than what follows."""
        self.held.append(("missing", side, time, record, length, message))
        self._grow(0)
        if self.searches:
            self.searches[side].missing(length)
        elif self.forced:
            return self._mqtt(None)
        else:
            self._search()
        return self._wait()

    def lost(
        self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool
    ) -> Iterator[Event]:
        """Give up a side that cannot be read."""
        self.held.append(("lost", side, time, record, message, data, malformed))
        return self._mqtt(None) if self.forced else self._skip(self.unknown)

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterator[Event]:
        """Take the end of a side; with the last one it has to be decided."""
        self.held.append(("end", side, time, record, how))
        self.ended.add(side)
        if side is not None and len(self.ended) < 2:
            return iter(())
        if not any(self.sizes):
            self.settings.held.release(self)
            self.slot.close()
            return iter(())
        if any(opening(first) is Opening.TLS for first in self.first):
            return self._skip(Opening.TLS.value)
        return self._mqtt(None) if self.forced or self._framed() else self._skip(self.unknown)

    def _framed(self) -> bool:
        """Tell whether all bytes of the connection are packets, and there are some."""
        found = [(first, search.finish()) for first, search in zip(self.first, self.searches, strict=False) if first]
        packets = sum(each.packets if each else 0 for _, each in found)
        return packets > 1 and all(each and each.start == 0 for _, each in found)

    def _search(self) -> None:
        """Look for packets in what comes, as nothing else can tell."""
        self.searches = tuple(Search(0, VERSIONS, anywhere=UNKNOWN_PROOF, filling=False) for _ in (0, 1))
        self.cost += sum(self.sizes)
        for method, side, *rest in self.held:
            if method == "chunk":
                self.searches[side].feed(rest[2], rest[0], rest[1])
            elif method == "missing":
                self.searches[side].missing(rest[2])

    def _decide(self, side: int, found: bool) -> Iterator[Event]:
        kind = opening(self.first[side])
        if kind is Opening.MQTT:
            return self._mqtt(side)
        if kind is Opening.TLS:
            return self._tls(side)
        if kind is Opening.HTTP and not self.first[side].startswith(b"HTTP/"):
            stage = Upgrade(self.flow, side, self.slot, self._carried(side), self._ignored, self.settings.held)
            return self._become(stage)
        if kind is Opening.UNKNOWN and (found or self.forced):
            return self._mqtt(None)
        if kind in (Opening.HTTP, Opening.SSH):
            return self._skip(kind.value)
        speaks_first = kind is Opening.UNKNOWN and side == self.opener and not self.searches
        if speaks_first or sum(self.sizes) > LONGEST or any(search.tired for search in self.searches):
            return self._skip(self.unknown)
        return self._wait()

    def let_go(self) -> None:
        """Do without what is held: it stays unknown what this is, unless it begins as TLS does."""
        tls = any(opening(first) is Opening.TLS for first in self.first)
        for _ in self._skip(Opening.TLS.value if tls else self.unknown):
            raise AssertionError("what is skipped has no events")

    def _grow(self, size: int) -> None:
        """Count bytes that are held, and those that are searched once more, as the search has its own."""
        self.cost += ENTRY + (2 * size if self.searches else size)

    def _wait(self) -> Iterator[Event]:
        """Go on holding what came."""
        if self.cost > UNCOUNTED:
            self.settings.held.hold(self, self.cost)
        return iter(())

    def _become(self, stage: Stage) -> Iterator[Event]:
        """Let a stage follow that takes what is held."""
        self.settings.held.release(self)
        return self.slot.become(stage, self.held)

    def _said(self, side: int) -> bytes:
        """Return all bytes of a side."""
        return b"".join(rest[2] for method, of, *rest in self.held if method == "chunk" and of == side)

    def _mqtt(self, greeter: int | None) -> Iterator[Event]:
        """Go on as MQTT; `greeter` is the side that began with a CONNECT, if one did."""
        client = greeter if self.opener is None else self.opener
        connection = Connection(self.flow, self.settings, client, begun=self.begun)
        if greeter is not None and (announced := connect_version(self._said(greeter))):
            connection.announce(announced, greeter)
            return self._become(connection)
        # A CONNECT of unknown level does not say which version the server speaks.
        if greeter is None and not self.begun:
            for sender in connection.senders:
                sender.begin_within()
        return self._become(Guessing(connection, self.slot, self.settings, self.opener))

    def _tls(self, side: int) -> Iterator[Event]:
        if self.sizes[side] < hello_length(self.first[side]) and not self.ended:
            return self._wait()
        return self._become_secured(side, server_name(self._said(side)))

    def _become_secured(self, side: int, name: str) -> Iterator[Event]:
        """Go on as TLS, and say so unless it was said of this server, or the keys are there."""
        client = self.opener if self.opener is not None else self._greeter(side)
        ends = ends_of(self.flow, client)
        stage = Secured(self.flow, self.settings, self._slot(client, False, "TLS"))
        self.secured.add(stage)
        server = name or ends.server or " and ".join(self.flow.ends)
        if not self.secured.keys and self.secured.first(server):
            _, _, time, record, *_ = self.held[-1]
            yield Remark(ends, time, record, None, f"TLS to {server}: give --key-log FILE to read it")
        yield from self._become(stage)

    def _greeter(self, side: int) -> int | None:
        """Return the side that sent a ClientHello, if one did."""
        return side if hello_length(self.first[side]) and server_name(self._said(side)) else None

    def _carried(self, client: int) -> Any:
        # No lambda, as what is known of a connection has to be picklable.
        return partial(self._slot, client, unknown="WebSocket")

    def _slot(self, client: int | None, sure: bool, unknown: str) -> Slot:
        """Return a slot for what this connection carries, which begins with its first byte."""
        slot = Slot()
        slot.stage = Undecided(
            self.flow, slot, self.settings, self.secured, opener=client, begun=True, sure=sure or self.forced,
            unknown=unknown,
        )  # fmt: skip
        return slot

    def _ignored(self) -> Ignored:
        return Ignored(Opening.HTTP.value, self.settings.skipped)

    def _skip(self, kind: str) -> Iterator[Event]:
        return self._become(Ignored(kind, self.settings.skipped))


class Secured:
    """A connection on TLS; what it carries comes from elsewhere, if at all."""

    def __init__(self, flow: Flow, settings: Settings, carried: Slot) -> None:
        self.flow = flow
        self.settings = settings
        self.carried = carried
        self.told = False
        """Whether anything of what is carried came."""
        self.size = 0
        settings.skipped.add(Opening.TLS.value, 0, connections=1)

    def decrypted(self, source: str, time: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Take the next bytes that an end sent within TLS."""
        if not self.told:
            self.told = True
            self.settings.skipped.add(Opening.TLS.value, -self.size, connections=-1)
        return self.carried.stage.chunk(self.flow.ends.index(source), time, record, data)

    def chunk(self, side: int, time: int | None, record: int, data: bytes) -> Iterable[Event]:
        """Count bytes that nobody can read."""
        if not self.told:
            self.size += len(data)
            self.settings.skipped.add(Opening.TLS.value, len(data))
        return ()

    def missing(self, side: int, time: int | None, record: int, length: int, message: str) -> Iterable[Event]:
        """Give the side up, as nothing that follows can be decrypted."""
        return self.lost(side, time, record, f"{message}, and TLS cannot be read without them", b"", False)

    def lost(
        self, side: int, time: int | None, record: int, message: str, data: bytes, malformed: bool
    ) -> Iterable[Event]:
        """Give up the rest of a side."""
        return self.carried.stage.lost(side, time, record, message, data, malformed) if self.told else ()

    def end(self, side: int | None, time: int | None, record: int, how: str) -> Iterable[Event]:
        """Take the end of a side, or of all that was captured."""
        return self.carried.stage.end(side, time, record, how) if self.told else ()
