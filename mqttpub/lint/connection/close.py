"""DISCONNECT, the end of the connection, and what was left undone then."""

from collections.abc import Iterator

from ...spec.packets import Disconnect
from ...spec.properties import BY_KEY
from ...spec.versions import Direction, Version
from . import acks as acknowledging
from . import connect as connecting
from . import keepalive, loopback
from . import subscribe as subscribing
from .publish import PUBACK, PUBCOMP, PUBREC, PUBREL, SUBACK
from .registry import CLIENT, Occasion, cite, on, value_of
from .state import PATIENCE, End, Exchange, State

_EXPIRY_INTERVAL = BY_KEY["session_expiry_interval"].id
ALIAS_INVALID = 0x94
TAKEN_OVER = 0x8E

_EXPIRY = cite("3.14.2.2.2/expiry")
_ALIASES = (cite("3.3.2-10"), cite("3.3.2-12"))
_CLOSES = (cite("3.14.4-2", "3.14.4-1"), cite("3.14.4-2"))
_REFUSED = cite("3.2.2-7", "3.2.2-5")
_ERROR = cite("4.13.2-1")
_TAKEN_OVER = cite("3.1.4-3")
_SERVER_CLOSES = cite(v311="3.14.4/close", v31="3.14/close")
_ANSWERED = cite("3.1.4-5", "3.1.4-4", "3.1/answer")

LEFT = Occasion(_EXPIRY)
ALIASED = tuple(Occasion(law) for law in _ALIASES)
CLOSED = tuple(Occasion(law) for law in _CLOSES)
CLOSED_AFTER_REFUSAL = Occasion(_REFUSED, _ERROR)
CLOSED_ON_ERROR = Occasion(_ERROR)
CLOSED_ON_TAKEOVER = Occasion(_TAKEN_OVER)
CLOSED_BY_SERVER = Occasion(_SERVER_CLOSES)
QUIET = tuple(Occasion(cite("3.14.4-1", "3.14.4-2")) for _ in Direction)


@on(Disconnect)
def disconnected(state: State, packet: Disconnect, end: End) -> None:
    """DISCONNECT is the last packet of its sender."""
    code = packet.reason_code or 0
    if end.leaving is None:
        end.leaving = state.time
    if state.over_at is None:
        state.over_at = state.time
    end.disconnect, end.reason = state.number, code
    state.watched[end.side] = True
    if end.side == CLIENT and state.connect is not None:
        _expiry(state, packet)
    if code == ALIAS_INVALID:
        _alias_refused(state, end)


def _expiry(state: State, packet: Disconnect) -> None:
    given = value_of(packet.properties, _EXPIRY_INTERVAL)
    if given is None:
        return
    state.counts[LEFT] += 1
    if given and not value_of(state.connect.properties, _EXPIRY_INTERVAL, 0):
        message = f"Session Expiry Interval is {given} s, but CONNECT (packet {state.connect_number}) had none or 0"
        state.fault(_EXPIRY, "properties.session_expiry_interval", message)


def _alias_refused(state: State, end: End) -> None:
    if not state.complete or not end.peer.limits.known:
        return
    state.counts[ALIASED[end.side]] += 1
    if end.peer.range_kept:
        message = f"disconnect.reason_code is 0x94, but every Topic Alias of the {end.peer.name} was allowed and set"
        state.fault(_ALIASES[end.side], "reason_code", message)


def closed(state: State, end: End | None, how: str) -> None:
    """Judge what was left undone when an end closed, or when the capture ended (None)."""
    for each in state.ends:
        _leaves(state, each, end)
    if not any(state.judged):
        loopback.judge(state)
    whole = end is None or how == "RST"
    for each in state.ends if whole or end is None else (end,):
        if not state.judged[each.side]:
            state.judged[each.side] = True
            _left_undone(state, each)
    if end is not None:
        end.closed = True


# who has to close


def _leaves(state: State, end: End, closer: End | None) -> None:
    if end.closed or not (end.disconnect or end.refused) or end.leaving is None:
        return
    if end is closer:
        _left(state, end)
        return
    if state.time is None or state.time - end.leaving < PATIENCE:
        return
    waited = f"{(state.time - end.leaving) / 1e9:.0f} s later"
    end.leaving = None
    _left(state, end)
    if end.refused and not end.disconnect:
        message = f"{waited} the server has not closed after its refusing CONNACK (packet {end.refused})"
        state.fault(_REFUSED, "", message, _ERROR)
        return
    message = f"{waited} the {end.name} has not closed after its DISCONNECT (packet {end.disconnect})"
    also = [_ERROR] if end.reason >= 0x80 else []
    also += [_TAKEN_OVER] if end.reason == TAKEN_OVER and end.side != CLIENT else []
    state.fault(_CLOSES[end.side], "", message, *also)
    if end.side == CLIENT and not end.peer.closed:
        state.counts[CLOSED_BY_SERVER] += 1
        state.fault(_SERVER_CLOSES, "", f"{waited} the server has not closed after the client's DISCONNECT either")


