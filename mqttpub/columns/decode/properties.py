"""Properties of many packets as columns (5.0: 2.2.2)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...spec.properties import PROPERTIES, TOPIC_ALIAS
from ..arrays import Mask, Rows
from ..arrow import coded, numbers, slices, texts
from ..schema import CODED_PROPERTY
from .property_reader import BLOB, NUMBER, SPANS, TWO, PropertyParts, PropertyRows, by_id

ALIAS = TOPIC_ALIAS.id
_SECRET = by_id(np.bool_, lambda number: number in PROPERTIES and PROPERTIES[number].secret)
_NAMES = tuple(PROPERTIES[id].key if id in PROPERTIES else f"property_{id}" for id in range(max(PROPERTIES) + 1))


class Word(NamedTuple):
    """A property that the scalar codec read, as texts."""

    id: int
    name: str
    key: str | None
    value: str | None
    number: int | None = None


class Entries(PropertyParts):
    """The properties of a batch as Arrow arrays; call `cut` before the methods after it."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._joined: dict[int, PropertyRows] = {}
        self._cut: dict[int, list[pa.Array]] = {}

    def cut(self, buffer: pa.Buffer, irregular: Mask) -> Rows:
        """Cut the texts of all other rows out of the buffer; return the rows with a text that is not UTF-8."""
        bad = [np.empty(0, np.int64)]
        for kind, parts in self.parts.items():
            part = self._joined[kind] = _joined(parts, SPANS[kind], ~irregular)
            places = range(0, SPANS[kind] - 1, 2)
            cuts = self._cut[kind] = [slices(buffer, part.spans[at], part.spans[at + 1]) for at in places]
            if kind != BLOB:
                found = [texts(cut) for cut in cuts]
                self._cut[kind] = [text for text, _ in found]
                bad += [part.rows[rows] for _, rows in found]
        return np.unique(np.concatenate(bad))

    def alias(self) -> tuple[Rows, NDArray[np.int64]]:
        """Return the rows that have a Topic Alias, ascending, and the first one of each (both int64)."""
        rows, _, ids, _, (values,) = self._joined[NUMBER]
        some = np.flatnonzero(ids == ALIAS)
        unique, first = np.unique(rows[some], return_index=True)
        return unique, values[some][first]

    def array(self, scalar: Iterable[tuple[int, Sequence[Word] | None]]) -> pa.Array:
        """Return a list of properties for each row; `scalar` has the rows that the scalar codec read."""
        there, own = self.there.copy(), []
        for row, words in scalar:
            there[row] = words is not None
            own += [(row, k, word) for k, word in enumerate(words or ())]
        rows, k, ids = self._places(own)
        offsets = np.zeros(len(there) + 1, np.int32)
        np.cumsum(np.bincount(rows, minlength=len(there)), out=offsets[1:])
        order = np.empty(len(rows), np.int64)
        order[offsets[rows] + k] = np.arange(len(rows))
        ids = ids[order]
        words = [word for _, _, word in own]
        members = (numbers(ids), _named(ids), *self._texts(order, words), self._numbers(order, words))
        taken = pa.StructArray.from_arrays(members, fields=list(CODED_PROPERTY))
        return pa.ListArray.from_arrays(numbers(offsets), taken, mask=None if there.all() else numbers(~there))

    def _places(self, own: list[tuple[int, int, Word]]) -> tuple[Rows, Rows, NDArray[np.int32]]:
        """Return rows, places within rows and identifiers of all properties, in the order of the parts."""
        scalar = np.array([(row, k, word.id) for row, k, word in own], np.int64).reshape(-1, 3).T
        parts = [(part.rows, part.k, part.ids) for part in self._joined.values()]
        rows, k, ids = (np.concatenate(each) for each in zip(*parts, scalar, strict=True))
        return rows, k, ids.astype(np.int32)

    def _texts(self, order: Rows, words: list[Word]) -> tuple[pa.Array, pa.Array]:
        """Return keys and values of all properties; `order` has their places among the parts."""
        pairs = len(self._joined[TWO].rows)
        # Pairs come last among the parts, and only they have keys.
        first = len(order) - len(words) - pairs
        keys = pa.concat_arrays([self._cut[TWO][0], pa.array([word.key for word in words], pa.string())])
        keys = keys.dictionary_encode()
        has = order >= first
        values = [self._values(kind) for kind in SPANS]
        values.append(pa.array([word.value for word in words], pa.string()))
        return (
            keys.take(numbers(np.where(has, order - first, 0), has)),
            pa.concat_arrays(values).take(numbers(order)),
        )

    def _numbers(self, order: Rows, words: list[Word]) -> pa.Array:
        """Return the values that are numbers of all properties."""
        values = [
            numbers(part.spans[0]) if kind == NUMBER else pa.nulls(len(part.rows), pa.int64())
            for kind, part in self._joined.items()
        ]
        values.append(pa.array([word.number for word in words], pa.int64()))
        return pa.concat_arrays(values).take(numbers(order))

    def _values(self, kind: int) -> pa.Array:
        part = self._joined[kind]
        if kind == NUMBER:
            return numbers(part.spans[0]).cast(pa.string())
        if kind == BLOB:
            blobs = zip(self._cut[kind][0].to_pylist(), _SECRET[part.ids].tolist(), strict=True)
            return pa.array([None if secret else hexadecimal(blob) for blob, secret in blobs], pa.string())
        return self._cut[kind][-1]


def _named(ids: NDArray[np.int32]) -> pa.Array:
    """Return the name of each property by its Identifier, as a dictionary array."""
    odd = np.unique(ids[ids >= len(_NAMES)])
    if not len(odd):
        return coded(_NAMES, ids)
    words = [*_NAMES, *(f"property_{id}" for id in odd.tolist())]
    return coded(words, np.where(ids < len(_NAMES), ids, len(_NAMES) + np.searchsorted(odd, ids)))


def hexadecimal(data: bytes) -> str:
    """Return bytes as a text: `hex:00ff`."""
    return f"hex:{data.hex()}"


def _joined(parts: list[PropertyRows], spans: int, wanted: Mask) -> PropertyRows:
    """Return the wanted rows of all parts as one part."""
    none = np.empty(0, np.int64)
    if not parts:
        return PropertyRows(none, none, none, none, (none,) * spans)
    members = zip(*((one.rows, one.k, one.ids, one.at, *one.spans) for one in parts), strict=True)
    joined = [np.concatenate(each) for each in members]
    kept = wanted[joined[0]]
    rows, k, ids, at, *values = joined if kept.all() else [each[kept] for each in joined]
    return PropertyRows(rows, k, ids, at, tuple(values))
