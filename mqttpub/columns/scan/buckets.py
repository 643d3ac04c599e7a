"""Buckets of connections: each connection is in one, by a hash of its addresses and ports in either direction."""

from collections.abc import Sequence
from functools import lru_cache
from heapq import heapify, heapreplace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SLOTS = 4096
"""Number of hash slots; a table assigns slots to buckets."""
_WIDTH = 52
"""Bits of a hash below those of the slot."""
_U64 = (1 << 64) - 1
# Odd numbers without a pattern: those of the finalizer of MurmurHash3.
_ONE, _OTHER = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53

Words = NDArray[np.uint64]


class Bucket(NamedTuple):
    """One of `parts` parts of all connections."""

    number: int = 0
    """Counted from 0."""
    parts: int = 1
    table: bytes = b""
    """The bucket of each slot, as little-endian integers of 16 bits; without it each of n parts has every n-th slot."""

    def holds(self, key: bytes) -> bool:
        """Return whether a connection is in this part; `key` has addresses and ports as in a packet of either end."""
        return self.parts == 1 or bool(_mine(self)[slot(key)])

    def hold(self, slots: Words) -> NDArray[np.bool_]:
        """Return which slots are in this part (bool, one element for each slot)."""
        return _mine(self)[slots.astype(np.int64)]


ALL = Bucket()


@lru_cache(64)
def _mine(bucket: Bucket) -> NDArray[np.bool_]:
    table = np.frombuffer(bucket.table, "<u2") if bucket.table else np.arange(SLOTS) % bucket.parts
    mine: NDArray[np.bool_] = table == bucket.number
    return mine


@lru_cache(1024)
def slot(key: bytes) -> int:
    """Return the slot of a connection, by addresses and ports as a packet has them."""
    half = len(key) // 2 - 2
    one, other = key[:half] + key[-4:-2], key[half:-4] + key[-2:]
    if half == 4:
        return int(_slot(*(_mixed(int.from_bytes(end, "little")) for end in (one, other))))
    return int(
        _slot(*(_end6(*(int.from_bytes(end[at : at + 8], "little") for at in (0, 8, 16))) for end in (one, other)))
    )


def slots4(source: Words, target: Words, ports: Words) -> Words:
    """Return the slots (uint64) of packets of IPv4, by addresses and both ports as little-endian words of 32 bits."""
    found: Words = _slot(_mixed(source | (ports & 0xFFFF) << 32), _mixed(target | ports >> 16 << 32))
    return found


def slots6(source: Words, target: Words, ports: Words) -> Words:
    """Return the slots of packets of IPv6, by their addresses as two such words of 64 bits, and both ports as one."""
    found: Words = _slot(
        _end6(source[:, 0], source[:, 1], ports & 0xFFFF), _end6(target[:, 0], target[:, 1], ports >> 16)
    )
    return found


# The same functions for one 64-bit number and for arrays of them.


def _end6(high: Any, low: Any, port: Any) -> Any:
    return _mixed(_mixed(_mixed(high) + low & _U64) + port & _U64)


def _mixed(value: Any) -> Any:
    value = value * _ONE & _U64
    return value ^ value >> 32


def _slot(one: Any, other: Any) -> Any:
    """Return the slot of two ends, whichever comes first."""
    both = one + other & _U64
    return ((both ^ both >> 33) * _OTHER & _U64) >> _WIDTH


def table(weights: Sequence[float], parts: int) -> bytes:
    """Return a table that gives buckets about equal weight, for slots of these weights.

    The heaviest slot is assigned first, always to the lightest bucket.
    """
    found = np.arange(SLOTS) % parts
    loads = [(0.0, bucket) for bucket in range(parts)]
    heapify(loads)
    for index in sorted(range(SLOTS), key=lambda index: (-weights[index], index)):
        if not weights[index]:
            break
        load, bucket = loads[0]
        found[index] = bucket
        heapreplace(loads, (load + weights[index], bucket))
    return found.astype("<u2").tobytes()
