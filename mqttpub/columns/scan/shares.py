"""How connections are divided so that each share is about as much work, by a look at small parts of captures."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from os import PathLike, fspath
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...capture.containers import pcap, pcapng
from ...capture.containers.buffer import Buffer
from ...capture.containers.registry import LOOK, find
from ...capture.types import BadCapture
from ..reassemble.headers import slots
from .buckets import SLOTS, table
from .parallel import Chain, EnhancedChain, PcapChain
from .records import Records, reader, records
from .splits import Split

FILES = 32
"""Captures that are looked at, at most."""
PLACES = 48
"""Places in all of them, about."""
WINDOW = 1 << 15
"""Bytes that are looked at in a place."""

Weights = NDArray[np.float64]


def shares(paths: Sequence[str | PathLike[str]], parts: int) -> bytes:
    """Return the table by which connections are divided into parts, as State takes it; nothing for one part.

    The weight of a connection is that of its bytes in places spread over the captures; of compressed captures only
    the beginning is looked at. The same captures give the same table. What cannot be read weighs nothing.
    """
    if parts < 2:
        return b""
    chosen = [paths[index * len(paths) // FILES] for index in range(FILES)] if len(paths) > FILES else paths
    weights = np.zeros(SLOTS)
    for path in chosen:
        with suppress(OSError, BadCapture):
            weights += _weights(fspath(path), max(PLACES // len(chosen), 1))
    return table(weights.tolist(), parts)


def _weights(path: str, places: int) -> Weights:
    """Return about how many bytes of a capture each slot has."""
    weights = np.zeros(SLOTS)
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        for found in _looked_at(file, path, size, places):
            of, long = slots(found)
            weights += np.bincount(of, long, SLOTS)
    weights *= size / max(weights.sum(), 1)
    return weights


def _looked_at(file: BinaryIO, path: str, size: int, places: int) -> Iterator[Records]:
    """Yield the records in some places of a capture."""
    file.seek(0)
    front = next(records(reader(file), Counter(), block=WINDOW), None)
    if front is None:
        return
    yield front
    known = _known(front, file)
    if known is None:
        return
    head, chain = known
    for place in range(1, places):
        start = place * size // places
        if start >= WINDOW:
            yield from _place(file, path, start, head, chain)


def _known(front: Records, file: BinaryIO) -> tuple[bytes, Callable[[bytes], Chain]] | None:
    """Return what stands in front of the first packet of a capture, and what its records are."""
    file.seek(0)
    container = find(file.read(LOOK))
    known = _KNOWN.get(container.name) if container else None
    file.seek(0)
    return known(file) if known else None


def _known_pcap(file: BinaryIO) -> tuple[bytes, Callable[[bytes], Chain]]:
    buffer = Buffer(file.read)
    form = pcap.File(buffer)
    return buffer.data[: buffer.at], lambda data: PcapChain(data, form)


def _known_pcapng(file: BinaryIO) -> tuple[bytes, Callable[[bytes], Chain]]:
    buffer = Buffer(file.read)
    blocks, data = pcapng.Blocks(buffer, Counter()), file.read(WINDOW)
    file.seek(0)
    begin = 0
    while begin < WINDOW and blocks.next() is None:
        begin = buffer.offset
    return data[:begin], lambda data: EnhancedChain(data, blocks.order)


_KNOWN: dict[str, Callable[[BinaryIO], tuple[bytes, Callable[[bytes], Chain]]]] = {
    "pcap": _known_pcap,
    "pcapng": _known_pcapng,
}
"""The containers, by name, whose records can be found from any place in the file."""


def _place(file: BinaryIO, path: str, start: int, head: bytes, chain: Callable[[bytes], Chain]) -> Iterator[Records]:
    """Yield the records from a place on, if they can be told there."""
    file.seek(start)
    data = file.read(WINDOW)
    begin = chain(data).first()
    if begin < 0:
        return
    with suppress(BadCapture):
        found = next(Split(path, start + begin, start + len(data), 1, head).records(block=WINDOW), None)
        if found is not None:
            yield found
