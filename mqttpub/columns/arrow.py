"""The arrays that all of columns is made of: numpy arrays gathered from a buffer, and Arrow arrays over its memory."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Rows = NDArray[np.int64]
"""Positions: of rows in a batch, or of bytes in a buffer."""
Mask = NDArray[np.bool_]
NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for an unknown time in arrays of nanoseconds."""
MOST_BYTES = 2**31 - 1
"""The largest offset of 32 bits in Arrow."""
MOST_NULLS = 64
"""Columns of nulls that are kept for the next batch."""


def slices(buffer: pa.Buffer, begin: Rows, end: Rows, valid: Mask | None = None) -> pa.Array:
    """Return the bytes from each `begin` to its `end`, null where not valid.

    Begins and ends in turns are the offsets of an array over the same buffer, in which the bytes between two slices are
    elements, too; `take` copies every other element. Slices may be in any order and overlap, as Arrow never reads an
    element that is not taken.
    """
    if valid is not None:
        # `take` of nulls costs more than the rest of this.
        return _spread(slices(buffer, begin[valid], end[valid]), valid)
    count = len(begin)
    offsets = np.zeros(2 * count + 2, np.int32)
    offsets[1:-1:2], offsets[2::2] = begin, end
    # Arrow reserves half of the bytes between the first and the last offset.
    total = int((end - begin).sum())
    offsets[-1] = min(2 * total + 64, buffer.size)
    turns = pa.Array.from_buffers(pa.binary(), 2 * count + 1, [None, pa.py_buffer(offsets), buffer])
    return turns.take(numbers(np.arange(1, 2 * count + 1, 2, dtype=np.int32)))


def _spread(data: pa.Array, valid: Mask) -> pa.Array:
    """Return an array of bytes with a null wherever `valid` is false."""
    if len(data) == len(valid):
        return data
    ends = np.zeros(len(valid) + 1, np.int32)
    np.cumsum(valid, out=ends[1:])
    _, offsets, held = data.buffers()
    places = np.frombuffer(offsets, np.int32, len(data) + 1)[ends]
    return pa.Array.from_buffers(pa.binary(), len(valid), [_bits(valid), pa.py_buffer(places), held])


