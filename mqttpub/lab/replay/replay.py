"""A capture played again: its events in their time, and the connections that they become."""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple, Protocol

from ...codec.decode import decode_packet
from ...common.times import SECOND_NS
from ...lint.judge import Judge
from ...live.failures import Failure
from ...live.net.target import Target
from ...spec.declare import Packet
from ...traffic.closings import Closings
from ...traffic.context import ContextTracker, PacketInContext
from ...traffic.events import Closed, Event, GapSeen, PacketSeen, Remark
from ...traffic.query import PacketFilter
from ..raw_client import RawClient
from ..serving.dialing import dial
from .deliveries import Room
from .loop import ReplayLoop
from .requests import Gate
from .result import Difference, SideResult, Totals
from .side import ClientSide

MOST_DIALS = 32
"""Connections that are being opened at the same time, each in a thread."""
MOST_QUEUED_BYTES = 64 << 20
"""Memory of the steps that wait, of all connections, above which the capture is not read further."""
READING_S = 0.005
"""How long the capture is read without a look at the connections."""


class ReplayOptions(NamedTuple):
    """How a capture is played."""

    target: Target
    """Where to connect."""
    timeout_s: float = 30.0
    speed: float = 1.0
    """How many times as fast as it was captured; infinite for as fast as it goes."""
    picked: PacketFilter | None = None
    """What is played; None for everything."""
    most: int | None = None
    """How many PUBLISH packets are played at most."""


class Sides(Protocol):
    """What a capture becomes: whole client sides, or PUBLISH packets over one connection."""

    def packet(self, known: PacketInContext, *, picked: bool) -> None:
        """Take a packet of the capture."""

    def closed(self, event: Closed, *, over: bool) -> None:
        """Take the end of one side of a connection; `over` says whether it is the end of both."""

    def gap(self, event: GapSeen) -> None:
        """Take bytes that are missing."""

    def finish(self) -> None:
        """Take the end of the capture."""


