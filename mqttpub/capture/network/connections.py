"""The TCP connections that are remembered, by their addresses and ports."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator

from ..types import Flow
from .ip import address
from .tcp_side import TcpSide

MAX_CLOSED = 4096
"""Closed flows that are remembered, so that late segments do not begin another flow."""


class FlowTable:
    """The sides of flows by their addresses and ports; above a limit, the flows that were idle longest are forgotten.

    New and recently used flows are in `recent`, always the same dict, which callers may read to find a side quickly;
    using a flow writes nothing. When it holds half of the flows that may be remembered, all of them become old ones.
    Once there are too many, an old flow is forgotten for each new one, unless `find` made it recent again.
    """

    def __init__(self, counts: Counter[str], *, max_flows: int, max_closed: int = MAX_CLOSED) -> None:
        self.max_flows = max(max_flows, 1)
        self.max_closed = max_closed
        self.recent: dict[bytes, TcpSide] = {}
        self._old: dict[bytes, TcpSide] = {}
        self._closed: OrderedDict[bytes, TcpSide] = OrderedDict()
        self._counts = counts
        self.number = 0
        """The number of flows that have begun."""

    def __len__(self) -> int:
        """Return the number of open flows."""
        return (len(self.recent) + len(self._old)) // 2

    def find(self, key: bytes) -> TcpSide | None:
        """Return the side that sends from and to these addresses and ports; None if unknown."""
        side = self.recent.get(key)
        if side is None and (side := self._old.get(key)):
            self._remove(side)
            self._keep(side)
        return side or self._closed.get(key)

    def open(self, first: bytes, second: bytes, *, opened: bool) -> TcpSide:
        """Add a flow by the keys of its sides, and return side 0."""
        side = TcpSide(0, first, self._counts)
        # An end can connect to itself: all its packets then have the same key, and acknowledge one another.
        side.peer = TcpSide(1, second, self._counts) if second != first else side
        side.peer.peer = side
        self.number += 1
        half = len(first) // 2 - 2
        ports = int.from_bytes(first[-4:-2], "big"), int.from_bytes(first[-2:], "big")
        ends = address(first[:half], ports[0]), address(first[half:-4], ports[1])
        side.flow = side.peer.flow = Flow(self.number, ends, ports, opened)
        self._keep(side)
        return side

    def room(self) -> int:
        """Return how many flows can begin, or be found again, before any is forgotten or becomes old."""
        return (self.max_flows - len(self.recent)) // 2

    def numbers(self) -> set[int]:
        """Return the numbers of all remembered flows."""
        return {side.flow.number for table in (self._closed, self._old, self.recent) for side in table.values()}

    def outside(self, holds: Callable[[bytes], bool]) -> list[TcpSide]:
        """Return one side of each remembered flow that is not among some, by addresses and ports."""
        sides = {side.flow.number: side for table in (self._closed, self._old, self.recent) for side in table.values()}
        return [side for side in sides.values() if not holds(side.key)]

    def close(self, side: TcpSide) -> None:
        """Keep a flow for a while only, for segments that arrive late."""
        self._remove(side)
        self._closed[side.key] = side
        self._closed[side.peer.key] = side.peer

    def forget(self, side: TcpSide) -> None:
        """Remove a flow."""
        self._remove(side)
        for key in (side.key, side.peer.key):
            self._closed.pop(key, None)

    def excess(self) -> Iterator[TcpSide]:
        """Remove the flows that have to be forgotten, and yield one side of each."""
        while len(self._closed) > 2 * self.max_closed:
            _, side = self._closed.popitem(last=False)
            self._closed.pop(side.peer.key, None)
            yield side
        if len(self.recent) > self.max_flows:
            self._age()
        while len(self.recent) + len(self._old) > 2 * self.max_flows:
            _, side = self._old.popitem()
            self._old.pop(side.peer.key, None)
            yield side

    def all(self) -> Iterator[TcpSide]:
        """Remove all flows, and yield side 0 of each in the order in which they began."""
        every = [*self._closed.values(), *self._old.values(), *self.recent.values()]
        for table in (self._closed, self._old, self.recent):
            table.clear()
        yield from sorted((side for side in every if not side.number), key=lambda side: side.flow.number)

    def _age(self) -> None:
        # The oldest are last, because a dict removes its last item at once but has to search for its first.
        self._old = {**dict(reversed(self.recent.items())), **self._old}
        self.recent.clear()

    def _keep(self, side: TcpSide) -> None:
        self.recent[side.key] = side
        self.recent[side.peer.key] = side.peer

    def _remove(self, side: TcpSide) -> None:
        for key in (side.key, side.peer.key):
            self.recent.pop(key, None)
            self._old.pop(key, None)
