"""The TCP connections that are remembered."""

from collections import Counter, OrderedDict
from collections.abc import Iterator

from ..types import Flow
from .ip import address
from .tcp_side import TcpSide

MAX_CLOSED = 4096
"""Closed flows that are remembered, so that what comes late does not begin another."""


class FlowTable:
    """Sides of flows by their addresses and ports; of too many flows those that were idle longest are forgotten.

    All new and all lately used flows are in `recent`, always the same dict, which callers may read to find a
    side at once; nothing has to be written when a flow is used. When that holds half of the flows that may be
    remembered, all of them become old ones. An old flow is forgotten for each that begins once there are too
    many, unless `find` has made it a recent one again.
    """

    def __init__(self, counts: Counter[str], *, max_flows: int, max_closed: int = MAX_CLOSED) -> None:
        self.max_flows = max(max_flows, 1)
        self.max_closed = max_closed
        self.recent: dict[bytes, TcpSide] = {}
        self._old: dict[bytes, TcpSide] = {}
        self._closed: OrderedDict[bytes, TcpSide] = OrderedDict()
        self._counts = counts
        self.number = 0
        """How many flows have begun."""

    def __len__(self) -> int:
        """Return how many flows are open."""
        return (len(self.recent) + len(self._old)) // 2

    def find(self, key: bytes) -> TcpSide | None:
        """Return the side that sends with these addresses and ports."""
        side = self.recent.get(key)
        if side is None and (side := self._old.get(key)):
            self._remove(side)
            self._keep(side)
        return side or self._closed.get(key)

    def open(self, first: bytes, second: bytes, *, opened: bool) -> TcpSide:
        """Add a flow by the keys of its sides, and return side 0."""
        side = TcpSide(0, first, self._counts)
        # An end can connect to itself: then all it sends has one key, and acknowledges itself.
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
        """Return how many flows can surely begin, or be found again, without one being forgotten or becoming old."""
        return (self.max_flows - len(self.recent)) // 2

    def numbers(self) -> set[int]:
        """Return the numbers of all flows that are remembered."""
        return {side.flow.number for table in (self._closed, self._old, self.recent) for side in table.values()}

    def close(self, side: TcpSide) -> None:
        """Keep a flow for a while only, as nothing but latecomers can follow."""
        self._remove(side)
        self._closed[side.key] = side
        self._closed[side.peer.key] = side.peer

    def forget(self, side: TcpSide) -> None:
        """Remove a flow."""
        self._remove(side)
        for key in (side.key, side.peer.key):
            self._closed.pop(key, None)

    def excess(self) -> Iterator[TcpSide]:
        """Yield one side of each flow that has to be forgotten, having removed it."""
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
        """Yield side 0 of all flows in the order in which they began, having removed them."""
        every = [*self._closed.values(), *self._old.values(), *self.recent.values()]
        for table in (self._closed, self._old, self.recent):
            table.clear()
        yield from sorted((side for side in every if not side.number), key=lambda side: side.flow.number)

    def _age(self) -> None:
        # The oldest come last, as a dict gives up its last item at once, but has to look for its first.
        self._old = {**dict(reversed(self.recent.items())), **self._old}
        self.recent.clear()

    def _keep(self, side: TcpSide) -> None:
        self.recent[side.key] = side
        self.recent[side.peer.key] = side.peer

    def _remove(self, side: TcpSide) -> None:
        for key in (side.key, side.peer.key):
            self.recent.pop(key, None)
            self._old.pop(key, None)
