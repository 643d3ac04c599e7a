"""SUBSCRIBE and UNSUBSCRIBE: what a server supports, and the answers."""

from typing import Any

from ...common.words import counted
from ...spec.constraints import SHARE, Law
from ...spec.packets import Suback, Subscribe, Unsuback, Unsubscribe
from ...spec.properties import BY_KEY
from ...spec.versions import Direction, Version
from .must_close import went_on
from .publish import SUBACK, UNSUBACK
from .registry import Occasion, cite, on, value_of
from .state import End, Exchange, State

_IDENTIFIER = BY_KEY["subscription_identifier"].id

_BELONGS = cite("2.2.1-6", "2.3.1-7", "3.11/id")
_SUBACK_BELONGS = cite("3.8.4-2", "3.8.4-2", "3.9/id")
_UNSUBACK_BELONGS = cite("3.10.4-5", "3.10.4-4", "3.11/id")
_ONE_SUBACK = cite("3.8.4-5", "3.8.4-4")
_ONE_UNSUBACK = cite("3.10.4-6", "3.10.4-6")
_UNASKED = cite("3.13/unasked", "3.13/unasked", "4.2/which")
_COUNT = cite("3.8.4-6", "3.8.4-5", "3.9/count")
_EACH = cite("3.8.4-7", "3.8.4-5")
_UNSUBACK_COUNT = cite("3.11.3-1")
_GRANTED = cite(v31="3.9/granted")
_WILDCARDS = cite("3.2.2.3.11/wildcard")
_IDENTIFIERS = cite("3.2.2.3.12/identifier")
_SHARED = cite("3.2.2.3.13/shared")
_ANSWER = {SUBACK: cite("3.8.4-1", "3.8.4-1", "3.8/suback"), UNSUBACK: cite("3.10.4-4", "3.10.4-4", "3.10/unsuback")}
_NOTHING_DELETED = cite("3.10.4-5", "3.10.4-5")

SUBACKED = Occasion(_ANSWER[SUBACK], _BELONGS, _SUBACK_BELONGS, _COUNT, _EACH, _GRANTED, _UNASKED)
SEVERAL = {SUBACK: Occasion(_ONE_SUBACK), UNSUBACK: Occasion(_ONE_UNSUBACK)}
UNSUBACKED = Occasion(_ANSWER[UNSUBACK], _BELONGS, _UNSUBACK_BELONGS, _NOTHING_DELETED, _UNSUBACK_COUNT, _UNASKED)
WITH_WILDCARD = Occasion(_WILDCARDS)
WITH_IDENTIFIER = Occasion(_IDENTIFIERS)
SHARING = Occasion(_SHARED)


@on(Subscribe, sender=Direction.CLIENT)
def subscribed(state: State, packet: Subscribe, end: End) -> None:
    """SUBSCRIBE asks only for what the server supports."""
    identifier = value_of(packet.properties, _IDENTIFIER)
    if end.limits.known and state.version == Version.V5:
        _supported(state, packet, end, identifier)
    for each in packet.subscriptions:
        state.subscriptions.ask(each, identifier, state.number)


def _supported(state: State, packet: Subscribe, end: End, identifier: int | None) -> None:
    limits = end.limits
    told = f"(packet {limits.number})"
    if identifier is not None:
        state.counts[WITH_IDENTIFIER] += 1
        if not limits.identifiers:
            message = f"Subscription Identifier is there, but Subscription Identifier Available is 0 {told}"
            state.fault(_IDENTIFIERS, "properties.subscription_identifier", message)
    for index, each in enumerate(packet.subscriptions):
        path = f"subscriptions.{index}.filter"
        if set(each.filter) & {"+", "#"}:
            state.counts[WITH_WILDCARD] += 1
            if not limits.wildcards:
                message = f"subscribe.{path} has a wildcard, but Wildcard Subscription Available is 0 {told}"
                state.fault(_WILDCARDS, path, message)
        if each.filter.startswith(SHARE):
            state.counts[SHARING] += 1
            if not limits.shared:
                message = f"subscribe.{path} is shared, but Shared Subscription Available is 0 {told}"
                state.fault(_SHARED, path, message)


@on(Unsubscribe, sender=Direction.CLIENT)
def unsubscribed(state: State, packet: Unsubscribe, end: End) -> None:
    """UNSUBSCRIBE ends subscriptions, from its answer on."""
    for filter in packet.filters:
        state.subscriptions.end(filter)


