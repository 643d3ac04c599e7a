"""One direction of a link: what is held there, in which order and how long."""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import NamedTuple, Protocol

from ...common.words import counted
from ...spec.versions import Direction
from ..serving.served_socket import Loop

MOST_HELD_BYTES = 1 << 20
"""Size of what is held in one direction, above which the link asks that nothing more is read."""
REORDER_S = 1.0
"""Time after which a packet that waits for later ones is sent without them."""


class FaultedEnd(Protocol):
    """Where the packets of one direction go; it is called from the loop only."""

    def write(self, data: bytes) -> None:
        """Write bytes, which are one write of their own on the wire; they may be none."""

    def close(self) -> None:
        """Close the connection, which the peer sees as FIN, once everything is written."""

    def reset(self) -> None:
        """Break the connection off, which the peer sees as RST."""


class Wait(NamedTuple):
    """How a packet waits for later ones to go first."""

    number: int
    """The rule by which it waits."""
    packets: int
    """How many later ones go first."""
    say: Callable[[str], None]
    """Called with what happened in words, when it is sent."""


class Passing:
    """A packet on its way, and what the rules have made of it."""

    __slots__ = ("copies", "cut", "data", "delay_s", "name", "overtaken", "slice_bytes", "wait")

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        """The packet in words."""
        self.copies = 1
        self.cut = 0
        """Bytes at its end that are not sent."""
        self.slice_bytes = 0
        """Bytes of a write; 0 for all."""
        self.delay_s = 0.0
        self.wait: Wait | None = None
        self.overtaken = 0
        """Later packets that went first while it waited."""

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        return len(self.data) * self.copies

    def writes(self) -> list[bytes]:
        """Return what is written; one without bytes where nothing is left of the packet."""
        data = self.data[: max(0, len(self.data) - self.cut)]
        size = self.slice_bytes or max(1, len(data))
        return [data[at : at + size] for at in range(0, len(data), size)] * self.copies or [b""]


class Lane:
    """One direction of a link. Packets keep their order, except one that waits for later ones."""

    def __init__(self, direction: Direction, end: FaultedEnd, loop: Loop, drained: Callable[["Lane"], None]) -> None:
        self.direction = direction
        self.end = end
        self.is_silent = False
        """Whether nothing more of this direction passes."""
        self.is_ended = False
        """Whether nothing more is to come."""
        self.chances: dict[int, Random] = {}
        """The source of chance of each rule that needs one here."""
        self.held_bytes = 0
        self._loop = loop
        self._drained = drained
        """Called when the direction has ended and all that was held is written."""
        self._queue: deque[tuple[float, Passing]] = deque()
        """What is delayed, and when it is due at the earliest: not before what came before it."""
        self._waiting: dict[int, Passing] = {}
        """A packet by the number of the rule that holds it."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not (self._queue or self._waiting)

    def is_waiting(self, number: int) -> bool:
        """Whether a packet waits for later ones by this rule."""
        return number in self._waiting

    def let(self, passing: Passing) -> None:
        """Send a packet in its turn, or after the later ones that it waits for."""
        if passing.wait:
            self._hold(passing, passing.wait)
            return
        self._enqueue(passing)
        for waiting in list(self._waiting.values()):
            waiting.overtaken += 1
            if waiting.wait and waiting.overtaken == waiting.wait.packets:
                self._release(waiting, "")

    def _hold(self, passing: Passing, wait: Wait) -> None:
        self.held_bytes += passing.size
        self._waiting[wait.number] = passing
        words = f", as no more came within {REORDER_S:g} s"
        self._loop.timers.set(passing, self._loop.clock() + REORDER_S, lambda: self._release(passing, words))

    def _release(self, passing: Passing, why: str) -> None:
        """Send a packet that waited, unless the end that was written to before has closed everything."""
        wait = passing.wait
        if wait is None or wait.number not in self._waiting:
            return
        del self._waiting[wait.number]
        self._loop.timers.cancel(passing)
        self.held_bytes -= passing.size
        wait.say(f"sent {passing.name} after {counted(passing.overtaken, 'later packet')}{why}")
        self._enqueue(passing)

    def _enqueue(self, passing: Passing) -> None:
        if not (passing.delay_s or self._queue):
            self._write(passing)
            return
        due_s = self._loop.clock() + passing.delay_s
        self._queue.append((due_s, passing))
        self.held_bytes += passing.size
        if len(self._queue) == 1:
            self._loop.timers.set(self, due_s, self._send_due)

    def _send_due(self) -> None:
        now = self._loop.clock()
        while self._queue and self._queue[0][0] <= now:
            _, passing = self._queue.popleft()
            self.held_bytes -= passing.size
            self._write(passing)
        if self._queue:
            self._loop.timers.set(self, self._queue[0][0], self._send_due)
        self._end_if_empty()

    def _write(self, passing: Passing) -> None:
        for data in passing.writes():
            self.end.write(data)

    def finish(self) -> None:
        """Take the end of the direction: what is held goes out first."""
        self.is_ended = True
        for waiting in list(self._waiting.values()):
            self._release(waiting, ", as the connection ends")
        self._end_if_empty()

    def _end_if_empty(self) -> None:
        if self.is_ended and self.is_empty:
            self._drained(self)

    def clear(self) -> None:
        """Forget everything that is held."""
        self._loop.timers.cancel(self)
        for waiting in self._waiting.values():
            self._loop.timers.cancel(waiting)
        self._queue.clear()
        self._waiting.clear()
        self.held_bytes = 0
