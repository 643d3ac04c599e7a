"""SUBSCRIBE and UNSUBSCRIBE: what a server supports, and the answers (5.0: 3.8 to 3.11)."""

from typing import Any

from ...common.words import counted
from ...spec.constraints import SHARE, StatementRef
from ...spec.packets import Suback, Subscribe, Unsuback, Unsubscribe
from ...spec.properties import SUBSCRIPTION_IDENTIFIER, value_of
from ...spec.versions import V5, V31, Direction
from ...traffic.topics import has_wildcard
from ..registry import TestPoint, cite, rule
from .must_close import check_server_closed
from .publish import SUBACK, UNSUBACK
from .state import ConnectionState, IdentifierInUse, Peer

_BELONGS = cite("2.2.1-6", "2.3.1-7", "3.11/id")
_SAME_ID = {SUBACK: cite("3.8.4-2", "3.8.4-2", "3.9/id"), UNSUBACK: cite("3.10.4-5", "3.10.4-4", "3.11/id")}
_ONE_ANSWER = {SUBACK: cite("3.8.4-5", "3.8.4-4"), UNSUBACK: cite("3.10.4-6", "3.10.4-6")}
_UNASKED = cite("3.13/unasked", "3.13/unasked", "4.2/which")
_COUNT = cite("3.8.4-6", "3.8.4-5", "3.9/count")
_EACH = cite("3.8.4-7", "3.8.4-5")
_UNSUBACK_COUNT = cite("3.11.3-1")
_GRANTED = cite("3.8.4/granted", "3.8.4/granted", "3.9/granted")
_ANSWER = {SUBACK: cite("3.8.4-1", "3.8.4-1", "3.8/suback"), UNSUBACK: cite("3.10.4-4", "3.10.4-4", "3.10/unsuback")}
_NOTHING_DELETED = cite("3.10.4-5", "3.10.4-5")

ANSWERED = {
    SUBACK: TestPoint(_ANSWER[SUBACK], _BELONGS, _SAME_ID[SUBACK], _COUNT, _EACH, _GRANTED, _UNASKED),
    UNSUBACK: TestPoint(_ANSWER[UNSUBACK], _BELONGS, _SAME_ID[UNSUBACK], _NOTHING_DELETED, _UNSUBACK_COUNT, _UNASKED),
}
SEVERAL_FILTERS = {code: TestPoint(law) for code, law in _ONE_ANSWER.items()}
WITH_WILDCARD = TestPoint(cite("3.2.2.3.11/wildcard"))
WITH_IDENTIFIER = TestPoint(cite("3.2.2.3.12/identifier"))
SHARED = TestPoint(cite("3.2.2.3.13/shared"))
_REQUESTS = {SUBACK: "SUBSCRIBE", UNSUBACK: "UNSUBSCRIBE"}


@rule(Subscribe, sender=Direction.CLIENT)
def subscribed(state: ConnectionState, packet: Subscribe, peer: Peer) -> None:
    """SUBSCRIBE asks only for what the server supports."""
    identifier = value_of(packet.properties, SUBSCRIPTION_IDENTIFIER)
    if peer.limits.known and state.version == V5:
        _check_supported(state, packet, peer, identifier)
    for each in packet.subscriptions:
        state.subscriptions.ask(each, identifier, state.number)


def _check_supported(state: ConnectionState, packet: Subscribe, peer: Peer, identifier: int | None) -> None:
    limits = peer.limits
    announced = f"(packet {limits.number})"
    if identifier is not None:
        state.exercised[WITH_IDENTIFIER] += 1
        if not limits.identifiers:
            message = "SUBSCRIBE has a Subscription Identifier, but Subscription Identifier Available is 0"
            state.fault(WITH_IDENTIFIER.law, "properties.subscription_identifier", f"{message} {announced}")
    for index, each in enumerate(packet.subscriptions):
        path = f"subscriptions.{index}.filter"
        if has_wildcard(each.filter):
            state.exercised[WITH_WILDCARD] += 1
            if not limits.wildcards:
                message = f"subscribe.{path} has a wildcard, but Wildcard Subscription Available is 0 {announced}"
                state.fault(WITH_WILDCARD.law, path, message)
        if each.filter.startswith(SHARE):
            state.exercised[SHARED] += 1
            if not limits.shared:
                message = f"subscribe.{path} is shared, but Shared Subscription Available is 0 {announced}"
                state.fault(SHARED.law, path, message)


@rule(Unsubscribe, sender=Direction.CLIENT)
def unsubscribed(state: ConnectionState, packet: Unsubscribe, peer: Peer) -> None:
    """UNSUBSCRIBE ends subscriptions; its answer says from when on."""
    for filter in packet.filters:
        state.subscriptions.end(filter)