class CaptureReplay:
    """One run over the events of a capture; `report` takes what is found, as it is found."""

    def __init__(
        self, options: ReplayOptions, report: Callable[[Difference | SideResult], None],
        connected: Callable[[ClientSide, object], RawClient], tick: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """`connected` makes a client of an open socket, `tick` is called in each turn of the loop."""
        self.options = options
        self.timeout_s = options.timeout_s
        self.loop = ReplayLoop(tick)
        self.room = Room()
        self.queued_bytes = 0
        self.has_connack = False
        self.progress_s = self.loop.clock()
        self.left_out: Counter[str] = Counter()
        """What is not played, by its reason."""
        self.last_record = 0
        self._report = report
        self._connected = connected
        self._failure: Failure | None = None
        """Why not even the first connection was made."""
        self._opened = self._taken = self._differences = 0
        self._results: Counter[str] = Counter()
        self._dials: deque[tuple[ClientSide, Callable[[RawClient | Failure], None]]] = deque()
        self._dialling = 0
        self.held = self.passed = 0
        """Gates that were held so far, and how many of them are open, from the first on."""
        self._held: deque[Gate] = deque()
        """Those after the ones that are open."""
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        """A heap of what waits for so many gates."""
        self._order = count()
        self._context = ContextTracker()
        self._judge = Judge() if options.picked else None
        self._closings: Closings[int] = Closings()
        self._zero_ns: int | None = None
        """When the first packet that is played was captured."""
        self._last_ns = 0
        self._begun_s = self._turned_s = self.loop.clock()
        self.has_begun = False
        """Whether anything is played."""
        self._is_complete = False
        self._sides: Sides
        self._playing: dict[ClientSide, None] = {}
        """The connections that are not over in the capture and in the replay."""

    def run(self, events: Iterable[Event], sides: Sides) -> None:
        """Play events to their end; raises NotConnected where not even the first connection opens."""
        self._sides = sides
        for event in events:
            if self.has_begun:
                self._pace(event.time)
            self._event(event)
            self._breathe()
            if self._failure:
                raise self._failure
            if self.options.most is not None and self._taken >= self.options.most:
                break
        else:
            self._is_complete = True
        if not self._is_complete:
            for side in self._playing:
                side.cut_off()
        sides.finish()
        while self._playing and not self._failure:
            self.loop.turn(math.inf)
        if self._failure:
            raise self._failure

    def abandon(self) -> None:
        """End all connections at once, and report what was found so far."""
        for side in tuple(self._playing):
            side.abandon()

    def close(self) -> None:
        """Close what the loop has open."""
        self.loop.close()

    @property
    def totals(self) -> Totals:
        """What the run came to so far."""
        played_ns = self._last_ns - (self._zero_ns or 0)
        number = self._results
        return Totals(
            self._opened, number["sent"], number["acknowledged"], number["refused"], number["came"], number["unsent"],
            self.loop.clock() - self._begun_s, max(played_ns, 0) / SECOND_NS, self.left_out, self._differences,
            self._is_complete,
        )  # fmt: skip

    # the capture

    def _event(self, event: Event) -> None:
        if isinstance(event, PacketSeen):
            self.last_record = event.record
            self._packet(event)
        elif isinstance(event, Closed):
            over = self._closings.over(event.ends.number, event)
            self._sides.closed(event, over=over)
            if over and event.how != "RST":
                self._context.end(event.ends)
        elif isinstance(event, GapSeen):
            self._sides.gap(event)
        else:
            assert isinstance(event, Remark)

    def _packet(self, event: PacketSeen) -> None:
        if event.direction is None:
            self.left_out["packets whose sender is not known"] += 1
            return
        picked = self.options.picked
        packet: Packet | None
        if self._judge and picked:
            packet, findings = self._judge.packet(event)
            known = self._context.packet(event, packet, findings)
            self._sides.packet(known, picked=picked.matches(*known))
            return
        packet = decode_packet(event.data, event.version)
        self._sides.packet(self._context.packet(event, packet), picked=True)

    def _pace(self, time_ns: int | None) -> None:
        """Let the connections work until an event is due."""
        if time_ns is None:
            return
        if self._zero_ns is None:
            self._zero_ns, self._begun_s = time_ns, self.loop.clock()
        self._last_ns = max(self._last_ns, time_ns)
        if self.options.speed == math.inf:
            return
        due_s = self._begun_s + (time_ns - self._zero_ns) / SECOND_NS / self.options.speed
        while (left_s := due_s - self.loop.clock()) > 0 and not self._failure:
            self.loop.turn(left_s)

    def _breathe(self) -> None:
        """Let the connections work now and then, and while too much waits for them."""
        now = self.loop.clock()
        if now - self._turned_s > READING_S:
            self.loop.turn(0)
            self._turned_s = now
        while self.queued_bytes > MOST_QUEUED_BYTES and not self._failure:
            self.loop.turn(math.inf)

    def begin(self, time_ns: int | None) -> None:
        """Note that something is played from here on; what comes before it takes no time."""
        if not self.has_begun:
            self.has_begun = True
            self._pace(time_ns)

    def play(self, side: ClientSide) -> None:
        """Take a connection that is played."""
        self._playing[side] = None

    def took(self, count: int) -> None:
        """Count PUBLISH packets that are played."""
        self._taken += count

    # what the connections share

    def hold(self, gate: Gate) -> None:
        """Let nothing that comes later in the capture pass before a gate is open."""
        if not gate.is_open:
            self._held.append(gate)
            self.held += 1
            gate.tell(self._pass)

    def _pass(self) -> None:
        while self._held and self._held[0].is_open:
            self._held.popleft()
            self.passed += 1
        while self._waiting and self._waiting[0][0] <= self.passed:
            self.loop.soon(heappop(self._waiting)[2])

    def wait_for_gates(self, number: int, wake: Callable[[], None]) -> None:
        """Call `wake` once so many of the gates that are held are open, from the first on."""
        heappush(self._waiting, (number, next(self._order), wake))

    def dial(self, side: ClientSide, done: Callable[[RawClient | Failure], None]) -> None:
        """Open a connection, when few enough others are being opened."""
        self._dials.append((side, done))
        self._dial_next()

    def _dial_next(self) -> None:
        while self._dials and self._dialling < MOST_DIALS:
            side, done = self._dials.popleft()
            self._dialling += 1
            dial(self.loop, self.options.target, self.timeout_s, partial(self._dialled, side, done))

    def _dialled(self, side: ClientSide, done: Callable[[RawClient | Failure], None], made: object) -> None:
        self._dialling -= 1
        if isinstance(made, Failure):
            if not self._opened:
                self._failure = self._failure or made
            done(made)
        else:
            self._opened += 1
            done(self._connected(side, made))
        self._dial_next()

    def differs(self, difference: Difference) -> None:
        """Report a difference."""
        self._report(difference)

    def ended(self, side: ClientSide, result: SideResult) -> None:
        """Count and report a connection that is over."""
        self._playing.pop(side, None)
        self._results.update(
            sent=result.sent, acknowledged=result.acknowledged, refused=result.refused.total(), came=result.came,
            unsent=result.unsent,
        )  # fmt: skip
        self._differences += result.differences
        self._report(result)
