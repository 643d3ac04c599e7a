"""Connections to elsewhere, made without holding up the loop."""

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from ...live.failures import Failure
from ...live.net.dial import open_socket
from ...live.net.target import Target


class Caller(Protocol):
    """What does actions in the thread of its loop."""

    def call(self, action: Callable[[], None]) -> None:
        """Have an action done there; may be called from any other thread."""


def dial(server: Caller, target: Target, timeout_s: float, done: Callable[[Any], None]) -> None:
    """Open a socket to a target with all its layers in a thread; the loop then calls `done` with it, or with a Failure.

    Name servers, proxies and handshakes take their time there. Where the socket is no longer wanted, `done` closes it.
    """

    def work() -> None:
        try:
            made = open_socket(target, time.monotonic() + timeout_s, timeout_s)
        except Failure as failure:
            made = failure
        server.call(lambda: done(made))

    threading.Thread(target=work, name="mqttpub dial", daemon=True).start()
