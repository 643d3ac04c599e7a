"""Bounded caches: in one, the entry used longest ago makes room for new ones; the other forgets all when it is full."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WeightedLru(Generic[K, V]):
    """Values by key, up to a sum of weights; beyond it the entry used longest ago is dropped first."""

    __slots__ = ("_entries", "dropped", "limit", "weight")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The largest sum of weights; a single entry may weigh more."""
        self.weight = 0
        """Sum of the weights of all entries."""
        self.dropped = 0
        """Number of entries dropped to make room."""
        self._entries: dict[K, tuple[V, int]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        """Iterate over a copy of the keys, the one used longest ago first."""
        return iter(tuple(self._entries))

    def values(self) -> list[V]:
        """Return the values, the one used longest ago first."""
        return [value for value, _ in self._entries.values()]

    def get(self, key: K) -> V | None:
        """Return the value of a key and mark it as used now; None for an unknown key."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self._entries[key] = entry
        return entry[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Set the value of a key and mark it as used now; it stays even if it alone exceeds the limit."""
        self.pop(key)
        self._entries[key] = value, weight
        self.weight += weight
        while self.weight > self.limit and len(self._entries) > 1:
            self.pop(next(iter(self._entries)))
            self.dropped += 1

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value; None for an unknown key."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.weight -= entry[1]
        return entry[0]


class BoundedMemo(dict[K, V]):
    """What was computed earlier, by its key, up to `most` entries, or up to that sum of their sizes.

    When an entry does not fit, all others are forgotten: reading stays that of a dictionary, with nothing to update,
    and what is asked for often is soon there again. `WeightedLru` keeps what was used last instead.
    """

    __slots__ = ("_most", "_room")

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._room = most

    @property
    def size(self) -> int:
        """The sum of the sizes of all entries."""
        return self._most - self._room

    def keep(self, key: K, value: V, size: int = 1) -> V:
        """Add the value of a new key, unless it alone is larger than `most`; return the value."""
        if size <= self._most:
            if size > self._room:
                self.clear()
            self._room -= size
            self[key] = value
        return value

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._room = self._most
