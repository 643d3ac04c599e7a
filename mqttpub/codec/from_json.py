"""A packet from JSON: from the record that `decode --json` writes, or from the shorter form that people write.

{"type": "PUBLISH", "version": "5.0", "topic": "a", "qos": 1, "packet_id": 10,
 "properties": [{"name": "topic_alias", "value": 5}, ["user_property", ["k", "v"]]],
 "payload": {"text": "hello"}}
"""

from collections.abc import Callable, Container, Mapping
from string import hexdigits, whitespace
from typing import Any

from ..common.words import counted
from ..spec.declare import MISSING, Field, Group, Packet, Property
from ..spec.packets import PACKETS_BY_NAME
from ..spec.properties import BY_KEY, PROPERTIES, PropertyRow
from ..spec.versions import Version
from ..wire.types import Binary, Integer, Rest, String, StringPair, VariableInteger, WireType
from .decode import decode

_ABOUT = frozenset(["type", "version", "direction", "time", "offset", "length", "findings"])
"""Members of a record that are not fields of the packet."""


class BadMember(ValueError):
    """An error in the JSON of a packet, with the key of the member, such as `will.properties[0].value`."""

    def __init__(self, path: str, message: str) -> None:
        self.key = path.removeprefix("$").removeprefix(".")
        """Empty for the object as a whole."""
        self.message = message
        super().__init__(f"{self.key}: {message}" if self.key else message)


def packet_of(record: Mapping[str, Any]) -> tuple[Packet, Version]:
    """Return the packet that a record or the shorter form describes, and its version.

    Raises BadMember.
    """
    _expect(record, Mapping, "$", "an object")
    version = _version(record.get("version", "5.0"))
    if "hex" in record:
        return _recorded(record["hex"], version)
    cls = _class(record.get("type"), version)
    members = {
        key: value for key, value in plain_keys(record, {*cls.fields, *_ABOUT}, "$").items() if key not in _ABOUT
    }
    return cls(**_members(cls, members, version, "$")), version


def plain_keys(given: Mapping[str, Any], known: Container[str], path: str) -> dict[str, Any]:
    """Return the members of an object by their known names: packet-id and Packet ID are packet_id.

    Unknown names stay as they are; raises BadMember for a name given in two spellings.
    """
    plain: dict[str, Any] = {}
    for key, value in given.items():
        name = key if key in known or plain_key(key) not in known else plain_key(key)
        if name in plain:
            raise BadMember(path, f"'{name}' occurs twice, in two spellings")
        plain[name] = value
    return plain


def plain_key(name: str) -> str:
    """Return a name in lower case and with underscores, as `spec` has its keys."""
    return name.lower().replace("-", "_").replace(" ", "_")


def _version(named: Any) -> Version:
    try:
        return Version.named(str(named))
    except ValueError as error:
        raise BadMember("$.version", str(error)) from None


def _class(name: Any, version: Version) -> type[Packet]:
    cls = PACKETS_BY_NAME.get(str(name).upper())
    if cls is None:
        raise BadMember("$.type", f"{name!r} is not a packet ({', '.join(PACKETS_BY_NAME)})")
    if cls.since > version:
        raise BadMember("$.type", f"{cls.name} needs MQTT {cls.since.label}")
    return cls


def _recorded(shown: Any, version: Version) -> tuple[Packet, Version]:
    """Read the packet from the bytes that the record holds."""
    _expect(shown, str, "$.hex", "a string")
    if "*" in shown:
        count = shown.count("*") // 2
        masked = counted(count, "byte is", "bytes are")
        raise BadMember("$.hex", f"{masked} masked, so the packet is not known")
    try:
        decoded = decode(_hex(shown), version)
    except ValueError as error:
        raise BadMember("$.hex", str(error)) from None
    if decoded.packet is None:
        raise BadMember("$.hex", decoded.findings[0].message if decoded.findings else "not a complete packet")
    return decoded.packet, decoded.version


# fields


def _members(cls: type[Group], given: Mapping[str, Any], version: Version, path: str) -> dict[str, Any]:
    name = cls.name if issubclass(cls, Packet) else cls.__name__
    for key in given:
        if key not in cls.fields:
            raise BadMember(f"{path}.{key}", f"{name} has no such field ({', '.join(cls.fields)})")
    for key, field in cls.fields.items():
        if key not in given and field.default is MISSING and field.exists_in(version):
            raise BadMember(f"{path}.{key}", f"it is missing, and {name} needs it")
    return {key: _field(cls.fields[key], value, version, f"{path}.{key}") for key, value in given.items()}


def _field(field: Field, value: Any, version: Version, path: str) -> Any:
    if value is None and field.default is None:
        return None
    if not field.exists_in(version):
        raise BadMember(path, f"MQTT {version.label} does not have it")
    return _SHAPES[field.shape](field, value, version, path)


def _bits(field: Field, value: Any, version: Version, path: str) -> int | bool:
    _expect(value, int, path, "a number or a boolean")
    if not 0 <= value <= field.mask >> field.shift:
        raise BadMember(path, f"{value} does not fit {field.label} ({field.legal_bits})")
    return bool(value) if field.single else int(value)


def _value(field: Field, value: Any, version: Version, path: str) -> Any:
    assert field.type is not None
    return _typed(field.type, value, path)


