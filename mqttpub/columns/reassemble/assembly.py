"""The packets of a block of records, those of single records and those of leaps, in one order."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...capture.protocol.mqtt_sender import MqttSender
from ...spec.versions import Direction
from ...traffic.events import Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from ..arrays import NO_TIME
from ..scan.records import Integers, Records
from .frames import CLIENT, SERVER, UNKNOWN, Frames
from .framing import Framed, Framing, JoinedRun
from .state import State


@dataclass
class Batch(Frames):
    """Frames, and names of their connections that do not depend on how a capture is divided."""

    names: dict[int, str] = field(default_factory=dict)
    """By the number in Endpoints, also for the connections of `others`."""
    before: int = 0
    """Number of records in the sources before this one, which `record` includes."""

    @property
    def keys(self) -> list[str]:
        """The names of `connections`."""
        return [self.names[ends.number] for ends in self.connections]


_Kind = tuple[Endpoints, Direction | None, int, bool]
"""What packets of one sender have in common: connection, direction, version, and whether that is guessed."""


class Assembly:
    """Collects the packets of a block of records."""

    def __init__(self, records: Records, state: State) -> None:
        self._records = records
        self._state = state
        self._numbers = records.numbers(state.records)
        self._kinds: dict[_Kind, int] = {}
        self._others: list[GapSeen | Closed | Remark] = []
        self._places: list[tuple[int, int]] = []
        """For each of these, the index of the record that was read, and how many of `_rows` came before it."""
        self._data = bytearray()
        self._rows: list[tuple[int, int, int, int, int]] = []
        """Of packets of single records: index of the record, start, length, offset, kind."""
        self._late: list[tuple[int, int, int]] = []
        """Index into these rows, record and time, of packets that an earlier record completed than the one read."""
        self._framing: Framing | None = None
        # Flat lists of numbers: the garbage collector would visit tuples again and again.
        self._senders: list[Any] = []
        """Four elements for each leap: those of its _Kind."""
        self._shifts: list[int] = []
        """For each leap, what to add to a place in all payloads to get the offset in the stream."""
        self._stretches: list[int] = []
        """Leap, first segment and one past the last, for each stretch."""
        self._pairs: list[int] = []
        """First segments of the pairs in these."""
        self._runs: list[JoinedRun] = []
        self._run_leaps: list[int] = []
        """Leap and the number of its packets in runs, for each leap that has runs."""

    # single records

    def add(self, event: Event, index: int) -> None:
        """Add an event of the record with this index."""
        if not isinstance(event, PacketSeen):
            self._others.append(event)
            self._places.append((index, len(self._rows)))
            return
        ends, time, record, data, offset, direction, version, guessed = event
        if record != self._numbers[index]:
            self._late.append((len(self._rows), record, NO_TIME if time is None else time))
        kind = self._kind((ends, direction, version, guessed))
        self._rows.append((index, len(self._data), len(data), offset, kind))
        self._data += data

    def _kind(self, kind: _Kind) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    # many at once

    def use(self, framing: Framing, segment: Integers) -> None:
        """Set the framing whose packets `leap` adds; `segment` has the index of the record of each segment."""
        self._framing = framing
        self._segment = segment

    def leap(self, sender: MqttSender, offset: int, place: int, framed: Framed) -> None:
        """Add the packets of segments of one sender.

        The first begins at `offset` in the stream of the sender, and at `place` in the payloads of all segments.
        """
        number = len(self._shifts)
        self._shifts.append(offset - place)
        self._senders += (sender.ends, sender.direction, sender.version, sender.guessed)
        for first, stop in framed.stretches:
            self._stretches += (number, first, stop)
        self._pairs += framed.pairs
        if framed.runs:
            self._runs += framed.runs
            self._run_leaps += (number, sum([len(run.ends) for run in framed.runs]))

    def _leapt(self) -> tuple[Integers, ...]:
        """Return records, starts, lengths, offsets and kinds of the packets of all leaps."""
        framing = self._framing
        if framing is None or not self._shifts:
            return (np.zeros(0, np.int64),) * 5
        packets = framing.found.packets
        leap = self._stretched()[framing.found.begin]
        if (leap < 0).any():
            kept = np.flatnonzero(leap >= 0)
            packets, leap = type(packets)(*(column[kept] for column in packets)), leap[kept]
        if self._runs:
            others = framing.of_runs(self._runs, len(self._records.data) + len(framing.found.joined))
            packets = type(packets)(*(np.concatenate(both) for both in zip(packets, others, strict=True)))
            leap = np.concatenate([leap, np.repeat(*_table(self._run_leaps, 2))])
        start, length, segment, stop = packets
        shift = np.array(self._shifts, np.int64)
        return self._segment[segment], start, length, shift[leap] + stop - length, leap + len(self._kinds)

    def _base(self) -> bytes:
        """Return the buffer of the packets of leaps."""
        joined = (self._framing.found.joined,) if self._framing else ()
        return b"".join((self._records.data, *joined, *(run.data for run in self._runs)))

    def _stretched(self) -> Integers:
        """Return the leap of each segment in a stretch; -1 for all others, and for the second segments of pairs."""
        change = np.zeros(len(self._segment) + 1, np.int64)
        if self._stretches:
            # Stretches do not overlap, so no place occurs twice.
            number, first, stop = _table(self._stretches, 3)
            change[first] = number + 1
            change[stop] -= number + 1
        leap = np.cumsum(change[:-1]) - 1
        leap[np.array(self._pairs, np.int64) + 1] = -1
        return leap

    # all

    def finish(self) -> Batch:
        """Return all packets in the order of the records; those of one record in the order of their bytes."""
        leapt = self._leapt()
        single = np.array(self._rows, np.int64).reshape(-1, 5).T
        base = self._base() if len(leapt[0]) else b""
        single[1] += len(base)
        # If one of them has no packets, nothing is copied.
        columns = [np.concatenate(both) if len(both[0]) and len(both[1]) else max(both, key=len)
                   for both in zip(leapt, single, strict=True)]  # fmt: skip
        place, index = _places(columns[0], len(self._records))
        places = self._placed(index, single[0])
        start, length, offset, kind = (_put(column, place) for column in columns[1:])
        time, record = self._records.time[index], self._numbers[index]
        for row, number, when in self._late:
            at = place[len(leapt[0]) + row]
            record[at], time[at] = number, when
        buffer = b"".join((base, self._data)) if self._data else base
        return Batch(
            buffer=buffer, start=start, end=start + length, time=time, record=record, offset=offset,
            others=self._others, places=places, before=self._state.before, **self._whose(kind),
        )  # fmt: skip

    def _placed(self, index: Integers, single: Integers) -> list[int]:
        """Return how many packets come before each other event; both arguments are sorted indices of records.

        `index` is of all packets, and `single` of those in `_rows`; a record has packets in these or in leaps.
        """
        record, before = _table([each for pair in self._places for each in pair], 2)
        places: list[int] = (index.searchsorted(record) + before - single.searchsorted(record)).tolist()
        return places

    def _whose(self, kind: Integers) -> dict[str, Any]:
        """Return the columns and fields of Batch that are about connections."""
        numbers: dict[Endpoints, int] = {}
        columns = [[each[index] for each in self._kinds] + self._senders[index::4] for index in range(4)]
        columns[0] = [numbers.setdefault(each, len(numbers)) for each in columns[0]]
        columns[1] = [CLIENT if each is Direction.CLIENT else SERVER if each else UNKNOWN for each in columns[1]]
        connection, direction, version, guessed = np.array(columns, np.int64)[:, kind]
        ends = list(numbers)
        # In reverse order, so that the first packet of a connection is written last.
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
    """Return the place of each packet in the order of the records, and the record at each place.

    `index` has the record of each packet; the packets of one record are next to each other already.
    """
    counts = np.bincount(index, minlength=count)
    place = (np.cumsum(counts) - counts)[index]
    if len(counts) and counts.max() > 1:
        new = np.concatenate([[True], index[1:] != index[:-1]])
        begin = np.flatnonzero(new)
        place = place + np.arange(len(index)) - np.repeat(begin, np.diff(np.append(begin, len(index))))
    return place, np.repeat(np.arange(count), counts)


def _table(values: list[int], columns: int) -> Integers:
    """Return the columns of a table whose rows are joined in one list, shape (columns, rows)."""
    return np.array(values, np.int64).reshape(-1, columns).T


def _put(column: NDArray[Any], place: Integers) -> NDArray[Any]:
    put = np.empty_like(column)
    put[place] = column
    return put
