"""Rows of `packets` to rows of `exchanges`: which packets belong together, all connections at once.

The rules, which are those of `traffic.exchanges`:

Packets with a Packet Identifier take part: PUBLISH of QoS 1 and 2, PUBACK, PUBREC, PUBREL,
PUBCOMP, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK. The sender of an exchange is the end that sent
PUBLISH, PUBREL, SUBSCRIBE or UNSUBSCRIBE; for the others it is the opposite end. For each
(connection, sender, packet_id), in the order (frame, pos within a direction; else as they came),
there is at most one open exchange:

- PUBLISH, SUBSCRIBE and UNSUBSCRIBE begin one; an open one is `superseded`. But with DUP a PUBLISH
  belongs to the open one if that has a PUBLISH, and a subscription if that has Topic Filters.
- An ack belongs to the open one if it answers it: PUBACK a PUBLISH of QoS 1; PUBREC, PUBREL and
  PUBCOMP one of QoS 2 or an exchange that an ack began; SUBACK and UNSUBACK theirs. If it does not,
  it is an exchange of its own, and the open one stays open. If none is open, it begins one.
- PUBACK, PUBCOMP, SUBACK, UNSUBACK, and PUBREC with a Reason Code of 0x80 or above, end it:
  `refused` where that code is 0x80 or above (of several the highest), else `complete`.
- An exchange that is open when its connection ends (both ends have closed, or one has reset it) is `unfinished`.
- Whatever its end, an exchange without PUBLISH and without Topic Filters is an `orphan`.

QoS 0 is in `packets` only, as there is nothing to pair. An exchange that an earlier connection of
the client left unfinished continues as a new one, with `resumed` (see `sessions`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...spec.declare import PACKETS as TYPES
from ...spec.declare import Packet
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel, Subscribe, Unsubscribe
from ...spec.reason_codes import FAILURE
from ...traffic.closings import Closings
from ...traffic.events import Closed, Endpoints
from ..arrays import NO_TIME, Rows
from ..arrow import coded, encoded, numbers
from ..decode.decode import key
from ..reassemble.frames import NONE, Frames, LastRows
from ..schema import CODED_EXCHANGES, TIME, plain
from .handshakes import (
    CODES,
    SENDERS,
    HandshakePackets,
    forgetting,
    handshake_packets,
    kinds,
    no_handshake_packets,
    resuming,
)
from .sessions import SessionEvent, Sessions, UnfinishedMessage
from .transitions import DOES, ORPHANS, THEN, Act, states, symbols

MOST_TURNS = 8
"""Most passes over the sessions, as a resumed message may change which messages are left unfinished."""
MOST_OPEN = 200_000
"""Most open exchanges that are remembered; the oldest are forgotten."""
LATER = 2**63 - 1
"""Stands for a record after all packets."""
_REQUEST = kinds(Publish, Subscribe, Unsubscribe)
_QOS = np.full(CODES, NONE)
"""By packet type, the QoS that an ack is for."""
_QOS[[Puback.code]], _QOS[[Pubrec.code, Pubrel.code, Pubcomp.code]] = 1, 2
_LEGS: dict[str, type[Packet]] = {
    "publish": Publish,
    "puback": Puback,
    "pubrec": Pubrec,
    "pubrel": Pubrel,
    "pubcomp": Pubcomp,
}
_OUTCOMES = ("complete", "refused", "unfinished", "superseded", "orphan", None)
COMPLETE, REFUSED, UNFINISHED, SUPERSEDED, ORPHAN, OPEN = range(6)
_TYPES = tuple(TYPES[code].name if code in TYPES else None for code in range(CODES))
_KINDS = (None, "QoS 1", "QoS 2", *_TYPES[3:])
"""The kind of an exchange, by the QoS of a message or else the packet type."""


class Close(NamedTuple):
    """The end of a connection."""

    connection: str
    """Its key."""
    frame: int
    """The record after whose packets it ended; LATER for the end of the capture."""


def closes(frames: Frames, closings: Closings[str], name: Callable[[Endpoints], str] = key) -> list[Close]:
    """Return the connections that ended with these frames; `name` gives the key of a connection.

    `closings` has the state of earlier frames.
    """
    last = LastRows(frames)
    found = (each for each in frames.others if isinstance(each, Closed))
    over = (each for each in found if closings.over(name(each.ends), each))
    return [Close(name(each.ends), _last(frames, each, last)) for each in over]


def _last(frames: Frames, event: Closed, last: LastRows) -> int:
    """Return the record after whose packets a connection ended."""
    if event.how == "end":
        return LATER
    row = last.of(event.ends) if event.how == "FIN" else NONE
    return event.record if row == NONE else max(event.record, int(frames.record[row]))


def pair(packets: pa.RecordBatch, closed: Iterable[Close] = ()) -> pa.RecordBatch:
    """Return the exchanges of all packets; those open at the end are `unfinished`."""
    pairing = Pairing()
    return plain(pa.concat_batches([pairing.add(packets, closed), pairing.finish()]))


class OpenExchanges:
    """The exchanges that are open between two batches.

    One is kept as a few of its packets: the first, the first of each type, and the last.
    """

    def __init__(self) -> None:
        self.forgotten = 0
        """Number of open exchanges that were forgotten without being reported."""
        self.open = no_handshake_packets()
        """The packets of open exchanges that are remembered."""

    def keep(self, exchanges: "PairedExchanges") -> None:
        """Keep those of these exchanges that are open."""
        if not exchanges.any_open():
            self.open = no_handshake_packets()
            return
        kept = exchanges.left()
        begun = np.flatnonzero(kept["begins"])
        if len(begun) > MOST_OPEN:
            self.forgotten += len(begun) - MOST_OPEN
            # Packets are in the order of the capture, so those of one exchange are not next to each other.
            newest = np.sort(kept["exchange"][begun[-MOST_OPEN:]])
            kept = kept.take(np.flatnonzero(np.isin(kept["exchange"], newest)))
        self.open = HandshakePackets({name: kept[name] for name in self.open.numbers}, kept.texts).compact()

    def keep_connections(self, kept: Callable[[str], bool]) -> None:
        """Forget the exchanges of all connections but some, by their keys."""
        wanted = [kept(each) for each in self.open.texts["connection"].to_pylist()]
        self.open = self.open.take(np.flatnonzero(wanted)).compact()

    def closes_at_the_end(self) -> list[Close]:
        """Return a close for each connection that has an open exchange."""
        return [Close(connection, LATER) for connection in self.open.texts["connection"].unique().to_pylist()]


class Pairing(OpenExchanges):
    """Pairs the packets of consecutive batches; can be pickled between them."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions = Sessions()

    def add(self, packets: pa.RecordBatch, closed: Iterable[Close] = ()) -> pa.RecordBatch:
        """Read rows of `packets` and the closes among them; return rows of `exchanges` for those that end.

        Exchanges are in the order in which they began. A close comes after the packets of its connection whose frame
        is not higher.
        """
        return self.add_chosen(handshake_packets(packets), closed, forgetting(packets))

    def add_chosen(
        self, packets: HandshakePackets, closed: Iterable[Close], events: list[SessionEvent]
    ) -> pa.RecordBatch:
        """Read packets as `add` does, and what happened to sessions apart from these packets and closes."""
        return self._paired(self.open.joined(packets), closed, events)

    def finish(self) -> pa.RecordBatch:
        """Return the exchanges that are still open, as `unfinished`."""
        return self._paired(self.open, self.closes_at_the_end(), [])

    def _paired(self, legs: HandshakePackets, closed: Iterable[Close], events: list[SessionEvent]) -> pa.RecordBatch:
        carried = self.open.count
        if not legs.count:
            self._sessions.keep(self._sessions.resumed(events))
            return no_exchanges()
        exchanges = exchanges_of(legs, list(closed), carried)
        found: dict[int, UnfinishedMessage] = {}
        for _ in range(MOST_TURNS):
            course = self._sessions.resumed([*events, *exchanges.resuming(carried), *exchanges.unfinished()])
            if course.found == found:
                break
            # A resumed message may change which packets belong together, and so which messages are left unfinished.
            found = course.found
            exchanges = PairedExchanges(resuming(legs, found), exchanges.order, exchanges.identifier, exchanges.closing)
        self._sessions.keep(course)
        self.keep(exchanges)
        return exchanges.rows()


