"""How connections are divided into buckets that are about equal work, by a look at small parts of the captures.

Without it, the heaviest of 8 buckets of 32 connections has 2.5 times the work of the mean one, with it 1.3 times (bytes
of the mix `usual` of tests/benchmarks/columns.py); the whole run takes as long as its heaviest bucket.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from os import PathLike
from struct import Struct
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...capture.containers import pcap, pcapng
from ...capture.containers.buffer import Buffer
from ...capture.containers.registry import LOOK, find
from ...capture.types import BadCapture
from ..scan.buckets import SLOTS, table
from ..scan.records import SMALLEST, Records, reader, records
from .headers import slots

FILES = 32
"""Captures that are sampled, at most."""
PLACES = 48
"""Places that are sampled in all of them, about."""
WINDOW = 1 << 15
"""Bytes that are read at a place."""
NEAR = 1 << 14
"""Bytes of these in which the first record is searched."""

Weights = NDArray[np.float64]


def _opened(path: str | PathLike[str]) -> BinaryIO:
    return open(path, "rb")


def shares(paths: Sequence[str | PathLike[str]], parts: int, opened: Callable[[Any], BinaryIO] = _opened) -> bytes:
    """Return the table that divides connections into `parts` buckets, as State accepts it; b"" for one part.

    A connection weighs as much as its bytes in places spread over the captures; of a compressed capture only the
    beginning is read. The same captures give the same table. A capture that cannot be read weighs nothing. `opened`
    opens a capture.
    """
    if parts < 2:
        return b""
    chosen = [paths[index * len(paths) // FILES] for index in range(FILES)] if len(paths) > FILES else paths
    weights = np.zeros(SLOTS)
    for path in chosen:
        with suppress(OSError, BadCapture):
            weights += _weights(opened(path), max(PLACES // len(chosen), 1))
    return table(weights.tolist(), parts)


def _weights(file: BinaryIO, places: int) -> Weights:
    """Return about how many bytes of a capture each slot has: float64, one element for each of SLOTS."""
    weights = np.zeros(SLOTS)
    with file:
        size = file.seek(0, 2)
        for found in _looked_at(file, size, places):
            of, long = slots(found)
            weights += np.bincount(of, long, SLOTS)
    weights *= size / max(weights.sum(), 1)
    return weights


def _looked_at(file: BinaryIO, size: int, places: int) -> Iterator[Records]:
    """Yield the records in some places of a capture."""
    file.seek(0)
    front = next(records(reader(file), Counter(), block=WINDOW), None)
    if front is None:
        return
    yield front
    file.seek(0)
    container = find(file.read(LOOK))
    file.seek(0)
    sample_of = _SAMPLES.get(container.name) if container else None
    if sample_of is None:
        return
    sample = sample_of(file)
    for place in range(1, places):
        start = place * size // places
        if start >= WINDOW:
            yield from _place(file, start, sample)


def _place(file: BinaryIO, start: int, sample: "RecordSampler") -> Iterator[Records]:
    """Yield the records from a place in the file on, if one can be found there."""
    file.seek(start)
    data = file.read(WINDOW)
    begin = sample.first(data)
    if begin < 0:
        return
    with suppress(BadCapture):
        found = next(records(BytesIO(sample.head + data[begin:]).read, Counter(), block=WINDOW), None)
        if found is not None:
            yield found


# the first record after any place of a file


class RecordSampler(ABC):
    """Finds a record in bytes that were cut out of a capture."""

    head: bytes
    """The bytes of the capture before its first packet, which a reader needs."""

    @abstractmethod
    def end(self, data: bytes, at: int) -> int:
        """Return where the record ends that seems to begin at `at`; -1 when none seems to."""

    def first(self, data: bytes) -> int:
        """Return the first place in `data` at which a record seems to begin, and another where it ends; -1 for none."""
        for at in range(min(len(data), NEAR)):
            end = self.end(data, at)
            if end >= 0 and self.end(data, end) >= 0:
                return at
        return -1


class PcapSampler(RecordSampler):
    """Finds a record of pcap by the fraction of its second and its lengths."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the header of the capture."""
        self.form = pcap.PcapFile(Buffer(file.read))
        self.head = self.form.head

    def end(self, data: bytes, at: int) -> int:
        """Return where the record ends; it has a packet, and is in `data` as a whole."""
        form = self.form
        if at > len(data) - form.layout.header:
            return -1
        _, fraction, captured, length = form.unpack(data, at)
        end = at + form.layout.header + captured
        if 0 < captured <= length <= form.limit and fraction < form.layout.fractions and end <= len(data):
            return int(end)
        return -1


class PcapngSampler(RecordSampler):
    """Finds an Enhanced Packet Block of pcapng by its type, and its length that stands at its end, too."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the blocks before the first packet."""
        buffer = Buffer(file.read)
        blocks, data = pcapng.Blocks(buffer, Counter()), file.read(WINDOW)
        file.seek(0)
        begin = 0
        while begin < WINDOW and blocks.next() is None:
            begin = buffer.offset
        self.head = data[:begin]
        self.words = Struct(blocks.order + "II").unpack_from
        self.word = Struct(blocks.order + "I").unpack_from

    def end(self, data: bytes, at: int) -> int:
        """Return where the block ends; it is in `data` as a whole."""
        if at > len(data) - SMALLEST:
            return -1
        kind, total = self.words(data, at)
        if kind != pcapng.ENHANCED or total & 3 or not SMALLEST <= total <= min(pcapng.LARGEST, len(data) - at):
            return -1
        return at + int(total) if self.word(data, at + total - 4)[0] == total else -1


_SAMPLES: dict[str, Callable[[BinaryIO], RecordSampler]] = {"pcap": PcapSampler, "pcapng": PcapngSampler}
"""The containers, by name, whose records can be found from any place in the file."""
