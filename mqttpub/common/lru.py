"""Memory with an end: what was used longest ago makes room for what is new."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Table(Generic[K, V]):
    """Values by key, up to a sum of weights; the entry used longest ago goes first."""

    __slots__ = ("_entries", "dropped", "limit", "weight")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.weight = 0
        """Sum over all entries."""
        self.dropped = 0
        """Entries that made room for others."""
        self._entries: dict[K, tuple[V, int]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._entries))

    def values(self) -> list[V]:
        """Return the values, the one used longest ago first."""
        return [value for value, _ in self._entries.values()]

    def get(self, key: K) -> V | None:
        """Return a value and count it as used now."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self._entries[key] = entry
        return entry[0]

    def put(self, key: K, value: V, weight: int = 1) -> None:
        """Keep a value in place of an older one with this key; the newest value always stays."""
        self.pop(key)
        self._entries[key] = value, weight
        self.weight += weight
        while self.weight > self.limit and len(self._entries) > 1:
            self.pop(next(iter(self._entries)))
            self.dropped += 1

    def pop(self, key: K) -> V | None:
        """Return a value and forget it."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.weight -= entry[1]
        return entry[0]
