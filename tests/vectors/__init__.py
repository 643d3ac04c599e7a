"""Packets and values with a name: bytes, and what they must be read as.

Each `*.toml` beside this file holds `[[vector]]`s, or `[[table]]`s: keys that all its `vectors` share. A table with
`each` is written once for each of these values, or lists of values: `{0}` and `{1:02x}` in its texts and keys are
formatted with them, and a text that is only `{0}` is the value itself. The keys:

    name        what it shows
    source      where it was seen, if it is not ours
    version     "3.1", "3.1.1" or "5.0"
    direction   "client" or "server", where it matters
    bytes       in the mini notation of tests/vectors/notation.py
    publish     (or another packet) the values; what is not given has its default
    canonical   false: right values, but not the bytes that the encoder writes
    findings    what decoding finds: {id, path, span, message}, message may be missing
    places      [start, stop] of fields, by path without the packet's name
    value       instead of a packet: the value of `type`, a data type of MQTT

Binary values stand in the mini notation; text as it is, or as {raw = "c080"} where it is no UTF-8;
properties as [name, value], [number, bytes] where unknown.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mqttpub.spec.declare import Field, Group, Packet, Property
from mqttpub.spec.packets import PACKETS
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire import types
from mqttpub.wire.cursor import Span
from mqttpub.wire.types import BINARY, PAIR, REST, WireType
from tests.vectors.notation import parse

HERE = Path(__file__).parent
_TYPES: dict[str, WireType] = {
    one.name: one for one in (types.BYTE, types.U16, types.U32, types.VARIABLE, types.BINARY, types.STRING, types.PAIR)
}
_PACKETS = {packet.__name__.lower(): packet for packet in PACKETS.values()}
_KEYS = {
    "name", "source", "version", "direction", "bytes", "canonical", "findings", "places", "type", "value", *_PACKETS,
}  # fmt: skip


class Expected(NamedTuple):
    """A finding that decoding must yield."""

    id: str
    path: str
    span: Span
    message: str | None


class Vector(NamedTuple):
    """The bytes of one packet, or what should be one, and what they mean."""

    name: str
    source: str
    version: Version
    direction: Direction | None
    data: bytes
    packet: Packet | None
    """None where the bytes do not hold all that the packet needs."""
    canonical: bool
    findings: tuple[Expected, ...]
    places: dict[str, Span]


class Value(NamedTuple):
    """The bytes of one value of a data type."""

    name: str
    source: str
    type: WireType
    data: bytes
    value: Any
    canonical: bool


@cache
def packets() -> tuple[Vector, ...]:
    """Return all vectors of packets, in the order of the files."""
    return tuple(_vector(row) for row in _rows() if "type" not in row)


@cache
def values() -> tuple[Value, ...]:
    """Return all vectors of single values."""
    return tuple(_value(row) for row in _rows() if "type" in row)


def named(name: str) -> Vector:
    """Return the vector of a packet by its name."""
    return next(each for each in packets() if each.name == name)


def settled(packet: Packet, version: Version) -> Packet:
    """Return the packet with what the version and other fields decide written out, as decoding yields it."""
    changes: dict[str, Any] = {}
    for field in packet.layout:
        if not field.exists_in(version) or getattr(packet, field.key) is not None:
            continue
        if field.fixed:
            changes[field.key] = field.fixed[version]
        elif field.derived:
            changes[field.key] = getattr(packet, field.derived) is not None
    made: Packet = packet.replace(**changes)
    return made


def _rows() -> list[dict[str, Any]]:
    rows = []
    for path in sorted(HERE.glob("*.toml")):
        for row in _rows_of(tomllib.loads(path.read_text(encoding="utf-8"))):
            if unknown := row.keys() - _KEYS:
                raise ValueError(f"{path.name}, {row.get('name')}: {', '.join(sorted(unknown))}")
            rows.append(row)
    return rows


def _rows_of(file: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for table in file.get("table", []):
        vectors, each = table.pop("vectors", [{}]), table.pop("each", [[]])
        uses = [value if isinstance(value, list) else [value] for value in each]
        rows += [_filled(table | row, values) for values in uses for row in vectors]
    return [*rows, *file.get("vector", [])]


def _filled(given: Any, values: list[Any]) -> Any:
    """Return a row of a table with one of its `each` values filled in."""
    if isinstance(given, dict):
        return {_filled(key, values): _filled(value, values) for key, value in given.items()}
    if isinstance(given, list):
        return [_filled(value, values) for value in given]
    if isinstance(given, str) and values:
        return values[int(given[1])] if re.fullmatch(r"\{\d\}", given) else given.format(*values)
    return given


def _value(row: dict[str, Any]) -> Value:
    type = _TYPES[row["type"]]
    return Value(
        row["name"], row.get("source", ""), type, parse(row["bytes"]), _typed(type, row["value"]),
        row.get("canonical", True),
    )  # fmt: skip


def _vector(row: dict[str, Any]) -> Vector:
    version = Version.named(row["version"])
    made = [settled(_group(_PACKETS[key], row[key]), version) for key in row.keys() & _PACKETS.keys()]
    packet: Any = made[0] if made else None
    prefix = packet.name.lower() if packet else ""
    return Vector(
        row["name"],
        row.get("source", ""),
        version,
        Direction(row["direction"]) if "direction" in row else None,
        parse(row["bytes"]),
        packet,
        row.get("canonical", True),
        tuple(_expected(**each) for each in row.get("findings", ())),
        {f"{prefix}.{path}": Span(*span) for path, span in row.get("places", {}).items()},
    )  # fmt: skip


def _expected(id: str, path: str, span: tuple[int, int], message: str | None = None) -> Expected:
    return Expected(id, path, Span(*span), message)


def _group(cls: type[Any], given: dict[str, Any]) -> Any:
    return cls(**{key: _field(cls.fields[key], value) for key, value in given.items()})


def _field(field: Field, value: Any) -> Any:
    if field.shape == "properties":
        return tuple(_property(*each) for each in value)
    if field.shape == "group":
        return _group(field.item, value)
    if field.shape == "list":
        made = isinstance(field.item, type) and issubclass(field.item, Group)
        return tuple(_group(field.item, each) if made else _typed(field.item, each) for each in value)
    return _typed(field.type, value) if field.type else value


def _property(name: str | int, *value: Any) -> Property:
    if isinstance(name, int):
        return Property(name, parse(value[0]))
    row = BY_KEY[name]
    return Property(row.id, _typed(row.type, value if row.type is PAIR else value[0]))


def _typed(type: WireType, value: Any) -> Any:
    if type is PAIR:
        return tuple(_text(each) for each in value)
    if type is BINARY or type is REST:
        return parse(value)
    return _text(value)


def _text(value: Any) -> Any:
    return parse(value["raw"]).decode("utf-8", "surrogateescape") if isinstance(value, dict) else value
