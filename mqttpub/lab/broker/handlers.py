"""What the broker does with each packet of a connected client."""

from collections.abc import Callable
from typing import Any

from ...spec.packets import (
    Auth,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from ...spec.properties import SESSION_EXPIRY_INTERVAL, SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS, value_of
from ...spec.reason_codes import FAILURE
from ...spec.versions import Version
from ...traffic.topics import has_wildcard, split_shared
from .connection import ClientConnection
from .message import Message
from .refusal import ALIAS as BAD_ALIAS
from .refusal import (
    IN_USE,
    NO_IDENTIFIERS,
    NO_QOS,
    NO_RETAIN,
    NO_SHARED,
    NO_SUBSCRIPTION,
    NO_WILDCARDS,
    NOT_FOUND,
    PROTOCOL,
    QUOTA,
    RECEIVE_MAXIMUM,
    SUCCESS,
    TOPIC,
    UNSPECIFIED,
    Refusal,
)
from .session import BrokerSession

NEW_ONLY = 1
"""Retain Handling: only for a subscription that was not there."""

WHY = {
    TOPIC: "this broker accepts no messages to this topic",
    QUOTA: "this broker has no room for another retained message",
    IN_USE: "a QoS 2 message with this Packet Identifier is not released",
    NOT_FOUND: "no message has this Packet Identifier",
    NO_SHARED: "this broker has no Shared Subscriptions",
    NO_IDENTIFIERS: "this broker keeps no Subscription Identifiers",
    NO_WILDCARDS: "this broker accepts no wildcards in a Topic Filter",
}
"""Reason Strings."""


def publish(connection: ClientConnection, packet: Publish) -> None:
    """Accept a message, answer it and pass it to the hub."""
    session = _session(connection)
    limits = connection.hub.limits
    topic = _topic(connection, packet)
    if packet.qos > limits.qos:
        raise Refusal(NO_QOS, f"QoS {packet.qos}, but this broker accepts {limits.qos} at most")
    if packet.retain and not limits.retain:
        raise Refusal(NO_RETAIN, "RETAIN is 1, but this broker keeps no retained messages")
    if _unreleased(connection, packet.packet_id):
        code = SUCCESS if packet.qos == 2 else IN_USE
        _acknowledge(connection, packet, code)
        return
    if packet.qos == 2 and connection.version == Version.V5 and len(session.incoming) >= limits.receive:
        text = f"{len(session.incoming) + 1} messages are unacknowledged, but Receive Maximum is {limits.receive}"
        raise Refusal(RECEIVE_MAXIMUM, text)
    message = Message(
        topic, packet.payload, qos=packet.qos, retain=packet.retain, properties=packet.properties,
        publisher=connection.name, arrived=connection.heard,
    )  # fmt: skip
    connection.hub.event("publish", connection.name, message.summary)
    _acknowledge(connection, packet, connection.hub.publish(message))


def _session(connection: ClientConnection) -> BrokerSession:
    assert connection.session is not None
    return connection.session


def _topic(connection: ClientConnection, packet: Publish) -> str:
    """Return the Topic Name, resolving a Topic Alias (5.0: 3.3.2.3.4)."""
    alias = value_of(packet.properties, TOPIC_ALIAS)
    if alias is None:
        return packet.topic
    highest = connection.hub.limits.aliases
    if not 0 < alias <= highest:
        raise Refusal(BAD_ALIAS, f"Topic Alias {alias}, but this broker accepts 1 to {highest}")
    if packet.topic:
        connection.alias_size += len(packet.topic) - len(connection.aliases.get(alias, ""))
        connection.aliases[alias] = packet.topic
        if connection.alias_size > connection.hub.limits.alias_size:
            raise Refusal(QUOTA, "the Topic Names of this connection's aliases are too long for this broker")
    if alias not in connection.aliases:
        raise Refusal(PROTOCOL, f"Topic Alias {alias} is not set (MQTT5-3.3.4/alias-unset)")
    return connection.aliases[alias]


def _unreleased(connection: ClientConnection, packet_id: int | None) -> bool:
    return packet_id in _session(connection).incoming


def _acknowledge(connection: ClientConnection, packet: Publish, code: int) -> None:
    if packet.packet_id is None:
        return
    if packet.qos == 2 and (code < FAILURE or connection.version < Version.V5):
        _session(connection).incoming.add(packet.packet_id)
    connection.acknowledge(Puback if packet.qos == 1 else Pubrec, packet.packet_id, code, WHY.get(code, ""))


def acknowledged(connection: ClientConnection, packet: Puback | Pubrec | Pubcomp) -> None:
    """Handle PUBACK, PUBREC and PUBCOMP for a message that was sent to the client."""
    reason = packet.reason_code or 0
    known = _session(connection).acknowledge(packet.code, packet.packet_id, reason)
    if not known:
        connection.hub.event("stray", connection.name, f"{packet.name} for {packet.packet_id}, which is not in use")
    if isinstance(packet, Pubrec) and reason < FAILURE:
        connection.acknowledge(Pubrel, packet.packet_id, *(() if known else (NOT_FOUND, WHY[NOT_FOUND])))


def release(connection: ClientConnection, packet: Pubrel) -> None:
    """Handle PUBREL: free the Packet Identifier of a QoS 2 message and answer with PUBCOMP."""
    known = _unreleased(connection, packet.packet_id)
    _session(connection).incoming.discard(packet.packet_id)
    connection.acknowledge(Pubcomp, packet.packet_id, *(() if known else (NOT_FOUND, WHY[NOT_FOUND])))


def subscribe(connection: ClientConnection, packet: Subscribe) -> None:
    """Make subscriptions, answer, then send the retained messages."""
    hub, session = connection.hub, _session(connection)
    identifier = value_of(packet.properties, SUBSCRIPTION_IDENTIFIER)
    in_use = connection.version == Version.V5 and _unreleased(connection, packet.packet_id)
    if identifier is not None and not hub.limits.identifiers:
        raise Refusal(NO_IDENTIFIERS, WHY[NO_IDENTIFIERS])
    # Before any subscription is made: one that is not offered may end the connection.
    refused = [IN_USE if in_use else _not_offered(connection, wanted) for wanted in packet.subscriptions]
    codes = []
    served = []
    for wanted, no in zip(packet.subscriptions, refused, strict=True):
        new = wanted.filter not in session.filters
        code = no or hub.subscribe(session, wanted, identifier)
        codes.append(_granted(connection.version, code, wanted))
        if code < FAILURE and (not wanted.retain_handling or (new and wanted.retain_handling == NEW_ONLY)):
            served.append((wanted, code))
        hub.event("subscribe", connection.name, f"{wanted.filter}, {codes[-1]:#04x}")
    connection.answer(Suback(packet_id=packet.packet_id, reason_codes=tuple(codes)))
    for wanted, qos in served:
        hub.send_retained(session, wanted, qos, identifier)


def _not_offered(connection: ClientConnection, wanted: Subscription) -> int:
    """Return the Reason Code for a subscription that this broker does not offer, 0 for all others.

    Raises Refusal in MQTT 5, where CONNACK has said so (5.0: 3.2.2.3.11, 3.2.2.3.13).
    """
    limits, (share, pattern) = connection.hub.limits, split_shared(wanted.filter)
    code = NO_SHARED if share and not limits.shared else SUCCESS
    code = code or (NO_WILDCARDS if has_wildcard(pattern) and not limits.wildcards else SUCCESS)
    if code and connection.version == Version.V5:
        raise Refusal(code, WHY[code])
    return code


def _granted(version: Version, code: int, wanted: Subscription) -> int:
    """Return what SUBACK says; 3.1.1 has one code for a refusal, and 3.1 none (3.8/unauthorised)."""
    if code < FAILURE:
        return code
    return {Version.V5: code, Version.V311: UNSPECIFIED, Version.V31: wanted.qos}[version]


def unsubscribe(connection: ClientConnection, packet: Unsubscribe) -> None:
    """End subscriptions."""
    session = _session(connection)
    ended = [connection.hub.unsubscribe(session, pattern) for pattern in packet.filters]
    codes = tuple(SUCCESS if each else NO_SUBSCRIPTION for each in ended)
    connection.answer(
        Unsuback(packet_id=packet.packet_id, reason_codes=codes if connection.version == Version.V5 else ())
    )


def ping(connection: ClientConnection, packet: Pingreq) -> None:
    """Answer PINGREQ."""
    connection.answer(Pingresp())


def disconnect(connection: ClientConnection, packet: Disconnect) -> None:
    """Close as the client asks, with or without its will (5.0: 3.14.4)."""
    session = _session(connection)
    expiry = value_of(packet.properties, SESSION_EXPIRY_INTERVAL)
    if expiry and not session.expiry:
        raise Refusal(PROTOCOL, f"Session Expiry Interval {expiry}, but it was 0 in CONNECT (MQTT5-3.14.2.2.2/expiry)")
    session.expiry = session.expiry if expiry is None else min(expiry, connection.hub.limits.expiry)
    if not packet.reason_code:
        session.will = None
    connection.close(f"the client disconnects{f' with 0x{packet.reason_code:02x}' if packet.reason_code else ''}")


def authenticate(connection: ClientConnection, packet: Auth) -> None:
    """Refuse re-authentication, which this broker does not offer."""
    raise Refusal(PROTOCOL, "AUTH, but CONNECT named no Authentication Method (MQTT5-4.12.0-7)")


HANDLERS: dict[int, Callable[[ClientConnection, Any], None]] = {
    Publish.code: publish,
    Puback.code: acknowledged,
    Pubrec.code: acknowledged,
    Pubrel.code: release,
    Pubcomp.code: acknowledged,
    Subscribe.code: subscribe,
    Unsubscribe.code: unsubscribe,
    Pingreq.code: ping,
    Disconnect.code: disconnect,
    Auth.code: authenticate,
}
