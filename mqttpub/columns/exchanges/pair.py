"""Rows of `packets` to rows of `exchanges`: which packets belong together, all connections at once.

What an exchange is, exactly (as `conversation.exchanges.Exchanges` has it):

Packets with a Packet Identifier are looked at: PUBLISH of QoS 1 and 2, PUBACK, PUBREC, PUBREL,
PUBCOMP, SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK. The sender of an exchange is the end that sent
PUBLISH, PUBREL, SUBSCRIBE or UNSUBSCRIBE; for the others it is the opposite end. For each
(connection, sender, packet_id), in the order (frame, pos within a direction; else as they came),
there is at most one open exchange:

- PUBLISH, SUBSCRIBE and UNSUBSCRIBE begin one; an open one is `superseded`. But with DUP a PUBLISH
  belongs to the open one if that has a PUBLISH, and a subscription if that has Topic Filters.
- An ack belongs to the open one if it answers it: PUBACK a PUBLISH of QoS 1; PUBREC, PUBREL and
  PUBCOMP one of QoS 2 or an exchange that an ack began; SUBACK and UNSUBACK theirs. If it does not,
  it is an exchange of its own, and the open one goes on. Where none is open, it begins one.
- PUBACK, PUBCOMP, SUBACK, UNSUBACK, and PUBREC with a Reason Code of 0x80 or above, end it:
  `refused` where that code is 0x80 or above (of several the highest), else `complete`.
- What is open when its connection is at its end (both ends have closed, or one has reset it) is `unfinished`.
- Whatever its end, an exchange without PUBLISH and without Topic Filters is an `orphan`.

QoS 0 is in `packets` only, as there is nothing to pair. An exchange that an earlier connection of
the client left unfinished goes on as one of its own, with `resumed` (see `sessions`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...spec.declare import PACKETS as TYPES
from ...spec.declare import Packet
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel, Subscribe, Unsubscribe
from ...traffic.closings import Closings
from ...traffic.events import Closed, Endpoints
from ..arrow import NO_TIME, Rows, coded, encoded, numbers
from ..decode.decode import key
from ..reassemble.frames import NONE, Frames, LastRows
from ..schema import CODED_EXCHANGES, TIME, plain
from .handshakes import CODES, SENDERS, Legs, forgetting, kinds, legs_of, no_legs, resuming
from .sessions import Left, Moment, Sessions
from .transitions import DOES, ORPHANS, THEN, Act, states, symbols

MOST_TURNS = 8
"""How often it is looked again at what is resumed, when that changes what is left."""
MOST_OPEN = 200_000
"""Open exchanges that are remembered; the oldest make room."""
LATER = 2**63 - 1
"""Record of what comes behind all packets."""
_REQUEST = kinds(Publish, Subscribe, Unsubscribe)
_QOS = np.full(CODES, NONE)
"""By packet type, the QoS that an ack belongs to."""
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
_TYPES = [TYPES[code].name if code in TYPES else None for code in range(CODES)]
_KINDS = [None, "QoS 1", "QoS 2", *_TYPES[3:]]
"""By the QoS, or else by the packet type, what kind of exchange it is."""


class Close(NamedTuple):
    """A connection came to its end."""

    connection: str
    """Its key."""
    frame: int
    """Behind the packets of this record; LATER behind all."""


def closes(frames: Frames, closings: Closings[str], name: Callable[[Endpoints], str] = key) -> list[Close]:
    """Return which connections came to their end with frames; `name` gives the keys of connections.

    `closings` knows of those before.
    """
    last = LastRows(frames)
    found = (each for each in frames.others if isinstance(each, Closed))
    over = (each for each in found if closings.over(name(each.ends), each))
    return [Close(name(each.ends), _last(frames, each, last)) for each in over]


def _last(frames: Frames, event: Closed, last: LastRows) -> int:
    """Return the record after which a connection is at its end."""
    if event.how == "end":
        return LATER
    # What came before its turn has the record that brought it, and so has a FIN: packets may be of later records.
    row = last.of(event.ends) if event.how == "FIN" else NONE
    return event.record if row == NONE else max(event.record, int(frames.record[row]))


def pair(packets: pa.RecordBatch, closed: Iterable[Close] = ()) -> pa.RecordBatch:
    """Return the exchanges of all packets; what is open at the end is `unfinished`."""
    pairing = Pairing()
    return plain(pa.concat_batches([pairing.add(packets, closed), pairing.finish()]))


class Pairing:
    """Pairs the packets of batches that follow one another; it can be pickled between them.

    What is open is kept as a few of its packets: the first, the first of each type, and the last.
    """

    def __init__(self) -> None:
        self.forgotten = 0
        """Open exchanges that made room for others and are reported nowhere."""
        self._open = no_legs()
        self._sessions = Sessions()

    def add(self, packets: pa.RecordBatch, closed: Iterable[Close] = ()) -> pa.RecordBatch:
        """Take rows of `packets`, and the closes among them; return the exchanges that they end, with dictionaries.

        They stand in the order in which they began. Frames of one batch count on, so that a close
        is behind the packets of its connection whose frame is not higher.
        """
        return self._paired(self._open.joined(legs_of(packets)), closed, forgetting(packets))

    def finish(self) -> pa.RecordBatch:
        """Return what is left open, as `unfinished`."""
        left = self._open.texts["connection"].unique().to_pylist()
        return self._paired(self._open, [Close(connection, LATER) for connection in left], [])

    def _paired(self, legs: Legs, closed: Iterable[Close], moments: list[Moment]) -> pa.RecordBatch:
        connection, closing = _connections(legs, list(closed), self._open.count)
        identifier = (connection * len(SENDERS) + legs["sender"]) << 16 | legs["packet_id"]
        order = np.argsort(identifier, kind="stable")
        exchanges = _Exchanges(legs, order, identifier, closing)
        found: dict[int, Left] = {}
        for _ in range(MOST_TURNS):
            course = self._sessions.resumed([*moments, *exchanges.moments(self._open.count)])
            if course.found == found:
                break
            # What is resumed may change what belongs together, and that in turn what is left.
            found = course.found
            exchanges = _Exchanges(resuming(legs, found), order, identifier, closing)
        self._sessions.keep(course)
        self._keep(exchanges)
        return exchanges.rows()

    def _keep(self, exchanges: "_Exchanges") -> None:
        kept = exchanges.left()
        begun = np.flatnonzero(kept["begins"])
        if len(begun) > MOST_OPEN:
            self.forgotten += len(begun) - MOST_OPEN
            # Legs stand in the order of the packets, so those of an exchange are not side by side.
            newest = np.sort(kept["exchange"][begun[-MOST_OPEN:]])
            kept = kept.take(np.flatnonzero(np.isin(kept["exchange"], newest)))
        self._open = Legs({name: kept[name] for name in self._open.numbers}, kept.texts).compact()


def _connections(legs: Legs, closed: list[Close], carried: int) -> tuple[Rows, Rows]:
    """Return a number for each leg that tells its connection, up to and after a close, and the frame of the next close.

    What comes behind a close is paired anew. Where none comes, the frame is NONE. The first
    legs, `carried` from an earlier batch, are in front of all closes.
    """
    told, words = encoded(legs.texts["connection"])
    connection, frame = told.astype(np.int64), legs["frame"].copy()
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


class _Exchanges:
    """The exchanges of some legs. Rows are sorted by identifier, legs are as they came."""

    def __init__(self, legs: Legs, order: Rows, identifier: Rows, closing: Rows) -> None:
        self.legs = legs
        self.order = order
        identifier = identifier[order]
        first = np.concatenate(([True], identifier[1:] != identifier[:-1]))[: len(order)]
        again = np.where(_REQUEST[legs["code"]], legs["dup"], legs["resumed"])
        symbol = symbols(legs["code"], legs["qos"], legs["told"], again)[order]
        before = states(symbol, first)
        act = DOES[symbol, before]
        self.start = np.flatnonzero((act != Act.JOIN) & (act != Act.CLOSE))
        self.number = _numbers(act, self.start)
        """The exchange that each row belongs to; the first row of each is in `start`."""
        grouped = np.argsort(self.number, kind="stable")
        stop = np.cumsum(np.bincount(self.number, minlength=len(self.start)))
        self.last = grouped[stop - 1] if len(stop) else stop
        """The last row of each."""
        self.begins = act[self.start]
        """What the first row of each does."""
        self.closing = closing
        opened = np.where(self.begins == Act.BEGIN, THEN[symbol[self.start], before[self.start]], 0)
        self.orphan = np.isin(opened, ORPHANS) & (legs["resumed"][order[self.start]] == 0)
        self.ending = self._endings(act, identifier)
        self.outcome = np.where(self.orphan & (self.ending != OPEN), ORPHAN, self.ending)

    def _endings(self, act: NDArray[np.int8], identifier: Rows) -> NDArray[np.int64]:
        """Return how each ends, be it an orphan or not."""
        start, last = self.start, self.last
        ended = (act[last] != Act.JOIN) & (act[last] != Act.BEGIN)
        refused = self.legs["reason"][self.order[last]] >= 0x80
        outcome = np.where(ended, np.where(refused, REFUSED, COMPLETE), OPEN)
        begun = np.flatnonzero(act[start] == Act.BEGIN)
        same = identifier[start[begun[1:]]] == identifier[start[begun[:-1]]]
        followed = begun[:-1][same]
        outcome[followed[~ended[followed]]] = SUPERSEDED
        outcome[(outcome == OPEN) & (self.closing[self.order[start]] != NONE)] = UNFINISHED
        return outcome

    def moments(self, carried: int) -> Iterator[Moment]:
        """Yield what may resume a message of an earlier connection, and what is left of messages by closes."""
        legs, index = self.legs, self.order[self.start]
        code = legs["code"][index]
        message = (code == Publish.code) | (_QOS[code] != NONE)
        anew = ~_REQUEST[code] | ((code == Publish.code) & (legs["dup"][index] != 0))
        yield from self._moments(index[anew & (self.begins != Act.ALONE) & (index >= carried)], close=False)
        yield from self._moments(index[message & (self.ending == UNFINISHED)], close=True)

    def _moments(self, index: Rows, *, close: bool) -> Iterator[Moment]:
        legs = self.legs.take(index, ("client_id", "connection", "resolved_topic"))
        when = self.closing[index] if close else legs["frame"]
        columns = (when, legs["pos"], index, legs["sender"] << 16 | legs["packet_id"], legs["code"])
        texts = (legs.texts["client_id"], legs.texts["connection"], legs.texts["resolved_topic"])
        about = (legs["size"], np.where(legs["code"] == Publish.code, legs["qos"], _QOS[legs["code"]]), legs["resumed"])
        for frame, pos, leg, name, code, client, connection, topic, size, qos, resumed in zip(
            *(each.tolist() for each in columns), *(each.to_pylist() for each in texts),
            *(each.tolist() for each in about), strict=True,
        ):  # fmt: skip
            left = Left(topic, size, qos, connection) if code == Publish.code or resumed else None
            if client is not None:
                yield Moment(frame, close, pos, client, leg, name, code, connection, left)

    def left(self) -> Legs:
        """Return the legs by which open exchanges are remembered, as they came.

        `begins` tells which of them begin one, and `exchange` which belong together. What a leg
        that is not kept counts for, the first one counts for.
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
        return Legs({**legs.numbers, "begins": begins.astype(np.int64), "exchange": self.number[kept]}, legs.texts)

    def rows(self) -> pa.RecordBatch:
        """Return the exchanges that ended, in the order in which they began."""
        ended = np.flatnonzero(self.outcome != OPEN)
        ended = ended[np.argsort(self.order[self.start[ended]], kind="stable")]
        begin = self.legs.take(self.order[self.start[ended]])
        end = self.legs.take(self.order[self.last[ended]], ())
        columns = {**begin.texts, **self._counted(ended), **_about(begin, end), **self._times(ended)}
        columns["topic"] = columns.pop("resolved_topic")
        columns["outcome"] = coded(_OUTCOMES, self.outcome[ended])
        arrays = [columns[each.name].cast(each.type) for each in CODED_EXCHANGES]
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
    """Return for each row the number of the exchange that it belongs to."""
    places = np.arange(len(act))
    opener = np.maximum.accumulate(np.where((act == Act.BEGIN) | (act == Act.BOTH), places, 0))
    rank = np.zeros(len(act), np.int64)
    rank[start] = np.arange(len(start))
    return rank[np.where(act == Act.ALONE, places, opener)]


