"""Records divided by bucket: what TCP needs of each, as bytes that can be moved between tasks.

A blob holds the records of one bucket in a block of a capture. Of a plain segment only the payload is in it, of any
other record of TCP all bytes. Records without TCP are left out, and so are fragments of anything else; other fragments
have no ports, so they are in the blobs of all buckets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np

from ..scan.records import Integers, Records
from .headers import NOWHERE, Segments

HEAD = Struct("<IIQq")
"""Number of records, number of connections, bytes of their keys with lengths, and what `counted` returns."""
WORDS = 5
"""Columns of 32 bits: number, size, sender, Sequence Number, Acknowledgment Number. A record that is whole has its
length on the wire and its link type instead of the last two."""
NOBODY = 0xFFFF_FFFF
"""The sender of a record that is read by itself."""


@dataclass
class Stretches(Records):
    """Records of one bucket; `data` holds the payload of plain segments, and all other records as a whole."""

    number: Integers
    """The number of each record."""
    segments: Segments

    def numbers(self, before: int) -> Integers:
        """Return the number of each."""
        return self.number


def joined(blobs: Sequence[tuple[int, memoryview]]) -> Stretches:
    """Return the records of blobs of one bucket, each with what is added to its record numbers."""
    flows: dict[bytes, int] = {}
    parts = [_parsed(base, blob, flows) for base, blob in blobs]
    number, size, sender, seq, ack, time, plain = (np.concatenate(columns) for columns in zip(
        *(part[:-1] for part in parts), strict=True))  # fmt: skip
    end = np.cumsum(size)
    start = end - size
    data = b"".join(part[-1] for part in parts)
    found = Segments(sender, plain, start, end, seq, ack, np.flatnonzero(sender == NOWHERE), list(flows), 0, 0)
    return Stretches(data, start, end, np.where(plain, size, seq), time, np.where(plain, 0, ack), number, found)


def counted(blob: memoryview) -> int:
    """Return what was given as `others` when a blob was made."""
    return int(HEAD.unpack_from(blob)[3])


def _parsed(base: int, blob: memoryview, flows: dict[bytes, int]) -> tuple[Any, ...]:
    count, connections, *_ = HEAD.unpack_from(blob)
    at = HEAD.size
    senders = np.empty(2 * connections, np.int64)
    for index in range(connections):
        key = bytes(blob[at + 1 : at + 1 + blob[at]])
        at += 1 + len(key)
        number = 2 * flows.setdefault(key, len(flows))
        senders[2 * index : 2 * index + 2] = number, number + 1
    words = np.frombuffer(blob, "<u4", WORDS * count, at).reshape(WORDS, count).astype(np.int64)
    at += 4 * WORDS * count
    time = np.frombuffer(blob, "<i8", count, at)
    at += 8 * count
    plain = np.frombuffer(blob, np.bool_, count, at)
    known = words[2] != NOBODY
    sender = np.full(count, NOWHERE)
    sender[known] = senders[words[2][known]]
    return words[0] + base, words[1], sender, words[3], words[4], time, plain, blob[at + count :]
