"""The records of a capture as columns, a block of the file at a time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import BinaryIO

import numpy as np

from ...capture.containers.buffer import Buffer
from ...capture.containers.pcap import PcapFile
from ...capture.containers.pcapng import ENHANCED, HEAD, LARGEST, Blocks
from ...capture.containers.registry import opened
from ...capture.types import BadCapture, CaptureRecord
from ...common.times import SECOND_NS
from ..arrays import NO_TIME, rows_at
from ..arrays import Integers as Integers

BLOCK = 8 << 20
"""Bytes of a capture that are read at a time."""

LATEST = 1 << 63
"""Nanoseconds since 1970 that do not fit in int64, from the year 2262 on; such a time is NO_TIME."""

MOST_GATHERED = 1 << 16
"""Most records of a block that are gathered from the scalar reader of a container."""

SAMPLE = 64
"""Records of a pcap file that are read one by one, to see how long they are."""
FAR_APART = 512
"""Bytes of a record, on average, from which on a walk from record to record is quicker than a look at all bytes."""
STEPS = 16
"""Records that are walked in the time that it takes to step over a place that is none."""
MOST_CLOCKS = 4
"""How often in a block the upper half of the seconds may change, which is every 18 hours, until it is walked."""

FEWEST = 64
"""Packets in a row from which on reading them in columns is quicker than reading each by itself."""

SMALLEST = HEAD + 4
"""Bytes of an Enhanced Packet Block without a packet."""

MOST_BLOCK = 1 << 30
"""Most bytes of a block: with the largest record after it, it stays within offsets of 32 bits."""


@dataclass
class Records:
    """Consecutive records; int64 arrays with one element for each."""

    data: bytes
    """Holds the captured bytes of all records, and other bytes between them."""
    start: Integers
    """Where the captured bytes of each begin in `data`."""
    end: Integers
    length: Integers
    """Length on the wire, in bytes."""
    time: Integers
    """Nanoseconds since 1970, or NO_TIME."""
    link: Integers
    """LINKTYPE_ value."""

    def __len__(self) -> int:
        return len(self.start)

    def numbers(self, before: int) -> Integers:
        """Return the number of each, counted on from `before`."""
        return np.arange(before + 1, before + 1 + len(self))


_ZERO = np.zeros(1, np.int64)
END = Records(b"", _ZERO, _ZERO, _ZERO, _ZERO, _ZERO)
"""Stands for a record after the last one."""


def records(
    read: Callable[[int], bytes], secrets: Counter[str], *, block: int = BLOCK, start: int = 0, first: int = 1
) -> Iterator[Records]:
    """Yield the records of a capture in order, each block of about so many bytes in one piece.

    `read` and `start` are those of capture.containers.buffer.Buffer, and `first` is the number of the first record. A
    block has MOST_BLOCK bytes at most, and a record at its end, which no container lets grow beyond 16 MiB. Raises
    BadCapture at the end of a broken file, after all whole records.
    """
    block = min(block, MOST_BLOCK)
    buffer, container, _ = opened(read, start=start)
    if walk_of := _WALKS.get(container.name):
        return walk_of(buffer, secrets, block, first)
    return gathered(container.records(buffer, secrets), block)


def gathered(found: Iterable[CaptureRecord | Records], block: int = BLOCK) -> Iterator[Records]:
    """Yield what is read record by record in blocks of about `block` bytes, and what is in columns as it comes.

    Raises BadCapture where `found` does, after the records before that.
    """
    held: list[CaptureRecord] = []
    size, broken = 0, None
    records = iter(found)
    while True:
        try:
            record = next(records, None)
        except BadCapture as error:
            record, broken = None, error
        if isinstance(record, CaptureRecord):
            held.append(record)
            size += len(record.data)
        if held and (size >= block or len(held) >= MOST_GATHERED or not isinstance(record, CaptureRecord)):
            yield _joined(held)
            held, size = [], 0
        if record is None:
            break
        if isinstance(record, Records):
            yield record
    if broken:
        raise broken


def _joined(found: list[CaptureRecord]) -> Records:
    sizes = np.array([len(each.data) for each in found], np.int64)
    end = np.cumsum(sizes)
    times = [NO_TIME if each.time_ns is None or each.time_ns >= LATEST else each.time_ns for each in found]
    length, time, link = (
        np.array(values, np.int64) for values in ([each.length for each in found], times, [each.link for each in found])
    )
    return Records(b"".join(each.data for each in found), end - sizes, end, length, time, link)


def reader(stream: BinaryIO) -> Callable[[int], bytes]:
    """Return a function that reads pieces of a file or a pipe as they arrive."""
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    return read


# pcap


def pcap_records(buffer: Buffer, block: int, number: int = 1) -> Iterator[Records]:
    """Yield the records of a pcap file, the first of which has a number."""
    file, before = PcapFile(buffer), buffer.at
    while file.fetch(number, before):
        buffer.need(block)
        data = buffer.data
        starts, buffer.at = walk(data, buffer.at, file)
        number, before = number + len(starts), int(starts[-1])
        yield _of_pcap(data, starts, buffer.at, file)


def walk(data: bytes, at: int, file: PcapFile) -> tuple[Integers, int]:
    """Return where the headers of the whole records in `data` from `at` on begin (int64), and where the last ends."""
    starts, stop = _walk_each(data, at, file, SAMPLE)
    if len(starts) < SAMPLE:
        return starts, stop
    found = [starts]
    if stop - at < SAMPLE * FAR_APART:
        for _ in range(MOST_CLOCKS):
            many, stop = _walk_many(data, stop, file)
            one, stop = _walk_each(data, stop, file, 1)
            found += (many, one)
            if not len(many) or not len(one):
                break
    rest, stop = _walk_each(data, stop, file, len(data))
    return np.concatenate((*found, rest)), stop


def _walk_each(data: bytes, at: int, file: PcapFile, most: int) -> tuple[Integers, int]:
    """Return the same for at most so many records, read one by one."""
    header, limit, unpack, size = file.layout.header, file.limit, file.unpack, len(data)
    starts: list[int] = []
    add, last = starts.append, size - header
    # This loop runs once for each record, so it has no call but that of struct (tests/benchmarks/columns.py).
    for _ in range(most):
        if at > last:
            break
        seconds, fraction, captured, length = unpack(data, at)
        end = at + header + captured
        # A header of zeros only is damage; see capture.containers.pcap.
        if end > size or captured > limit or not (length or captured or fraction or seconds):
            break
        add(at)
        at = end
    return np.array(starts, np.int64), at


def _walk_many(data: bytes, at: int, file: PcapFile) -> tuple[Integers, int]:
    """Return the same for the records that have the upper half of the seconds of the first, up to one that has not.

    All places with these two bytes are looked at, at once: a record leads to the next one, and no other place counts.
    With a walk from record to record the step takes 1.7 times as long (tests/benchmarks/columns.py, `pcap to records`).
    """
    header, order = file.layout.header, file.layout.order
    last = len(data) - header
    high, low = (3, 2) if order == "<" else (0, 1)
    # Of a clock that begins at 0 these bytes are 0, as many others are, and a header of zeros only is damage.
    if at > last or not data[at + high] | data[at + low]:
        return np.zeros(0, np.int64), at
    octets = np.frombuffer(data, np.uint8)
    alike = (octets[at + high : last + high + 1] == data[at + high]) & (
        octets[at + low : last + low + 1] == data[at + low]
    )
    place = np.flatnonzero(alike) + at
    captured = rows_at(data, place + 8, 4, order + "u4")[:, 0].astype(np.int64)
    end = place + header + captured
    possible = (captured <= file.limit) & (end <= len(data))
    return _linked(place[possible], end[possible], at)


def _linked(place: Integers, end: Integers, at: int) -> tuple[Integers, int]:
    """Return those of some ascending places that lead from `at` to one another by their ends, and the last end."""
    breaks = np.flatnonzero(end[:-1] != place[1:])
    found = [place[:0]]
    if len(breaks) * STEPS > len(place):
        # Other places stand between those that are linked, and to step over each of them would take longer.
        return found[0], at
    while (index := int(place.searchsorted(at))) < len(place) and place[index] == at:
        stop = int(breaks.searchsorted(index))
        last = int(breaks[stop]) if stop < len(breaks) else len(place) - 1
        found.append(place[index : last + 1])
        at = int(end[last])
    return np.concatenate(found), at


def _of_pcap(data: bytes, at: Integers, stop: int, file: PcapFile) -> Records:
    header = file.layout.header
    seconds, fraction, _, length = rows_at(data, at, 16, file.layout.order + "u4").T.astype(np.int64)
    start = at + header
    end = np.append(at[1:], stop)
    time = seconds * SECOND_NS + fraction * file.layout.nanoseconds
    return Records(data, start, end, np.maximum(length, end - start), time, np.full(len(at), file.link, np.int64))


# pcapng


def pcapng_records(buffer: Buffer, secrets: Counter[str], block: int) -> Iterator[Records]:
    """Yield the packets of a pcapng file; counts the key lines in `secrets`, by kind."""
    return gathered((found for _, found in stretches(Blocks(buffer, secrets), block)), block)


def stretches(blocks: Blocks, block: int) -> Iterator[tuple[int, CaptureRecord | Records]]:
    """Yield packets in columns where many follow one another, and one by one where they do not.

    Before the former comes the offset of their `data` in the file, before the latter that of their block. The numbers
    of the latter are not counted.
    """
    buffer, more, most = blocks.buffer, True, FEWEST
    while blocks.more():
        # At most half of a block is kept, so that bytes are not moved for each irregular pcapng block.
        if more and buffer.left < block // 2 + 1:
            more = buffer.need(block)
        data, base = buffer.data, buffer.offset - buffer.at
        starts, stop = enhanced(data, buffer.at, blocks.order, most)
        if len(starts) >= FEWEST:
            found, buffer.at = packets(data, starts, stop, blocks)
            if len(found):
                yield base, found
            if len(found) == most:
                most *= 2
                continue
        # What was looked at in vain may be no more than what was read before: any packet may be irregular.
        most = FEWEST
        # An irregular block, and the last one, is read by itself.
        for _ in range(min(len(starts), FEWEST) + 1):
            if packet := blocks.next():
                time, link, captured, length = packet
                yield blocks.begin, CaptureRecord(1, time, link, captured, length)


def enhanced(data: bytes, at: int, order: str, most: int) -> tuple[Integers, int]:
    """Return where the whole Enhanced Packet Blocks in a row from `at` on begin (int64), and where the last ends.

    There are `most` at most.
    """
    head, size = Struct(order + "II").unpack_from, len(data)
    starts: list[int] = []
    add, last = starts.append, size - SMALLEST
    for _ in range(most):
        if at > last:
            break
        kind, total = head(data, at)
        end = at + total
        if kind != ENHANCED or total & 3 or not SMALLEST <= total <= LARGEST or end > size:
            break
        add(at)
        at = end
    return np.array(starts, np.int64), at


def packets(data: bytes, at: Integers, stop: int, blocks: Blocks) -> tuple[Records, int]:
    """Return the packets of blocks up to the first irregular one, and where that begins."""
    head = rows_at(data, at, HEAD, blocks.order + "u4").T.astype(np.int64)
    total, index, high, low, captured, length = head[1:]
    link, multiplier, begun = _shared(index, high, blocks)
    again = rows_at(data, at + total - 4, 4, blocks.order + "u4")[:, 0]
    regular = (captured <= total - 32) & (captured <= length) & (multiplier > 0) & (again == total)
    count = len(at) if regular.all() else int(regular.argmin())
    start = at[:count] + HEAD
    time = begun[:count] + low[:count] * multiplier[:count]
    found = Records(data, start, start + captured[:count], length[:count], time, link[:count])
    return found, stop if count == len(at) else int(at[count])


def _shared(index: Integers, high: Integers, blocks: Blocks) -> tuple[Integers, Integers, Integers]:
    """Return link types, nanoseconds of a tick, and times of the upper 32 bits of the ticks in nanoseconds."""
    both = index << 32 | high
    # Most packets have the interface and the upper half of the packet before: 2**32 microseconds are 71 minutes.
    begin = np.flatnonzero(np.append(True, both[1:] != both[:-1])[: len(both)])
    pairs, inverse = np.unique(both[begin], return_inverse=True)
    # The upper half of the indices makes a pair negative.
    each = [blocks.shared(pair >> 32 & 0xFFFF_FFFF, pair & 0xFFFF_FFFF) for pair in pairs.tolist()]
    rows = [(link, ticks, begun) if begun + (ticks << 32) < LATEST else (0, 0, 0) for link, ticks, begun in each]
    table = np.array(rows, np.int64).reshape(-1, 3)[np.repeat(inverse, np.diff(np.append(begin, len(both))))]
    return table[:, 0], table[:, 1], table[:, 2]


_WALKS: dict[str, Callable[[Buffer, Counter[str], int, int], Iterator[Records]]] = {
    "pcap": lambda buffer, _, block, first: pcap_records(buffer, block, first),
    "pcapng": lambda buffer, secrets, block, _: pcapng_records(buffer, secrets, block),
}
"""The containers, by name, with a fast walk; all others are gathered record by record."""