@cache
def no_exchanges() -> pa.RecordBatch:
    """Return an empty batch of rows of `exchanges`."""
    return pa.RecordBatch.from_pylist([], CODED_EXCHANGES)


def exchanges_of(legs: HandshakePackets, closed: list[Close], carried: int) -> "PairedExchanges":
    """Return the exchanges of packets, of which the first `carried` are from an earlier batch."""
    connection, closing = _connections(legs, closed, carried)
    identifier = (connection * len(SENDERS) + legs["sender"]) << 16 | legs["packet_id"]
    return PairedExchanges(legs, np.argsort(identifier, kind="stable"), identifier, closing)


def _connections(legs: HandshakePackets, closed: list[Close], carried: int) -> tuple[Rows, Rows]:
    """Return a number for the connection of each packet, another one after a close, and the frame of its next close.

    Packets after a close are paired anew. The frame is NONE if no close follows. The first `carried` packets are from
    an earlier batch, and come before all closes.
    """
    index, words = encoded(legs.texts["connection"])
    connection, frame = index.astype(np.int64), legs["frame"].copy()
    frame[:carried] = 0
    names = {name: number for number, name in enumerate(words)}
    known = [(names[each.connection], each.frame) for each in closed if each.connection in names]
    closer, at = np.array(known, np.int64).reshape(-1, 2).T
    # With the rank of a frame among those of closes, it and its connection are one number, however high frames are.
    frames, rank = np.unique(at, return_inverse=True)
    width = len(frames) + 1
    ends = np.sort(closer * width + rank)
    place = np.searchsorted(ends, connection * width + np.searchsorted(frames, frame, "left"), "left")
    last = np.searchsorted(ends, np.arange(1, len(names) + 1) * width, "left")
    closing = np.append(frames[ends % width], NONE)[place]
    return connection + place, np.where(place < last[connection], closing, NONE)


