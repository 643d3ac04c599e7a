"""Packets that are held on their way until the user says what becomes of them."""

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ...codec.decode import decode
from ...codec.stream import ConnectionStreams, Frame, LostSync
from ...codec.tree import Finding
from ...lint.connection import Conversation
from ...lint.packet.check import lint
from ...live.net.transport import authority
from ...spec.versions import Direction, Version
from ...traffic.clients import Clients
from ...traffic.events import Endpoints
from ...traffic.query import PacketFilter
from ...traffic.seen import SeenConnection
from ..exchange_state import ExchangeState

MOST_PACKET_BYTES = 64 << 20
"""Size of the largest packet that is held; larger ones pass, with all that follows."""


class Interception:
    """Which packets of a run are held, and who is to say what becomes of them."""

    def __init__(self, pattern: PacketFilter, on_held: Callable[["HeldPacket"], None]) -> None:
        self.pattern = pattern
        self.on_held = on_held
        self.clients = Clients()


class Between(Protocol):
    """What holds packets back on a connection needs of it."""

    @property
    def label(self) -> str:
        """Its number, as text."""

    @property
    def place(self) -> tuple[str, int]:
        """Address and port of the client."""

    def released(self, direction: Direction, data: bytes) -> None:
        """Take bytes that go on."""

    def end_released(self, direction: Direction) -> None:
        """Take the end of a direction, once all of it has gone on."""

    def read(self, direction: Direction) -> None:
        """Read from an end again, if nothing more is held."""

    def break_off(self, how: str) -> None:
        """Close both ends of the connection, FIN or RST, as the user says."""


class HeldPacket:
    """A packet that waits for the user, and so does what its end sends after it."""

    def __init__(self, link: "InterceptedLink", frame: Frame, direction: Direction) -> None:
        self.link = link
        self.data = frame.data
        self.direction = direction

    def release(self, packets: Iterable[bytes]) -> None:
        """Pass packets on in its place, none to drop it, and go on with what waits; more than once does nothing."""
        self.link.release(self, packets)


class InterceptedLink:
    """One connection: passes on what ends send, but for the packets that are held, and knows the state of both ends."""

    def __init__(self, interception: Interception, between: Between) -> None:
        self.between = between
        self.state = ExchangeState()
        self.is_closed = False
        self._interception = interception
        ends = Endpoints(int(between.label), authority(*between.place), "", begun=True)
        self._seen = SeenConnection(interception.clients, ends)
        self._cut = ConnectionStreams(None, max_packet=MOST_PACKET_BYTES)
        self._talk: Conversation | None = None
        self._held: dict[Direction, HeldPacket] = {}
        self._waiting: dict[Direction, deque[Frame]] = {end: deque() for end in Direction}
        """Packets that came with one that is held, after it."""
        self._ended: set[Direction] = set()

    @property
    def version(self) -> Version:
        """The version of the connection."""
        return self._cut.version or Version.V5

    @property
    def client(self) -> str:
        """The Client Identifier; empty while it is not known."""
        return self._interception.clients.name(self._seen.ends)

    def holds(self, direction: Direction) -> bool:
        """Whether a packet is held in a direction, so that nothing more should be read there."""
        return direction in self._held

    def received(self, direction: Direction, data: bytes) -> None:
        """Take the next bytes of an end."""
        stream = self._cut.streams[direction]
        if not stream.lost:
            try:
                for frame in self._cut.feed(direction, data):
                    self._waiting[direction].append(frame)
            except LostSync:
                data = stream.pending
        if stream.lost:
            # Only packets are held; other bytes keep their place after one that is.
            self._waiting[direction].append(Frame(data, -1, direction, None))
            stream.pass_over(len(data))
        self._go_on(direction)

    def ended(self, direction: Direction) -> None:
        """Take the end of a direction, which follows what waits there."""
        self._ended.add(direction)
        if rest := self._cut.streams[direction].pending:
            self._waiting[direction].append(Frame(rest, -1, direction, None))
            self._cut.streams[direction].pass_over(len(rest))
        self._go_on(direction)

    def release(self, held: HeldPacket, packets: Iterable[bytes]) -> None:
        """Pass packets on in the place of one that is held."""
        if self._held.get(held.direction) is not held or self.is_closed:
            return
        del self._held[held.direction]
        for data in packets:
            self.send(held.direction, data)
        self._go_on(held.direction)
        self.between.read(held.direction)

    def send(self, direction: Direction, data: bytes) -> None:
        """Pass a packet on, wherever it is from."""
        decoded = decode(data, self.version, direction=direction)
        self._conversation().packet(decoded, time.time_ns())
        if decoded.packet:
            self.state.packet(direction, decoded.packet)
        self.between.released(direction, data)

    def findings(self, direction: Direction, data: bytes) -> Sequence[Finding]:
        """Return what the rules find in a packet, if it were passed on now."""
        decoded = decode(data, self.version, direction=direction)
        alone = lint(decoded, direction)
        return [*alone, *copy.deepcopy(self._conversation()).packet(decoded, time.time_ns())]

    def close(self) -> None:
        """Forget what is held, as the connection is over."""
        self.is_closed = True
        self._held.clear()
        self._seen.over()

    def _conversation(self) -> Conversation:
        if self._talk is None:
            self._talk = Conversation(self.version, complete=True)
        return self._talk

    def _go_on(self, direction: Direction) -> None:
        waiting = self._waiting[direction]
        while waiting and direction not in self._held and not self.is_closed:
            frame = waiting.popleft()
            if frame.offset < 0:
                self.between.released(direction, frame.data)
            elif self._interception.pattern.chooses(self._seen.candidate(frame)):
                held = self._held[direction] = HeldPacket(self, frame, direction)
                self._interception.on_held(held)
            else:
                self.send(direction, frame.data)
        if direction in self._ended and not waiting and direction not in self._held:
            self._ended.discard(direction)
            self.between.end_released(direction)
