"""The numpy arrays that all of columns is made of, and a buffer that is read at many places at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Rows = NDArray[np.int64]
"""Positions: of rows in a batch, or of bytes in a buffer."""
Mask = NDArray[np.bool_]
NO_TIME = int(np.iinfo(np.int64).min)
"""Stands for an unknown time in arrays of nanoseconds."""


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
