"""DISCONNECT, the end of the connection, and what was left undone then."""

from collections.abc import Iterator

from ...spec.packets import PACKETS, Connect, Disconnect
from ...spec.properties import SESSION_EXPIRY_INTERVAL, value_of
from ...spec.reason_codes import FAILURE
from ...spec.versions import Direction, Version
from ..registry import TestPoint, cite, rule
from . import acks, connect, keepalive, loopback, subscribe
from .publish import PUBACK, PUBCOMP, PUBREC, PUBREL
from .state import CLIENT, PATIENCE_NS, ConnectionState, IdentifierInUse, Peer

ALIAS_INVALID = 0x94
TAKEN_OVER = 0x8E

_ALIASES = (cite("3.3.2-10"), cite("3.3.2-12"))
_CLOSES = (cite("3.14.4-2", "3.14.4-1"), cite("3.14.4-2"))
_REFUSED, _ERROR = connect.AFTER_REFUSAL.laws

EXPIRY_IN_DISCONNECT = TestPoint(cite("3.14.2.2.2/expiry"))
ALIAS_REFUSED = tuple(TestPoint(law) for law in _ALIASES)
CLOSED = tuple(TestPoint(law) for law in _CLOSES)
CLOSED_AFTER_REFUSAL = TestPoint(_REFUSED, _ERROR)
CLOSED_ON_ERROR = TestPoint(_ERROR)
CLOSED_ON_TAKEOVER = TestPoint(cite("3.1.4-3"))
CLOSED_BY_SERVER = TestPoint(cite(v311="3.14.4/close", v31="3.14/close"))
SILENT_AFTER_DISCONNECT = tuple(TestPoint(cite("3.14.4-1", "3.14.4-2")) for _ in Direction)


@rule(Disconnect)
def disconnected(state: ConnectionState, packet: Disconnect, peer: Peer) -> None:
    """DISCONNECT is the last packet of its sender."""
    code = packet.reason_code or 0
    if peer.closing_since_ns is None:
        peer.closing_since_ns = state.time_ns
    if state.first_disconnect_ns is None:
        state.first_disconnect_ns = state.time_ns
    peer.disconnect_number, peer.reason_code = state.number, code
    state.check_order[peer.side] = True
    if peer.side == CLIENT and state.connect is not None:
        _check_expiry(state, packet, state.connect)
    if code == ALIAS_INVALID:
        _check_alias_refused(state, peer)


def _check_expiry(state: ConnectionState, packet: Disconnect, connected: Connect) -> None:
    given = value_of(packet.properties, SESSION_EXPIRY_INTERVAL)
    if given is None:
        return
    state.exercised[EXPIRY_IN_DISCONNECT] += 1
    if given and not value_of(connected.properties, SESSION_EXPIRY_INTERVAL, 0):
        message = f"Session Expiry Interval is {given} s, but CONNECT (packet {state.connect_number}) had none or 0"
        state.fault(EXPIRY_IN_DISCONNECT.law, "properties.session_expiry_interval", message)


def _check_alias_refused(state: ConnectionState, peer: Peer) -> None:
    if not state.complete or not peer.other.limits.known:
        return
    state.exercised[ALIAS_REFUSED[peer.side]] += 1
    if peer.other.aliases_valid:
        message = f"Reason Code is 0x94, but every Topic Alias of the {peer.other.name} was allowed and set"
        state.fault(_ALIASES[peer.side], "reason_code", message)


def closed(state: ConnectionState, closer: Peer | None, how: str) -> None:
    """Report what was left undone when a peer closed the connection, or when the capture ended (`closer` None)."""
    for each in state.peers:
        _check_closing(state, each, closer)
    if not any(state.end_reported):
        loopback.check_highest_qos(state)
    both = closer is None or how == "RST"
    for each in state.peers:
        if (both or each is closer) and not state.end_reported[each.side]:
            state.end_reported[each.side] = True
            _report_undone(state, each)
    if closer is not None:
        closer.closed = True


# who must close


def _check_closing(state: ConnectionState, peer: Peer, closer: Peer | None) -> None:
    if peer.closed or not (peer.disconnect_number or peer.refused_number) or peer.closing_since_ns is None:
        return
    if peer is closer:
        _exercise_closing(state, peer)
        return
    if state.time_ns is None or state.time_ns - peer.closing_since_ns < PATIENCE_NS:
        return
    waited = f"{(state.time_ns - peer.closing_since_ns) / 1e9:.0f} s later"
    peer.closing_since_ns = None
    _exercise_closing(state, peer)
    if peer.refused_number and not peer.disconnect_number:
        message = f"{waited} the server has not closed after its refusing CONNACK (packet {peer.refused_number})"
        state.fault(_REFUSED, "", message, _ERROR, at_fault=peer.direction)
        return
    message = f"{waited} the {peer.name} has not closed after its DISCONNECT (packet {peer.disconnect_number})"
    also = [_ERROR] if peer.reason_code >= FAILURE else []
    also += [CLOSED_ON_TAKEOVER.law] if peer.reason_code == TAKEN_OVER and peer.side != CLIENT else []
    state.fault(_CLOSES[peer.side], "", message, *also, at_fault=peer.direction)
    if peer.side == CLIENT and not peer.other.closed:
        state.exercised[CLOSED_BY_SERVER] += 1
        message = f"{waited} the server has not closed after the client's DISCONNECT either"
        state.fault(CLOSED_BY_SERVER.law, "", message, at_fault=peer.other.direction)