def _sums(group: Rows, values: Rows, count: int) -> Rows:
    return np.bincount(group, values, count).astype(np.int64)


def _about(begin: Legs, end: Legs) -> dict[str, pa.Array]:
    """Return the columns that the first and the last packet tell."""
    code = begin["code"]
    qos = np.where(code == Publish.code, begin["qos"], _QOS[code])
    requested = _REQUEST[code] & (begin["time"] != NO_TIME) & (end["time"] != NO_TIME)
    return {
        "sender": coded(SENDERS, begin["sender"]),
        "kind": coded(_KINDS, np.where(qos == NONE, code, qos)),
        "qos": _known(qos),
        "packet_id": numbers(begin["packet_id"]),
        "payload_length": _known(begin["size"]),
        "reason_code": _known(end["reason"]),
        "resumed": numbers(begin["resumed"] != 0),
        "first_type": coded(_TYPES, code),
        "last_type": coded(_TYPES, end["code"]),
        "begin": _timestamps(begin["time"]),
        "end": _timestamps(end["time"]),
        "latency_us": numbers(np.where(requested, end["time"] - np.where(requested, begin["time"], 0), 0), requested),
        "first_frame": numbers(begin["frame"]),
        "first_pos": numbers(begin["pos"]),
        "last_frame": numbers(end["frame"]),
    }


def _known(values: Rows) -> pa.Array:
    return numbers(values, values != NONE)


def _timestamps(values: Rows) -> pa.Array:
    return numbers(values, values != NO_TIME).view(TIME)