class PairedExchanges:
    """The exchanges of some packets; rows are sorted by identifier, packets are in the order of the capture."""

    def __init__(self, legs: HandshakePackets, order: Rows, identifier: Rows, closing: Rows) -> None:
        self.legs = legs
        self.order = order
        self.identifier = identifier
        """For each packet a number for its connection, sender and Packet Identifier."""
        identifier = identifier[order]
        first = np.concatenate(([True], identifier[1:] != identifier[:-1]))[: len(order)]
        again = np.where(_REQUEST[legs["code"]], legs["dup"], legs["resumed"])
        symbol = symbols(legs["code"], legs["qos"], legs["variant"], again)[order]
        before = states(symbol, first)
        act = DOES[symbol, before]
        self.start = np.flatnonzero((act != Act.JOIN) & (act != Act.CLOSE))
        self.number = _numbers(act, self.start)
        """The exchange of each row; `start` has the first row of each exchange."""
        grouped = np.argsort(self.number, kind="stable")
        stop = np.cumsum(np.bincount(self.number, minlength=len(self.start)))
        self.last = grouped[stop - 1] if len(stop) else stop
        """The last row of each exchange."""
        self.begins = act[self.start]
        """What the first row of each exchange does."""
        self.closing = closing
        opened = np.where(self.begins == Act.BEGIN, THEN[symbol[self.start], before[self.start]], 0)
        self.orphan = np.isin(opened, ORPHANS) & (legs["resumed"][order[self.start]] == 0)
        self.ending = self._endings(act, identifier)
        self.outcome = np.where(self.orphan & (self.ending != OPEN), ORPHAN, self.ending)

    def _endings(self, act: NDArray[np.int8], identifier: Rows) -> NDArray[np.int64]:
        """Return the outcome of each exchange, ignoring whether it is an orphan."""
        start, last = self.start, self.last
        ended = (act[last] != Act.JOIN) & (act[last] != Act.BEGIN)
        refused = self.legs["reason"][self.order[last]] >= FAILURE
        outcome = np.where(ended, np.where(refused, REFUSED, COMPLETE), OPEN)
        begun = np.flatnonzero(act[start] == Act.BEGIN)
        same = identifier[start[begun[1:]]] == identifier[start[begun[:-1]]]
        followed = begun[:-1][same]
        outcome[followed[~ended[followed]]] = SUPERSEDED
        outcome[(outcome == OPEN) & (self.closing[self.order[start]] != NONE)] = UNFINISHED
        return outcome

    def resuming(self, carried: int) -> Iterator[SessionEvent]:
        """Yield the packets that may resume a message of an earlier connection."""
        legs, index = self.legs, self.order[self.start]
        code = legs["code"][index]
        anew = ~_REQUEST[code] | ((code == Publish.code) & (legs["dup"][index] != 0))
        return self._moments(index[anew & (self.begins != Act.ALONE) & (index >= carried)], close=False)

    def unfinished(self) -> Iterator[SessionEvent]:
        """Yield the closes that leave messages unfinished."""
        index = self.order[self.start]
        code = self.legs["code"][index]
        message = (code == Publish.code) | (_QOS[code] != NONE)
        return self._moments(index[message & (self.ending == UNFINISHED)], close=True)

    def _moments(self, index: Rows, *, close: bool) -> Iterator[SessionEvent]:
        if not len(index):
            return
        legs = self.legs.take(index, ("client_id", "connection", "resolved_topic"))
        when = self.closing[index] if close else legs["frame"]
        columns = (when, legs["pos"], index, legs["sender"] << 16 | legs["packet_id"], legs["code"])
        texts = (legs.texts["client_id"], legs.texts["connection"], legs.texts["resolved_topic"])
        about = (legs["size"], np.where(legs["code"] == Publish.code, legs["qos"], _QOS[legs["code"]]), legs["resumed"])
        for frame, pos, leg, name, code, client, connection, topic, size, qos, resumed in zip(
            *(each.tolist() for each in columns), *(each.to_pylist() for each in texts),
            *(each.tolist() for each in about), strict=True,
        ):  # fmt: skip
            left = UnfinishedMessage(topic, size, qos, connection) if code == Publish.code or resumed else None
            if client is not None:
                yield SessionEvent(frame, close, pos, client, leg, name, code, connection, left)

    def any_open(self) -> bool:
        """Return whether an exchange is open after these packets."""
        return bool((self.outcome == OPEN).any())

    def left(self) -> HandshakePackets:
        """Return the packets that open exchanges are kept as, in the order of the capture.

        `begins` is 1 for those that begin an exchange, `exchange` is equal for those of one exchange. The first packet
        of an exchange also counts for the packets of it that are not kept.
        """
        rows = np.flatnonzero(self.outcome[self.number] == OPEN)
        exchange, index = self.number[rows], self.order[rows]
        _, first = np.unique(exchange * CODES + self.legs["code"][index], return_index=True)
        kept = np.unique(np.concatenate((rows[first], self.last[np.unique(exchange)])))
        kept = kept[np.argsort(self.order[kept])]
        legs = self.legs.take(self.order[kept])
        begins = kept == self.start[self.number[kept]]
        for name in ("packets", "dups"):
            missing = _sums(exchange, self.legs[name][index], len(self.start))
            missing -= _sums(self.number[kept], legs[name], len(self.start))
            legs.numbers[name] = legs[name] + np.where(begins, missing[self.number[kept]], 0)
        return HandshakePackets(
            {**legs.numbers, "begins": begins.astype(np.int64), "exchange": self.number[kept]}, legs.texts
        )

    def rows(self) -> pa.RecordBatch:
        """Return the exchanges that ended, in the order in which they began, as rows of `exchanges`."""
        ended = np.flatnonzero(self.outcome != OPEN)
        if not len(ended):
            return no_exchanges()
        first = self.order[self.start[ended]]
        by_time = np.argsort(first, kind="stable")
        ended, first = ended[by_time], first[by_time]
        begin, end = _Chosen(self.legs, first), _Chosen(self.legs, self.order[self.last[ended]])
        columns = {**begin.texts(), **self._counted(ended), **_about(begin, end), **self._times(ended)}
        columns["topic"] = columns.pop("resolved_topic")
        columns["outcome"] = coded(_OUTCOMES, self.outcome[ended])
        arrays = [_as(columns[each.name], each.type) for each in CODED_EXCHANGES]
        return pa.RecordBatch.from_arrays(arrays, schema=CODED_EXCHANGES)

    def _counted(self, ended: Rows) -> dict[str, pa.Array]:
        count = len(self.start)
        sums = {name: _sums(self.number, self.legs[name][self.order], count) for name in ("packets", "dups")}
        return {name: numbers(each[ended]) for name, each in sums.items()}

    def _times(self, ended: Rows) -> dict[str, pa.Array]:
        """Return the time of the first packet of each type."""
        code, time = self.legs["code"][self.order], self.legs["time"][self.order]
        found = {}
        for name, cls in _LEGS.items():
            first = np.full(len(self.start), NO_TIME)
            rows = np.flatnonzero(code == cls.code)[::-1]
            first[self.number[rows]] = time[rows]
            found[f"{name}_time"] = _timestamps(first[ended])
        return found