def _group(field: Field, value: Any, version: Version, path: str) -> Group:
    return _made(field.item, value, version, path)


def _made(cls: type[Group], value: Any, version: Version, path: str) -> Group:
    _expect(value, Mapping, path, "an object")
    return cls(**_members(cls, plain_keys(value, cls.fields, path), version, path))


def _list(field: Field, value: Any, version: Version, path: str) -> tuple[Any, ...]:
    _expect(value, list, path, "an array")
    if isinstance(field.item, type):
        return tuple(_made(field.item, each, version, f"{path}[{at}]") for at, each in enumerate(value))
    return tuple(_typed(field.item, each, f"{path}[{at}]") for at, each in enumerate(value))


# properties


def _properties(field: Field, value: Any, version: Version, path: str) -> tuple[Property, ...]:
    _expect(value, list, path, "an array")
    return tuple(_property(each, f"{path}[{at}]") for at, each in enumerate(value))


def _property(given: Any, path: str) -> Property:
    """Read {"name" or "id", "value"} or [name or id, value]."""
    if isinstance(given, list) and len(given) == 2:
        named, value, steps = given[0], given[1], ("[0]", "[1]")
    else:
        _expect(given, Mapping, path, "an object or an array of name and value")
        key = "name" if "name" in given and given["name"] not in _unnamed(given) else "id"
        named, value, steps = given.get(key), given.get("value"), (f".{key}", ".value")
    row = _row(named)
    if row is not None:
        return Property(row.id, _typed(row.type, value, path + steps[1]))
    if isinstance(named, int) and named >= 0:
        return Property(named, _bytes(value, path + steps[1]))
    raise BadMember(path + steps[0], f"{named!r} is not a property")


def _unnamed(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names that a record may give to a property with an unknown identifier."""
    return (f"property_{given.get('id')}",)


def _row(named: Any) -> PropertyRow | None:
    if isinstance(named, str):
        return BY_KEY.get(plain_key(named))
    return PROPERTIES.get(named) if isinstance(named, int) else None


# values


def _typed(type: WireType, value: Any, path: str) -> Any:
    """Return a value of a data type; raises BadMember for a value that does not fit it."""
    made = _TYPES[type.__class__](value, path)
    try:
        type.write(made)
    except UnicodeEncodeError:
        raise BadMember(path, _SURROGATE) from None
    except ValueError as error:
        raise BadMember(path, str(error)) from None
    return made


def _integer(value: Any, path: str) -> int:
    _expect(value, int, path, "a number")
    return int(value)


def _text(value: Any, path: str) -> str:
    return value if isinstance(value, str) else _bytes(value, path).decode("utf-8", "surrogateescape")


def _pair(value: Any, path: str) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2:
        raise BadMember(path, "must be an array of name and value")
    return _text(value[0], f"{path}[0]"), _text(value[1], f"{path}[1]")


def _bytes(value: Any, path: str) -> bytes:
    """Read a string, or {"text": ...}, {"hex": ...}, {"base64": ...} or {"json": ...}."""
    if isinstance(value, str):
        value = {"text": value}
    forms = ", ".join(_FORMS)
    _expect(value, Mapping, path, f"a string or an object with one of {forms}")
    form = next(iter(value), "")
    if len(value) != 1 or form not in _FORMS:
        raise BadMember(path, f"must have one of {forms}")
    if form != "json":
        _expect(value[form], str, f"{path}.{form}", "a string")
    try:
        return _FORMS[form](value[form])
    except UnicodeEncodeError:
        raise BadMember(f"{path}.{form}", _SURROGATE) from None
    except ValueError as error:
        raise BadMember(f"{path}.{form}", str(error)) from None


def _payload(value: Any, path: str) -> bytes:
    """Read a payload like other bytes; a value that names no other form is JSON to be sent."""
    named = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _FORMS
    return _bytes(value if named or value is None or isinstance(value, str) else {"json": value}, path)


_SURROGATE = "a lone surrogate cannot be encoded as UTF-8"


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        at = next((at for at, each in enumerate(text) if each not in hexdigits + whitespace), None)
    if at is None:
        raise ValueError("a single hex digit, but a byte needs two")
    raise ValueError(f"column {at + 1}: '{text[at]}' is not a hex digit")


def _base64(text: str) -> bytes:
    from base64 import b64decode

    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise ValueError("it is not base64") from None


def _json(value: Any) -> bytes:
    import json

    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _expect(value: Any, kind: type, path: str, words: str) -> None:
    if not isinstance(value, kind):
        raise BadMember(path, f"must be {words}")


_FORMS: dict[str, Callable[[Any], bytes]] = {
    "text": lambda text: text.encode("utf-8", "surrogateescape"),
    "hex": _hex,
    "base64": _base64,
    "json": _json,
}
_TYPES: dict[type[WireType], Callable[[Any, str], Any]] = {
    Integer: _integer, VariableInteger: _integer, String: _text, Binary: _bytes, Rest: _payload, StringPair: _pair,
}  # fmt: skip
_SHAPES: dict[str, Callable[[Field, Any, Version, str], Any]] = {
    "bits": _bits, "value": _value, "group": _group, "list": _list, "properties": _properties,
}  # fmt: skip
