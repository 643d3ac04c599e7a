"""Messages that a client published and receives itself: the copies compared with the originals.

Another client may have published the same topic and payload, so nothing here is more than a warning.
"""

from typing import Any

from ...spec.constraints import StatementRef
from ...spec.packets import Publish
from ...spec.properties import (
    CONTENT_TYPE,
    CORRELATION_DATA,
    MESSAGE_EXPIRY_INTERVAL,
    PAYLOAD_FORMAT_INDICATOR,
    RESPONSE_TOPIC,
    SUBSCRIPTION_IDENTIFIER,
    USER_PROPERTY,
    value_of,
)
from ...spec.versions import Direction
from ..registry import InRuns, TestPoint, cite, rule
from .published import MOST, PublishHistory, SentMessage, message_key
from .state import ConnectionState, Peer, Stretch
from .subscriptions import Match, SubscribedFilter

_USER = USER_PROPERTY.id
_SUBSCRIPTION = SUBSCRIPTION_IDENTIFIER.id

_UNCHANGED = (
    (PAYLOAD_FORMAT_INDICATOR, cite("3.3.2-4")),
    (RESPONSE_TOPIC, cite("3.3.2-15")),
    (CORRELATION_DATA, cite("3.3.2-16")),
    (CONTENT_TYPE, cite("3.3.2-20")),
)
_USERS = cite("3.3.2-17")
_USERS_ORDER = cite("3.3.2-18")
_QOS = cite("3.8.4-8", "3.8.4-6", "3.8/delivery")
_LOCAL = cite("3.8.3-3")
_ENDED = cite("3.10.4-2", "3.10.4-2")
_ENDED_ALSO = cite("3.10.4-1", "3.10.4-1")
_ORDER = cite("4.6.0-5", "4.6.0-6", "4.3/window")
_ORDER_ALSO = cite("4.6.0-6", "4.6.0-5")
_IDENTIFIERS = cite("3.3.4-3")
_REPLACED = cite("3.3.1-5", "3.3.1-5", "2.1/retain-keep")
_REPLACED_ALSO = cite(v311="3.3.1-7")
_REMOVED = cite("3.3.1-6", "3.3.1-10", "2.1/retain-empty")
_NOT_STORED = cite("3.3.1-8", "3.3.1-12")

CAME_BACK = TestPoint(_QOS, *(law for _, law in _UNCHANGED), _USERS, _USERS_ORDER, _LOCAL)
AGED = TestPoint(cite("3.3.2-6"))
OVERLAPPING = TestPoint(cite("3.3.4-2", "3.3.5-1"))
RETAIN_KEPT = TestPoint(cite("3.3.1-13"))
AFTER_END = TestPoint(_ENDED, _ENDED_ALSO)
IN_ORDER = TestPoint(_ORDER, _ORDER_ALSO)
RETAINED = TestPoint(_REPLACED, _REPLACED_ALSO, _REMOVED, _NOT_STORED)
RENAMED = TestPoint(cite("3.8.4-3"))
RETAINED_SENT = TestPoint(cite("3.3.1-7", "3.3.1-11"))

LEAST = 4
"""Bytes of the shortest payload that identifies a message."""
LARGEST = 4096
"""Largest size in bytes, without the payload, of a message that is remembered."""


# in runs


def _remember(stretch: Stretch, row: int, stop: int) -> None:
    """Do what `sent` does."""
    state, columns = stretch.state, stretch.columns
    if not state.new_session or not (state.subscriptions.known or stretch.retained(row, stop)):
        return
    for at in range(row, stop):
        first, payload = columns.first[at], stretch.payload(at)
        if columns.size[at] - len(payload) > LARGEST or not (state.subscriptions.known or first & 1):
            continue
        properties = stretch.run.item(at).packet.properties if stretch.run.has_properties(at) else ()  # type: ignore[union-attr]
        _add(state, columns.topic[at], payload, SentMessage(first >> 1 & 3, first & 1 > 0, properties,
                                                            stretch.first_number + at))  # fmt: skip


def _add(state: ConnectionState, topic: str, payload: bytes, message: SentMessage) -> None:
    if state.published is None:
        state.published = PublishHistory()
    state.published.add(message_key(topic, payload), message)


