"""Where control packets begin and end in TCP segments that are in order.

Most segments begin with a packet and end with one, and where a packet begins follows from the one before. So all
segments of a block are first read as if each began with a packet, in step: the first packet of every segment, then the
second of every segment that has more, and so on (`SegmentPackets`). What this finds counts only in segments that really
begin with a packet, which is known from the segment before: `Framing.frame` goes through the segments of one direction,
counts those that begin and end with a packet as they are, and joins the others.

Without the first step, reading 10,000 connections that take turns takes 1.6 times as long, and the usual mix 1.15 times
(tests/benchmarks/columns.py, `pcap to frames`).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...codec.framing import frame_length
from ...spec.packets import Connect, Puback, Pubcomp, Pubrec, Pubrel
from ...wire.cursor import Overlong
from ..scan.records import Integers

FEWEST = 256
"""Segments below which it does not pay to read another packet of each in step; `Framing` reads the rest."""
MOST_ROUNDS = 4
"""Packets of a segment that are read in step; `Framing` reads segments that hold more."""

Flags = NDArray[np.bool_]


class Packets(NamedTuple):
    """Packets that segments complete, those of one segment next to each other; int64 arrays of one length."""

    start: Integers
    """Place in the buffer that holds them."""
    length: Integers
    segment: Integers
    """Index of the segment that completed it."""
    stop: Integers
    """Where it ends in the concatenated payloads of all segments."""


class _NextPackets(NamedTuple):
    """The next packet of some of the segments that are read in step."""

    row: Integers
    at: Integers
    length: Integers


class _InStep(NamedTuple):
    """What segments hold that were read in step; all arrays but those of the rounds have one element for each."""

    rounds: list[_NextPackets]
    whole: Flags
    """Whether it ends where a packet does."""
    complete: Integers
    """How many whole packets it has, if it is not whole itself."""
    at: Integers
    """Where a packet begins that continues in the next segment."""
    length: Integers
    """Length of this packet; 0 if there is none, or if `Framing` has to read it."""


class SegmentPackets:
    """The packets of all segments, each read as if it began with a packet.

    A segment is whole if it ends with a packet, too. Two segments are a pair if the second completes the last packet of
    the first, and ends with a packet. `start` and `end` are the places of the payloads in `data` (int64, one element
    for each segment), `before` their places in all payloads together (one element more). A packet that lies in both
    segments of a pair stands in `joined`, whose places count from the end of `data`. A segment with a CONNECT, which
    may change the version, or with a packet larger than `max_packet` or of invalid length is neither whole nor paired.
    """

    def __init__(self, data: bytes, start: Integers, end: Integers, before: Integers, *, max_packet: int) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.before = before
        self.max_packet = max_packet
        self.joined = b""
        self._bytes = np.frombuffer(data, np.uint8)
        step = self._in_step(np.arange(len(start)), start)
        self.whole = step.whole
        self.pair = np.zeros(len(start), np.bool_)
        """bool: which segments are the first of a pair, if they begin where a packet does."""
        rows = [] if self.whole.all() else self._pairs(step)
        rows += [self._rows(each, each.row, each.row, index) for index, each in enumerate(step.rounds)]
        self.packets, self.begin = self._ordered(rows)
        """`begin` (int64) is the segment at whose beginning the reading began: the first of the pair."""

    def _in_step(self, segment: Integers, at: Integers) -> _InStep:
        """Read segments packet by packet, each from a place within it on."""
        count = len(segment)
        step = _InStep([], np.zeros(count, np.bool_), *(np.zeros(count, np.int64) for _ in range(3)))
        row, end = np.arange(count), self.end[segment]
        while len(step.rounds) < MOST_ROUNDS and len(row) >= (FEWEST if step.rounds else 1):
            length = self._lengths(at, end)
            fits = (length > 0) & (at + length <= end)
            if not fits.all():
                cut = np.flatnonzero(~fits)
                which = row[cut]
                step.complete[which], step.at[which], step.length[which] = (
                    len(step.rounds),
                    at[cut],
                    length[cut],
                )
                row, at, end, length = row[fits], at[fits], end[fits], length[fits]
            step.rounds.append(_NextPackets(row, at, length))
            at = at + length
            more = at < end
            step.whole[row[~more]] = True
            row, at, end = row[more], at[more], end[more]
        return step

    def _pairs(self, step: _InStep) -> list[tuple[Integers, ...]]:
        """Find pairs, and return the packets that their second segments complete."""
        first = np.flatnonzero(step.length[:-1])
        lacks = step.at[first] + step.length[first] - self.end[first]
        at = self.start[first + 1] + lacks
        inside = at <= self.end[first + 1]
        first, lacks, at = first[inside], lacks[inside], at[inside]
        ends = at == self.end[first + 1]
        goes_on = np.flatnonzero(~ends)
        rest = self._in_step(first[goes_on] + 1, at[goes_on])
        ends[goes_on] = rest.whole
        self.pair[first[ends]] = True
        rows = []
        for index, each in enumerate(rest.rounds):
            owner = first[goes_on[each.row]]
            rows.append(self._rows(each, owner, owner + 1, step.complete[owner] + 1 + index))
        first, at = first[ends], at[ends]
        length = step.length[first]
        start = len(self.data) + np.cumsum(length) - length
        self._join(step.at[first], self.end[first], self.start[first + 1], at)
        rows.append((start, length, first + 1, self._stop(first + 1, at), first, step.complete[first]))
        return rows

    def _join(self, at: Integers, end: Integers, start: Integers, stop: Integers) -> None:
        """Join the two parts of each packet that lies in both segments of a pair."""
        data = self.data
        parts = zip(*(places.tolist() for places in (at, end, start, stop)), strict=True)
        self.joined = b"".join([data[one:two] + data[three:four] for one, two, three, four in parts])

    def _stop(self, segment: Integers, at: Integers) -> Integers:
        """Return the places in the concatenated payloads of all segments."""
        stop: Integers = at + (self.before[:-1] - self.start)[segment]
        return stop

    def _rows(
        self, found: _NextPackets, begin: Integers, segment: Integers, index: int | Integers
    ) -> tuple[Integers, ...]:  # fmt: skip
        """Return packets with the segments where reading began, and how many packets come before them from there."""
        kept = np.flatnonzero((self.whole | self.pair)[begin])
        _, at, length = (column[kept] for column in found)
        segment = segment[kept]
        places = index[kept] if isinstance(index, np.ndarray) else np.full(len(kept), index)
        return at, length, segment, self._stop(segment, at + length), begin[kept], places

    def _ordered(self, rows: list[tuple[Integers, ...]]) -> tuple[Packets, Integers]:
        """Return all packets in the order of the segments where reading began."""
        if not rows:
            return Packets(*(np.zeros(0, np.int64) for _ in range(4))), np.zeros(0, np.int64)
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
        *columns, begin, index = columns
        counts = np.bincount(begin, minlength=len(self.start))
        place = (np.cumsum(counts) - counts)[begin] + index
        for column in (*columns, begin):
            column[place] = column.copy()
        return Packets(*columns), begin

    def _lengths(self, at: Integers, end: Integers) -> Integers:
        """Return the lengths of packets in bytes, int64.

        0 stands for a header that is incomplete or invalid, for a packet larger than `max_packet`, and for CONNECT.
        """
        last = end - 1
        length: Integers = self._bytes[np.minimum(at + 1, last)].astype(np.int64)
        longer = length > 0x7F
        length += 2
        bad = (at >= last) | (self._bytes[at] >> 4 == Connect.code)
        if longer.any():
            which = np.flatnonzero(longer)
            length[which] = self._long_lengths(at[which], last[which])
        bad |= length > self.max_packet
        length[bad] = 0
        return length

    def _long_lengths(self, at: Integers, last: Integers) -> Integers:
        """Return the lengths of packets whose Remaining Length has more than one byte; 0 if it does not end in time."""
        length = (self._bytes[np.minimum(at + 1, last)] & 0x7F).astype(np.int64)
        goes_on = np.ones(len(at), np.bool_)
        cut = np.zeros(len(at), np.bool_)
        for index in (2, 3, 4):
            cut |= goes_on & (at + index > last)
            byte = self._bytes[np.minimum(at + index, last)].astype(np.int64)
            length += np.where(goes_on, (byte & 0x7F) << 7 * (index - 1), 0) + goes_on
            goes_on = goes_on & (byte > 0x7F)
        length += 2
        length[cut | goes_on] = 0
        return length


# segments of one direction

_FIRST_JOINED = 2
"""Segments that are joined first after one that does not end with a packet; twice as many each time that fails."""
_FAR = 4096
"""Bytes that a packet still needs, above which the segment that completes it is looked up."""
_LONGEST_HEADER = 5
_AFTER_CONNECT = Connect.code + 1 << 4
_ACK = 4
"""Bytes of an acknowledgement of a PUBLISH without a Reason Code, and of no CONNECT."""
_ACK_TYPES = bytes(kind.code << 4 | kind.fields["flags"].default for kind in (Puback, Pubrec, Pubrel, Pubcomp))
_ACKS = re.compile(b"(?s:[%s]\x02..)+" % re.escape(_ACK_TYPES))


class JoinedRun(NamedTuple):
    """Segments whose payloads are joined."""

    data: bytes
    """The beginning of a packet from before, and the payloads."""
    place: int
    """Where `data` begins in the concatenated payloads of all segments, as if that beginning were one of them."""
    ends: list[int]
    """Where packets end in `data`; the first begins at 0, and each where the one before ends."""


class Framed(NamedTuple):
    """How packets lie in consecutive segments of one direction."""

    stretches: list[tuple[int, int]]
    """Ranges of segments, first and one past the last, that are whole or belong to a pair."""
    pairs: list[int]
    """The first segments of pairs in stretches."""
    runs: list[JoinedRun]
    """All other segments."""
    begun: bytearray
    """The incomplete packet at the end."""
    due: int
    """How many bytes that needs before its length, or the packet itself, is complete."""


class Framing:
    """Finds packets in segments of many connections, each sender's in the order of its Sequence Numbers.

    `start` and `end` (int64) are the places of the payloads in `data`; none is empty.
    """

    def __init__(self, data: bytes, start: Integers, end: Integers, *, max_packet: int) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.max_packet = max_packet
        self.before = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - start)])
        """int64: where each payload begins in all payloads together, and where the last one ends."""
        self.found = SegmentPackets(data, start, end, self.before, max_packet=max_packet)
        self.find_stretches()

    def find_stretches(self) -> None:
        """Find where stretches of whole segments and pairs end."""
        odd = np.flatnonzero(~self.found.whole)
        self._odd: list[int] = odd.tolist()
        """Indices of the segments that are not whole."""
        places = np.arange(len(odd))
        begins = np.maximum.accumulate(np.where(np.diff(odd, prepend=-2) > 1, places, 0))
        # Of odd segments in a row every second one completes a pair, or there is a break before it.
        first = odd[(places - begins) % 2 == 0]
        pair = self.found.pair[first]
        self._pairs: list[int] = first[pair].tolist()
        """The first segments of pairs, for a reader that begins before the odd segments in a row that they are in."""
        self._breaks: list[int] = first[~pair].tolist()
        """For such a reader, the segments at which neither a packet ends nor a pair begins."""

    # some segments of one direction

    def frame(self, first: int, stop: int, begun: bytes | bytearray) -> Framed | None:
        """Return the packets of the segments from `first` to before `stop`, which one sender sent.

        `begun` is the incomplete packet before them, empty for none. Returns None if there is a CONNECT, or a packet
        that is too large or of invalid length: these are read one by one.
        """
        index = bisect_left(self._odd, first)
        odd = self._odd[index] if index < len(self._odd) else stop
        if not begun and odd >= stop:
            return Framed([(first, stop)], [], [], bytearray(), 2)
        try:
            return self._frame(first, stop, begun)
        except (Overlong, _Unusual):
            return None

    def _frame(self, first: int, stop: int, begun: bytes | bytearray) -> Framed:
        """Join segments that do not end with a packet with those after them, until they do."""
        stretches: list[tuple[int, int]] = []
        pairs: list[int] = []
        runs: list[JoinedRun] = []
        rest, due = bytes(begun), self._due(begun)
        segment, many = first, _FIRST_JOINED
        while segment < stop:
            if not rest and (odd := self.stretch(segment, stop, pairs)) > segment:
                stretches.append((segment, odd))
                segment, many = odd, _FIRST_JOINED
                continue
            after = min(max(segment + many, self._reach(segment, due - len(rest))), stop)
            place = int(self.before[segment]) - len(rest)
            data = rest + self._payloads(segment, after)
            ends, due = _ends(data, self.max_packet)
            if ends:
                runs.append(JoinedRun(data, place, ends))
            rest = data[ends[-1] :] if ends else data
            segment, many = after, 2 * many
        return Framed(stretches, pairs, runs, bytearray(rest), due)

    def _due(self, begun: bytes | bytearray) -> int:
        return _ends(begun, self.max_packet)[1]

    def _reach(self, segment: int, size: int) -> int:
        """Return the segment after those that hold `size` bytes from `segment` on; 0 for few bytes."""
        return int(self.before.searchsorted(self.before[segment] + size)) if size > _FAR else 0

    def _payloads(self, first: int, stop: int) -> bytes:
        """Return the payloads of some segments, joined."""
        data = self.data
        places = zip(self.start[first:stop].tolist(), self.end[first:stop].tolist(), strict=True)
        return b"".join([data[start:end] for start, end in places])

    def stretch(self, segment: int, stop: int, pairs: list[int]) -> int:
        """Return where the whole segments and pairs from `segment` on end, and append the pairs to `pairs`."""
        odd, pair = self._odd, self.found.pair
        index, count = bisect_left(odd, segment), len(odd)
        if 0 < index < count and odd[index - 1] == segment - 1:
            # In the middle of odd segments in a row, pairs begin elsewhere than for those who come from before them.
            while index < count and (first := odd[index]) == segment:
                if not pair[first] or first + 2 > stop:
                    return min(first, stop)
                pairs.append(first)
                segment += 2
                index += 1 + (index + 1 < count and odd[index + 1] == first + 1)
        index = bisect_left(self._breaks, segment)
        end = min(self._breaks[index], stop) if index < len(self._breaks) else stop
        found = self._pairs[bisect_left(self._pairs, segment) : bisect_left(self._pairs, end)]
        if found and found[-1] + 2 > stop:
            end = found.pop()
        pairs += found
        return end

    # runs of many directions

    def of_runs(self, runs: list[JoinedRun], base: int) -> Packets:
        """Return the packets of runs whose data are joined in a buffer from `base` on."""
        counts = np.array([len(run.ends) for run in runs], np.int64)
        sizes = np.array([len(run.data) for run in runs], np.int64)
        end = _integers(chain.from_iterable(run.ends for run in runs), int(counts.sum()))
        start = np.empty_like(end)
        start[1:] = end[:-1]
        start[np.cumsum(counts) - counts] = 0
        stop = end + np.repeat(_integers((run.place for run in runs), len(runs)), counts)
        segment = np.searchsorted(self.before, stop) - 1
        return Packets(start + np.repeat(base + np.cumsum(sizes) - sizes, counts), end - start, segment, stop)


class _Unusual(Exception):
    """A packet that is read by itself, as it changes how the following ones are read, or is too large."""


def _integers(values: Iterable[int], count: int) -> Integers:
    return np.fromiter(values, np.int64, count)


def _ends(data: bytes | bytearray, most: int) -> tuple[list[int], int]:
    """Return where consecutive packets end, and how many bytes the incomplete one after them needs.

    Raises Overlong for an invalid Remaining Length, and _Unusual for a CONNECT and for a packet longer than `most`.
    """
    # This loop runs once for each packet of segments that hold many or parts of some.
    at, size = 0, len(data)
    last, short = size - 1, min(0x81, most)
    ends: list[int] = []
    add = ends.append
    while at < last:
        length = data[at + 1] + 2
        if not _ACK < length <= short or data[at] < _AFTER_CONNECT:
            # Acks come in hundreds, so reading full segments takes a tenth less time (tests/benchmarks/views.py).
            if length == _ACK <= most and (found := _ACKS.match(data, at)):
                ends += range(at + _ACK, found.end() + 1, _ACK)
                at = found.end()
                continue
            length = _length(data, at, most)
        at += length
        add(at)
    if at > size:
        # The last one is incomplete.
        ends.pop()
        return ends, length
    return ends, 2


def _length(data: bytes | bytearray, at: int, most: int) -> int:
    """Return the length of a packet, or a length beyond the data if its header is incomplete."""
    length = data[at + 1] + 2
    if length > 0x81 and at + 2 < len(data) and data[at + 2] < 0x80:
        # The first byte has its continuation bit, 0x80, and there is one byte more.
        length += (data[at + 2] << 7) - 0x7F
    elif length > 0x81:
        length = frame_length(data[at : at + _LONGEST_HEADER]) or len(data) - at + 1
    if length > most or data[at] >> 4 == Connect.code:
        raise _Unusual
    return length
