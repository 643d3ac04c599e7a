"""Where the records of a block begin, found at many places of it at once.

Where one begins follows from the one before, so that a walk from record to record takes one step after the
other. Here many walks take their steps together, from places that look as if a record began there. What looks
like a record may be part of one, so a walk counts only when the one before it comes to the very place where it
began, the first of them from the true beginning; where it does not, single steps lead on to the next that does.
"""

from abc import ABC, abstractmethod
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from ...capture.containers import pcapng
from ...capture.containers.pcap import File
from ..gather import Integers, integers

SAMPLE = 1 << 14
"""Bytes that are walked through before it is known how long records are, and where walks may begin."""
RECORDS = 48
"""Of a walk, about."""
MOST, FEWEST = 256, 64
"""Walks at a time."""
STEPS = 16
"""After so many it is looked which walks go on."""
MOST_TURNS = 64
"""How often that is looked at: walks of a block of 8 MiB end before, unless records have less than 32 bytes."""
TOGETHER = 512
"""Places that are looked at together where nothing is known of the records."""
LEAST = pcapng.HEAD + 4
"""Bytes of an Enhanced Packet Block without a packet."""
TRIES = 4
"""Places that are looked at before a walk is not begun at all."""


class Chain(ABC):
    """Records that follow one another, of one form."""

    def __init__(self, data: bytes, order: str, header: int, number: int) -> None:
        """Take the order of bytes, the shortest length, and where in a record a number tells its length."""
        self.data = data
        self.last = len(data) - header
        """Where the last record can begin."""
        self.words = integers(data, order + "u4")
        self.numbers = self.words[number:]

    @abstractmethod
    def step(self, at: Integers, out: Integers | None = None) -> Integers:
        """Return where records end that begin at places, if there can be such records; raises IndexError behind `last`.

        `out` takes the result.
        """

    @abstractmethod
    def whole(self, at: Integers, end: Integers) -> NDArray[np.bool_]:
        """Tell which records, from some places to where a step leads, are such that a walk goes on behind them."""

    @abstractmethod
    def walk(self, at: int, stop: int) -> tuple[list[int], int]:
        """Return the beginnings of the whole records from a place on, up to another, and what comes behind them."""

    @abstractmethod
    def needle(self, at: int) -> tuple[bytes, int]:
        """Return bytes that records like the one at a place have, and where in them."""

    @abstractmethod
    def plausible(self, at: Integers) -> NDArray[np.bool_]:
        """Tell whether records seem to begin at places, with more care than a walk takes."""

    def starts(self, at: int) -> tuple[Integers, int]:
        """Return where the whole records begin that follow one another from a place on, and what comes behind."""
        found, behind = self.walk(at, at + SAMPLE)
        first = np.array(found, np.int64)
        if behind < at + SAMPLE or not found:
            return first, behind
        usual = RECORDS * (behind - at) // len(found)
        begin = self._begin(behind, min((self.last - behind) // usual, MOST), self.needle(found[-1]))
        rest, behind = _Lanes(self, begin).starts()
        return np.concatenate([first, *rest]), behind

    def first(self) -> int:
        """Return the first place in `data` at which a record seems to begin, and another behind it; -1 for none."""
        for begin in range(0, min(self.last + 1, SAMPLE), TOGETHER):
            at = np.arange(begin, min(begin + TOGETHER, self.last + 1))
            at = at[self.plausible(at)]
            behind = self.step(at)
            at = at[(behind <= self.last) & self.plausible(np.minimum(behind, self.last))]
            if len(at):
                return int(at[0])
        return -1

    def _begin(self, at: int, count: int, needle: tuple[bytes, int]) -> Integers:
        """Return where walks begin: the first where a record does, the others spread behind it."""
        if count < FEWEST:
            return np.array([at], np.int64)
        edges = np.linspace(at, self.last, count + 1).astype(np.int64)
        begin = self.guess(edges[1:-1], edges[2:], needle)
        return np.concatenate([edges[:1], begin[begin >= 0]])

    def guess(self, place: Integers, stop: Integers, needle: tuple[bytes, int]) -> Integers:
        """Return the first place between each two at which a record seems to begin, or -1."""
        begin, left = place.copy(), np.arange(len(place))
        for _ in range(TRIES):
            begin[left] = self._next(begin[left].tolist(), stop[left].tolist(), needle)
            found = begin[left]
            left = left[(found >= 0) & ~self.plausible(np.maximum(found, 0))]
            if not len(left):
                break
            begin[left] += 1
        begin[left] = -1
        return begin

    def _next(self, place: list[int], stop: list[int], needle: tuple[bytes, int]) -> list[int]:
        """Return where the needle is next, as if a record began there; -1 where it is not."""
        find, (wanted, shift) = self.data.find, needle
        seen = [find(wanted, low + shift, high + shift) for low, high in zip(place, stop, strict=True)]
        return [max(each - shift, -1) for each in seen]


class PcapChain(Chain):
    """Records of pcap."""

    def __init__(self, data: bytes, file: File) -> None:
        super().__init__(data, file.layout.order, file.layout.header, 8)
        self.form = file
        self.unpack = file.unpack
        self.header = file.layout.header
        self.limit = file.limit
        self.fractions = file.layout.fractions
        self.shift = 0 if file.layout.order == ">" else 2

    def step(self, at: Integers, out: Integers | None = None) -> Integers:
        """Pass over a header, and what was captured."""
        end: Integers = np.add(at, self.numbers[at], out=out)
        end += self.header
        return end

    def whole(self, at: Integers, end: Integers) -> NDArray[np.bool_]:
        """See that they are not too long, and all there."""
        found: NDArray[np.bool_] = (at <= self.last) & (end <= len(self.data))
        size = end - at
        found &= size <= self.limit + self.header
        if (empty := size == self.header).any():
            # A header of nothing but zeros is damage; see capture.pcap.
            near = np.minimum(at, self.last)
            zeros = (self.words[near] | self.words[near + 4] | self.words[near + 12]) == 0
            found &= ~(empty & zeros)
        return found

    def walk(self, at: int, stop: int) -> tuple[list[int], int]:
        """Go from record to record."""
        data, header, limit, unpack = self.data, self.header, self.limit, self.unpack
        starts: list[int] = []
        add, size, last = starts.append, len(data), min(self.last, stop - 1)
        while at <= last:
            # This loop runs once for each record that lanes do not take.
            seconds, fraction, captured, length = unpack(data, at)
            end = at + header + captured
            if end > size or captured > limit or not (length or captured or fraction or seconds):
                break
            add(at)
            at = end
        return starts, at

    def needle(self, at: int) -> tuple[bytes, int]:
        """Return the upper half of the seconds, which is the same for 18 hours."""
        return self.data[at + self.shift : at + self.shift + 2], self.shift

    def plausible(self, at: Integers) -> NDArray[np.bool_]:
        """Look at the fraction of the second and at both lengths."""
        fraction, captured, length = (self.words[at + place] for place in (4, 8, 12))
        found: NDArray[np.bool_] = (captured > 0) & (captured <= length) & (length <= self.limit)
        found &= fraction < self.fractions
        found &= self.whole(at, self.step(at))
        return found


class EnhancedChain(Chain):
    """Enhanced Packet Blocks of pcapng."""

    def __init__(self, data: bytes, order: str) -> None:
        super().__init__(data, order, LEAST, 4)
        self.kind = pcapng.ENHANCED.to_bytes(4, "big" if order == ">" else "little")
        self.head = Struct(order + "II").unpack_from

    def step(self, at: Integers, out: Integers | None = None) -> Integers:
        """Pass over a block."""
        # None is shorter; without this a walk that went astray might hardly move.
        end: Integers = np.add(at, np.maximum(self.numbers[at], LEAST), out=out)
        return end

    def whole(self, at: Integers, end: Integers) -> NDArray[np.bool_]:
        """See that they are such blocks, of a possible length, and all there."""
        near = np.minimum(at, self.last)
        total = self.numbers[near]
        found: NDArray[np.bool_] = (self.words[near] == pcapng.ENHANCED) & (total & 3 == 0) & (total == end - at)
        return found & (total <= pcapng.LARGEST) & (at <= self.last) & (end <= len(self.data))

    def walk(self, at: int, stop: int) -> tuple[list[int], int]:
        """Go from block to block, up to the first that is of another kind."""
        head, data, most = self.head, self.data, pcapng.LARGEST
        starts: list[int] = []
        add, size, last = starts.append, len(data), min(self.last, stop - 1)
        while at <= last:
            kind, total = head(data, at)
            end = at + total
            if kind != pcapng.ENHANCED or total & 3 or not LEAST <= total <= most or end > size:
                break
            add(at)
            at = end
        return starts, at

    def needle(self, at: int) -> tuple[bytes, int]:
        """Return the type of the block."""
        return self.kind, 0

    def plausible(self, at: Integers) -> NDArray[np.bool_]:
        """See that the length stands at the end, too."""
        end = self.step(at)
        found = self.whole(at, end)
        found[found] &= self.words[end[found] - 4] == (end - at)[found]
        return found


class _Lanes:
    """Walks side by side; each goes on until it comes to where the next began, or beyond, if that is not too far."""

    def __init__(self, chain: Chain, begin: Integers) -> None:
        self.chain = chain
        self.begin = begin
        self.stop = np.append(begin[1:], chain.last + 1)

    def starts(self) -> tuple[list[Integers], int]:
        """Return where records begin, from where the first walk does on, and what comes behind them."""
        found, counts, ends = self._walked()
        edges = np.concatenate([[0], np.cumsum(counts)]).tolist()
        broken = np.flatnonzero(ends != self.stop).tolist()
        begin: list[int] = self.begin.tolist()
        kept: list[Integers] = []
        lane = 0
        for last in broken:
            if last < lane:
                continue
            kept.append(found[edges[lane] : edges[last + 1]])
            at, lane = int(ends[last]), last + 1
            # Single steps, until they come to where a walk began.
            while lane < len(begin):
                single, at = self.chain.walk(at, begin[lane])
                kept.append(np.array(single, np.int64))
                if at <= begin[lane]:
                    break
                lane += 1
            if lane == len(begin) or at < begin[lane]:
                single, at = self.chain.walk(at, self.chain.last + 1)
                return [*kept, np.array(single, np.int64)], at
        return [*kept, found[edges[lane] :]], int(ends[-1])

    def _walked(self) -> tuple[Integers, Integers, Integers]:
        """Return all places of all walks, how many each has, and where each comes to beyond them."""
        rows = self._rows()
        good = (rows[:-1] < self.stop) & self.chain.whole(rows[:-1], rows[1:])
        counts = np.where(good.all(axis=0), len(good), good.argmin(axis=0))
        valid = np.arange(len(good)) < counts[:, None]
        return rows[:-1].T[valid], counts, rows[counts, np.arange(len(counts))]

    def _rows(self) -> Integers:
        """Return where the walks are after each step; one that is beyond its end may be anywhere.

        Not all come to their ends: each step takes memory for all walks, however few of them go on.
        """
        at, going, rows = self.begin, np.arange(len(self.begin)), [self.begin[None]]
        for _ in range(MOST_TURNS):
            now, steps = at[going], np.empty((STEPS, len(going)), np.int64)
            for step in steps:
                now = self._step(now, step)
            all_steps = np.repeat(at[None], STEPS, axis=0)
            all_steps[:, going] = steps
            rows.append(all_steps)
            at = all_steps[-1]
            going = going[now < self.stop[going]]
            if not len(going):
                break
        return np.concatenate(rows)

    def _step(self, at: Integers, out: Integers) -> Integers:
        try:
            return self.chain.step(at, out)
        except IndexError:
            # The last walk, and those that went astray, come to the end before others do.
            return self.chain.step(np.minimum(at, self.chain.last), out)
