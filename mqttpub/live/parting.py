"""Leaving a broker before the end: DISCONNECT, and the time that the broker needs to read it."""

import selectors
import time
from collections.abc import Callable
from contextlib import suppress

from .failures import Failure
from .tap import Tap

PARTING_S = 1.0
"""How long the broker may take to read DISCONNECT and to close."""


def leave(tap: Tap, disconnect: bytes, longest_s: float, read_rest: Callable[[], object]) -> None:
    """Send DISCONNECT as far as the broker reads, and wait until it closes, for `longest_s` at most.

    Closing a socket with unread data discards what was sent last, so `read_rest` is called to read what
    still arrives.
    """
    if tap.ended or not tap.introduced:
        return
    until_s = time.monotonic() + min(PARTING_S, longest_s)
    # Nothing more can be said to a broker that is lost by now, or that sends garbage.
    with suppress(OSError, Failure), selectors.DefaultSelector() as selector:
        selector.register(tap.fileno(), selectors.EVENT_WRITE)
        tap.write(disconnect)
        while tap.unsent and (left_s := until_s - time.monotonic()) > 0:
            selector.select(left_s)
            tap.flush()
        tap.half_close()
        selector.modify(tap.fileno(), selectors.EVENT_READ)
        while not tap.ended and (left_s := until_s - time.monotonic()) > 0:
            selector.select(0 if tap.has_more else left_s)
            read_rest()
