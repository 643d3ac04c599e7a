"""Where control packets begin and end in segments that are in order."""

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from ...codec.framing import frame_length
from ...spec.packets import Connect
from ...wire.cursor import Overlong
from ..scan.records import Integers
from .whole import Packets, Whole

_FIRST_JOINED = 2
"""Segments that are joined at first where one does not end with a packet; twice as many then, while that goes on."""
_FAR = 4096
"""Bytes that a packet lacks, above which the segment that completes it is looked up."""
_LONGEST_HEADER = 5
_BEHIND_CONNECT = Connect.code + 1 << 4


class Run(NamedTuple):
    """Segments whose payloads are joined."""

    data: bytes
    """What has begun before, and the payloads."""
    place: int
    """Where it begins in the payloads of all segments; what has begun before counts as if it stood in front."""
    ends: list[int]
    """Where packets end in `data`; the first begins with it, and each where the one before ends."""


class Framed(NamedTuple):
    """How the packets of some segments follow one another."""

    stretches: list[tuple[int, int]]
    """Segments, first and behind the last, that hold nothing but whole packets, but for pairs."""
    pairs: list[int]
    """The first segments of pairs in stretches."""
    runs: list[Run]
    """All other segments."""
    begun: bytearray
    """What is left at the end: a packet that has begun."""
    due: int
    """How long that has to become before more can be said."""


class Framing:
    """Looks for packets in segments of many connections, which follow one another in the bytes of each direction.

    `start` and `end` are their payloads in `data`; none is empty.
    """

    def __init__(self, data: bytes, start: Integers, end: Integers, *, max_packet: int) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.max_packet = max_packet
        self.before = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - start)])
        """Where each begins in the payloads of all segments, and where the last one ends."""
        self.found = Whole(data, start, end, self.before, max_packet=max_packet)
        self._odd: list[int] = np.flatnonzero(~self.found.whole).tolist()
        """Segments that are not whole."""
        self._pair: list[bool] = self.found.pair[self._odd].tolist()
        """Which of these are the first of a pair."""

    # some segments of one direction

    def frame(self, first: int, stop: int, begun: bytes | bytearray) -> Framed | None:
        """Return the packets of segments from `first` on that continue a packet that has begun, if any.

        None when there is a CONNECT, or a packet that has no end or is too large.
        """
        index = bisect_left(self._odd, first)
        odd = self._odd[index] if index < len(self._odd) else stop
        if not begun and odd >= stop:
            return Framed([(first, stop)], [], [], bytearray(), 2)
        try:
            return self._walk(first, stop, begun)
        except (Overlong, _Unusual):
            return None

    def _walk(self, first: int, stop: int, begun: bytes | bytearray) -> Framed:
        """Join segments that do not end with a packet with those behind them, until they do."""
        stretches: list[tuple[int, int]] = []
        pairs: list[int] = []
        runs: list[Run] = []
        rest, due = bytes(begun), self._due(begun)
        segment, many = first, _FIRST_JOINED
        while segment < stop:
            if not rest and (odd := self._stretch(segment, stop, pairs)) > segment:
                stretches.append((segment, odd))
                segment, many = odd, _FIRST_JOINED
                continue
            behind = min(max(segment + many, self._reach(segment, due - len(rest))), stop)
            place = int(self.before[segment]) - len(rest)
            data = rest + self._payloads(segment, behind)
            ends, due = _ends(data, self.max_packet)
            if ends:
                runs.append(Run(data, place, ends))
            rest = data[ends[-1] :] if ends else data
            segment, many = behind, 2 * many
        return Framed(stretches, pairs, runs, bytearray(rest), due)

    def _due(self, begun: bytes | bytearray) -> int:
        return _ends(begun, self.max_packet)[1]

    def _reach(self, segment: int, size: int) -> int:
        """Return the segment behind those that hold so many bytes from one on; 0 where these are few."""
        return int(self.before.searchsorted(self.before[segment] + size)) if size > _FAR else 0

    def _payloads(self, first: int, stop: int) -> bytes:
        """Return the payloads of some segments in one piece."""
        data, (starts, ends) = self.data, self._places
        return b"".join([data[starts[index] : ends[index]] for index in range(first, stop)])

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        return self.start.tolist(), self.end.tolist()

    def _stretch(self, segment: int, stop: int, pairs: list[int]) -> int:
        """Return where whole segments and pairs from one on end, and add the pairs."""
        odd, pair = self._odd, self._pair
        index, count = bisect_left(odd, segment), len(odd)
        while index < count and (first := odd[index]) < stop:
            if not pair[index] or first + 2 > stop:
                return first
            pairs.append(first)
            # The second one need not be odd.
            index += 1
            index += index < count and odd[index] == first + 1
        return stop

    # runs of many directions

    def of_runs(self, runs: list[Run], base: int) -> Packets:
        """Return the packets of runs whose bytes stand one behind the other from a place on."""
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
    """A packet that changes how all that follows is read."""


def _integers(values: Iterable[int], count: int) -> Integers:
    return np.fromiter(values, np.int64, count)


def _ends(data: bytes | bytearray, most: int) -> tuple[list[int], int]:
    """Return where packets end that follow one another, and how long what is left has to become.

    Raises Overlong for a packet that has no end, and _Unusual for a CONNECT and for what is longer than `most`.
    """
    # This loop runs once for each packet of segments that hold many or parts of some.
    at, size = 0, len(data)
    last, short = size - 1, min(0x81, most)
    ends: list[int] = []
    add = ends.append
    while at < last:
        length = data[at + 1] + 2
        if length > short or data[at] < _BEHIND_CONNECT:
            length = _length(data, at, most)
        at += length
        add(at)
    if at > size:
        # The last one is not whole.
        ends.pop()
        return ends, length
    return ends, 2


def _length(data: bytes | bytearray, at: int, most: int) -> int:
    """Return the length of a packet, or of a header that goes on."""
    length = data[at + 1] + 2
    if length > 0x81 and at + 2 < len(data) and data[at + 2] < 0x80:
        length += (data[at + 2] << 7) - 0x7F
    elif length > 0x81:
        length = frame_length(data[at : at + _LONGEST_HEADER]) or len(data) - at + 1
    if length > most or data[at] >> 4 == Connect.code:
        raise _Unusual
    return length
