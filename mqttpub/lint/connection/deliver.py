"""What a server delivers, compared with the subscriptions of the client (5.0: 3.3.4, 3.8.4)."""

from ...spec.packets import Publish
from ...spec.properties import SUBSCRIPTION_IDENTIFIER
from ...spec.versions import Direction
from ..registry import InRuns, TestPoint, cite, rule
from .state import ConnectionState, Peer, Stretch
from .subscriptions import LONGEST, MOST, Match

_IDENTIFIER = SUBSCRIPTION_IDENTIFIER.id

_MATCHES = cite("3.3.2-3", "3.3.2-3")
_HIDDEN = cite("4.7.2-1", "4.7.2-1")
_QOS = cite("3.8.4-8", "3.8.4-6", "3.8/delivery")
_ONLY_NEW = cite("3.3.1-10")
_NEVER = cite("3.3.1-11")
_INCLUDED = cite("3.3.4-3")
_ALL = cite("3.3.4-4")
_OWN = cite("3.3.4-5")

DELIVERED = TestPoint(_MATCHES, _HIDDEN, _QOS)
SHARED = TestPoint(cite("4.8.2-3"))
NOT_RETAINED = TestPoint(cite("3.3.1-12", "3.3.1-9", "2.1/retain-live"))
BY_HANDLING = {1: TestPoint(_ONLY_NEW), 2: TestPoint(_NEVER)}
IDENTIFIED = TestPoint(_INCLUDED, _ALL, _OWN)
ONLY_SHARED = TestPoint(cite("4.8.2/retained"))


def _until_unsubscribed(stretch: Stretch, row: int, stop: int) -> int:
    """Return the first message that is retained, or not one that the client subscribed for in the simplest way."""
    state, columns = stretch.state, stretch.columns
    if not state.new_session or state.subscriptions.full:
        return stop
    matching = state.subscriptions.matching
    for at, (topic, first) in enumerate(zip(columns.topic[row:stop], columns.first[row:stop], strict=True), row):
        match = matching(topic)
        if first & 1 or not match.filters or match.identifiers or first >> 1 & 3 > match.most:
            return at
    return stop


def _count_delivered(stretch: Stretch, row: int, stop: int) -> None:
    state = stretch.state
    if not state.new_session or state.subscriptions.full:
        return
    stretch.count(DELIVERED, stop - row)
    stretch.count(NOT_RETAINED, stop - row)
    topics = stretch.columns.topic[row:stop]
    shared = (topic for topic in set(topics) if state.subscriptions.matching(topic).shared)
    count = sum(map(topics.count, shared))
    stretch.count(SHARED, count)
    stretch.count(ONLY_SHARED, count)


@rule(Publish, sender=Direction.SERVER, runs=InRuns(_until_unsubscribed, _count_delivered))
def delivered(state: ConnectionState, packet: Publish, peer: Peer) -> None:
    """A message matches a subscription of this connection, with the QoS, RETAIN and identifiers that this demands."""
    topic = state.topic
    if not state.new_session or topic is None or state.subscriptions.full:
        return
    state.exercised[DELIVERED] += 1
    match = state.subscriptions.matching(topic)
    if not match.filters:
        _no_subscription(state, topic)
        return
    if match.shared:
        state.exercised[SHARED] += 1
        state.exercised[ONLY_SHARED] += 1
    if packet.qos > match.most:
        _qos_too_high(state, packet, match)
    if not packet.retain:
        state.exercised[NOT_RETAINED] += 1
    elif not packet.dup:
        _retained(state, topic, match)
    if match.identifiers:
        _check_identifiers(state, packet, match)


def _no_subscription(state: ConnectionState, topic: str) -> None:
    shown = ascii(topic if len(topic) <= 60 else f"{topic[:60]}...")
    if state.subscriptions.only_hidden(topic):
        message = f"Topic Name {shown} begins with $, but the client's filters that match begin with a wildcard"
        # A server may have subscribed for the client (4.5), and nothing on the connection shows it.
        state.fault(_HIDDEN, "topic", message, _MATCHES, severity="warning")
    else:
        state.fault(_MATCHES, "topic", f"Topic Name {shown} matches no Topic Filter of this client")


def _qos_too_high(state: ConnectionState, packet: Publish, match: Match) -> None:
    law, also = (SHARED.law, [_QOS]) if match.shared and SHARED.law.id(state.version) else (_QOS, [])
    message = f"QoS is {packet.qos}, but the matching subscriptions were granted at most {match.most}"
    state.fault(law, "qos", message, *also)


def _retained(state: ConnectionState, topic: str, match: Match) -> None:
    """Check that RETAIN 1 does not come more often than subscriptions asked for retained messages."""
    matching = match.filters
    if any(each.keeps_retain for each in matching) or len(topic) > LONGEST:
        return
    if match.shared:
        message = "RETAIN is 1, but all matching subscriptions are shared, and without Retain As Published"
        state.fault(ONLY_SHARED.law, "retain", message)
        return
    counts = state.retained
    if topic not in counts and len(counts) >= MOST:
        return
    state.exercised[NOT_RETAINED] += 1
    counts[topic] = counts.get(topic, 0) + 1
    handling = set().union(*(each.retain_handlings for each in matching if not each.shared))
    for value in handling & BY_HANDLING.keys():
        state.exercised[BY_HANDLING[value]] += 1
    allowed = sum(each.sendings for each in matching)
    if counts[topic] <= allowed:
        return
    message = "RETAIN is 1, but "
    if handling == {2}:
        state.fault(_NEVER, "retain", f"{message}all matching subscriptions have Retain Handling 2")
    elif 0 not in handling:
        state.fault(_ONLY_NEW, "retain", f"{message}the matching subscriptions have Retain Handling 1 and are not new")
    else:
        state.fault(
            NOT_RETAINED.law, "retain", f"{message}the retained message of this topic was sent for each subscription"
        )


def _check_identifiers(state: ConnectionState, packet: Publish, match: Match) -> None:
    state.exercised[IDENTIFIED] += 1
    known = match.identifiers
    given = {value for id, value in packet.properties if id == _IDENTIFIER}
    if not given:
        if not any(each.nameless or each.ended for each in match.filters):
            message = f"PUBLISH has no Subscription Identifier, but its subscriptions have {_listed(known)}"
            state.fault(_INCLUDED, "properties", message, _ALL, _OWN)
    elif strange := given - known:
        message = f"Subscription Identifier is {min(strange)}, but the matching subscriptions have {_listed(known)}"
        state.fault(_INCLUDED, "properties.subscription_identifier", message, _OWN)
    elif 1 < len(given) < len({each.text for each in match.filters if each.identifiers and not each.ended}):
        message = f"PUBLISH has {len(given)} Subscription Identifiers, but more of the matching subscriptions have one"
        state.fault(_ALL, "properties.subscription_identifier", message, severity="warning")


def _listed(numbers: frozenset[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:8]))
    return shown if len(numbers) <= 8 else f"{shown} and {len(numbers) - 8} more"
