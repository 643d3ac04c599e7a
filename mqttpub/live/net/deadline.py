"""Connecting within a deadline, a moment of the monotonic clock in seconds."""

import socket
import time
import traceback
from collections.abc import Callable
from typing import Any


def left(until: float) -> float:
    """Return the seconds that are left; never zero, which would mean not to wait."""
    return max(until - time.monotonic(), 0.001)


def tcp(place: tuple[str, int], bind: str | None, until: float) -> socket.socket:
    """Return a TCP connection to a host and port."""
    return socket.create_connection(place, left(until), (bind, 0) if bind else None)


def within(seconds: float, make: Callable[[], Any]) -> Any:
    """Return what `make` makes; it works in a thread, because a silent name server cannot be interrupted."""
    import threading

    made: list[tuple[Any, BaseException | None]] = []
    lock = threading.Lock()
    late = False

    def work() -> None:
        try:
            outcome: tuple[Any, BaseException | None] = make(), None
        except BaseException as error:
            _let_go(error)
            outcome = None, error
        with lock:
            made.append(outcome)
            if late and outcome[0] is not None:
                outcome[0].close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(max(seconds, 0))
    with lock:
        late = not made
    if late:
        raise TimeoutError
    sock, error = made.pop()
    if error is not None:
        raise error
    return sock


def _let_go(error: BaseException) -> None:
    """Close what the frames of an error hold: PySocks forgets a file on its socket, which keeps that open."""
    for each in (error, error.__context__):
        traceback.clear_frames(each.__traceback__ if each else None)
