"""A quick proof that nothing is wrong with a packet, for the many that are clean.

Imports no more than the tables of `spec`, because every publish needs it.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from ...spec.constraints import SHARE, Constraint, InTable, Pattern
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
from ...wire.types import PAIR, STRING, WireType


def is_clean(packet: Packet, version: Version, direction: Direction | None = None) -> bool:
    """Return True only for a packet for which `check.lint` has no error and no warning.

    False means only that the full check is needed. The packet must have been built, or read from bytes without a
    finding of the decoder. Without `direction` the sender is assumed to be one that may send it.
    """
    check = _quick.get(type(packet))
    if check is None or (direction and not packet.may_send(direction, version)):
        return False
    kind = type(packet), version
    for key, is_valid in _checks.get(kind) or _value_checks(*kind):
        value = getattr(packet, key)
        if value is not None and not is_valid(value):
            return False
    return check(packet, direction)


_ValueCheck = Callable[[Any], bool]
_checks: dict[tuple[type[Group], Version], tuple[tuple[str, _ValueCheck], ...]] = {}
"""The fields of packets that may hold something wrong, each with the check of its value.

With the demands found once, a PUBLISH with three properties takes 5 us instead of 23 (timeit).
"""


def _value_checks(group: type[Group], version: Version) -> tuple[tuple[str, _ValueCheck], ...]:
    """Return the checks of a packet or an item, and keep them."""
    fields = (field for field in group.layout if field.exists_in(version))
    found = ((field.key, _of_field(group, field, version)) for field in fields)
    checks = _checks[group, version] = tuple((key, check) for key, check in found if check is not None)
    return checks


def _of_field(group: type[Group], field: Field, version: Version) -> _ValueCheck | None:
    if field.shape == "properties":
        return partial(_properties, group.name) if issubclass(group, Packet) else _never
    if field.shape == "group":
        return _never
    if field.shape != "list":
        return _of_value(field.type, field, field.limits, version)
    check = _of_item(field, version)
    return lambda items: bool(items) and (check is None or all(map(check, items)))


def _never(value: Any) -> bool:
    return False


def _of_item(field: Field, version: Version) -> _ValueCheck | None:
    if not (isinstance(field.item, type) and issubclass(field.item, Group)):
        return _of_value(field.item, field, field.each, version)
    checks = _value_checks(field.item, version)

    def check(item: Any) -> bool:
        values = ((getattr(item, key), is_valid) for key, is_valid in checks)
        return all(value is None or is_valid(value) for value, is_valid in values)

    return check


def _more_than_printable(limits: tuple[Constraint, ...], version: Version) -> list[Constraint]:
    """Return the constraints of a version that a printable text can violate: all but patterns."""
    return [limit for limit in limits if limit.ref.id(version) and not isinstance(limit, Pattern)]


def _of_value(
    type: WireType | None, field: Field | None, limits: tuple[Constraint, ...], version: Version
) -> _ValueCheck | None:
    """Return the check of a value of a data type, None for bits; None if it can hold nothing wrong."""
    given = _more_than_printable(limits, version)
    violations = [limit.violation for limit in given if not isinstance(limit, InTable)]
    names: Any = field.names if field and len(violations) < len(given) else None
    if type not in (STRING, PAIR) and not given:
        return None

    def check(value: Any) -> bool:
        if isinstance(value, str) and not value.isprintable():
            return False
        if names is not None and not names.legal(value, version):
            return False
        return not violations or all(not violation(value) for violation in violations)

    return (lambda pair: all(map(check, pair))) if type is PAIR else check


def _properties(packet: str, properties: tuple[Property, ...]) -> bool:
    seen: set[int] = set()
    for id, value in properties:
        row = PROPERTIES.get(id)
        if row is None or packet not in row.packets or (id in seen and packet not in row.repeatable):
            return False
        seen.add(id)
        check = _property_check(id)
        if check is not None and not check(value):
            return False
    return True


@cache
def _property_check(id: int) -> _ValueCheck | None:
    row = PROPERTIES[id]
    return _of_value(row.type, None, row.limits, Version.V5)


def is_free(id: int) -> bool:
    """Whether a PUBLISH is as clean with any other value of a property, of the same length and as printable."""
    return not _more_than_printable(PROPERTIES[id].limits, Version.V5)


_ALIAS = TOPIC_ALIAS.id
_AUTHENTICATION_DATA = AUTHENTICATION_DATA.id
_REFERENCE = SERVER_REFERENCE.id
_SUBSCRIPTION = SUBSCRIPTION_IDENTIFIER.id
_TEXT = (PAYLOAD_FORMAT_INDICATOR.id, 1)
_NOBODY = 0x10
"""Reason Code No matching subscribers, which only a server can know."""


def is_clean_with_topic(packet: Publish) -> bool:
    """Return what `is_clean` does for a PUBLISH, given that its Topic Name is valid from its sender."""
    if (packet.dup and not packet.qos) or packet.qos > 2 or (packet.qos and not packet.packet_id):
        return False
    return not packet.properties or (_properties(packet.name, packet.properties) and _suit(packet))


def clean_publish(packet: Any, direction: Direction | None) -> bool:
    """Whether a PUBLISH certainly breaks no rule across fields."""
    if (packet.dup and not packet.qos) or (packet.qos and packet.packet_id is None):
        return False
    if not packet.topic and not any(id == _ALIAS for id, _ in packet.properties):
        return False
    return not (direction is Direction.CLIENT and packet.topic[:1] == "$") and _suit(packet)


def _suit(packet: Publish) -> bool:
    """Whether properties of a PUBLISH that are right by themselves suit its payload, and a client may send them."""
    for property in packet.properties:
        if property[0] == _SUBSCRIPTION or (property == _TEXT and not is_text(packet.payload)):
            return False
    return True


def is_text(payload: bytes) -> bool:
    """Whether a payload is UTF-8."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True


