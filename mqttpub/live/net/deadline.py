"""Connecting within a deadline, a moment of the monotonic clock in seconds."""

import socket
import time
from collections.abc import Callable
from typing import Any

MOMENT_S = 0.2
"""How long after a deadline to wait for the words of what keeps to it by itself."""


def left(until_s: float) -> float:
    """Return the seconds that are left; raises TimeoutError when none are."""
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def tcp(place: tuple[str, int], bind: str | None, until_s: float) -> socket.socket:
    """Return a TCP connection to a host and port."""
    host, port = place
    # For an address in a str, Python would load the tables of international domain names, which takes a millisecond.
    address: Any = host.encode() if host.isascii() and host.replace(".", "").isdigit() else host
    return socket.create_connection((address, port), left(until_s), (bind, 0) if bind else None)


def within(seconds: float, make: Callable[[], Any]) -> Any:
    """Return what `make` makes in a thread, because a silent name server cannot be interrupted.

    Raises what it raises, and TimeoutError a moment after some seconds; a socket that comes later is closed.
    """
    import threading

    made: list[tuple[Any, BaseException | None]] = []
    lock = threading.Lock()
    late = False

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = make(), None
        except BaseException as error:
            outcome = None, error
        with lock:
            made.append(outcome)
            if late and outcome[0] is not None:
                outcome[0].close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(max(seconds, 0) + MOMENT_S)
    with lock:
        late = not made
    if late:
        raise TimeoutError
    sock, error = made.pop()
    if error is not None:
        raise error
    return sock
