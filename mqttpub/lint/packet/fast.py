"""A quick proof that nothing is wrong with a packet, for the many that are clean.

Imports no more than the tables of `spec`, because every publish needs it.
"""

from collections.abc import Callable
from typing import Any

from ...spec.constraints import SHARE, Constraint, InTable
from ...spec.declare import Field, Group, Packet, Property
from ...spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from ...spec.properties import (
    AUTHENTICATION_DATA,
    PAYLOAD_FORMAT_INDICATOR,
    PROPERTIES,
    SERVER_REFERENCE,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS,
)
from ...spec.versions import Direction, Version


def is_clean(packet: Packet, version: Version, direction: Direction | None = None) -> bool:
    """Return True only for a packet for which `check.lint` has no error and no warning.

    False means only that the full check is needed. The packet must have been built, or read from bytes without a
    finding of the decoder. Without `direction` the sender is assumed to be one that may send it.
    """
    check = _CHECKS.get(type(packet))
    if check is None or (direction and not packet.may_send(direction, version)):
        return False
    return all(_field(packet, each, version) for each in packet.layout) and check(packet, direction)


def _field(packet: Group, field: Field, version: Version) -> bool:
    value = getattr(packet, field.key)
    if value is None or not field.exists_in(version):
        return True
    if field.shape == "properties":
        return isinstance(packet, Packet) and _properties(packet.name, value)
    if field.shape == "group":
        return False
    if field.shape == "list":
        return all(_item(field, each, version) for each in value) and bool(value)
    return _is_valid(field, field.limits, value, version)


def _item(field: Field, item: Any, version: Version) -> bool:
    if isinstance(item, Group):
        return all(_field(item, each, version) for each in item.layout)
    return _is_valid(field, field.each, item, version)


def _is_valid(field: Field | None, limits: tuple[Constraint, ...], value: Any, version: Version) -> bool:
    if isinstance(value, str) and not value.isprintable():
        return False
    return not any(limit.ref.id(version) and _violates(field, limit, value, version) for limit in limits)


def _violates(field: Field | None, limit: Constraint, value: Any, version: Version) -> bool:
    if isinstance(limit, InTable):
        names: Any = field.names if field else None
        return not names.legal(value, version)
    return bool(limit.violation(value))


def _properties(packet: str, properties: tuple[Property, ...]) -> bool:
    seen: set[int] = set()
    for id, value in properties:
        row = PROPERTIES.get(id)
        if row is None or packet not in row.packets or (id in seen and packet not in row.repeatable):
            return False
        seen.add(id)
        texts = value if isinstance(value, tuple) else (value,)
        if not all(_is_valid(None, row.limits, text, Version.V5) for text in texts):
            return False
    return True


_ALIAS = TOPIC_ALIAS.id
_AUTHENTICATION_DATA = AUTHENTICATION_DATA.id
_REFERENCE = SERVER_REFERENCE.id
_SUBSCRIPTION = SUBSCRIPTION_IDENTIFIER.id
_TEXT = (PAYLOAD_FORMAT_INDICATOR.id, 1)
_NOBODY = 0x10
"""Reason Code No matching subscribers, which only a server can know."""


def _publish(packet: Any, direction: Direction | None) -> bool:
    ids = {id for id, _ in packet.properties}
    if _SUBSCRIPTION in ids or (packet.dup and not packet.qos):
        return False
    if not (packet.topic or _ALIAS in ids) or (packet.qos and packet.packet_id is None):
        return False
    if direction is Direction.CLIENT and packet.topic[:1] == "$":
        return False
    return _TEXT not in packet.properties or _is_text(packet.payload)


def _is_text(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def _connect(packet: Any, direction: Direction | None) -> bool:
    derived = ("username_flag", "password_flag", "will_flag", "protocol_name", "protocol_level")
    if any(getattr(packet, key) is not None for key in derived) or packet.client_id == "" or packet.properties:
        return False
    return not (packet.will_qos or packet.will_retain or (packet.username is None and packet.password is not None))


def _subscribe(packet: Any, direction: Direction | None) -> bool:
    return not any(each.no_local and each.filter.startswith(SHARE) for each in packet.subscriptions)


def _connack(packet: Any, direction: Direction | None) -> bool:
    alone = any(id in (_AUTHENTICATION_DATA, _REFERENCE) for id, _ in packet.properties)
    return not (packet.session_present and packet.reason_code) and not alone


def _disconnect(packet: Any, direction: Direction | None) -> bool:
    return not packet.reason_code and not packet.properties


def _message_ack(packet: Any, direction: Direction | None) -> bool:
    return direction is not Direction.CLIENT or packet.reason_code != _NOBODY


def _ack(packet: Any, direction: Direction | None) -> bool:
    return True


_CHECKS: dict[type[Packet], Callable[[Any, Direction | None], bool]] = {
    Publish: _publish,
    Connect: _connect,
    Connack: _connack,
    Disconnect: _disconnect,
    **dict.fromkeys((Puback, Pubrec), _message_ack),
    Subscribe: _subscribe,
    **dict.fromkeys((Pubrel, Pubcomp, Suback, Unsubscribe, Unsuback), _ack),
}
