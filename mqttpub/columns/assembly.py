"""What comes of a block of records, single packets and many at once, put into one order."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..capture.sender import Sender
from ..conversation.events import Closed, Ends, Event, GapSeen, PacketSeen, Remark
from ..spec.terms import Direction
from .frames import CLIENT, NO_TIME, SERVER, UNKNOWN, Frames
from .framing import Framed, Framing
from .scan import Integers, Records
from .state import State

_SIDES = {Direction.CLIENT: CLIENT, Direction.SERVER: SERVER, None: UNKNOWN}


@dataclass
class Batch(Frames):
    """Frames, and names of their connections that are the same in whatever parts a capture is read."""

    names: dict[int, str] = field(default_factory=dict)
    """By the number in Ends, also for those that `others` are about."""
    before: int = 0
    """Records of the sources in front of this one, which `record` counts, too."""

    @property
    def keys(self) -> list[str]:
        """The names of `connections`."""
        return [self.names[ends.number] for ends in self.connections]


class _Kind(NamedTuple):
    """What packets have in common."""

    ends: Ends
    direction: Direction | None
    version: int
    guessed: bool


class Assembly:
    """Collects the packets of a block of records."""

    def __init__(self, records: Records, state: State) -> None:
        self._records = records
        self._state = state
        self._kinds: dict[_Kind, int] = {}
        self._others: list[GapSeen | Closed | Remark] = []
        self._data = bytearray()
        self._rows: list[tuple[int, int, int, int, int]] = []
        """Of single packets: record, start, length, offset, kind."""
        self._late: list[tuple[int, int, int]] = []
        """Index into these rows, record and time, where these are not those of the record that was read."""
        self._framing: Framing | None = None

    # single records

    def add(self, event: Event, index: int) -> None:
        """Add what comes of the record with this index."""
        if not isinstance(event, PacketSeen):
            self._others.append(event)
            return
        ends, time, record, data, offset, direction, version, guessed = event
        if record != self._state.records + index + 1:
            self._late.append((len(self._rows), record, NO_TIME if time is None else time))
        kind = self._kind(_Kind(ends, direction, version, guessed))
        self._rows.append((index, len(self._data), len(data), offset, kind))
        self._data += data

    def _kind(self, kind: _Kind) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    # many at once

    def use(self, framing: Framing, segment: Integers) -> None:
        """Learn where the packets are that `leap` adds; `segment` are the records that hold the segments."""
        self._framing = framing
        self._segment = segment
        sizes = framing.end - framing.start
        self._before = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        self._leap = np.full(len(segment), -1, np.int32)
        self._odd: list[tuple[int, int, int, int]] = []
        self._odd_leaps: list[tuple[int, int]] = []
        self._leaps: list[tuple[int, int]] = []
        """Of the packets of one leap: kind, and what is added to a place among all payloads to get the offset."""

    def bytes_of(self, first: int, stop: int) -> int:
        """Return how many bytes some segments hold."""
        return int(self._before[stop] - self._before[first])

    def leap(self, sender: Sender, offset: int, first: int, framed: Framed) -> None:
        """Add the packets of segments, the first of which begins at an offset in the stream of a sender."""
        number = len(self._leaps)
        kind = self._kind(_Kind(sender.ends, sender.direction, sender.version, sender.guessed))
        self._leaps.append((kind, offset - int(self._before[first])))
        for start, stop in framed.stretches:
            self._leap[start:stop] = number
        self._odd += framed.others
        self._odd_leaps.append((number, len(framed.others)))

    def _leapt(self) -> tuple[Integers, ...]:
        """Return records, starts, lengths, offsets and kinds of the packets of all leaps."""
        framing = self._framing
        if framing is None or not self._leaps:
            return (np.zeros(0, np.int64),) * 5
        packets = framing.packets
        leap = self._leap[packets.segment]
        if (leap < 0).any():
            kept = np.flatnonzero(leap >= 0)
            packets, leap = type(packets)(*(column[kept] for column in packets)), leap[kept]
        if self._odd:
            odd = np.array(self._odd, np.int64).T
            packets = type(packets)(*(np.concatenate(both) for both in zip(packets, odd, strict=True)))
            leap = np.concatenate([leap, np.repeat(*np.array(self._odd_leaps, np.int64).T)])
        start, length, segment, end = packets
        kind, shift = np.array(self._leaps, np.int64).T[:, leap]
        offset = shift + self._before[segment] + (end - framing.start[segment]) - length
        return self._segment[segment], start, length, offset, kind

    # all

    def finish(self) -> Batch:
        """Return all in the order of the records, and within a record in that in which it came."""
        leapt = self._leapt()
        single = np.array(self._rows, np.int64).reshape(-1, 5).T
        joined = self._framing.joined if self._framing else bytearray()
        base = b"".join((self._records.data, joined)) if len(leapt[0]) else b""
        single[1] += len(base)
        # Without packets in both there is nothing to copy.
        columns = [np.concatenate(both) if len(both[0]) and len(both[1]) else max(both, key=len)
                   for both in zip(leapt, single, strict=True)]  # fmt: skip
        place, index = _places(columns[0], len(self._records))
        start, length, offset, kind = (_put(column, place) for column in columns[1:])
        time, record = self._records.time[index], index + (self._state.records + 1)
        for row, number, when in self._late:
            at = place[len(leapt[0]) + row]
            record[at], time[at] = number, when
        buffer = b"".join((base, self._data)) if self._data else base
        return Batch(
            buffer=buffer, start=start, end=start + length, time=time, record=record, offset=offset,
            others=self._others, before=self._state.before, **self._whose(kind),
        )  # fmt: skip

    def _whose(self, kind: Integers) -> dict[str, Any]:
        """Return all that Batch has of connections."""
        ends = list(dict.fromkeys(each.ends for each in self._kinds))
        numbers = {each: number for number, each in enumerate(ends)}
        rows = [(numbers[each.ends], _SIDES[each.direction], each.version, each.guessed) for each in self._kinds]
        connection, direction, version, guessed = np.array(rows, np.int64).reshape(-1, 4).T[:, kind]
        # The last one that is put there is the first packet of a connection.
        first = np.full(len(ends), len(kind))
        first[connection[::-1]] = np.arange(len(kind))[::-1]
        order = np.argsort(first, kind="stable")
        rank = np.argsort(order)
        seen = [ends[index] for index in order.tolist() if first[index] < len(kind)]
        about = {each.number for each in (*seen, *(other.ends for other in self._others))}
        return {
            "connection": rank[connection].astype(np.int32),
            "direction": direction.astype(np.uint8),
            "version": version.astype(np.uint8),
            "guessed": guessed.astype(np.bool_),
            "connections": seen,
            "names": {number: self._state.name(number) for number in about},
        }


def _places(index: Integers, count: int) -> tuple[Integers, Integers]:
    """Return where each packet stands in the order of the records, and the records in that order.

    The packets of a record stand side by side already.
    """
    counts = np.bincount(index, minlength=count)
    place = (np.cumsum(counts) - counts)[index]
    if len(counts) and counts.max() > 1:
        new = np.concatenate([[True], index[1:] != index[:-1]])
        begin = np.flatnonzero(new)
        place = place + np.arange(len(index)) - np.repeat(begin, np.diff(np.append(begin, len(index))))
    return place, np.repeat(np.arange(count), counts)


def _put(column: NDArray[Any], place: Integers) -> NDArray[Any]:
    put = np.empty_like(column)
    put[place] = column
    return put
