"""Records in columns in, whole control packets in columns out.

What is usual is done for many segments at once: those of a connection that is MQTT and in order. All
else takes the way that `capture` has for single records, whose state is the only one, so that both
ways can take turns within one connection.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from typing import Any

import numpy as np

from ..capture.chunks import Record
from ..capture.connection import Connection
from ..capture.link import Skipped, ip_start
from ..capture.reassembly import MASK, Side
from .assembly import Assembly, Batch
from .frames import NO_TIME
from .framing import Framed, Framing
from .headers import CARRIES_TCP, Segments, opposite, segments
from .scan import Integers, Records
from .state import State

FEWEST = 4
"""Records that are worth a leap."""
LONGEST_PAUSE = 64
"""Records after which a leap is tried again, at most."""
FEWEST_IN_COLUMNS = 24
"""Records of a block below which columns do not pay."""
NEVER = 1 << 62


def reassemble(records: Records, state: State) -> Batch:
    """Return the packets that records complete."""
    batch = _Batch(records, state)
    if len(records) < FEWEST_IN_COLUMNS:
        for index in range(len(records)):
            batch.feed(index)
    else:
        _Turns(batch, segments(records)).take()
    return batch.finish()


class _Batch:
    """Feeds single records and collects what comes of them."""

    def __init__(self, records: Records, state: State) -> None:
        self.records = records
        self.state = state
        self.assembly = Assembly(records, state)

    @cached_property
    def _rows(self) -> list[list[int]]:
        each = self.records
        return [column.tolist() for column in (each.start, each.end, each.length, each.time, each.link)]

    def record(self, index: int) -> Record:
        """Return a record by itself."""
        start, end, length, time, link = (column[index] for column in self._rows)
        number = self.state.records + index + 1
        return Record(number, None if time == NO_TIME else time, link, self.records.data[start:end], length)

    def feed(self, index: int) -> None:
        """Read a record by itself."""
        for event in self.state.feed(self.record(index)):
            self.assembly.add(event, index)

    def finish(self) -> Batch:
        """Return all packets, and take note that the records were read."""
        state, count = self.state, len(self.records)
        if count:
            time = int(self.records.time[-1])
            state.reassembler.passed(state.records + count, None if time == NO_TIME else time)
        found = self.assembly.finish()
        state.records += count
        state.forget()
        return found


@dataclass(slots=True)
class _Flow:
    """The records of a connection in a batch."""

    number: int
    keys: tuple[bytes, bytes]
    cursor: int
    """The first that was not read, as an index into the order by connections."""
    stop: int
    retry: int = 0
    """Where a leap may be tried again."""
    pause: int = 1


class _Turns:
    """Takes the records of a batch, of each connection in order, many at once where that is possible."""

    def __init__(self, batch: _Batch, found: Segments) -> None:
        self.batch = batch
        self.state = batch.state
        self.found = found
        self.alone: list[int] = found.alone.tolist()
        reassembler = self.state.reassembler
        reassembler.skipped.update({"not IP": found.not_ip, "not TCP": found.not_tcp})
        sender = self._mine()
        self.order = _by(sender >> 1, np.flatnonzero(sender >= 0))
        self.sender = sender[self.order]
        self._lay_out(sender)
        room = reassembler.flows.room() - len(self.alone)
        self.flows = self._flows()
        unknown = sum(not any(key in reassembler.flows.recent for key in flow.keys) for flow in self.flows)
        self.leaps = unknown <= room

    def _mine(self) -> Integers:
        """Return the senders of records; NOWHERE for those of other buckets."""
        sender, bucket = self.found.sender, self.state.bucket
        if bucket.parts == 1:
            return sender
        mine = np.array([bucket.holds(key) for key in self.found.flows] + [False], np.bool_)
        return np.where(mine[sender >> 1], sender, -1)

    def _lay_out(self, sender: Integers) -> None:
        """Order the payloads by sender, and find out where something else than the next byte comes."""
        found = self.found
        with_payload = found.plain & (found.end > found.start) & (sender >= 0)
        self.segment = _by(sender, np.flatnonzero(with_payload))
        self.segment_sender = sender[self.segment]
        start, end = found.start[self.segment], found.end[self.segment]
        self.seq = found.seq[self.segment]
        self.after = self.seq + (end - start) & MASK
        breaks = ~found.plain
        same = self.segment_sender[1:] == self.segment_sender[:-1]
        breaks[self.segment[1:][same & (self.seq[1:] != self.after[:-1])]] = True
        self._taint(breaks)
        self.breaks: list[int] = np.flatnonzero(breaks[self.order]).tolist()
        self.framing = Framing(self.batch.records.data, start, end, max_packet=max(self.state.max_packet, 5))
        self.batch.assembly.use(self.framing, self.segment)
        self.first = np.searchsorted(self.segment_sender, np.arange(2 * len(found.flows) + 1))

    def _taint(self, breaks: Any) -> None:
        """See to it that connections between ends of which a record is read by itself are read record by record."""
        ends = {pair for index in self.alone if (pair := _ends(self.batch.record(index)))}
        if ends:
            tainted = [key[:-4] in ends or opposite(key)[:-4] in ends for key in self.found.flows]
            breaks |= np.array([*tainted, False], np.bool_)[self.found.sender >> 1]

    def _flows(self) -> list[_Flow]:
        edges = np.searchsorted(self.sender >> 1, np.arange(len(self.found.flows) + 1)).tolist()
        return [
            _Flow(number, (key, opposite(key)), edges[number], edges[number + 1])
            for number, key in enumerate(self.found.flows)
            if edges[number] < edges[number + 1]
        ]

    def take(self) -> None:
        """Take all records; those that are read by themselves in the order of the capture."""
        order = self.order
        turns: list[tuple[int, _Flow | None]] = [(index, None) for index in self.alone]
        turns += [(int(order[flow.cursor]), flow) for flow in self.flows if not self._leap(flow)]
        heapify(turns)
        while turns:
            index, flow = turns[0]
            self.batch.feed(index)
            if flow is None:
                heappop(turns)
                continue
            flow.cursor += 1
            if self._leap(flow):
                heappop(turns)
            else:
                heapreplace(turns, (int(order[flow.cursor]), flow))

    def _leap(self, flow: _Flow) -> bool:
        """Take as many records at once as possible; True when none is left."""
        while flow.cursor < flow.stop:
            index = bisect_left(self.breaks, flow.cursor)
            stop = min(self.breaks[index], flow.stop) if index < len(self.breaks) else flow.stop
            if not self.leaps or flow.cursor < flow.retry or stop - flow.cursor < FEWEST:
                return False
            if not self._try(flow, stop):
                flow.retry = max(flow.retry, flow.cursor + flow.pause)
                flow.pause = min(2 * flow.pause, LONGEST_PAUSE)
                return False
            flow.pause = 1
        return True

    def _try(self, flow: _Flow, stop: int) -> bool:
        """Take records up to `stop` at once, if the connection is MQTT and they continue it."""
        recent = self.state.reassembler.flows.recent
        one, other = (recent.get(key) for key in flow.keys)
        if one is None or other is None or one is other or one.waiting or other.waiting:
            return False
        connection = self.state.streams.connection(one.flow)
        if connection is None:
            return False
        ways: list[tuple[Side, int, int, Framed]] = []
        for bit, side in enumerate((one, other)):
            first, behind = self._part(2 * flow.number + bit, flow.cursor, stop)
            if first == behind:
                continue
            begun = connection.senders[side.number].begun
            if side.next != self.seq[first] or begun is None:
                return False
            framed = self.framing.frame(first, behind, begun)
            if framed is None:
                flow.retry = NEVER
                return False
            ways.append((side, first, behind, framed))
        for side, first, behind, framed in ways:
            self._commit(connection, side, first, behind, framed)
        self._acknowledge((one, other), flow.cursor, stop)
        flow.cursor = stop
        return True

    def _part(self, sender: int, cursor: int, stop: int) -> tuple[int, int]:
        """Return the first payload of a sender in some records, and the one behind the last."""
        low, high = int(self.first[sender]), int(self.first[sender + 1])
        records = self.segment[low:high]
        first = low + int(records.searchsorted(self.order[cursor]))
        return first, low + int(records.searchsorted(self.order[stop - 1], "right"))

    def _commit(self, connection: Connection, side: Side, first: int, behind: int, framed: Framed) -> None:
        side.next = int(self.after[behind - 1])
        sender = connection.senders[side.number]
        offset = sender.offset + len(sender.begun or b"")
        self.batch.assembly.leap(sender, offset, first, framed)
        offset += self.batch.assembly.bytes_of(first, behind)
        sender.leap(offset - len(framed.begun), framed.begun, framed.due)

    def _acknowledge(self, sides: tuple[Side, Side], cursor: int, stop: int) -> None:
        """Learn the last Acknowledgment Number of each side."""
        bits = (self.sender[cursor:stop] & 1).astype(np.uint8).tobytes()
        for bit, side in enumerate(sides):
            last = bits.rfind(bit)
            if last >= 0:
                side.peer.acked = int(self.found.ack[self.order[cursor + last]])


def _by(keys: Integers, which: Integers) -> Integers:
    """Order indices by their keys, those with the same key as they are."""
    found = keys[which]
    if len(found) and found.max() < 1 << 16:
        # numpy sorts small integers in linear time.
        found = found.astype(np.uint16)
    ordered: Integers = which[np.argsort(found, kind="stable")]
    return ordered


def _ends(record: Record) -> bytes | None:
    """Return the addresses of a record that may carry TCP."""
    data = record.data
    try:
        at = ip_start(record.link, data)
        if data[at] >> 4 == 4:
            return data[at + 12 : at + 20] if data[at + 9] in CARRIES_TCP else None
        return data[at + 8 : at + 40] if data[at] >> 4 == 6 and data[at + 6] in CARRIES_TCP else None
    except (Skipped, IndexError):
        return None
