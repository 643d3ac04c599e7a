"""The bytes of a batch read at many places at once."""

import numpy as np
from numpy.typing import NDArray

from .arrow import Rows


class Bytes:
    """The buffer of a batch; what is read behind its end is any value, as such rows turn out to be irregular."""

    __slots__ = ("_last", "data")

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data
        self._last = len(data) - 1

    def byte(self, at: Rows) -> NDArray[np.uint8]:
        """Return the byte at each place."""
        return self.data[np.minimum(at, self._last)]

    def integer(self, at: Rows, size: int) -> NDArray[np.int64]:
        """Return the integer of so many bytes at each place, most significant first."""
        value = self.byte(at).astype(np.int64)
        for more in range(1, size):
            value <<= 8
            value |= self.byte(at + more)
        return value

    def variable(self, at: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the Variable Byte Integer at each place and its size; size 0 where it is not as it should be.

        That is where it does not end at its fourth byte or takes more bytes than need be (5.0: 1.5.5).
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
