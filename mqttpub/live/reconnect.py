"""When to connect again after a connection has failed, and how long to wait before it."""

import time
from collections.abc import Callable, Iterator

from .failures import ConnectionLost, ConnectionRefused, Failure, NoConnack, NotConnected, PeerFault, Refused
from .tap import Observer, buffering

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
"""Pause before the first attempt to reconnect, and the longest between two."""
MOST_DOUBLINGS = 7
"""After so many, the longest pause is reached."""
LASTING_S = 30.0
"""A connection that lasted so long does not count as a failed attempt.

It is more than the longest pause: otherwise two clients with one Client Identifier, each of which ends the connection
of the other when it connects, would take turns without a pause.
"""
PAUSE_TURN_S = 0.1
"""How long a turn lasts between two connections."""
PASSING = frozenset((3, 0x88, 0x89, 0x8B, 0x8D, 0x96, 0x97, 0x9F, 0xA0))
"""Codes of refusals that may be gone at the next attempt; all others are final."""


class Reconnection:
    """The attempts of a client to connect again.

    `most` is how many may fail in a row, None for no limit; all pauses together may last `longest_s`. With
    `needs_open`, a first connection that fails is not attempted again. `remark` gets a sentence before each pause.
    """

    def __init__(
        self, most: int | None, *, longest_s: float = float("inf"), needs_open: bool = False,
        observer: Observer | None = None, remark: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.attempts = 0
        """Number of attempts since a connection lasted or made progress."""
        self.was_open = False
        """Whether there was a connection at all."""
        self._most, self._longest_s, self._needs_open = most, longest_s, needs_open
        self._observer = observer
        self._remark = remark
        self._opened_s: float | None = None

    def opened(self) -> None:
        """Note that a connection is open; only how long it lasts shows that it is any good."""
        self.was_open = True
        self._opened_s = time.monotonic()

    def progressed(self) -> None:
        """Note that the connection did something that no other has to do again."""
        self.attempts = 0

    def check(self, failure: Failure) -> None:
        """Raise the failure that ended a connection where there is to be no other attempt."""
        if self._opened_s is not None and time.monotonic() - self._opened_s >= LASTING_S:
            self.attempts = 0
        self._opened_s = None
        if is_final(failure) or (self._needs_open and not self.was_open):
            raise failure
        if self._most is not None and self.attempts >= self._most:
            raise failure
        if sum(pause_before(number) for number in range(self.attempts + 1)) > self._longest_s:
            raise failure

    def pause(self, failure: Failure) -> Iterator[None]:
        """Wait before the next attempt, and yield in between, so that the caller can stop."""
        pause_s = pause_before(self.attempts)
        self.attempts += 1
        self._remark(f"{failure}; connecting again in {pause_s:g} s")
        if shown_later := buffering(self._observer):
            shown_later.flush()
        until_s = time.monotonic() + pause_s
        while (left_s := until_s - time.monotonic()) > 0:
            time.sleep(min(left_s, PAUSE_TURN_S))
            yield


def pause_before(attempt: int) -> float:
    """Return the seconds to wait before an attempt to reconnect, counted from 0."""
    return float(min(FIRST_PAUSE_S * 2 ** min(attempt, MOST_DOUBLINGS), LONGEST_PAUSE_S))


def is_refused_for_good(failure: Failure) -> bool:
    """Whether the broker refused with a Reason Code that another attempt does not change."""
    return isinstance(failure, (ConnectionRefused, Refused)) and failure.code not in PASSING


def is_final(failure: Failure) -> bool:
    """Whether another attempt must fail in the same way: a broken rule, a refusal for good, a wrong certificate."""
    if isinstance(failure, PeerFault) or is_refused_for_good(failure):
        return True
    cause = failure.__cause__
    if isinstance(failure, NoConnack):
        return not isinstance(cause, ConnectionLost)
    if not isinstance(failure, NotConnected):
        return False
    from ssl import SSLCertVerificationError  # loaded on use: most connections are never lost

    return isinstance(cause, SSLCertVerificationError) or not isinstance(cause, OSError)
