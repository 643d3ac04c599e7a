"""Packets of one type and length that follow one another, cut out together (tests/benchmarks/inspected.py)."""

from collections.abc import Iterator
from struct import iter_unpack
from typing import NamedTuple

from ..spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ..spec.versions import Direction, Version
from .stream import Frame, Stream

_FIRST = frozenset((
    *(Publish.code << 4 | flags for flags in range(16)),
    *(kind.code << 4 for kind in (Puback, Pubrec, Pubcomp)), Pubrel.code << 4 | 2,
))  # fmt: skip
"""First bytes of the packets that come in great numbers."""

# Of messages of any length each is a run, and with the constructor it takes longer (tests/benchmarks/inspected.py).
_new = tuple.__new__
SHORTEST_ACK_BYTES, LONGEST_ACK_BYTES = 4, 5
"""Lengths of acks without properties: with their Packet Identifier, and with a Reason Code too."""
_ACKS = {
    bytes((kind.code << 4, size - 2)): size
    for kind in (Puback, Pubrec, Pubcomp)
    for size in (SHORTEST_ACK_BYTES, LONGEST_ACK_BYTES)
}  # fmt: skip
"""Length in bytes of the acks of a receiver that have no properties, by their first two bytes."""
LONGEST_BYTES = 1024
"""Length of the longest packets that are cut out together; to copy longer ones takes longer than to handle each."""


class FrameRun(NamedTuple):
    """The bytes of whole packets with one fixed header."""

    data: bytes
    offset: int
    """Offset of the first byte in its stream."""
    size_bytes: int
    """Length of each."""
    direction: Direction
    version: Version | None

    @property
    def frames(self) -> Iterator[Frame]:
        """The packets, one by one."""
        data, offset, size, direction, version = self
        for at in range(0, len(data), size):
            yield Frame(data[at : at + size], offset + at, direction, version)

    @property
    def packets(self) -> int:
        """How many they are."""
        return len(self.data) // self.size_bytes

    def packet_ids(self, at: int = 2) -> list[int]:
        """Return the Packet Identifiers, which are at this place in each packet; those of acks without properties."""
        return [id for (id,) in iter_unpack(f">{at}xH{self.size_bytes - at - 2}x", self.data)]

    @property
    def reasons(self) -> bytes | None:
        """The Reason Codes of acks without properties, None where the packets have none."""
        return self.data[4::LONGEST_ACK_BYTES] if self.size_bytes == LONGEST_ACK_BYTES else None

    def parts(self, most: int) -> Iterator["FrameRun"]:
        """Yield runs of at most so many of the packets."""
        data, offset, size, direction, version = self
        step = most * size
        if len(data) <= step:
            yield self
            return
        for at in range(0, len(data), step):
            yield FrameRun(data[at : at + step], offset + at, size, direction, version)


def end_of_run(data: bytes, start: int, header: bytes, size: int) -> int:
    """Return where the packets of `size` bytes end that begin at `start`, with this fixed header; a cut one is left."""
    stop = start + size
    while data.startswith(header, stop):
        stop += size
    return stop if stop <= len(data) else stop - size


def take_runs(stream: Stream, direction: Direction, data: bytes) -> tuple[list[FrameRun], bytes]:
    """Take the runs that new bytes of a stream begin with, and return the other bytes too.

    They begin with a packet of another kind, with a longer one or with a part of one.
    """
    runs: list[FrameRun] = []
    if stream.lost or not stream.offset or stream.pending:
        return runs, data
    start, end, offset, version = 0, len(data), stream.offset, stream.version
    while start + 3 < end and data[start] in _FIRST:
        low, high = data[start + 1], data[start + 2]
        if low < 0x80:
            size, header = low + 2, data[start : start + 2]
        elif 0 < high < 0x80:
            size, header = (low & 0x7F | high << 7) + 3, data[start : start + 3]
        else:
            break
        stop = start + size
        if data.startswith(header, stop):
            stop = end_of_run(data, start, header, size)
        if stop > end or size > LONGEST_BYTES:
            break
        runs.append(_new(FrameRun, (data[start:stop], offset + start, size, direction, version)))
        start = stop
    if runs:
        stream.pass_over(start)
    return runs, data[start:]


def take_acks(stream: Stream, direction: Direction, data: bytes) -> tuple[list[FrameRun], bytes]:
    """Take the runs of acks of a receiver that a stream goes on with, without properties, and return the other bytes.

    Bulk publishing gets two million of them for a million messages of QoS 2; a Frame and a call for each took about a
    third of the processor time (tests/benchmarks/publish.py).
    """
    runs: list[FrameRun] = []
    whole, start, offset = stream.pending + data, 0, stream.offset
    while size := _ACKS.get(head := whole[start : start + 2]):
        stop = end_of_run(whole, start, head, size)
        if stop == start:
            break
        runs.append(FrameRun(whole[start:stop], offset + start, size, direction, stream.version))
        start = stop
    if not runs:
        return runs, data
    stream.pass_over(start)
    return runs, whole[start:]
