"""A quick look at values, for the many packets in which nothing is wrong."""

from collections.abc import Callable
from typing import Any

from ..spec.fields import Field, Packet, Property
from ..spec.limits import InTable, Limit
from ..spec.packets import Connack, Connect, Disconnect, Puback, Pubcomp, Publish, Pubrec, Pubrel, Suback
from ..spec.properties import BY_KEY, PROPERTIES
from ..spec.terms import Version


def sound(packet: Packet, version: Version) -> bool:
    """Return True only for a packet in which `lint` finds no error.

    The packet was built, or was read from bytes that the decoder had no finding for. False
    means no more than that the full look is needed.
    """
    check = _CHECKS.get(type(packet))
    return check is not None and all(_field(packet, each, version) for each in packet.layout) and check(packet)


def _field(packet: Packet, field: Field, version: Version) -> bool:
    value = getattr(packet, field.key)
    if value is None or not field.spoken(version):
        return True
    if field.shape == "properties":
        return _properties(packet.name, value)
    if field.shape == "group":
        return False
    if field.shape == "list":
        return all(_kept(field, field.each, each, version) for each in value) and bool(value)
    return _kept(field, field.limits, value, version)


def _kept(field: Field | None, limits: tuple[Limit, ...], value: Any, version: Version) -> bool:
    if isinstance(value, str) and not value.isprintable():
        return False
    return not any(limit.law.id(version) and _broken(field, limit, value, version) for limit in limits)


def _broken(field: Field | None, limit: Limit, value: Any, version: Version) -> bool:
    if isinstance(limit, InTable):
        names: Any = field.names if field else None
        return not names.legal(value, version)
    return bool(limit.broken(value))


def _properties(packet: str, properties: tuple[Property, ...]) -> bool:
    seen: set[int] = set()
    for id, value in properties:
        row = PROPERTIES.get(id)
        if row is None or packet not in row.packets or (id in seen and packet not in row.repeatable):
            return False
        seen.add(id)
        texts = value if isinstance(value, tuple) else (value,)
        if not all(_kept(None, row.limits, text, Version.V5) for text in texts):
            return False
    return True


_ALIAS = BY_KEY["topic_alias"].id
_AUTHENTICATION_DATA = BY_KEY["authentication_data"].id
_SUBSCRIPTION = BY_KEY["subscription_identifier"].id


def _publish(packet: Any) -> bool:
    ids = {id for id, _ in packet.properties}
    if _SUBSCRIPTION in ids or (packet.dup and not packet.qos):
        return False
    return bool(packet.topic or _ALIAS in ids) and not (packet.qos and packet.packet_id is None)


def _connect(packet: Any) -> bool:
    derived = (
        packet.username_flag,
        packet.password_flag,
        packet.will_flag,
        packet.protocol_name,
        packet.protocol_level,
    )
    alone = packet.username is None and packet.password is not None
    return derived == (None,) * 5 and not (
        packet.will_qos or packet.will_retain or alone or packet.client_id == "" or packet.properties
    )


def _connack(packet: Any) -> bool:
    alone = any(id == _AUTHENTICATION_DATA for id, _ in packet.properties)
    return not (packet.session_present and packet.reason_code) and not alone


def _disconnect(packet: Any) -> bool:
    return not packet.reason_code and not packet.properties


def _ack(packet: Any) -> bool:
    return True


_CHECKS: dict[type[Packet], Callable[[Any], bool]] = {
    Publish: _publish,
    Connect: _connect,
    Connack: _connack,
    Disconnect: _disconnect,
    **dict.fromkeys((Puback, Pubrec, Pubrel, Pubcomp, Suback), _ack),
}