def numbers(values: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    """Return numbers or flags as an array over the same memory, null where not valid.

    Made from buffers, as `pa.array` would import pandas to look at a numpy array.
    """
    if valid is not None and valid.all():
        valid = None
    kind = pa.from_numpy_dtype(values.dtype)
    held = [None if valid is None else _bits(valid), _bits(values) if values.dtype == np.bool_ else _buffer(values)]
    return pa.Array.from_buffers(kind, len(values), held)


def _bits(flags: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _buffer(values: NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values))


def texts(data: pa.Array) -> tuple[pa.Array, Rows]:
    """Return bytes as texts, and the rows (int64) that are not UTF-8; if there are any, the bytes unchanged."""
    try:
        return data.cast(pa.string()), np.empty(0, np.int64)
    except pa.ArrowInvalid:
        bad = [row for row, value in enumerate(data.to_pylist()) if value and not _is_text(value)]
        return data, np.array(bad, np.int64)


def coded_texts(data: pa.Array) -> tuple[pa.Array, Rows]:
    """Return the same as `texts`, but the texts as a dictionary array, so that each is checked once."""
    encoded = data.dictionary_encode()
    words, bad = texts(encoded.dictionary)
    if len(bad):
        return data, np.flatnonzero(np.isin(indices(encoded), bad))
    return pa.DictionaryArray.from_arrays(encoded.indices, words, safe=False), bad


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def coded(words: Sequence[str | None], at: NDArray[Any]) -> pa.DictionaryArray:
    """Return the words at these places as a dictionary array without duplicates; a tuple of words is remembered."""
    table, known = _vocabulary(words) if isinstance(words, tuple) else _coded(words)
    found = table[at]
    valid = found >= 0
    # Arrow reads the index of a null, too.
    places = numbers(found) if valid.all() else numbers(np.maximum(found, 0), valid)
    return pa.DictionaryArray.from_arrays(places, known, safe=False)


def _coded(words: Sequence[str | None]) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the place of each word among all that differ (int32), -1 for None, and these."""
    known: dict[str, int] = {}
    table = [-1 if word is None else known.setdefault(word, len(known)) for word in words]
    return np.array(table, np.int32), strings(list(known))


_vocabulary = lru_cache(16)(_coded)


def encoded(column: pa.Array) -> tuple[NDArray[np.int32], list[str]]:
    """Return a column of texts as indices (int32), -1 for null, and the texts, some of which may not occur."""
    coded = column.dictionary_encode()
    return indices(coded), coded.dictionary.to_pylist()


def indices(column: pa.DictionaryArray) -> NDArray[Any]:
    """Return the index of each element in its dictionary, in the dtype of the dictionary; -1 for null."""
    return values(column.indices.fill_null(-1) if column.null_count else column.indices)


def values(column: pa.Array) -> NDArray[Any]:
    """Return a column of numbers without null, over the same memory; does not import pandas, as `to_numpy` would."""
    size = column.type.bit_width // 8
    if not len(column):
        return np.zeros(0, f"i{size}")
    return np.frombuffer(column.buffers()[1], f"i{size}", len(column), column.offset * size)


def strings(words: Sequence[str]) -> pa.Array:
    """Return texts as an array; does not import pandas, as `pa.array` would."""
    data = [word.encode() for word in words]
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum([len(each) for each in data], out=offsets[1:])
    return pa.Array.from_buffers(pa.string(), len(data), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(data))])


def sparse(rows: Rows, values: Iterable[Any], count: int, type: pa.DataType) -> pa.Array:
    """Return an array of `count` rows that has values in some of them, and null in all others."""
    if not len(rows):
        # Most columns of `packets` are null in most batches.
        return _nulls(type, 1 << count.bit_length()).slice(0, count)
    few = pa.array(list(values), type)
    where, valid = np.zeros(count, np.int32), np.zeros(count, np.bool_)
    where[rows], valid[rows] = np.arange(len(rows)), True
    return few.take(numbers(where, valid))


@lru_cache(MOST_NULLS)
def _nulls(type: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, type)


def replaced(array: pa.Array, rows: Rows, values: Iterable[Any]) -> pa.Array:
    """Return an array with other values in some rows (int64, each at most once)."""
    if not len(rows):
        return array
    where = np.arange(len(array), dtype=np.int64)
    where[rows] = len(array) + np.arange(len(rows))
    return pa.concat_arrays([array, pa.array(values, array.type)]).take(numbers(where))


def latest(keys: NDArray[Any], valid: Mask) -> tuple[Rows, Rows]:
    """Return for each row the last row up to it with the same key where `valid` is true, and the order by keys.

    Both are int64 with one element for each row; -1 if there is no such row. The order is a stable sort by key.
    """
    order = np.argsort(keys, kind="stable").astype(np.int64)
    if not len(order):
        return order, order
    ranked = keys[order]
    fresh = np.concatenate(([True], ranked[1:] != ranked[:-1]))
    places = np.arange(len(order))
    group = np.maximum.accumulate(np.where(fresh, places, 0))
    last = np.maximum.accumulate(np.where(valid[order], places, -1))
    found = np.empty(len(order), np.int64)
    found[order] = np.where(last >= group, order[last], -1)
    return found, order


# a buffer, read at many places at once


def integers_at_every_byte(data: bytes, kind: str) -> NDArray[Any]:
    """Return the integer that begins at each byte of `data`, without a copy.

    `kind` is a dtype such as `>u2`; the array has len(data) - itemsize + 1 elements.
    """
    size = np.dtype(kind).itemsize
    return np.ndarray((max(len(data) - size + 1, 0),), kind, data, strides=(1,))


def rows_at(data: bytes, at: Integers, size: int, kind: str) -> NDArray[Any]:
    """Return `size` bytes of `data` from each place in `at` on, as a matrix of integers of dtype `kind`.

    The shape is (len(at), size / itemsize). Gathering a whole row costs as much as gathering one integer, so headers
    are gathered at once rather than field by field.
    """
    gathered: NDArray[Any] = integers_at_every_byte(data, f"V{size}")[at]
    return gathered.view(kind).reshape(len(at), size // np.dtype(kind).itemsize)


class Octets:
    """The buffer of a batch, a uint8 array, read at many places at once.

    A place after the end of the buffer gives any value: rows that read there are found to be irregular later.
    """

    __slots__ = ("data",)

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data

    def byte(self, at: Rows) -> NDArray[np.uint8]:
        """Return the byte at each place (uint8, one element for each)."""
        found: NDArray[np.uint8] = self.data.take(at, mode="clip")
        return found

    def integer(self, at: Rows, size: int) -> NDArray[np.int64]:
        """Return the big-endian integer of `size` bytes, at most 7, at each place."""
        value = self.byte(at).astype(np.int64)
        for more in range(1, size):
            value <<= 8
            value |= self.byte(at + more)
        return value

    def variable(self, at: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the Variable Byte Integer at each place, and its size in bytes (int64, one element for each).

        The size is 0 where the integer has a fifth byte or takes more bytes than it needs (5.0: 1.5.5).
        """
        byte = self.byte(at)
        value, size = (byte & 0x7F).astype(np.int64), np.ones(len(at), np.int64)
        longer = np.flatnonzero(byte > 0x7F)
        for more in (1, 2, 3):
            if not len(longer):
                break
            byte = self.byte(at[longer] + more)
            value[longer] |= (byte & 0x7F).astype(np.int64) << 7 * more
            size[longer] = np.where(byte == 0, 0, more + 1)
            longer = longer[byte > 0x7F]
        size[longer] = 0
        return value, size