def _numbers(act: NDArray[np.int8], start: Rows) -> Rows:
    """Return the number of the exchange of each row."""
    places = np.arange(len(act))
    opener = np.maximum.accumulate(np.where((act == Act.BEGIN) | (act == Act.BOTH), places, 0))
    rank = np.zeros(len(act), np.int64)
    rank[start] = np.arange(len(start))
    return rank[np.where(act == Act.ALONE, places, opener)]


def _sums(group: Rows, values: Rows, count: int) -> Rows:
    return np.bincount(group, values, count).astype(np.int64)


class _Chosen:
    """Some packets, of which only the columns that are asked for are taken."""

    def __init__(self, legs: HandshakePackets, rows: Rows) -> None:
        self._legs = legs
        self._rows = rows

    def __getitem__(self, name: str) -> Rows:
        return self._legs[name][self._rows]

    def texts(self) -> dict[str, pa.Array]:
        places = numbers(self._rows)
        return {name: column.take(places) for name, column in self._legs.texts.items()}


def _as(column: pa.Array, type: pa.DataType) -> pa.Array:
    return column if column.type == type else column.cast(type)


def _about(begin: _Chosen, end: _Chosen) -> dict[str, pa.Array]:
    """Return the columns that follow from the first and the last packet."""
    code = begin["code"]
    qos = np.where(code == Publish.code, begin["qos"], _QOS[code])
    began, ended = begin["time"], end["time"]
    requested = _REQUEST[code] & (began != NO_TIME) & (ended != NO_TIME)
    return {
        "sender": coded(SENDERS, begin["sender"]),
        "kind": coded(_KINDS, np.where(qos == NONE, code, qos)),
        "qos": _known(qos),
        "packet_id": numbers(begin["packet_id"]),
        "payload_bytes": _known(begin["size"]),
        "reason_code": _known(end["reason"]),
        "resumed": numbers(begin["resumed"] != 0),
        "first_type": coded(_TYPES, code),
        "last_type": coded(_TYPES, end["code"]),
        "begin_time": _timestamps(began),
        "end_time": _timestamps(ended),
        "latency_us": numbers(np.where(requested, ended - np.where(requested, began, 0), 0), requested),
        "first_frame": numbers(begin["frame"]),
        "first_pos": numbers(begin["pos"]),
        "last_frame": numbers(end["frame"]),
    }


def _known(values: Rows) -> pa.Array:
    return numbers(values, values != NONE)


def _timestamps(values: Rows) -> pa.Array:
    return numbers(values, values != NO_TIME).view(TIME)
