"""A packet as named pieces, so that one can be changed and the rest stays valid.

A piece is some bytes, or pieces in a row; it may stand behind a length. Writing it computes the
lengths anew, and tells where every piece is. The table says which fields there are; the bytes are
made here, without the encoder.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mqttpub.spec.declare import Field, Group, Packet, Property
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.versions import Version
from mqttpub.wire.cursor import Span
from mqttpub.wire.types import BINARY, BYTE, PAIR, REST, STRING, U16, U32, VARIABLE, WireType

FIRST = "first"
"""The first byte of the packet."""
BODY = "remaining_length"
"""All that the Remaining Length counts, with the Remaining Length in front."""
_SIZES: dict[WireType, int] = {BYTE: 1, U16: 2, U32: 4}


class Piece(NamedTuple):
    """Bytes, or pieces, that belong together."""

    name: str
    """Its own in this packet: `topic`, `will.properties.0.value`, `subscriptions.1.filter`."""
    inside: "bytes | tuple[Piece, ...]"
    key: str = ""
    """What it is, with others of its kind: `topic`, `response_topic`, `subscriptions.filter`."""
    type: WireType | None = None
    """Data type of a value."""
    counted: WireType | None = None
    """Data type of the length in front of it."""
    length: bytes | None = None
    """What stands there in place of the right length."""

    @property
    def text(self) -> str:
        """A string."""
        assert isinstance(self.inside, bytes)
        return self.inside.decode()

    @property
    def pieces(self) -> "tuple[Piece, ...]":
        """The pieces in it."""
        assert isinstance(self.inside, tuple)
        return self.inside


class Place(NamedTuple):
    """Where a piece stands: its length begins, its inside begins, it ends."""

    start: int
    inside: int
    stop: int

    def span(self, part: "str | tuple[int, int]") -> Span:
        """Return the bytes of a part: a name from below, or two places counted from where the inside begins."""
        if isinstance(part, tuple):
            return Span(self.inside + part[0], self.inside + part[1])
        spans = {
            "whole": (self.start, self.stop),
            "length": (self.start, self.inside),
            "inside": (self.inside, self.stop),
            "end": (self.stop, self.stop),
            "first four": (self.start, self.start + 4),
        }
        return Span(*spans[part])


def variable(value: int, size: int = 1) -> bytes:
    """Return a Variable Byte Integer of at least so many bytes."""
    made: list[int] = []
    while value or len(made) < size:
        made.append(value & 0x7F)
        value >>= 7
    return bytes([*(each | 0x80 for each in made[:-1]), made[-1]])


def walk(piece: Piece) -> Iterator[Piece]:
    """Yield a piece and all in it, in the order of the wire."""
    yield piece
    for each in piece.inside if isinstance(piece.inside, tuple) else ():
        yield from walk(each)


def changed(piece: Piece, changes: Mapping[str, tuple[Piece, ...]]) -> tuple[Piece, ...]:
    """Return what a piece becomes when some pieces are replaced by others, or by none."""
    if piece.name in changes:
        return changes[piece.name]
    if isinstance(piece.inside, bytes):
        return (piece,)
    return (piece._replace(inside=tuple(new for each in piece.inside for new in changed(each, changes))),)


def write(piece: Piece) -> bytes:
    """Return the bytes of a piece."""
    inside = _inside(piece)
    return _length(piece, inside) + inside


def places(piece: Piece, start: int = 0) -> Iterator[tuple[str, Place]]:
    """Yield the names and places of a piece and of all that is in it."""
    inside = _inside(piece)
    at = start + len(_length(piece, inside))
    yield piece.name, Place(start, at, at + len(inside))
    for each in piece.inside if isinstance(piece.inside, tuple) else ():
        yield from places(each, at)
        at += len(write(each))


def _inside(piece: Piece) -> bytes:
    return piece.inside if isinstance(piece.inside, bytes) else b"".join(map(write, piece.inside))


def _length(piece: Piece, inside: bytes) -> bytes:
    if not piece.counted:
        return b""
    if piece.length is not None:
        return piece.length
    return variable(len(inside)) if piece.counted is VARIABLE else len(inside).to_bytes(2, "big")


# from the values of a packet


def pieces_of(packet: Packet, version: Version) -> Piece:
    """Return the pieces of a packet whose values are all settled."""
    header = Piece(FIRST, bytes((packet.code << 4 | _octet(packet, packet.plan[version][0]),)))
    body = Piece(BODY, tuple(_fields(packet, version, first=1)), counted=VARIABLE)
    return Piece("packet", (header, body))


def _octet(group: Group, step: tuple[Field, ...]) -> int:
    return sum(int(getattr(group, field.key)) << field.shift for field in step)


def _fields(group: Group, version: Version, path: str = "", key: str = "", *, first: int = 0) -> Iterator[Piece]:
    for step in group.plan[version][first:]:
        field = step[0]
        value = getattr(group, field.key)
        name, kind = path + (field.octet or field.key), key + (field.octet or field.key)
        if field.mask:
            yield Piece(name, bytes((_octet(group, step),)), kind)
        elif field.shape == "properties" and value is not None:
            yield properties(name, value)
        elif field.shape == "list":
            for index, item in enumerate(value):
                yield from _value(field.item, item, version, f"{name}.{index}", kind)
        elif value is not None:
            yield from _value(field.type or field.item, value, version, name, kind)


def _value(type: Any, value: Any, version: Version, name: str, key: str) -> Iterator[Piece]:
    if isinstance(value, Group):
        return _fields(value, version, f"{name}.", f"{key}.")
    return values(type, value, name, key)


def properties(name: str, listed: tuple[Property, ...]) -> Piece:
    """Return the properties with their Property Length in front."""
    made = (property_piece(f"{name}.{index}", *each) for index, each in enumerate(listed))
    return Piece(name, tuple(made), "properties", counted=VARIABLE)


def property_piece(name: str, id: int, value: Any) -> Piece:
    """Return one property: its identifier and its value."""
    row = PROPERTIES[id]
    identifier = Piece(f"{name}.id", variable(id))
    return Piece(name, (identifier, *values(row.type, value, f"{name}.value", f"{row.key}.value")), row.key)


def values(type: WireType, value: Any, name: str, key: str) -> Iterator[Piece]:
    """Yield a value of a data type; a pair is two strings."""
    if type is PAIR:
        for half, part in zip(("name", "value"), value, strict=True):
            yield from values(STRING, part, f"{name}.{half}", key)
    elif type is STRING:
        yield Piece(name, value.encode(), key, STRING, counted=U16)
    elif type is BINARY:
        yield Piece(name, value, key, BINARY, counted=U16)
    elif type is REST:
        yield Piece(name, value, key, REST)
    else:
        data = variable(value) if type is VARIABLE else value.to_bytes(_SIZES[type], "big")
        yield Piece(name, data, key, type)
