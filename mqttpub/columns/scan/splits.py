"""Parts of a large capture file that can be read independently, found by a walk over all records."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, NamedTuple

import numpy as np

from ...capture.containers import pcapng
from ...capture.containers.buffer import Buffer
from ...capture.containers.pcap import FILE_HEADER, PcapFile
from ...capture.containers.pcapng import Blocks
from ...capture.containers.registry import LOOK, find
from ...capture.types import BadCapture
from ..arrays import Integers
from .records import BLOCK, Records, records, stretches, walk

SIZE = 64 << 20
"""Bytes of a part, about."""


class Split(NamedTuple):
    """Whole records of a file; the last part also has what follows the last whole record."""

    start: int
    """Where they begin in the file."""
    stop: int
    """Where they end."""
    first: int
    """Number of the first record in the file, counted from 1."""
    head: bytes
    """The bytes to read before them: the header and the interfaces of the file."""

    def records(self, file: BinaryIO, secrets: Counter[str], *, block: int = BLOCK) -> Iterator[Records]:
        """Yield the records, as `records.records` does; raises BadCapture at the end of a broken file's last part."""
        file.seek(self.start)
        part = _Within(file, self.stop - self.start, self.head)
        return records(part.read, secrets, block=block, start=self.start - len(self.head), first=self.first)


class _Within:
    """Reads some bytes of a file, after other bytes."""

    def __init__(self, file: BinaryIO, left: int, head: bytes) -> None:
        self._file = file
        self._left = left
        self._head = head

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        piece = self._file.read(min(size, self._left))
        self._left -= len(piece)
        return piece


def index(file: BinaryIO, whole: int, *, size: int = SIZE, block: int = BLOCK) -> list[Split]:
    """Return the parts of a file of `whole` bytes, in order, each of about `size`; one if the file is compressed.

    Together they are the file. No part begins after damage, so that the last part tells of all of it. Raises OSError.
    """
    buffer = Buffer(file.read)
    buffer.need(LOOK)
    first = buffer.data[:LOOK]
    found: list[_Place] = []
    with suppress(BadCapture):
        found.extend(_places(first, buffer, size, block))
    begins = [(0, 1, b""), *(place for place in found if place[0] < whole)]
    stops = [*(start for start, _, _ in begins[1:]), whole]
    return [Split(start, stop, number, head) for (start, number, head), stop in zip(begins, stops, strict=True)]


_FIRST = np.zeros(1, np.int64)
_Place = tuple[int, int, bytes]
"""Offset, number and head of a part."""


def _places(first: bytes, buffer: Buffer, size: int, block: int) -> Iterator[_Place]:
    """Yield where parts begin, nothing for a container without a walk; raises BadCapture if the file is broken."""
    container = find(first)
    walk_of = _WALKS.get(container.name) if container else None
    return walk_of(buffer, size, block) if walk_of else iter(())


class _Cuts:
    """Chooses records at which parts begin."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.due = size
        self.number = 1
        """Of the next record."""

    def among(self, starts: Integers, base: int, head: bytes | bytearray) -> Iterator[_Place]:
        """Yield the places among the next records, which stand at `base` plus `starts`."""
        index = int(starts.searchsorted(self.due - base))
        while index < len(starts):
            begin = base + int(starts[index])
            yield begin, self.number + index, bytes(head)
            self.due = begin + self.size
            index = int(starts.searchsorted(self.due - base))
        self.number += len(starts)


def _of_pcap(buffer: Buffer, size: int, block: int) -> Iterator[_Place]:
    file, cuts = PcapFile(buffer), _Cuts(size)
    head, before = buffer.data[:FILE_HEADER], buffer.at
    while file.fetch(cuts.number, before) and not file.gaps:
        buffer.need(block)
        base = buffer.offset - buffer.at
        starts, buffer.at = walk(buffer.data, buffer.at, file)
        before = int(starts[-1])
        yield from cuts.among(starts, base, head)


def _of_pcapng(buffer: Buffer, size: int, block: int) -> Iterator[_Place]:
    blocks, cuts = Blocks(buffer, Counter(), describe=True), _Cuts(size)
    for offset, found in stretches(blocks, block):
        if blocks.gaps:
            return
        if isinstance(found, Records):
            yield from cuts.among(found.start - pcapng.HEAD, offset, blocks.description)
        else:
            yield from cuts.among(_FIRST, offset, blocks.description)


_WALKS: dict[str, Callable[[Buffer, int, int], Iterator[_Place]]] = {"pcap": _of_pcap, "pcapng": _of_pcapng}
"""How the parts of a container are found, by its name."""
