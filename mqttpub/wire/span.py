"""Where a value stands in a packet."""

from typing import NamedTuple


class Span(NamedTuple):
    """A run of bytes, counted from the first byte of the packet; `stop` is exclusive."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        """Number of bytes."""
        return self.stop - self.start

    def shifted(self, by: int) -> "Span":
        """Return the same run, `by` bytes further on."""
        return Span(self.start + by, self.stop + by)
