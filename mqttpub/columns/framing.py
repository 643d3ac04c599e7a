"""Where control packets begin and end in segments that are in order."""

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from ..codec.framing import CONNECT, frame_length
from ..wire.cursor import Overlong
from .scan import Integers

FEWEST = 32
"""Segments of which the next packets are looked for at once; of fewer they are looked for one by one."""
_LONGEST_HEADER = 5


class Packets(NamedTuple):
    """Packets that segments complete, those of one segment side by side."""

    start: Integers
    """In the bytes that hold them."""
    length: Integers
    segment: Integers
    """Which one completed it."""
    end: Integers
    """Where in the bytes of the segments the last byte stands, and one more."""


class Framed(NamedTuple):
    """How the packets of some segments follow one another."""

    stretches: list[tuple[int, int]]
    """Segments, first and behind the last, that hold nothing but whole packets."""
    others: list[tuple[int, int, int, int]]
    """Rows of Packets for those in all other segments."""
    begun: bytearray
    """What is left at the end: a packet that has begun."""
    due: int
    """How long that has to become before more can be said."""


class Framing:
    """Looks for packets in segments of many connections, which follow one another in the bytes of each direction.

    `start` and `end` are their payloads in `data`. A packet that several segments hold is put together in
    `joined`; its place counts from the end of `data` on.
    """

    def __init__(self, data: bytes, start: Integers, end: Integers, *, max_packet: int) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.max_packet = max_packet
        self.joined = bytearray()
        self._bytes = np.frombuffer(data, np.uint8)
        self.whole = np.zeros(len(start), np.bool_)
        """Which segments hold nothing but whole packets if they begin where a packet does."""
        self.packets = self._whole()
        """Those of such segments."""
        self._odd: list[int] = np.flatnonzero(~self.whole).tolist()

    # all segments at once, as if each began with a packet

    def _whole(self) -> Packets:
        """Go from packet to packet in all segments in step."""
        segment, at = np.arange(len(self.start)), self.start
        rounds: list[Packets] = []
        while len(segment) >= (FEWEST if rounds else 1):
            end = self.end[segment]
            length = self._lengths(at, end)
            fits = (length > 0) & (at + length <= end)
            if not fits.all():
                segment, at, end, length = segment[fits], at[fits], end[fits], length[fits]
            after = at + length
            rounds.append(Packets(at, length, segment, after))
            more = after < end
            self.whole[segment[~more]] = True
            segment, at = segment[more], after[more]
        return self._sorted(rounds)

    def _sorted(self, rounds: list[Packets]) -> Packets:
        """Put the packets of whole segments into the order of their bytes."""
        kept = [Packets(*(column[self.whole[each.segment]] for column in each)) for each in rounds]
        if len(kept) < 2 or not len(kept[1].start):
            return kept[0] if kept else Packets(*(np.zeros(0, np.int64) for _ in range(4)))
        joined = [np.concatenate(column) for column in zip(*kept, strict=True)]
        # A stable sort by segment keeps the packets of one segment in the order of the rounds.
        order = np.argsort(joined[2], kind="stable")
        return Packets(*(column[order] for column in joined))

    def _lengths(self, at: Integers, end: Integers) -> Integers:
        """Return the lengths of packets; 0 for headers that are cut or too long, for what is too large, and CONNECT."""
        last = end - 1
        length: Integers = self._bytes[np.minimum(at + 1, last)].astype(np.int64)
        longer = length > 0x7F
        length += 2
        bad = (at >= last) | (self._bytes[at] >> 4 == CONNECT)
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

    # some segments of one direction

    def frame(self, first: int, stop: int, begun: bytes | bytearray) -> Framed | None:
        """Return the packets of segments from `first` on that continue a packet that has begun, if any.

        None when there is a CONNECT, or a packet that has no end or is too large.
        """
        index = bisect_left(self._odd, first)
        odd = self._odd[index] if index < len(self._odd) else stop
        if not begun and odd >= stop:
            return Framed([(first, stop)], [], bytearray(), 2)
        try:
            return _Walk(self, first, stop).walk(begun)
        except (Overlong, _Unusual):
            return None

    def next_odd(self, segment: int) -> int:
        """Return the first segment from there on that is not whole."""
        index = bisect_left(self._odd, segment)
        return self._odd[index] if index < len(self._odd) else len(self.start)


class _Unusual(Exception):
    """A packet that changes how all that follows is read."""


class _Walk:
    """Goes through segments of one direction, one by one where they are not whole."""

    def __init__(self, framing: Framing, first: int, stop: int) -> None:
        self.framing = framing
        self.first = first
        self.stop = stop
        self.starts: list[int] = framing.start[first:stop].tolist()
        self.ends: list[int] = framing.end[first:stop].tolist()
        self.stretches: list[tuple[int, int]] = []
        self.others: list[tuple[int, int, int, int]] = []
        self.joined = len(framing.joined)

    def walk(self, begun: bytes | bytearray) -> Framed:
        rest, due = bytearray(begun), self._due(begun) if begun else 2
        segment, whole = self.first, self.framing.whole
        try:
            while segment < self.stop:
                if not rest and whole[segment]:
                    odd = min(self.framing.next_odd(segment), self.stop)
                    self.stretches.append((segment, odd))
                    segment = odd
                    continue
                due = self._segment(segment, rest, due)
                segment += 1
        except (Overlong, _Unusual):
            del self.framing.joined[self.joined :]
            raise
        return Framed(self.stretches, self.others, rest, due)

    def _segment(self, segment: int, rest: bytearray, due: int) -> int:
        """Take one segment: the end of the packet in `rest`, whole ones, and what is left, which goes there."""
        data, at, end = self.framing.data, self.starts[segment - self.first], self.ends[segment - self.first]
        while rest and at < end:
            taken = data[at : min(end, at + due - len(rest))]
            rest += taken
            at += len(taken)
            if len(rest) == due and (due := self._due(rest)) == len(rest):
                self.others.append((len(data) + len(self.framing.joined), due, segment, at))
                self.framing.joined += rest
                rest.clear()
                due = 2
        if rest:
            return due
        while at + 1 < end:
            length = data[at + 1] + 2
            if length > 0x81:
                length = frame_length(data[at : min(end, at + _LONGEST_HEADER)]) or end - at + 1
            if length > self.framing.max_packet or data[at] >> 4 == CONNECT:
                raise _Unusual
            if at + length > end:
                break
            self.others.append((at, length, segment, at + length))
            at += length
        rest += data[at:end]
        return self._due(rest) if rest else 2

    def _due(self, rest: bytes | bytearray) -> int:
        """Return the length of the packet that has begun, or of what has to be there to tell it."""
        length = frame_length(rest) or len(rest) + 1
        if length > self.framing.max_packet or rest[0] >> 4 == CONNECT:
            raise _Unusual
        return length
