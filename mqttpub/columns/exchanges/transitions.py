"""What a packet does to the open exchange of its Packet Identifier, for many identifiers at once.

The rules of `pair` as two tables: by what a packet is and what is open, what it does, and what is
open afterwards. All runs of packets that do not depend on one another go through them in step.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from ..arrow import Mask

Numbers = NDArray[np.int64]
MOST_STEPS = 64
"""Packets of a run that are looked at in step with those of others; the rest is looked at one by one."""
CODES = 16


class Open(IntEnum):
    """What is open."""

    NOTHING = 0
    ONE = 1
    """A PUBLISH of QoS 1."""
    TWO = 2
    """A PUBLISH of QoS 2, or acks of one that was sent on an earlier connection."""
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    NO_SUBSCRIBE = 5
    """A SUBSCRIBE without Topic Filters."""
    NO_UNSUBSCRIBE = 6
    ACKS = 7
    """Acks of QoS 2 without their PUBLISH."""


class Act(IntEnum):
    """What a packet does."""

    BEGIN = 0
    """It begins an exchange."""
    JOIN = 1
    """It belongs to the open one."""
    CLOSE = 2
    """It belongs to the open one and ends it."""
    BOTH = 3
    """It begins an exchange and ends it."""
    ALONE = 4
    """It is an exchange of its own, and the open one goes on."""


ORPHANS = (Open.NOTHING, Open.NO_SUBSCRIBE, Open.NO_UNSUBSCRIBE, Open.ACKS)
"""What has neither PUBLISH nor Topic Filters."""
_TOLD = 2
_AGAIN = 1


def symbols(code: Numbers, qos: Numbers, told: Numbers, again: Numbers) -> Numbers:
    """Return a number for what each packet is.

    `told` is, for subscriptions, whether there are Topic Filters, and for PUBREC whether its
    Reason Code refuses; `again`, for requests, DUP, and for acks whether they resume a message.
    """
    found: Numbers = code << 2 | np.where(code == Publish.code, qos >> 1, told) * _TOLD | again * _AGAIN
    return found


def _tables() -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    does = np.full((CODES << 2, len(Open)), Act.ALONE, np.int8)
    then = np.tile(np.arange(len(Open), dtype=np.int8), (CODES << 2, 1))
    for symbol in range(CODES << 2):
        code, told, again = symbol >> 2, bool(symbol & _TOLD), bool(symbol & _AGAIN)
        if code in _REQUESTS:
            begun, joined = _REQUESTS[code][told], _JOINED[code] if again else ()
            for state in Open:
                does[symbol, state], then[symbol, state] = (Act.JOIN, state) if state in joined else (Act.BEGIN, begun)
        elif code in _ANSWERED:
            last = code in _LAST or (code == Pubrec.code and told)
            for state in _ANSWERED[code]:
                does[symbol, state] = Act.CLOSE if last else Act.JOIN
                then[symbol, state] = Open.NOTHING if last else state
            does[symbol, Open.NOTHING] = Act.BOTH if last else Act.BEGIN
            then[symbol, Open.NOTHING] = Open.NOTHING if last else Open.TWO if again else Open.ACKS
    return does, then


_SUBSCRIBED = (Open.SUBSCRIBE, Open.UNSUBSCRIBE)
_REQUESTS = {
    Publish.code: (Open.ONE, Open.TWO),
    Subscribe.code: (Open.NO_SUBSCRIBE, Open.SUBSCRIBE),
    Unsubscribe.code: (Open.NO_UNSUBSCRIBE, Open.UNSUBSCRIBE),
}
"""What a request opens: a PUBLISH of QoS 1 or 2, a subscription without or with Topic Filters."""
_JOINED = {
    Publish.code: (Open.ONE, Open.TWO),
    Subscribe.code: _SUBSCRIBED,
    Unsubscribe.code: _SUBSCRIBED,
}
"""What a request with DUP belongs to."""
_SECOND = (Open.TWO, Open.ACKS)
_ANSWERED = {
    Puback.code: (Open.ONE,),
    Pubrec.code: _SECOND,
    Pubrel.code: _SECOND,
    Pubcomp.code: _SECOND,
    Suback.code: (Open.SUBSCRIBE, Open.NO_SUBSCRIBE),
    Unsuback.code: (Open.UNSUBSCRIBE, Open.NO_UNSUBSCRIBE),
}
"""What an ack belongs to."""
_LAST = (Puback.code, Pubcomp.code, Suback.code, Unsuback.code)
DOES, THEN = _tables()
_FRESH = (np.ptp(THEN, axis=1) == 0) & (np.ptp(DOES, axis=1) == 0)
"""What does the same whatever is open."""


def states(symbol: Numbers, first: Mask) -> Numbers:
    """Return what is open in front of each packet; `first` tells where those of another identifier begin."""
    begin = np.flatnonzero(first | _FRESH[symbol])
    length = np.diff(np.append(begin, len(symbol)))
    before = np.zeros(len(symbol), np.int64)
    # In front of what does the same anyway, there still may be something that it supersedes.
    state: Numbers = np.zeros(len(begin), np.int64)
    step = 0
    while len(begin) and step < MOST_STEPS:
        at = begin + step
        before[at] = state
        after = THEN[symbol[at], state].astype(np.int64)
        longer = np.flatnonzero(length > step + 1)
        begin, length, state, step = begin[longer], length[longer], after[longer], step + 1
    for start, size, last in zip(begin.tolist(), length.tolist(), state.tolist(), strict=True):
        _follow(symbol, before, range(start + step, start + size), last)
    return before


def _follow(symbol: Numbers, before: Numbers, places: range, state: int) -> None:
    for at in places:
        before[at] = state
        state = int(THEN[symbol[at], state])
