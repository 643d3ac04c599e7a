"""Parts of a large capture file that can be read independently, found by a walk over all records."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, NamedTuple

import numpy as np

from ...capture.containers import pcapng
from ...capture.containers.buffer import Buffer
from ...capture.containers.pcap import PcapFile
from ...capture.containers.pcapng import Blocks
from ...capture.containers.registry import LOOK, find
from ...capture.types import BadCapture
from ..arrays import Integers
from .records import BLOCK, Records, records, stretches, walk

SIZE = 64 << 20
"""Bytes of a part, about."""
MOST_HEAD = 4096
"""Bytes of a head that are kept between two looks at a growing file, at most: some thirty interfaces."""


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


def index(
    file: BinaryIO, whole: int, *, size: int = SIZE, block: int = BLOCK, begin: tuple[int, int, bytes] = (0, 1, b"")
) -> list[Split]:
    """Return the parts of a file of `whole` bytes, in order, each of about `size`; one if the file is compressed.

    Together they are the file from `begin` on, a place that `end` returned. No part begins after damage, so that the
    last part tells of all of it. Raises OSError.
    """
    buffer, first = _buffer(file, Split(begin[0], whole, *begin[1:]))
    found: list[_Place] = []
    with suppress(BadCapture):
        found.extend(_places(first, buffer, _Cuts(begin[0] + size, size, begin[1]), block))
    begins = [begin, *(place for place in found if place[0] < whole)]
    stops = [*(start for start, _, _ in begins[1:]), whole]
    return [Split(start, stop, number, head) for (start, number, head), stop in zip(begins, stops, strict=True)]


def end(file: BinaryIO, part: Split, *, block: int = BLOCK) -> tuple[int, int, bytes] | None:
    """Return where a record begins that is appended to a file later, its number, and the bytes to read before it.

    `part` is the last part of the file. Returns None if the file is damaged or compressed, and where the bytes
    before it would be more than MOST_HEAD. Raises OSError.
    """
    buffer, first = _buffer(file, part)
    cuts = _Cuts(part.stop, 0, part.first)
    container = find(first)
    if not container or container.name not in _WALKS:
        return None
    try:
        for _ in _WALKS[container.name](buffer, cuts, block):
            # A record begins after the last byte only in a file that has grown since.
            continue
    except BadCapture as error:
        # What was cut short may be completed later.
        if error.offset != cuts.after[0]:
            return None
    start, head = cuts.after
    return (start, cuts.number, head) if start >= 0 and len(head) <= MOST_HEAD else None


def _buffer(file: BinaryIO, part: Split) -> tuple[Buffer, bytes]:
    """Return what reads a part, and its first bytes."""
    file.seek(part.start)
    buffer = Buffer(_Within(file, part.stop - part.start, part.head).read, start=part.start - len(part.head))
    buffer.need(LOOK)
    return buffer, buffer.data[:LOOK]


_FIRST = np.zeros(1, np.int64)
_Place = tuple[int, int, bytes]
"""Offset, number and head of a part."""


def _places(first: bytes, buffer: Buffer, cuts: "_Cuts", block: int) -> Iterator[_Place]:
    """Yield where parts begin, nothing for a container without a walk; raises BadCapture if the file is broken."""
    container = find(first)
    walk_of = _WALKS.get(container.name) if container else None
    return walk_of(buffer, cuts, block) if walk_of else iter(())


class _Cuts:
    """Chooses records at which parts begin."""

    def __init__(self, due: int, size: int, number: int) -> None:
        self.due = due
        """Offset from which on the next part may begin."""
        self.size = size
        self.number = number
        """Of the next record."""
        self.after: tuple[int, bytes] = (-1, b"")
        """Where the next record begins, and its head; -1 if there was damage."""

    def among(self, starts: Integers, base: int, head: bytes | bytearray) -> Iterator[_Place]:
        """Yield the places among the next records, which stand at `base` plus `starts`."""
        index = int(starts.searchsorted(self.due - base))
        while index < len(starts):
            begin = base + int(starts[index])
            yield begin, self.number + index, bytes(head)
            self.due = begin + self.size
            index = int(starts.searchsorted(self.due - base))
        self.number += len(starts)


def _of_pcap(buffer: Buffer, cuts: _Cuts, block: int) -> Iterator[_Place]:
    file = PcapFile(buffer)
    head, before = file.head, buffer.at
    cuts.after = buffer.offset, head
    while file.fetch(cuts.number, before):
        if file.gaps:
            cuts.after = -1, head
            return
        buffer.need(block)
        base = buffer.offset - buffer.at
        starts, buffer.at = walk(buffer.data, buffer.at, file)
        before = int(starts[-1])
        yield from cuts.among(starts, base, head)
        cuts.after = buffer.offset, head


def _of_pcapng(buffer: Buffer, cuts: _Cuts, block: int) -> Iterator[_Place]:
    blocks = Blocks(buffer, Counter(), describe=True)
    try:
        for offset, found in stretches(blocks, block):
            if blocks.gaps:
                break
            if isinstance(found, Records):
                yield from cuts.among(found.start - pcapng.HEAD, offset, blocks.description)
            else:
                yield from cuts.among(_FIRST, offset, blocks.description)
        cuts.after = -1 if blocks.gaps else buffer.offset, bytes(blocks.description)
    except BadCapture:
        cuts.after = blocks.begin, bytes(blocks.description)
        raise


_WALKS: dict[str, Callable[[Buffer, _Cuts, int], Iterator[_Place]]] = {"pcap": _of_pcap, "pcapng": _of_pcapng}
"""How the parts of a container are found, by its name."""