def _left(state: State, end: End) -> None:
    """Count the statements that an end was to close by."""
    if end.refused and not end.disconnect:
        state.counts[CLOSED_AFTER_REFUSAL] += 1
        return
    state.counts[CLOSED[end.side]] += 1
    state.counts[QUIET[end.side]] += 1
    if end.reason >= 0x80:
        state.counts[CLOSED_ON_ERROR] += 1
    if end.reason == TAKEN_OVER:
        state.counts[CLOSED_ON_TAKEOVER] += 1
    if end.side == CLIENT:
        state.counts[CLOSED_BY_SERVER] += 1


# what was to be answered


def _left_undone(state: State, end: End) -> None:
    if end.side != CLIENT and state.complete and state.connect_number and not state.connack_number and end.packets:
        state.counts[connecting.ANSWERED] += 1
        if not end.disconnect:
            state.fault(_ANSWERED, "", "the server answered, but sent no CONNACK")
    for id, exchange in end.peer.exchanges.items():
        if exchange.awaits != PUBREL and _neglected(state, end, exchange):
            _unanswered(state, end, id, exchange)
    for id, exchange in end.peer.late.items():
        if exchange.qos and _neglected(state, end, exchange):
            _repeat_unanswered(state, id, exchange)
    for id, exchange in end.exchanges.items():
        if exchange.awaits == PUBREL and _neglected(state, end, exchange):
            state.counts[acknowledging.ACKED[PUBREL]] += 1
            message = f"no PUBREL for Packet Identifier {id} came, but PUBREC (packet {exchange.received}) awaited it"
            state.fault(_LAWS[PUBREL][0], "", message)
    for number in _old(state, end):
        state.counts[keepalive.ANSWERED] += 1
        state.fault(_PINGRESP, "", f"no PINGRESP came, but PINGREQ (packet {number}) awaited it")


_PINGRESP = cite("3.12.4-1", "3.12.4-1", "3.12/answer")
_ANSWER = cite("3.3.4-1", "3.3.4-1", "3.3/answer")
_LAWS = {
    PUBACK: (cite("4.3.2-4", "4.3.2-2", "3.3/answer"), _ANSWER),
    PUBREC: (cite("4.3.3-8", "4.3.3-2", "3.3/answer"), _ANSWER),
    PUBREL: (cite("4.3.3-4", "4.3.3-1", "3.5/pubrel"),),
    PUBCOMP: (cite("4.3.3-11", "4.3.3-2", "3.6/pubcomp"),),
}
_BY_CLIENT = cite("4.5.0-2", "4.5.0-2")
_AGAIN = {1: cite("4.3.2-4", "4.3.2-2", "4.1/qos1-again"), 2: cite("4.3.3-10", "4.3.3-2")}
_NAMES = {PUBACK: "PUBACK", PUBREC: "PUBREC", PUBCOMP: "PUBCOMP", SUBACK: "SUBACK"}


def _old(state: State, end: End) -> Iterator[int]:
    last = _last(state, end)
    for number, time in end.peer.pings:
        if time is not None and last is not None and last - time >= PATIENCE:
            yield number


def _last(state: State, end: End) -> int | None:
    """Return when an end was last heard, before the first DISCONNECT."""
    if end.last is None or state.over_at is None:
        return end.last
    return min(end.last, state.over_at)


def _neglected(state: State, end: End, exchange: Exchange) -> bool:
    """Whether an end was heard long after it was asked, or answered what came later and had to keep the order."""
    if _overtaken(end, exchange):
        return True
    last = _last(state, end)
    return last is not None and exchange.last is not None and last - exchange.last >= PATIENCE


def _overtaken(end: End, exchange: Exchange) -> bool:
    return end.side == CLIENT and exchange.awaits in (PUBACK, PUBREC) and exchange.number < end.acked[exchange.awaits]


def _unanswered(state: State, end: End, id: int, exchange: Exchange) -> None:
    code = exchange.awaits
    if code not in _LAWS:
        law = subscribing.unanswered(state, exchange)
        state.counts[subscribing.SUBACKED if code == SUBACK else subscribing.UNSUBACKED] += 1
        name = _NAMES.get(code, "UNSUBACK")
        state.fault(law, "", f"no {name} for Packet Identifier {id} came, but {exchange} awaited it")
        return
    state.counts[acknowledging.ACKED[code]] += 1
    law, *also = _LAWS[code]
    if end.side == CLIENT and code != PUBCOMP and state.version != Version.V31:
        state.counts[acknowledging.ACKED_BY_CLIENT] += 1
        law, also = _BY_CLIENT, [law, *also]
    # Who processes messages may take all the time in the world before PUBACK and PUBREC.
    severity = "" if code == PUBCOMP or _overtaken(end, exchange) else "warning"
    message = f"no {_NAMES[code]} for Packet Identifier {id} came, but {exchange} awaited it"
    state.fault(law, "", message, *also, severity=severity)


def _repeat_unanswered(state: State, id: int, exchange: Exchange) -> None:
    state.counts[acknowledging.AGAIN] += 1
    message = f"{exchange} with Packet Identifier {id} was sent again, but answered once only"
    state.fault(_AGAIN[exchange.qos], "", message, severity="warning")