def clean_connect(packet: Any, direction: Direction | None) -> bool:
    """Whether a CONNECT certainly breaks no rule across fields."""
    derived = ("username_flag", "password_flag", "will_flag", "protocol_name", "protocol_level")
    if any(getattr(packet, key) is not None for key in derived) or packet.client_id == "" or packet.properties:
        return False
    return not (packet.will_qos or packet.will_retain or (packet.username is None and packet.password is not None))


def clean_subscribe(packet: Any, direction: Direction | None) -> bool:
    """Whether a SUBSCRIBE certainly breaks no rule across fields."""
    return not any(each.no_local and each.filter.startswith(SHARE) for each in packet.subscriptions)


def clean_connack(packet: Any, direction: Direction | None) -> bool:
    """Whether a CONNACK certainly breaks no rule across fields."""
    alone = any(id in (_AUTHENTICATION_DATA, _REFERENCE) for id, _ in packet.properties)
    return not (packet.session_present and packet.reason_code) and not alone


def clean_disconnect(packet: Any, direction: Direction | None) -> bool:
    """Whether a DISCONNECT certainly breaks no rule across fields."""
    return not packet.reason_code and not packet.properties


def clean_message_ack(packet: Any, direction: Direction | None) -> bool:
    """Whether a PUBACK or PUBREC certainly breaks no rule across fields."""
    return direction is not Direction.CLIENT or packet.reason_code != _NOBODY


def _ack(packet: Any, direction: Direction | None) -> bool:
    return True


_CHECKS: dict[type[Packet], Callable[[Any, Direction | None], bool]] = {
    Publish: clean_publish,
    Connect: clean_connect,
    Connack: clean_connack,
    Disconnect: clean_disconnect,
    **dict.fromkeys((Puback, Pubrec), clean_message_ack),
    Subscribe: clean_subscribe,
    **dict.fromkeys((Pubrel, Pubcomp, Suback, Unsubscribe, Unsuback), _ack),
}
"""What stands for the rules of a packet type, beside `is_clean` itself."""
_quick = dict(_CHECKS)
"""That of the types that do not always need the full check."""
ACKS = {kind.code << 4 | kind.fields["flags"].default for kind in (Puback, Pubrec, Pubrel, Pubcomp)}
"""First bytes of acks with the right flags that are clean whatever their Packet Identifier."""
PINGS = {Direction.CLIENT: b"\xc0\0", Direction.SERVER: b"\xd0\0", None: b""}
"""By their sender, the bytes of packets that are clean."""


def stands_for(runs: Any, kinds: Iterable[type[Packet]]) -> bool:
    """Whether a function decides about those of these packet types that are judged quickly."""
    return runs is is_clean or {_CHECKS[kind] for kind in kinds if kind in _CHECKS} == {runs}


def is_quick(kind: type[Packet]) -> bool:
    """Whether something stands for every rule of a packet type."""
    return kind in _quick


def take_out(kinds: Iterable[type[Packet]]) -> None:
    """Judge no packets of these types quickly, nor in runs: they have a rule for which nothing stands."""
    for kind in kinds:
        _quick.pop(kind, None)
        ACKS.difference_update(first for first in set(ACKS) if first >> 4 == kind.code)
        PINGS.update({end: b"" for end, data in PINGS.items() if data[:1] == bytes((kind.code << 4,))})
