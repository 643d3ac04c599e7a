"""How fast messages may go."""

BURST = 0.05
"""Seconds for which messages may be saved up, so that a late wake-up loses no rate."""


class Rate:
    """So many messages a second, and no more in any longer time; it has no clock of its own."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._most = max(per_second * BURST, 1.0)
        self._tokens = 1.0
        self._last: float | None = None

    def ready(self, now: float) -> int:
        """Return how many may go at this time."""
        if self._last is not None:
            self._tokens = min(self._tokens + (now - self._last) * self._per_second, self._most)
        self._last = now
        return int(self._tokens)

    def spend(self, count: int) -> None:
        """Take note of those that went."""
        self._tokens -= count

    def wait(self, now: float) -> float:
        """Return the seconds until the next may go."""
        return 0.0 if self.ready(now) else (1.0 - self._tokens) / self._per_second