@on(Suback, sender=Direction.SERVER)
def suback(state: State, packet: Suback, end: End) -> None:
    """SUBACK belongs to a SUBSCRIBE and has a code for each of its filters."""
    exchange = _request(state, packet, end, SUBACK)
    if exchange is None:
        return
    state.counts[SUBACKED] += 1
    codes = packet.reason_codes
    if len(codes) != exchange.count:
        also = (_EACH,) if len(codes) < exchange.count else ()
        message = (
            f"SUBACK has {counted(len(codes), 'code')}, but {exchange} has {counted(exchange.count, 'Topic Filter')}"
        )
        state.fault(_COUNT, "reason_codes", message, *also)
    for index, (each, code) in enumerate(zip(exchange.filters, codes, strict=False)):
        if code in (1, 2) and code > each.qos:
            message = f"suback.reason_codes.{index} grants QoS {code}, but {exchange} asked for {each.qos}"
            state.fault(_GRANTED, f"reason_codes.{index}", message)
        state.subscriptions.grant(each.filter, code)


@on(Unsuback, sender=Direction.SERVER)
def unsuback(state: State, packet: Unsuback, end: End) -> None:
    """UNSUBACK belongs to an UNSUBSCRIBE and, since 5.0, has a code for each of its filters."""
    exchange = _request(state, packet, end, UNSUBACK)
    if exchange is None:
        return
    state.counts[UNSUBACKED] += 1
    for filter in exchange.filters:
        state.subscriptions.ended(filter, state.number)
    if state.version == Version.V5 and len(packet.reason_codes) != exchange.count:
        message = f"UNSUBACK has {counted(len(packet.reason_codes), 'code')}"
        message = f"{message}, but {exchange} has {counted(exchange.count, 'Topic Filter')}"
        state.fault(_UNSUBACK_COUNT, "reason_codes", message)


def _request(state: State, packet: Any, end: End, code: int) -> Exchange | None:
    """Return the request that an answer belongs to; its wait is over."""
    id = packet.packet_id
    exchange = end.peer.exchanges.get(id)
    if exchange is not None and exchange.awaits == code:
        end.peer.finish(id, exchange)
        if state.spoiled:
            went_on(state, packet.name, exchange.number)
        state.held -= exchange.size
        if exchange.count > 1:
            state.counts[SEVERAL[code]] += 1
        return exchange
    if id in end.peer.muddled or (exchange is None and end.peer.overdue(id)):
        return None
    if exchange is None and id in end.peer.requests_over:
        _twice(state, packet, end, code)
    elif state.complete and id:
        _astray(state, packet, end, exchange, code)
    return None


def _twice(state: State, packet: Any, end: End, code: int) -> None:
    several = _ONE_SUBACK if code == SUBACK else _ONE_UNSUBACK
    law = several if packet.packet_id in end.peer.several_over and several.id(state.version) else _UNASKED
    message = f"{packet.name} for Packet Identifier {packet.packet_id} comes again, but its request was answered"
    state.fault(law, "packet_id", message)


def _astray(state: State, packet: Any, end: End, exchange: Exchange | None, code: int) -> None:
    asked = "SUBSCRIBE" if code == SUBACK else "UNSUBSCRIBE"
    message = f"{packet.name} for Packet Identifier {packet.packet_id}"
    if exchange is not None:
        state.fault(_BELONGS, "packet_id", f"{message}, but that belongs to {exchange}")
    elif any(each.awaits == code for each in end.peer.exchanges.values()):
        law = _SUBACK_BELONGS if code == SUBACK else _UNSUBACK_BELONGS
        state.fault(law, "packet_id", f"{message}, but the {asked} in flight has another", _BELONGS)
    else:
        law = _UNASKED if state.version != Version.V31 else (_SUBACK_BELONGS if code == SUBACK else _UNSUBACK_BELONGS)
        # Before 5.0 nothing is said of it.
        severity = "" if state.version == Version.V5 else "warning"
        state.fault(law, "packet_id", f"{message}, but no {asked} awaits it", severity=severity)


def unanswered(state: State, exchange: Exchange) -> Law:
    """Return the statement that a request without an answer breaks."""
    if exchange.awaits == UNSUBACK and not any(state.subscriptions.had(each) for each in exchange.filters):
        return _NOTHING_DELETED if state.version != Version.V31 else _ANSWER[UNSUBACK]
    return _ANSWER[exchange.awaits]
