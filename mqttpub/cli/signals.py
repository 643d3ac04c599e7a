"""Signals that end the program as Ctrl-C does: the broker gets its DISCONNECT, and what was begun is reported.

The exit status is that of shells, 128 and the number of the signal.
"""

import signal
from types import FrameType

from ..live.failures import Exit
from ..live.shield import SHIELD

WORDS = {
    signal.SIGINT: ("interrupted", Exit.INTERRUPTED),
    signal.SIGTERM: ("terminated", Exit.TERMINATED),
    signal.SIGHUP: ("hung up", Exit.HUNG_UP),
}
"""What each of them does to the program, and its exit status."""


class Ended(KeyboardInterrupt):
    """A signal ends the program; it goes the way of an interrupt by the user."""


class Endings:
    """Which signal came."""

    came: signal.Signals | None = None
    """The first; those after it only hurry the end."""


def catch() -> None:
    """Let the signals raise; what the caller has set to be ignored, as nohup does, stays ignored."""
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, _end)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    Endings.came = Endings.came or signal.Signals(number)
    ended = Ended()
    if not SHIELD.postpones(ended):
        raise ended


def word() -> str:
    """Return what the signal did that came."""
    return WORDS[Endings.came or signal.SIGINT][0]


def status() -> Exit:
    """Return the exit status that says which signal came."""
    return WORDS[Endings.came or signal.SIGINT][1]
