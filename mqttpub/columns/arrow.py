"""Arrow arrays over the memory of a buffer or of numpy arrays."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .arrays import Mask, Rows

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
    """Return bytes as texts, and the rows (int64) that no string of MQTT may have; if there are any, bytes unchanged.

    These are not UTF-8, or hold U+0000 (5.0: 1.5.4).
    """
    try:
        found = data.cast(pa.string())
        if not _has_zero(data):
            return found, np.empty(0, np.int64)
    except pa.ArrowInvalid:
        pass
    bad = [row for row, value in enumerate(data.to_pylist()) if value and not _is_text(value)]
    return data, np.array(bad, np.int64)


def _has_zero(data: pa.Array) -> bool:
    """Return whether an array of bytes has a byte 0, in elements that are not null."""
    _, offsets, held = data.buffers()
    if held is None:
        return False
    first, *_, last = np.frombuffer(offsets, np.int32)[[data.offset, data.offset + len(data)]].tolist()
    return not np.frombuffer(held, np.uint8)[first:last].all()


def coded_texts(data: pa.Array) -> tuple[pa.Array, Rows]:
    """Return the same as `texts`, but the texts as a dictionary array, so that each is checked once."""
    encoded = data.dictionary_encode()
    words, bad = texts(encoded.dictionary)
    if len(bad):
        return data, np.flatnonzero(np.isin(indices(encoded), bad))
    return pa.DictionaryArray.from_arrays(encoded.indices, words, safe=False), bad


def _is_text(value: bytes) -> bool:
    try:
        return "\0" not in value.decode()
    except UnicodeDecodeError:
        return False


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
