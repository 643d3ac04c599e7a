"""Timers for actions; the caller supplies the time."""

from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from itertools import count

Action = Callable[[], None]


class Timers:
    """At most one action per key, each at its time."""

    def __init__(self) -> None:
        self._order = count()
        self._set: dict[Hashable, tuple[int, Action]] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        """May hold entries that were cancelled or moved; they are skipped when their turn comes."""

    def set(self, key: Hashable, when: float, action: Action) -> None:
        """Schedule an action, in place of what was scheduled for this key."""
        number = next(self._order)
        self._set[key] = number, action
        heappush(self._heap, (when, number, key))
        if len(self._heap) > 2 * len(self._set) + 64:
            self._heap = [entry for entry in self._heap if self._current(entry)]
            heapify(self._heap)

    def cancel(self, key: Hashable) -> bool:
        """Cancel the action of a key; return whether there was one."""
        return self._set.pop(key, None) is not None

    def next(self) -> float | None:
        """Return the time of the first action, or None when there is none."""
        while self._heap and not self._current(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run(self, now: float) -> None:
        """Run every action that is due, in order of time."""
        while (when := self.next()) is not None and when <= now:
            _, _, key = heappop(self._heap)
            _, action = self._set.pop(key)
            action()

    def _current(self, entry: tuple[float, int, Hashable]) -> bool:
        held = self._set.get(entry[2])
        return held is not None and held[0] == entry[1]
