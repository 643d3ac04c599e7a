"""Short blocks that a signal must not interrupt, such as between sending bytes and removing them from a buffer.

A signal handler that raises asks `SHIELD.postpones` first; its exception is then raised at the end of the block.
"""

import threading


class Shield:
    """A block of the main thread, which runs the signal handlers, that is finished before a signal takes effect."""

    def __init__(self) -> None:
        self._thread = threading.main_thread().ident
        self._depth = 0
        self._pending: BaseException | None = None

    def postpones(self, error: BaseException) -> bool:
        """Keep what a handler would raise until the block ends; return False outside a block."""
        if self._depth:
            self._pending = error
        return bool(self._depth)

    def __enter__(self) -> None:
        if threading.get_ident() == self._thread:
            self._depth += 1

    def __exit__(self, *_: object) -> None:
        if threading.get_ident() != self._thread:
            return
        self._depth -= 1
        pending, self._pending = self._pending, None
        if pending is not None:
            raise pending


SHIELD = Shield()
