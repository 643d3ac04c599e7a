"""Many packets of one shape read field by field, all rows at once.

The shape is the plan of the table: bytes of bits, values of one data type and properties, each
perhaps only there when another field says so or the packet has not ended. Packets with lists,
groups or secrets have no shape and are left to the scalar codec.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...spec.declare import Field
from ...spec.packets import Connack, Connect, declared
from ...spec.versions import Version
from ...wire.types import BINARY, BYTE, REST, STRING, U16, U32, WireType
from ..arrays import Mask, Octets, Rows
from ..schema import PACKETS
from .properties import Entries
from .property_reader import read_properties

TELLING = (Connect, Connack)
"""Packets that have the Client Identifier, which holds for the rows after them."""
CODES = 16
"""Number of values that a packet type can have."""


class Pick(NamedTuple):
    """BitFields of a byte that are a field."""

    key: str
    mask: int
    shift: int
    single: bool


class BitFields(NamedTuple):
    """A byte of bits."""

    picks: tuple[Pick, ...]
    """The fields that have a column, or that say whether another field is present."""
    first: bool
    """Whether it is the first byte of the packet."""


class ValueField(NamedTuple):
    """A value of one data type, or the properties."""

    key: str
    """The column; empty if there is none."""
    type: WireType | None
    """None for properties."""
    when: str
    """The field that must be true for this one to be present; empty if there is none."""
    tail: bool
    """Whether the packet may end before it."""


Shape = tuple[BitFields | ValueField, ...]


class Text(NamedTuple):
    """The places of the bytes of a field, in some rows."""

    rows: Rows
    begin: Rows
    end: Rows
    valid: Mask | None


class Number(NamedTuple):
    """Values of a field in some rows."""

    rows: Rows
    values: NDArray[Any]
    valid: Mask | None


class ReadFields:
    """The values that were read of a batch."""

    def __init__(self, count: int) -> None:
        self.numbers: dict[str, list[Number]] = {}
        self.texts: dict[str, list[Text]] = {}
        self.entries = Entries(count)
        self.irregular: Mask = np.zeros(count, np.bool_)
        """Rows that the scalar codec reads; values that were read of them are ignored."""


def read(shape: Shape, data: Octets, rows: Rows, frames: tuple[Rows, Rows, Rows], found: ReadFields) -> None:
    """Read the packets in some rows; `frames` gives where each begins, where its variable header does, and its end."""
    walk = _Walk(data, rows, frames, found)
    for step in shape:
        walk.step(step)
    found.irregular[rows[walk.at != walk.end]] = True


@cache
def shape_of(code: int, version: Version) -> Shape | None:
    """Return how packets of a type are read in a version, or None if the scalar codec reads them."""
    cls = declared(code, version)
    if cls is None or cls in TELLING or not all(_plain(field) for field in cls.layout if field.exists_in(version)):
        return None
    asked = {field.when for field in cls.layout} | set(PACKETS.names)
    return tuple(_step(fields, version, asked) for fields in cls.plan[version])


@cache
def shapes() -> tuple[tuple[Shape, ...], NDArray[np.int8]]:
    """Return all shapes, and by [version, type] the index of the shape (int8); -1 if there is none."""
    known: dict[Shape, int] = {}
    table = np.full((max(Version) + 1, CODES), -1, np.int8)
    for version in Version:
        for code in range(CODES):
            if (shape := shape_of(code, version)) is not None:
                table[version, code] = known.setdefault(shape, len(known))
    return tuple(known), table


def _plain(field: Field) -> bool:
    known = field.shape in ("bits", "properties") or (field.shape == "value" and field.type in _READERS)
    return known and field.kind != "secret"


def _step(fields: tuple[Field, ...], version: Version, asked: Iterable[str | None]) -> BitFields | ValueField:
    field = fields[0]
    if field.mask:
        picks = (Pick(one.key, one.mask, one.shift, one.single) for one in fields if one.key in asked)
        return BitFields(tuple(picks), not field.octet)
    key = field.key if field.key in PACKETS.names else ""
    return ValueField(key, field.type, field.when or "", version in field.tail)


class _Walk:
    """The place in each packet up to which it is read.

    It only ever grows, so one look at the end finds every value that was cut short.
    """

    def __init__(self, data: Octets, rows: Rows, frames: tuple[Rows, Rows, Rows], found: ReadFields) -> None:
        self.data = data
        self.rows = rows
        self.start, self.at, self.end = frames
        self.found = found
        self.flags: dict[str, NDArray[Any]] = {}

    def step(self, step: BitFields | ValueField) -> None:
        """Read the next field."""
        if isinstance(step, BitFields):
            self.bits(step)
        else:
            _READERS[step.type](self, step.key, self.present(step))

    def bits(self, step: BitFields) -> None:
        octet = self.data.byte(self.start if step.first else self.at)
        if not step.first:
            self.at = self.at + 1
        for key, mask, shift, single in step.picks:
            values = octet & mask
            self.flags[key] = values != 0 if single else values >> shift if shift else values
            self.number(key, self.flags[key], None)

    def present(self, step: ValueField) -> Mask | None:
        """Return the rows that have a field; None if all have it."""
        here = self.flags[step.when] != 0 if step.when else None
        if step.tail:
            left = self.at < self.end
            here = left if here is None else here & left
        return None if here is None or here.all() else here

    def move(self, to: Rows, here: Mask | None) -> None:
        self.at = to if here is None else np.where(here, to, self.at)

    def number(self, key: str, values: NDArray[Any], here: Mask | None) -> None:
        if key in PACKETS.names:
            self.found.numbers.setdefault(key, []).append(Number(self.rows, values, here))

    def integer(self, size: int, key: str, here: Mask | None) -> None:
        self.number(key, self.data.integer(self.at, size), here)
        self.move(self.at + size, here)

    def counted(self, key: str, here: Mask | None) -> None:
        begin = self.at + 2
        self.text(key, begin, begin + self.data.integer(self.at, 2), here)

    def rest(self, key: str, here: Mask | None) -> None:
        self.text(key, self.at, np.maximum(self.at, self.end), here)

    def text(self, key: str, begin: Rows, end: Rows, here: Mask | None) -> None:
        if key:
            self.found.texts.setdefault(key, []).append(Text(self.rows, begin, end, here))
        self.move(end, here)

    def properties(self, key: str, here: Mask | None) -> None:
        some = slice(None) if here is None else np.flatnonzero(here)
        rows, at, end = self.rows[some], self.at[some], self.end[some]
        after, wrong = read_properties(self.data, rows, at, end, self.found.entries)
        self.found.irregular[rows[wrong]] = True
        if here is None:
            self.at = after
        else:
            self.at = self.at.copy()
            self.at[here] = after


def _integer(size: int) -> Callable[[_Walk, str, Mask | None], None]:
    return lambda walk, key, here: walk.integer(size, key, here)


_READERS: dict[WireType | None, Callable[[_Walk, str, Mask | None], None]] = {
    BYTE: _integer(1),
    U16: _integer(2),
    U32: _integer(4),
    STRING: _Walk.counted,
    BINARY: _Walk.counted,
    REST: _Walk.rest,
    None: _Walk.properties,
}
