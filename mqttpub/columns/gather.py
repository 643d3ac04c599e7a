"""Integers and rows of bytes that stand at many places of a buffer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def integers(data: bytes, kind: str) -> NDArray[Any]:
    """Return the integers that begin at each byte, such as kind `>u2`, without a copy."""
    size = np.dtype(kind).itemsize
    return np.ndarray((max(len(data) - size + 1, 0),), kind, data, strides=(1,))


def rows(data: bytes, at: Integers, size: int, kind: str) -> NDArray[Any]:
    """Return the bytes from each place on, of which `size` are there, as a row of integers of a kind.

    One copy of a row costs as much as that of a single integer.
    """
    taken: NDArray[Any] = integers(data, f"V{size}")[at]
    return taken.view(kind).reshape(len(at), size // np.dtype(kind).itemsize)