@rule(Suback, sender=Direction.SERVER)
def suback(state: ConnectionState, packet: Suback, peer: Peer) -> None:
    """SUBACK belongs to a SUBSCRIBE and has a code for each of its filters."""
    exchange = _request(state, packet, peer)
    if exchange is None:
        return
    codes = packet.reason_codes
    _check_count(state, packet, exchange, _COUNT, *((_EACH,) if len(codes) < exchange.filter_count else ()))
    for index, (each, code) in enumerate(zip(exchange.filters, codes, strict=False)):
        if code in (1, 2) and code > each.qos:
            message = f"suback.reason_codes.{index} grants QoS {code}, but {exchange} asked for {each.qos}"
            state.fault(_GRANTED, f"reason_codes.{index}", message)
        state.subscriptions.grant(each.filter, code, state.number)


@rule(Unsuback, sender=Direction.SERVER)
def unsuback(state: ConnectionState, packet: Unsuback, peer: Peer) -> None:
    """UNSUBACK belongs to an UNSUBSCRIBE and, since 5.0, has a code for each of its filters."""
    exchange = _request(state, packet, peer)
    if exchange is None:
        return
    for filter in exchange.filters:
        state.subscriptions.ended(filter, state.number)
    if state.version == V5:
        _check_count(state, packet, exchange, _UNSUBACK_COUNT)


def _check_count(
    state: ConnectionState, packet: Suback | Unsuback, exchange: IdentifierInUse, law: StatementRef, *also: StatementRef
) -> None:
    codes = len(packet.reason_codes)
    if codes != exchange.filter_count:
        message = f"{packet.name} has {counted(codes, 'code')}, but {exchange} has"
        state.fault(law, "reason_codes", f"{message} {counted(exchange.filter_count, 'Topic Filter')}", *also)


def _request(state: ConnectionState, packet: Any, peer: Peer) -> IdentifierInUse | None:
    """Return the request that a SUBACK or UNSUBACK belongs to, which is now answered; report one without a request."""
    id, code = packet.packet_id, packet.code
    exchange = peer.other.in_use.get(id)
    if exchange is not None and exchange.awaits == code:
        peer.other.finish(id, exchange)
        if state.must_close:
            check_server_closed(state, packet.name, exchange.number)
        state.held_bytes -= exchange.size_bytes
        state.exercised[ANSWERED[code]] += 1
        if exchange.filter_count > 1:
            state.exercised[SEVERAL_FILTERS[code]] += 1
        return exchange
    if id in peer.other.ids_reused_early or (exchange is None and peer.other.answers_repeat(id)):
        return None
    if exchange is None and id in peer.other.answered_requests:
        _answered_twice(state, packet, peer)
    elif state.complete and id:
        _unrequested(state, packet, peer, exchange)
    return None


def _answered_twice(state: ConnectionState, packet: Any, peer: Peer) -> None:
    one_answer = _ONE_ANSWER[packet.code]
    several = packet.packet_id in peer.other.answered_multiple and one_answer.id(state.version)
    message = f"{packet.name} for Packet Identifier {packet.packet_id} comes again, but its request was answered"
    state.fault(one_answer if several else _UNASKED, "packet_id", message)


def _unrequested(state: ConnectionState, packet: Any, peer: Peer, exchange: IdentifierInUse | None) -> None:
    code = packet.code
    message = f"{packet.name} for Packet Identifier {packet.packet_id}"
    if exchange is not None:
        state.fault(_BELONGS, "packet_id", f"{message}, but that belongs to {exchange}")
    elif any(each.awaits == code for _, each in peer.other.in_use.items()):
        message = f"{message}, but the {_REQUESTS[code]} in flight has another"
        state.fault(_SAME_ID[code], "packet_id", message, _BELONGS)
    else:
        law = _UNASKED if state.version != V31 else _SAME_ID[code]
        # Before 5.0 the text says nothing about it.
        severity = "" if state.version == V5 else "warning"
        state.fault(law, "packet_id", f"{message}, but no {_REQUESTS[code]} awaits it", severity=severity)


def law_of_missing_answer(state: ConnectionState, exchange: IdentifierInUse) -> StatementRef:
    """Return the statement that a request without an answer violates."""
    if exchange.awaits == UNSUBACK and not any(state.subscriptions.existed(each) for each in exchange.filters):
        return _NOTHING_DELETED if state.version != V31 else _ANSWER[UNSUBACK]
    return _ANSWER[exchange.awaits]
