"""Records in columns in, whole control packets in columns out.

Segments that continue a connection known to be MQTT exactly where its last ones ended are read many at once (a leap).
All other records are read one by one by the scalar code of `capture`. Its state is the only one: a leap begins with
what a connection has reached, and writes down what it reaches. So leaps and single records can take turns within a
connection, and the packets and events are those of single records, in the same order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Any, NamedTuple

import numpy as np

from ...capture.network.link import NotTcp, ip_start
from ...capture.network.tcp import opposite
from ...capture.network.tcp_side import ACK, MASK, Segment, TcpSide
from ...capture.protocol.mqtt_connection import MqttConnection
from ...capture.types import CaptureRecord
from ..arrays import NO_TIME
from ..scan.records import Integers, Records
from .assembly import Assembly, Batch
from .frames import NONE
from .framing import Framed, Framing
from .headers import CARRIES_TCP, Flags, Segments, segments
from .state import State
from .stretches import Stretches

FEWEST = 4
"""Records for which a leap pays, at least."""
FEWEST_IN_COLUMNS = 24
"""Records of a block for which columns pay, at least."""
NEIGHBOURS = 64
"""Records that are taken out of the columns at a time, as who reads one by itself often reads the next ones, too."""
FAR, LONG = 1 << 16, 4
"""A leap copies the incomplete packet before it, so that may be FAR + LONG * the bytes of the leap long, at most."""


def reassemble(records: Records, state: State) -> Batch:
    """Return the packets that a block of records completes; updates `state`."""
    batch = _StretchFeed(records, state) if isinstance(records, Stretches) else _RecordFeed(records, state)
    if len(records) < FEWEST_IN_COLUMNS:
        for index in range(len(records)):
            batch.feed(index)
    else:
        _Turns(batch, records.segments if isinstance(records, Stretches) else segments(records, state.bucket)).take()
    return batch.finish()


class _RecordFeed:
    """Feeds single records to the scalar code, and collects its events."""

    def __init__(self, records: Records, state: State) -> None:
        self.records = records
        self.state = state
        self.assembly = Assembly(records, state)
        self._rows: dict[int, list[tuple[int, ...]]] = {}

    def _columns(self) -> tuple[Any, ...]:
        each = self.records
        return each.start, each.end, each.length, each.time, each.link

    def _row(self, index: int) -> tuple[int, ...]:
        """Return what the columns have of a record."""
        number = index // NEIGHBOURS
        if number not in self._rows:
            some = slice(number * NEIGHBOURS, (number + 1) * NEIGHBOURS)
            self._rows[number] = list(zip(*(column[some].tolist() for column in self._columns()), strict=True))
        return self._rows[number][index % NEIGHBOURS]

    def record(self, index: int) -> CaptureRecord:
        """Return one record as the scalar code reads it."""
        start, end, length, time, link, *_ = self._row(index)
        number = self.state.records + index + 1
        return CaptureRecord(number, None if time == NO_TIME else time, link, self.records.data[start:end], length)

    def feed(self, index: int) -> None:
        """Read one record with the scalar code."""
        for event in self.state.feed(self.record(index)):
            self.assembly.add(event, index)

    def finish(self) -> Batch:
        """Return all packets, and count the records as read."""
        state, count = self.state, len(self.records)
        if count:
            time = int(self.records.time[-1])
            state.reassembler.passed(state.records + count, None if time == NO_TIME else time)
        found = self.assembly.finish()
        state.records += count
        state.forget()
        return found


class _StretchFeed(_RecordFeed):
    """The same for records of which only what TCP needs is left."""

    records: Stretches

    def _columns(self) -> tuple[Any, ...]:
        found = self.records.segments
        return *super()._columns(), found.sender, found.plain, found.seq, found.ack, self.records.number

    def record(self, index: int) -> CaptureRecord:
        """Return one record that is there as a whole."""
        return super().record(index)._replace(number=self._row(index)[-1])

    def feed(self, index: int) -> None:
        """Read one record with the scalar code."""
        start, end, _, time, _, sender, plain, seq, ack, number = self._row(index)
        if not plain:
            super().feed(index)
            return
        key = self.records.segments.flows[sender >> 1]
        payload = self.records.data[start:end]
        segment = Segment(seq, ack, ACK, payload, end - start, None if time == NO_TIME else time, number)
        for event in self.state.follow(opposite(key) if sender & 1 else key, segment):
            self.assembly.add(event, index)

    def finish(self) -> Batch:
        """Return all packets."""
        found = self.assembly.finish()
        self.state.forget()
        return found


class _Sequence(NamedTuple):
    """Consecutive payloads of one sender, and what its last record acknowledges."""

    first: int
    end: int
    """Index of the first of them, and one past the last."""
    seq: int
    """Sequence Number of the first byte; without meaning if there is no payload, like the next three."""
    after: int
    """Sequence Number of the byte after the last."""
    place: int
    """Where they begin in the concatenated payloads of all segments."""
    size: int
    """In bytes."""
    ack: int
    """The last Acknowledgment Number; NONE if there is no record of this sender."""


@dataclass(slots=True)
class _FlowRecords:
    """The records of one connection in a block."""

    number: int
    cursor: int
    """The first that was not read, as an index into `_Turns.order`."""
    stop: int
    retry: int = 0
    """Where a leap may be tried again, as `cursor`."""
    pause: int = 1

    def failed(self) -> None:
        """Put the next try off, twice as long each time, as each try may read all records that are left."""
        self.retry = self.cursor + self.pause
        self.pause *= 2


class _Turns:
    """Reads the records of a block, those of each connection in order, many at once if possible."""

    def __init__(self, batch: _RecordFeed, found: Segments) -> None:
        self.batch = batch
        self.state = batch.state
        self.found = found
        self.alone: list[int] = found.alone.tolist()
        reassembler = self.state.reassembler
        self.recent = reassembler.flows.recent
        reassembler.skipped.update({"not IP": found.not_ip, "not TCP": found.not_tcp})
        sender = found.sender
        self.order = _by(sender >> 1, np.flatnonzero(sender >= 0))
        self.edges = np.searchsorted(sender[self.order] >> 1, np.arange(len(found.flows) + 1))
        self._lay_out(sender)
        self.numbers = np.flatnonzero(self.edges[1:] > self.edges[:-1])
        self.sides = [self.recent.get(found.flows[number]) for number in self.numbers.tolist()]
        self.leaps = self.sides.count(None) <= reassembler.flows.room() - len(self.alone)

    def _lay_out(self, sender: Integers) -> None:
        """Order the payloads by sender, and find the records at which a stream does not simply continue."""
        found = self.found
        with_payload = found.plain & (found.end > found.start) & (sender >= 0)
        segment = _by(sender, np.flatnonzero(with_payload))
        segment_sender = sender[segment]
        start, end = found.start[segment], found.end[segment]
        # One element more, for a sender without payload, whose index may be one past the last payload.
        self.seq = np.append(found.seq[segment], NONE)
        self.after = np.append(self.seq[:-1] + (end - start) & MASK, NONE)
        breaks = ~found.plain
        same = segment_sender[1:] == segment_sender[:-1]
        breaks[segment[1:][same & (self.seq[1:-1] != self.after[:-2])]] = True
        self._taint(breaks)
        self._find_older_acks(sender, breaks)
        self.breaks = np.append(np.flatnonzero(breaks[self.order]), len(self.order))
        self.framing = Framing(self.batch.records.data, start, end, max_packet=max(self.state.max_packet, 5))
        self.batch.assembly.use(self.framing, segment)
        first = np.searchsorted(segment_sender, np.arange(2 * len(found.flows)))
        self._count(sender[self.order] & 1, with_payload[self.order], first)

    def _find_older_acks(self, sender: Integers, breaks: Flags) -> None:
        """Mark the records that acknowledge less than the previous one of their sender."""
        for end in (0, 1):
            own = self.order[sender[self.order] & 1 == end]
            ack = self.found.ack[own]
            older = (sender[own[1:]] == sender[own[:-1]]) & (ack[1:] - ack[:-1] & MASK > MASK >> 1)
            breaks[own[1:][older]] = True

    def _count(self, second: Integers, with_payload: Flags, first: Integers) -> None:
        """Count the payloads of each end, and find its last record, up to each place in `order`."""
        places = np.arange(len(second))
        self.counts, self.lasts = [], []
        for end in (0, 1):
            own = second == end
            count = np.concatenate([np.zeros(1, np.int64), np.cumsum(own & with_payload)])
            # Added to `count`, this gives the index of a payload of the connection.
            base = first[end::2] - count[self.edges[:-1]]
            self.counts.append((base, count))
            self.lasts.append(np.maximum.accumulate(np.where(own, places, -1)))

    def _taint(self, breaks: Any) -> None:
        """Mark all records between two addresses if one of them is read by itself: it may belong to any connection."""
        ends = {pair for index in self.alone if (pair := _ends(self.batch.record(index)))}
        if ends:
            tainted = [key[:-4] in ends or opposite(key)[:-4] in ends for key in self.found.flows]
            breaks |= np.array([*tainted, False], np.bool_)[self.found.sender >> 1]

    def take(self) -> None:
        """Read all records; those that are read one by one in the order of the capture."""
        order = self.order
        turns: list[tuple[int, _FlowRecords | None]] = [(index, None) for index in self.alone]
        turns += [(int(order[flow.cursor]), flow) for flow in self._all()]
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

    def _all(self) -> Iterator[_FlowRecords]:
        """Read as many records of each connection at once as possible; yield the connections that have records left."""
        numbers = self.numbers
        cursor, end = self.edges[numbers], self.edges[numbers + 1]
        stop = self._stop(cursor, end)
        worth = (stop - cursor >= FEWEST) & self.leaps
        columns = (column.tolist() for column in (numbers, cursor, stop, end, worth))
        parts = (
            map(_Sequence, *(column.tolist() for column in self._of_end(end, numbers, cursor, stop))) for end in (0, 1)
        )
        for one, first, second, number, at, after, last, tried in zip(self.sides, *parts, *columns, strict=True):
            if not tried:
                yield _FlowRecords(number, at, last)
            elif self._try(one, first, second):
                if after < last:
                    yield _FlowRecords(number, after, last)
            else:
                flow = _FlowRecords(number, at, last)
                flow.failed()
                yield flow

    def _leap(self, flow: _FlowRecords) -> bool:
        """Read as many records at once as possible; return whether none is left."""
        while flow.cursor < flow.stop:
            if not self.leaps or flow.cursor < flow.retry:
                return False
            stop = int(self._stop(flow.cursor, flow.stop))
            if stop - flow.cursor < FEWEST:
                return False
            one = self.recent.get(self.found.flows[flow.number])
            first, second = (
                _Sequence(*(each.tolist() for each in self._of_end(end, flow.number, flow.cursor, stop)))
                for end in (0, 1)
            )
            if not self._try(one, first, second):
                flow.failed()
                return False
            flow.cursor, flow.pause = stop, 1
        return True

    def _stop(self, cursor: Any, end: Any) -> Any:
        """Return where the streams do not simply continue, or the records end; for one connection or for arrays."""
        return np.minimum(self.breaks[self.breaks.searchsorted(cursor)], end)

    def _of_end(self, end: int, number: Any, cursor: Any, stop: Any) -> tuple[Any, ...]:
        """Return the _Sequence of one end, between two places in `order`; for one connection or for arrays."""
        base, count = self.counts[end]
        first, after = base[number] + count[cursor], base[number] + count[stop]
        last = self.lasts[end][stop - 1]
        ack = np.where(last < cursor, NONE, self.found.ack[self.order[last]])
        before = self.framing.before
        place, size = before[first], before[after] - before[first]
        return first, after, self.seq[first], self.after[after - 1], place, size, ack

    def _try(self, one: TcpSide | None, first: _Sequence, second: _Sequence) -> bool:
        """Read what both ends of a connection send at once, and return whether that was possible.

        It is possible if the scalar code, fed the same records one by one, would do nothing but append payloads: both
        ends of the connection are known and wait for no earlier segment, no Acknowledgment Number goes back, the first
        payload of each end is the next byte that the reassembly expects, and the connection is established as MQTT
        without a layer such as WebSocket (`begun` is then the incomplete packet of an end). All checks come before the
        first change, so that after a False the scalar code can read the same records.
        """
        if one is None or one.peer is one or one.waiting or one.peer.waiting:
            return False
        connection = self.state.streams.connection(one.flow)
        if connection is None:
            return False
        whole: list[tuple[TcpSide, _Sequence, bytes | bytearray]] = []
        for side, part in ((one, first), (one.peer, second)):
            acked = side.peer.acked
            # The first acknowledgement of an end is of the handshake, whose time the scalar code takes.
            if part.ack != NONE and (acked is None or part.ack - acked & MASK > MASK >> 1):
                return False
            if part.first == part.end:
                continue
            begun = connection.senders[side.number].begun
            if side.next != part.seq or begun is None or len(begun) > FAR + LONG * part.size:
                return False
            whole.append((side, part, begun))
        # Finding the packets of one end is in vain if the other cannot be read.
        leaps: list[tuple[TcpSide, _Sequence, Framed]] = []
        for side, part, before in whole:
            framed = self.framing.frame(part.first, part.end, before)
            if framed is None:
                return False
            leaps.append((side, part, framed))
        for side, part, framed in leaps:
            self._commit(connection, side, part, framed)
        for side, part in ((one, first), (one.peer, second)):
            if part.ack != NONE:
                side.peer.acked = part.ack
        return True

    def _commit(self, connection: MqttConnection, side: TcpSide, part: _Sequence, framed: Framed) -> None:
        side.next = part.after
        sender = connection.senders[side.number]
        offset = sender.offset + len(sender.begun or b"")
        self.batch.assembly.leap(sender, offset, part.place, framed)
        sender.leap(offset + part.size - len(framed.begun), framed.begun, framed.due)


def _by(keys: Integers, which: Integers) -> Integers:
    """Return indices in a stable order by their keys."""
    found = keys[which]
    if len(found) and found.max() < 1 << 16:
        # numpy sorts small integers in linear time.
        found = found.astype(np.uint16)
    ordered: Integers = which[np.argsort(found, kind="stable")]
    return ordered


def _ends(record: CaptureRecord) -> bytes | None:
    """Return the addresses of a record that may carry TCP, as bytes; None for another record."""
    data = record.data
    try:
        at = ip_start(record.link, data)
        if data[at] >> 4 == 4:
            return data[at + 12 : at + 20] if data[at + 9] in CARRIES_TCP else None
        return data[at + 8 : at + 40] if data[at] >> 4 == 6 and data[at + 6] in CARRIES_TCP else None
    except (NotTcp, IndexError):
        return None