def _until_copy(stretch: Stretch, row: int, stop: int) -> int:
    """Return the first message that the client may have sent, or that is retained."""
    state, columns = stretch.state, stretch.columns
    if not state.new_session or state.subscriptions.full:
        return stop
    if stretch.retained(row, stop):
        stop = next(at for at in range(row, stop) if columns.first[at] & 1)
    if state.published is None:
        return stop
    sent = state.published.sent
    copies = (at for at in range(row, stop) if message_key(columns.topic[at], stretch.payload(at)) in sent)
    return next(copies, stop)


# packet by packet


@rule(Publish, sender=Direction.CLIENT, runs=InRuns(then=_remember))
def sent(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """Remember a message that the client may receive itself."""
    topic = state.topic
    if topic is None or not state.new_session or packet.dup:
        return
    if (state.subscriptions.known or packet.retain) and state.size_bytes - len(packet.payload) <= LARGEST:
        message = SentMessage(packet.qos, packet.retain, packet.properties or (), state.number)
        _add(state, topic, packet.payload, message)


@rule(Publish, sender=Direction.SERVER, runs=InRuns(until=_until_copy))
def received(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """Compare a message with the one that the client sent."""
    topic, history = state.topic, state.published
    if topic is None or not state.new_session or packet.dup or state.subscriptions.full:
        return
    if packet.retain:
        _check_empty_retained(state, packet, state.subscriptions.matching(topic))
    if history is None:
        return
    found = history.sent.get(message_key(topic, packet.payload))
    match = state.subscriptions.matching(topic)
    if found is None or found.sent_twice or len(packet.payload) < LEAST or not match.filters:
        return
    state.exercised[CAME_BACK] += 1
    found.highest_qos = max(found.highest_qos, packet.qos)
    if packet.retain and not any(each.keeps_retain for each in match.filters):
        _check_retained(state, found, topic, match, history)
        return
    _check_properties(state, packet, found)
    _check_subscriptions(state, packet, found, match)
    if match.identifiers:
        _check_identifiers(state, packet, found, match)
    if len(match.filters) == 1 and not match.shared:
        _check_single(state, packet, found, match.filters[0], topic, history)


def _warn(state: ConnectionState, law: StatementRef, path: str, message: str, *also: StatementRef) -> None:
    state.fault(law, path, message, *also, severity="warning")


def _check_empty_retained(state: ConnectionState, packet: Publish, match: Match) -> None:
    state.exercised[RETAINED_SENT] += 1
    if not packet.payload and not any(each.keeps_retain for each in match.filters):
        _warn(
            state,
            RETAINED_SENT.law,
            "retain",
            "RETAIN is 1 with an empty payload, but such a message is not kept",
        )


# properties


def _check_properties(state: ConnectionState, packet: Publish, found: SentMessage) -> None:
    for row, law in _UNCHANGED:
        given, was = value_of(packet.properties, row), value_of(found.properties, row)
        if given != was:
            path = f"properties.{row.key}" if given is not None else "properties"
            message = f"{row.label} is {_shown(given)}, but it was {_shown(was)} in packet {found.number}"
            _warn(state, law, path, message)
    _check_user_properties(state, packet, found)
    was = value_of(found.properties, MESSAGE_EXPIRY_INTERVAL)
    if was is not None:
        state.exercised[AGED] += 1
        given = value_of(packet.properties, MESSAGE_EXPIRY_INTERVAL)
        if given is None or given > was:
            path = "properties" if given is None else "properties.message_expiry_interval"
            message = f"Message Expiry Interval is {_shown(given)}, but it was {was} in packet {found.number}"
            _warn(state, AGED.law, path, message)


def _check_user_properties(state: ConnectionState, packet: Publish, found: SentMessage) -> None:
    given = [value for id, value in packet.properties or () if id == _USER]
    was = [value for id, value in found.properties if id == _USER]
    if given == was:
        return
    path = "properties.user_property" if given else "properties"
    if sorted(given) == sorted(was):
        _warn(state, _USERS_ORDER, path, f"the User Properties are in a different order than in packet {found.number}")
    else:
        _warn(state, _USERS, path, f"the User Properties differ from those of packet {found.number}")


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


# subscriptions


def _check_subscriptions(state: ConnectionState, packet: Publish, found: SentMessage, match: Match) -> None:
    if packet.qos > found.qos:
        message = f"QoS is {packet.qos}, but it was {found.qos} in packet {found.number}"
        _warn(state, _QOS, "qos", message)
    if not any(each.local for each in match.filters):
        message = (
            f"the client's own message (packet {found.number}) comes back, but all matching subscriptions have No Local"
        )
        _warn(state, _LOCAL, "topic", message)
    if all(each.keeps_retain and not each.drops_retain for each in match.filters):
        state.exercised[RETAIN_KEPT] += 1
        if packet.retain != found.retain:
            message = f"RETAIN is {packet.retain:d}, but it was {found.retain:d} in packet {found.number}"
            _warn(state, RETAIN_KEPT.law, "retain", f"{message}, and Retain As Published is 1")
    ended = [each.ended_at for each in match.filters]
    if all(ended):
        state.exercised[AFTER_END] += 1
        if min(ended) < found.number and max(ended) < found.number:
            message = f"the client's own message (packet {found.number}) comes back, but its subscription"
            _warn(state, _ENDED, "topic", f"{message} ended in packet {max(ended)}", _ENDED_ALSO)


def _check_identifiers(state: ConnectionState, packet: Publish, found: SentMessage, match: Match) -> None:
    """Check that a message has no Subscription Identifier of a subscription that was replaced before it was published.

    One that was published earlier may have waited with the older identifier.
    """
    replaced = [0 if each.shared else each.replaced_at for each in match.filters]
    if not all(replaced) or max(replaced) > found.number or not any(each.changed for each in match.filters):
        return
    state.exercised[RENAMED] += 1
    given = {value for id, value in packet.properties or () if id == _SUBSCRIPTION}
    old = given & match.identifiers - {each.identifier for each in match.filters}
    if old:
        message = f"Subscription Identifier is {min(old)}, but that subscription was replaced (packet {max(replaced)})"
        message = f"{message} before this message was published (packet {found.number})"
        _warn(state, RENAMED.law, "properties.subscription_identifier", message, _IDENTIFIERS)


def _check_single(
    state: ConnectionState,
    packet: Publish,
    found: SentMessage,
    filter: SubscribedFilter,
    topic: str,
    history: PublishHistory,
) -> None:
    """Compare a copy when only one subscription matches: its QoS and its order."""
    if filter.asked == 0 and not filter.changed and packet.qos < min(found.qos, filter.granted):
        message = f"QoS is {packet.qos}, but {found.qos} was published (packet {found.number})"
        _warn(state, _QOS, "qos", f"{message} and {filter.granted} granted")
    key = topic, found.qos
    state.exercised[IN_ORDER] += 1
    if found.number < history.last.get(key, 0):
        message = f"the message of packet {found.number} comes after that of packet {history.last[key]}"
        _warn(state, _ORDER, "topic", f"{message}, but it was published before it", _ORDER_ALSO)
    elif key in history.last or len(history.last) < MOST:
        history.last[key] = found.number


def _check_retained(
    state: ConnectionState, found: SentMessage, topic: str, match: Match, history: PublishHistory
) -> None:
    """Compare a retained message with the last one that the client published for the topic."""
    if topic not in history.retained:
        return
    number, key = history.retained[topic]
    if any(each.first <= max(number, found.number) for each in match.filters):
        return
    state.exercised[RETAINED] += 1
    if history.sent.get(key) is found or (found.number > number and found.retain):
        return
    older = f"the message of packet {found.number} is retained"
    if not found.retain:
        _warn(state, _NOT_STORED, "retain", f"{older}, but had RETAIN 0")
    elif not key[1]:
        _warn(state, _REMOVED, "retain", f"{older}, but packet {number} removed it")
    else:
        _warn(state, _REPLACED, "retain", f"{older}, but packet {number} replaced it", _REPLACED_ALSO)


def check_highest_qos(state: ConnectionState) -> None:
    """Check, when the connection ends, at which QoS the copies for overlapping subscriptions came (5.0: 3.3.4-2)."""
    if state.published is None or not state.new_session:
        return
    for (topic, _, _), each in state.published.sent.items():
        match = state.subscriptions.matching(topic)
        steady = all(one.asked == 0 and not one.changed and not one.ended for one in match.filters)
        if each.sent_twice or each.highest_qos < 0 or len(match.filters) < 2 or not steady:
            continue
        state.exercised[OVERLAPPING] += 1
        if each.highest_qos < min(each.qos, match.most):
            message = f"the message of packet {each.number} came back at QoS {each.highest_qos} at most"
            message = f"{message}, but it was published at {each.qos}, and {match.most} granted"
            _warn(state, OVERLAPPING.law, "", message)
