"""Where the properties of many packets are: the k-th property of all rows in one step (5.0: 2.2.2)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...spec.properties import PROPERTIES
from ...wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE, WireType
from ..arrays import Mask, Octets, Rows

MOST = 64
"""Most properties of a packet that are read here; the scalar codec reads a packet with more."""
NOWHERE = np.iinfo(np.int64).max
"""The end of a property whose end is unknown: after the whole buffer."""
UNKNOWN, NUMBER, TEXT, BLOB, TWO, LONG = range(6)
"""How a property is read; LONG is a Variable Byte Integer, TWO a UTF-8 String Pair."""
_KINDS: dict[WireType, int] = {
    BYTE: NUMBER, U16: NUMBER, U32: NUMBER, VARIABLE: LONG, STRING: TEXT, BINARY: BLOB, PAIR: TWO,
}  # fmt: skip
_SIZES: dict[WireType, int] = {BYTE: 1, U16: 2, U32: 4}


def by_id(kind: type[np.generic], value: Callable[[int], Any]) -> NDArray[Any]:
    """Return a table of values by Identifier, with 256 elements."""
    return np.array([value(id) for id in range(256)], kind)


_KIND = by_id(np.uint8, lambda number: _KINDS[PROPERTIES[number].type] if number in PROPERTIES else UNKNOWN)
SIZE = by_id(np.int64, lambda number: _SIZES.get(PROPERTIES[number].type, 0) if number in PROPERTIES else 0)
"""Bytes of the value of each property; 0 if they vary."""


class PropertyRows(NamedTuple):
    """The k-th property of some rows."""

    rows: Rows
    k: Rows
    ids: NDArray[Any]
    at: Rows
    """Where its value begins."""
    spans: tuple[Rows, ...]
    """Its number, or the places where its text begins and ends, of a pair those of both strings."""


def read_properties(data: Octets, rows: Rows, at: Rows, end: Rows, parts: "PropertyParts") -> tuple[Rows, Mask]:
    """Read the properties that begin at each place; return where they end (int64), and which rows are irregular."""
    size, width = data.variable(at)
    place = at + width
    stop = place + size
    wrong = (width == 0) | (stop > end)
    parts.there[rows] = True
    live = np.flatnonzero((size > 0) & ~wrong)
    place, until, k = place[live], stop[live], 0
    while len(live) and k < MOST:
        place = parts.take(data, rows[live], k, place)
        wrong[live[place > until]] = True
        more = place < until
        live, place, until, k = live[more], place[more], until[more], k + 1
    wrong[live] = True
    return stop, wrong


Read = tuple[tuple[Rows, ...], Rows]
"""Reads the value of a property; returns its spans or number, and where it ends."""


def _number(data: Octets, ids: NDArray[Any], at: Rows) -> Read:
    size = SIZE[ids]
    return (data.integer(at, 4) >> 8 * (4 - size),), at + size


def _long(data: Octets, ids: NDArray[Any], at: Rows) -> Read:
    value, size = data.variable(at)
    return (value,), np.where(size, at + size, NOWHERE)


def _counted(data: Octets, ids: NDArray[Any], at: Rows) -> Read:
    begin = at + 2
    end = begin + data.integer(at, 2)
    return (begin, end), end


def _two(data: Octets, ids: NDArray[Any], at: Rows) -> Read:
    first, middle = _counted(data, ids, at)
    second, after = _counted(data, ids, middle)
    return (*first, *second), after


_READERS = {NUMBER: _number, LONG: _long, TEXT: _counted, BLOB: _counted, TWO: _two}
SPANS = {NUMBER: 1, TEXT: 2, BLOB: 2, TWO: 4}
"""Number of spans of each kind; LONG is kept as NUMBER."""


class PropertyParts:
    """The properties of a batch with their rows, in any order."""

    def __init__(self, count: int) -> None:
        self.there: Mask = np.zeros(count, np.bool_)
        """Rows with a Property Length, even if it is 0."""
        self.parts: dict[int, list[PropertyRows]] = {kind: [] for kind in SPANS}
        """What was read, by NUMBER, TEXT, BLOB and TWO."""

    def take(self, data: Octets, rows: Rows, k: int, place: Rows) -> Rows:
        """Read the `k`-th property of each row, which begins at `place`; return where it ends, NOWHERE if unknown."""
        ids = data.byte(place)
        kinds = _KIND[ids]
        after = np.full(len(place), NOWHERE, np.int64)
        for kind in np.flatnonzero(np.bincount(kinds)).tolist():
            if kind != UNKNOWN:
                some = np.flatnonzero(kinds == kind)
                own = ids[some]
                at = place[some] + 1
                spans, after[some] = _READERS[kind](data, own, at)
                kept = self.parts[NUMBER if kind == LONG else kind]
                kept.append(PropertyRows(rows[some], np.full(len(some), k), own, at, spans))
        return after

    def ids(self) -> list[tuple[Rows, NDArray[np.uint8]]]:
        """Return the rows of properties and their Identifiers, in any order."""
        return [(part.rows, part.ids) for parts in self.parts.values() for part in parts]
