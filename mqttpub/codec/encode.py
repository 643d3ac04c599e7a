"""Packets to bytes, along the same declarations, without judging them."""

from collections.abc import Iterable
from operator import index
from typing import Any

from ..spec.declare import Field, Group, Packet, Property
from ..spec.properties import PROPERTIES
from ..spec.versions import Version
from ..wire.types import VARIABLE, WireType


class Raw(bytes):
    """Bytes to write as they are in place of a whole field, its length included; any field accepts them."""


def encode(packet: Packet, version: Version, *, remaining_length: int | Raw | None = None) -> bytes:
    """Return the bytes of a packet.

    Builds whatever can be written, even if it is forbidden: QoS 3, Topic Alias 0, a wrong `remaining_length`, `Raw`
    for any field. Raises ValueError for a value that does not fit its field, for a field that `version` does not have,
    and for a string that is not Unicode.
    """
    if packet.since > version:
        raise ValueError(f"{packet.name} needs MQTT {packet.since.label}")
    first, *steps = packet.plan[version]
    header = packet.code << 4 | _octet(packet, first)
    body = _steps(packet, steps, version)
    _check_unspoken(packet, version)
    if not isinstance(remaining_length, Raw):
        remaining_length = Raw(VARIABLE.write(len(body) if remaining_length is None else remaining_length))
    return bytes((header,)) + remaining_length + body


def encode_properties(properties: Iterable[Property]) -> bytes:
    """Return the Property Length and the properties (5.0: 2.2.2)."""
    body = b"".join(_property(*each) for each in properties)
    return VARIABLE.write(len(body)) + body


def _property(id: int, value: Any) -> bytes:
    row = PROPERTIES.get(id)
    if row is None or isinstance(value, Raw):
        return VARIABLE.write(id) + bytes(value)
    return VARIABLE.write(id) + _write(row.type, value, row.label)


def _steps(values: Group, steps: Iterable[tuple[Field, ...]], version: Version) -> bytes:
    written = bytearray()
    ended = ""
    for step in steps:
        field = step[0]
        if field.mask:
            written.append(_octet(values, step))
            continue
        value = getattr(values, field.key)
        if value is None and field.fixed:
            value = field.fixed[version]
        if value is None:
            ended = ended or (field.label if version in field.tail and not field.when else "")
            continue
        if ended:
            raise ValueError(f"{field.label} needs {ended} before it")
        try:
            written += _field(field, value, version)
        except (TypeError, AttributeError):
            raise _misfit(value, field.label) from None
    return bytes(written)


def _octet(values: Group, step: Iterable[Field]) -> int:
    octet = 0
    for field in step:
        value = getattr(values, field.key)
        if value is None and field.derived:
            value = getattr(values, field.derived) is not None
        try:
            placed = index(value) << field.shift
        except TypeError:
            raise _misfit(value, field.label) from None
        if placed & ~field.mask:
            raise ValueError(f"{value} does not fit {field.label} ({field.legal_bits})")
        octet |= placed
    return octet


def _field(field: Field, value: Any, version: Version) -> bytes:
    if isinstance(value, Raw):
        return value
    if field.shape == "properties":
        return encode_properties(value)
    if field.shape == "group":
        return _group(value, version)
    if field.shape == "list":
        return b"".join(_item(field, each, version) for each in value)
    assert field.type is not None
    return _write(field.type, value, field.label)


def _item(field: Field, value: Any, version: Version) -> bytes:
    if isinstance(value, Raw):
        return value
    return _group(value, version) if isinstance(value, Group) else _write(field.item, value, field.label)


def _group(group: Group, version: Version) -> bytes:
    _check_unspoken(group, version)
    return _steps(group, group.plan[version], version)


def _write(type: WireType, value: Any, label: str) -> bytes:
    try:
        return type.write(value)
    except UnicodeEncodeError as error:
        raise ValueError(f"{label}: U+{ord(error.object[error.start]):04X} cannot be encoded as UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    except (TypeError, AttributeError):
        raise _misfit(value, label) from None


def _misfit(value: object, label: str) -> ValueError:
    """Return the error for a value of a wrong type; the value itself may be a password."""
    return ValueError(f"{label}: a value of the type {type(value).__name__} does not fit")


def _check_unspoken(values: Group, version: Version) -> None:
    for field in values.layout:
        if field.exists_in(version):
            continue
        given = getattr(values, field.key)
        if given != field.default and given not in (None, (), 0):
            raise ValueError(f"{values.__class__.__name__} {field.label} needs MQTT {field.since.label}")
