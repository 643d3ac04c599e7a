"""Arrow arrays from positions in one buffer, and from what stands in a few rows only."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Positions: of rows in a batch, or of bytes in a buffer."""
Mask = NDArray[np.bool_]
MOST_BYTES = 2**31 - 1
"""What Arrow's offsets of 32 bits reach."""


def slices(buffer: pa.Buffer, begin: Rows, end: Rows, valid: Mask | None = None) -> pa.Array:
    """Return the bytes from each `begin` to its `end`, null where not valid.

    Begins and ends, taken in turns, are the offsets of an array over the same buffer that has
    what lies between two slices as an element too; every other element is taken. Slices may
    come in any order and overlap, as an element that is not taken is never looked at.
    """
    count = len(begin)
    offsets = np.zeros(2 * count + 2, np.int32)
    offsets[1:-1:2], offsets[2::2] = begin, end
    if valid is not None:
        offsets[1:-1:2][~valid] = offsets[2::2][~valid] = 0
    # Arrow makes room for as much as half of what lies between the first and the last offset.
    total = int((offsets[2::2] - offsets[1:-1:2]).sum(dtype=np.int64))
    offsets[-1] = min(2 * total + 64, buffer.size)
    turns = pa.Array.from_buffers(pa.binary(), 2 * count + 1, [None, pa.py_buffer(offsets), buffer])
    return turns.take(numbers(np.arange(1, 2 * count + 1, 2, dtype=np.int32), valid))


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


def unreadable(data: pa.Array) -> Rows:
    """Return the rows whose bytes are not UTF-8; there mostly are none, and then all are checked at once."""
    try:
        data.cast(pa.string())
    except pa.ArrowInvalid:
        return np.array([row for row, value in enumerate(data.to_pylist()) if value and not _is_text(value)], np.int64)
    return np.empty(0, np.int64)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def picked(words: Sequence[str | None], places: NDArray[Any]) -> pa.Array:
    """Return the words at these places."""
    return pa.array(words, pa.string()).take(numbers(places))


def sparse(rows: Rows, values: Iterable[Any], count: int, type: pa.DataType) -> pa.Array:
    """Return an array of `count` rows that holds values in some of them, and null in all others."""
    if not len(rows):
        return pa.nulls(count, type)
    few = pa.array(list(values), type)
    where, valid = np.zeros(count, np.int32), np.zeros(count, np.bool_)
    where[rows], valid[rows] = np.arange(len(rows)), True
    return few.take(numbers(where, valid))


def replaced(array: pa.Array, rows: Rows, values: Iterable[Any]) -> pa.Array:
    """Return an array with other values in some rows."""
    if not len(rows):
        return array
    where = np.arange(len(array), dtype=np.int64)
    where[rows] = len(array) + np.arange(len(rows))
    return pa.concat_arrays([array, pa.array(values, array.type)]).take(numbers(where))


def latest(keys: NDArray[Any], told: Mask) -> tuple[Rows, Rows]:
    """Return for each row the last row up to it that has its key and told something, and the order by keys.

    Where none did, -1. The order is that of the rows sorted by key, those of one key as they came.
    """
    order = np.argsort(keys, kind="stable").astype(np.int64)
    if not len(order):
        return order, order
    ranked = keys[order]
    fresh = np.concatenate(([True], ranked[1:] != ranked[:-1]))
    places = np.arange(len(order))
    group = np.maximum.accumulate(np.where(fresh, places, 0))
    last = np.maximum.accumulate(np.where(told[order], places, -1))
    found = np.empty(len(order), np.int64)
    found[order] = np.where(last >= group, order[last], -1)
    return found, order
