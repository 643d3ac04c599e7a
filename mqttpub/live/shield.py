"""What a signal must not break off: bytes that the socket has taken, but that nobody has crossed off yet.

A handler that raises asks `SHIELD.postpones` first; what it raises then comes at the end of the block.
"""

import threading


class Shield:
    """A block of the main thread, where Python runs handlers of signals, that ends before a signal is heard."""

    def __init__(self) -> None:
        self._thread = threading.main_thread().ident
        self._depth = 0
        self._pending: BaseException | None = None

    def postpones(self, error: BaseException) -> bool:
        """Take what a handler would raise, where it has to wait; a handler runs in the main thread."""
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
