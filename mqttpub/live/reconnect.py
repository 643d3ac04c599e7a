"""When to connect again after a connection has failed, and how long to wait before it."""

from .failures import ConnectionLost, ConnectionRefused, Failure, NoConnack, NotConnected, Refused

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
"""Pause before the first attempt to reconnect, and the longest between two."""
PASSING = frozenset((3, 0x88, 0x89, 0x8B, 0x8D, 0x96, 0x97, 0x9F, 0xA0))
"""Codes of refusals that may be gone at the next attempt; all others are final."""


def pause_before(attempt: int) -> float:
    """Return the seconds to wait before an attempt to reconnect, counted from 0."""
    return float(min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S))


def is_refused_for_good(failure: Failure) -> bool:
    """Whether the broker refused with a Reason Code that another attempt does not change."""
    return isinstance(failure, (ConnectionRefused, Refused)) and failure.code not in PASSING


def is_final(failure: Failure) -> bool:
    """Whether another attempt must fail in the same way: a refusal for good, a wrong certificate, a missing library."""
    if is_refused_for_good(failure):
        return True
    cause = failure.__cause__
    if isinstance(failure, NoConnack):
        return not isinstance(cause, ConnectionLost)
    if not isinstance(failure, NotConnected):
        return False
    from ssl import SSLCertVerificationError  # loaded on use: most connections are never lost

    return isinstance(cause, SSLCertVerificationError) or not isinstance(cause, OSError)
