"""Packets of many segments at once, each looked at as if it began with a packet."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...spec.packets import Connect
from ..arrow import slices
from ..scan.records import Integers

FEWEST = 256
"""Segments of which the next packets are looked for at once; what is left of fewer is left to others."""
MOST_ROUNDS = 4
"""Packets of a segment that are looked for; what holds more is left to others, too."""

Flags = NDArray[np.bool_]


class Packets(NamedTuple):
    """Packets that segments complete, those of one segment side by side."""

    start: Integers
    """In the bytes that hold them."""
    length: Integers
    segment: Integers
    """Which one completed it."""
    stop: Integers
    """Where it ends in the payloads of all segments, one behind the other."""


class _Round(NamedTuple):
    """The next packets of some lanes."""

    lane: Integers
    at: Integers
    length: Integers


class _Walked(NamedTuple):
    """What lanes hold; all but the rounds have one element for each."""

    rounds: list[_Round]
    whole: Flags
    """Whether it ends with a packet."""
    complete: Integers
    """How many whole packets it has, where it is not whole itself."""
    at: Integers
    """Where a packet begins that goes on in the next segment."""
    length: Integers
    """That of this packet; 0 where there is none, or what is there is not usual."""


class Whole:
    """Packets of segments that end with one, and of pairs of segments where the second completes the last of the first.

    `start` and `end` are the payloads of segments in `data`, `before` is where they begin and end one behind
    the other. Packets of both segments of a pair stand in `joined`; their places count from the end of `data` on.
    A CONNECT, what is larger than `max_packet` and what has no end make a segment neither whole nor one of a pair.
    """

    def __init__(self, data: bytes, start: Integers, end: Integers, before: Integers, *, max_packet: int) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.before = before
        self.max_packet = max_packet
        self.joined: bytes | pa.Buffer = b""
        self._bytes = np.frombuffer(data, np.uint8)
        walked = self._walk(np.arange(len(start)), start)
        self.whole = walked.whole
        self.pair = np.zeros(len(start), np.bool_)
        """Which segments are the first of a pair if they begin where a packet does."""
        rows = [] if self.whole.all() else self._pairs(walked)
        rows += [self._rows(each, each.lane, each.lane, index) for index, each in enumerate(walked.rounds)]
        self.packets, self.begin = self._ordered(rows)
        """`begin` is the segment that begins where a packet does, which is the first of the pair."""

    def _walk(self, segment: Integers, at: Integers) -> _Walked:
        """Go from packet to packet in step, each lane from a place within a segment on."""
        count = len(segment)
        walked = _Walked([], np.zeros(count, np.bool_), *(np.zeros(count, np.int64) for _ in range(3)))
        lane, end = np.arange(count), self.end[segment]
        while len(walked.rounds) < MOST_ROUNDS and len(lane) >= (FEWEST if walked.rounds else 1):
            length = self._lengths(at, end)
            fits = (length > 0) & (at + length <= end)
            if not fits.all():
                cut = np.flatnonzero(~fits)
                which = lane[cut]
                walked.complete[which], walked.at[which], walked.length[which] = (
                    len(walked.rounds),
                    at[cut],
                    length[cut],
                )
                lane, at, end, length = lane[fits], at[fits], end[fits], length[fits]
            walked.rounds.append(_Round(lane, at, length))
            at = at + length
            more = at < end
            walked.whole[lane[~more]] = True
            lane, at, end = lane[more], at[more], end[more]
        return walked

    def _pairs(self, walked: _Walked) -> list[tuple[Integers, ...]]:
        """Find pairs, and return packets that their second segments complete."""
        first = np.flatnonzero(walked.length[:-1])
        lacks = walked.at[first] + walked.length[first] - self.end[first]
        at = self.start[first + 1] + lacks
        inside = at <= self.end[first + 1]
        first, lacks, at = first[inside], lacks[inside], at[inside]
        ends = at == self.end[first + 1]
        goes_on = np.flatnonzero(~ends)
        rest = self._walk(first[goes_on] + 1, at[goes_on])
        ends[goes_on] = rest.whole
        self.pair[first[ends]] = True
        rows = []
        for index, each in enumerate(rest.rounds):
            owner = first[goes_on[each.lane]]
            rows.append(self._rows(each, owner, owner + 1, walked.complete[owner] + 1 + index))
        first, at = first[ends], at[ends]
        length = walked.length[first]
        start = len(self.data) + np.cumsum(length) - length
        self._join(walked.at[first], self.end[first], self.start[first + 1], at)
        rows.append((start, length, first + 1, self._stop(first + 1, at), first, walked.complete[first]))
        return rows

    def _join(self, at: Integers, end: Integers, start: Integers, stop: Integers) -> None:
        """Join what stands in two places each."""
        begin, behind = (np.stack(both, axis=1).ravel() for both in ((at, start), (end, stop)))
        if len(at):
            self.joined = slices(pa.py_buffer(self.data), begin, behind).buffers()[2]

    def _stop(self, segment: Integers, at: Integers) -> Integers:
        """Return where something stands in the payloads of all segments, one behind the other."""
        stop: Integers = at + (self.before[:-1] - self.start)[segment]
        return stop

    def _rows(
        self, found: _Round, begin: Integers, segment: Integers, index: int | Integers
    ) -> tuple[Integers, ...]:  # fmt: skip
        """Return packets with the segments where the walk to them began, and their places behind these beginnings."""
        kept = np.flatnonzero((self.whole | self.pair)[begin])
        _, at, length = (column[kept] for column in found)
        segment = segment[kept]
        places = index[kept] if isinstance(index, np.ndarray) else np.full(len(kept), index)
        return at, length, segment, self._stop(segment, at + length), begin[kept], places

    def _ordered(self, rows: list[tuple[Integers, ...]]) -> tuple[Packets, Integers]:
        """Return all packets in the order of the segments where the walk began."""
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
        """Return the lengths of packets; 0 for headers that are cut or too long, for what is too large, and CONNECT."""
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
        """Return the lengths of packets whose Remaining Length has more than one byte; 0 when it does not end."""
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
