"""A state machine: what a packet does to the open exchange of its Packet Identifier, for many identifiers at once.

The state is what is open for one (connection, sender, packet_id): `Open`. The input is what a packet is: a symbol of 6
bits, see `symbols`. Two tables of shape (symbols, states) hold the rules that `pair` states: DOES says what the packet
does (`Act`), THEN which state follows. Both are made by `_tables` from the lists of acks and requests below.

The packets of one identifier form a run. A run is cut wherever a packet does the same in every state (`_FRESH`), as
the packets after it do not depend on those before. All runs then go through the tables in step: the first packet of
every run in one numpy operation, then the second of every run that has one. Runs of more than MOST_STEPS packets are
rare; they are finished packet by packet, so that a long run does not cost a numpy operation for each of its packets.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback, Subscribe, Unsuback, Unsubscribe
from ..arrays import Mask

Numbers = NDArray[np.int64]
MOST_STEPS = 64
"""Packets of a run that go through the tables in step with other runs."""
CODES = 16


class Open(IntEnum):
    """What is open for an identifier."""

    NOTHING = 0
    ONE = 1
    """A PUBLISH of QoS 1."""
    TWO = 2
    """A PUBLISH of QoS 2, or acks of one that an earlier connection sent."""
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    NO_SUBSCRIBE = 5
    """A SUBSCRIBE without Topic Filters."""
    NO_UNSUBSCRIBE = 6
    ACKS = 7
    """Acks of QoS 2 without their PUBLISH."""


class Act(IntEnum):
    """What a packet does to it."""

    BEGIN = 0
    """It begins an exchange."""
    JOIN = 1
    """It belongs to the open one."""
    CLOSE = 2
    """It belongs to the open one and ends it."""
    BOTH = 3
    """It begins an exchange and ends it."""
    ALONE = 4
    """It is an exchange of its own, and the open one stays open."""


ORPHANS = (Open.NOTHING, Open.NO_SUBSCRIBE, Open.NO_UNSUBSCRIBE, Open.ACKS)
"""States without PUBLISH and without Topic Filters."""
_VARIANT = 2
_AGAIN = 1


def symbols(code: Numbers, qos: Numbers, variant: Numbers, again: Numbers) -> Numbers:
    """Return the symbol of each packet, an int64 below 64: packet type, then one bit each for `variant` and `again`.

    `variant` is 1 for PUBLISH of QoS 2, for subscriptions with Topic Filters, and for PUBREC with a Reason Code of 0x80
    or above; `again` is DUP of requests, and 1 for acks that resume a message.
    """
    found: Numbers = code << 2 | np.where(code == Publish.code, qos >> 1, variant) * _VARIANT | again * _AGAIN
    return found


def _tables() -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    does = np.full((CODES << 2, len(Open)), Act.ALONE, np.int8)
    then = np.tile(np.arange(len(Open), dtype=np.int8), (CODES << 2, 1))
    for symbol in range(CODES << 2):
        code, variant, again = symbol >> 2, bool(symbol & _VARIANT), bool(symbol & _AGAIN)
        if code in _REQUESTS:
            begun, joined = _REQUESTS[code][variant], _JOINED[code] if again else ()
            for state in Open:
                does[symbol, state], then[symbol, state] = (Act.JOIN, state) if state in joined else (Act.BEGIN, begun)
        elif code in _ANSWERED:
            last = code in _LAST or (code == Pubrec.code and variant)
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
"""The state that a request opens: PUBLISH of QoS 1 or 2, a subscription without or with Topic Filters."""
_JOINED = {
    Publish.code: (Open.ONE, Open.TWO),
    Subscribe.code: _SUBSCRIBED,
    Unsubscribe.code: _SUBSCRIBED,
}
"""The states to whose exchange a request with DUP belongs."""
_SECOND = (Open.TWO, Open.ACKS)
_ANSWERED = {
    Puback.code: (Open.ONE,),
    Pubrec.code: _SECOND,
    Pubrel.code: _SECOND,
    Pubcomp.code: _SECOND,
    Suback.code: (Open.SUBSCRIBE, Open.NO_SUBSCRIBE),
    Unsuback.code: (Open.UNSUBSCRIBE, Open.NO_UNSUBSCRIBE),
}
"""The states to whose exchange an ack belongs."""
_LAST = (Puback.code, Pubcomp.code, Suback.code, Unsuback.code)
DOES, THEN = _tables()
_FRESH = (np.ptp(THEN, axis=1) == 0) & (np.ptp(DOES, axis=1) == 0)
"""Symbols that do the same in every state."""


def states(symbol: Numbers, first: Mask) -> Numbers:
    """Return the state before each packet (int64); `first` is true where the packets of another identifier begin."""
    begin = np.flatnonzero(first | _FRESH[symbol])
    length = np.diff(np.append(begin, len(symbol)))
    before = np.zeros(len(symbol), np.int64)
    # All runs begin in state 0. Where a cut made a run begin with something open, its first packet does the same in
    # any state; `pair` finds what it supersedes by the row before.
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