def _exercise_closing(state: ConnectionState, peer: Peer) -> None:
    """Count the statements that oblige a peer to close."""
    if peer.refused_number and not peer.disconnect_number:
        state.exercised[CLOSED_AFTER_REFUSAL] += 1
        return
    state.exercised[CLOSED[peer.side]] += 1
    state.exercised[SILENT_AFTER_DISCONNECT[peer.side]] += 1
    if peer.reason_code >= FAILURE:
        state.exercised[CLOSED_ON_ERROR] += 1
    if peer.reason_code == TAKEN_OVER:
        state.exercised[CLOSED_ON_TAKEOVER] += 1
    if peer.side == CLIENT:
        state.exercised[CLOSED_BY_SERVER] += 1


# unanswered packets


def _report_undone(state: ConnectionState, peer: Peer) -> None:
    """Report everything that a peer should have answered."""
    if peer.side != CLIENT and state.complete and state.connect_number and not state.connack_number and peer.packets:
        state.exercised[connect.CONNECT_ANSWERED] += 1
        if not peer.disconnect_number:
            message = "the server answered, but sent no CONNACK"
            state.fault(connect.CONNECT_ANSWERED.law, "", message, at_fault=peer.direction)
    for id, exchange in peer.other.in_use.items():
        if exchange.awaits != PUBREL and _is_neglected(state, peer, exchange):
            _unanswered(state, peer, id, exchange)
    for id, exchange in peer.other.repeats_due.items():
        if exchange.qos and _is_neglected(state, peer, exchange):
            _repeat_unanswered(state, peer, id, exchange)
    for id, exchange in peer.in_use.items():
        if exchange.awaits == PUBREL and _is_neglected(state, peer, exchange):
            state.exercised[acks.ACKED[PUBREL]] += 1
            message = f"PUBREC (packet {exchange.pubrec_number}) for Packet Identifier {id} got no PUBREL"
            state.fault(_LAWS[PUBREL][0], "", message, at_fault=peer.direction)
    for number in _old_pings(state, peer):
        state.exercised[keepalive.PING_ANSWERED] += 1
        message = f"PINGREQ (packet {number}) got no PINGRESP"
        state.fault(keepalive.PING_ANSWERED.law, "", message, at_fault=peer.direction)


_ANSWER = cite("3.3.4-1", "3.3.4-1", "3.3/answer")
_LAWS = {
    PUBACK: (cite("4.3.2-4", "4.3.2-2", "3.3/answer"), _ANSWER),
    PUBREC: (cite("4.3.3-8", "4.3.3-2", "3.3/answer"), _ANSWER),
    PUBREL: (cite("4.3.3-4", "4.3.3-1", "3.5/pubrel"),),
    PUBCOMP: (cite("4.3.3-11", "4.3.3-2", "3.6/pubcomp"),),
}
_AGAIN = {1: cite("4.3.2-4", "4.3.2-2", "4.1/qos1-again"), 2: cite("4.3.3-10", "4.3.3-2")}


def _old_pings(state: ConnectionState, peer: Peer) -> Iterator[int]:
    """Yield the PINGREQ packets of the other peer that this one had time to answer."""
    last_ns = _last_ns(state, peer)
    for number, time_ns in peer.other.pings:
        if time_ns is not None and last_ns is not None and last_ns - time_ns >= PATIENCE_NS:
            yield number


def _last_ns(state: ConnectionState, peer: Peer) -> int | None:
    """Return when a peer sent its last packet before the first DISCONNECT."""
    if peer.last_ns is None or state.first_disconnect_ns is None:
        return peer.last_ns
    return min(peer.last_ns, state.first_disconnect_ns)


def _is_neglected(state: ConnectionState, peer: Peer, exchange: IdentifierInUse) -> bool:
    """Whether a peer sent something long after it was asked, or answered later packets that it had to keep in order."""
    if _is_overtaken(peer, exchange):
        return True
    last_ns = _last_ns(state, peer)
    return last_ns is not None and exchange.sent_ns is not None and last_ns - exchange.sent_ns >= PATIENCE_NS


def _is_overtaken(peer: Peer, exchange: IdentifierInUse) -> bool:
    if peer.side != CLIENT or exchange.awaits not in (PUBACK, PUBREC):
        return False
    return exchange.number < peer.last_acked[exchange.awaits]


def _unanswered(state: ConnectionState, peer: Peer, id: int, exchange: IdentifierInUse) -> None:
    code = exchange.awaits
    message = f"{exchange} with Packet Identifier {id} got no {PACKETS[code].name}"
    if code not in _LAWS:
        law = subscribe.law_of_missing_answer(state, exchange)
        state.exercised[subscribe.ANSWERED[code]] += 1
        state.fault(law, "", message, at_fault=peer.direction)
        return
    state.exercised[acks.ACKED[code]] += 1
    law, *also = _LAWS[code]
    if peer.side == CLIENT and code != PUBCOMP and state.version != Version.V31:
        state.exercised[acks.ACKED_BY_CLIENT] += 1
        law, also = acks.ACKED_BY_CLIENT.law, [law, *also]
    # A receiver may take as long as it likes to process a message before PUBACK and PUBREC.
    severity = "" if code == PUBCOMP or _is_overtaken(peer, exchange) else "warning"
    state.fault(law, "", message, *also, severity=severity, at_fault=peer.direction)


def _repeat_unanswered(state: ConnectionState, peer: Peer, id: int, exchange: IdentifierInUse) -> None:
    state.exercised[acks.PUBREC_REPEATED] += 1
    message = f"{exchange} with Packet Identifier {id} was sent again, but answered only once"
    state.fault(_AGAIN[exchange.qos], "", message, severity="warning", at_fault=peer.direction)
