"""Signals that end the program as Ctrl-C does: a DISCONNECT is sent and the outcome so far is reported.

The exit status follows the convention of shells: 128 plus the number of the signal.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import IO

from ..common.system import HANG_UP, takes_output
from ..live.failures import Exit
from ..live.shield import SHIELD

STDOUT = 1
AGAIN_S = 0.01
"""Seconds until a signal that was lost comes again."""
WORDS = {
    signal.SIGINT: ("interrupted", Exit.INTERRUPTED),
    signal.SIGTERM: ("terminated", Exit.TERMINATED),
    **({HANG_UP: ("hung up", Exit.HUNG_UP)} if HANG_UP else {}),
}
"""For each signal, the word for messages and the exit status."""


class Terminated(KeyboardInterrupt):
    """Raised by a signal that ends the program; handled like an interrupt by the user."""


class Received:
    """The signal that ends the program."""

    first: signal.Signals | None = None
    """The first signal received; later ones only cut the shutdown short."""
    asked: signal.Signals | None = None
    """The one that only asked it to end."""
    aside: IO[bytes] | None = None
    """Takes the rest of the output, where nobody read standard output when the signal came."""


def catch() -> None:
    """Make the signals raise Terminated; one that the caller set to be ignored, as nohup does, stays ignored."""
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, _end)
    for number in WORDS.keys() - {signal.SIGINT}:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)
    sys.unraisablehook = _unraised


def _unraised(lost: "sys.UnraisableHookArgs") -> None:
    """Let a signal come again that came where Python raises nothing, as while it removes an object."""
    if not isinstance(lost.exc_value, Terminated):
        sys.__unraisablehook__(lost)
        return
    from threading import Timer

    # To the process and not to that thread, so that it ends a wait; in Windows that would end the process at once.
    send = signal.raise_signal if sys.platform == "win32" else partial(os.kill, os.getpid())
    Timer(AGAIN_S, send, (Received.first,)).start()


@contextmanager
def first_calls(act: Callable[[int], object], *numbers: signal.Signals) -> Iterator[None]:
    """Let the first of some signals in a block only call a function; a second one ends the program as usual."""
    caught = [number for number in numbers if signal.getsignal(number) == _end]

    def restore() -> None:
        for number in caught:
            signal.signal(number, _end)

    def call(number: int, frame: FrameType | None) -> None:
        restore()
        Received.asked = signal.Signals(number)
        act(number)

    for number in caught:
        signal.signal(number, call)
    try:
        yield
    finally:
        restore()


@contextmanager
def first_asks() -> "Iterator[Callable[[float], bool]]":
    """Let the first SIGINT or SIGTERM in a block only ask it to end; a second one ends the program as usual.

    Gives a function that waits for at most so many seconds and returns whether it was asked.
    """
    from queue import Empty, SimpleQueue

    # Its put may interrupt its get, unlike the methods of an Event.
    asked: SimpleQueue[int] = SimpleQueue()

    def is_asked(wait_s: float) -> bool:
        with suppress(Empty):
            asked.put(asked.get(timeout=wait_s))
        return not asked.empty()

    with first_calls(asked.put, signal.SIGINT, signal.SIGTERM):
        yield is_asked


def _end(number: int, frame: FrameType | None) -> None:
    Received.first = Received.first or signal.Signals(number)
    if Received.aside is None and not takes_output(STDOUT):
        # What is written on the way out, such as the last packets, must not wait for a reader either.
        from tempfile import TemporaryFile

        Received.aside = TemporaryFile()  # noqa: SIM115
        os.dup2(Received.aside.fileno(), STDOUT)
    terminated = Terminated()
    if not SHIELD.postpones(terminated):
        raise terminated


def unread_bytes() -> int:
    """Return how much of the output nobody can read, because it was written after a signal; at the end only."""
    return 0 if Received.aside is None else os.lseek(Received.aside.fileno(), 0, os.SEEK_CUR)


def word() -> str:
    """Return the word for the received signal."""
    return WORDS[Received.first or Received.asked or signal.SIGINT][0]


def status() -> Exit:
    """Return the exit status for the received signal."""
    return WORDS[Received.first or Received.asked or signal.SIGINT][1]
