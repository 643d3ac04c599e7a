"""Leaving a broker before the end: DISCONNECT, and the time to read it."""

import selectors
import time
from collections.abc import Callable
from contextlib import suppress

from .failures import Failure
from .net.dial import half_close
from .tap import Tap

PARTING_S = 1.0
"""How long the broker has to take DISCONNECT and to close."""


def leave(tap: Tap, disconnect: bytes, longest_s: float, take: Callable[[], object]) -> None:
    """Send DISCONNECT as far as the broker takes it, and wait until it closes.

    A socket that is closed while something is unread would take back what was sent last, so
    `take` is called to read what still comes.
    """
    if tap.ended or not tap.introduced:
        return
    until = time.monotonic() + min(PARTING_S, longest_s)
    # A broker that is lost by now, or sends nonsense, needs no more words.
    with suppress(OSError, Failure), selectors.DefaultSelector() as selector:
        selector.register(tap.fileno(), selectors.EVENT_WRITE)
        tap.write(disconnect)
        while tap.unsent and (left := until - time.monotonic()) > 0:
            selector.select(left)
            tap.flush()
        half_close(tap.sock)
        selector.modify(tap.fileno(), selectors.EVENT_READ)
        while not tap.ended and (left := until - time.monotonic()) > 0:
            selector.select(0 if tap.has_more else left)
            take()
