"""Rows of `packets` to rows of `connections`: both ends, number of packets and bytes, how it began and ended."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..spec.packets import Connack, Connect, Disconnect, Pingreq, Pingresp, Publish
from ..traffic.closings import Closings
from ..traffic.events import Closed, Endpoints, GapSeen, Remark, TcpFigures
from .arrays import NO_TIME, Rows
from .arrow import encoded, numbers
from .community_id import community_id
from .decode.decode import key
from .exchanges.handshakes import integers, kinds
from .reassemble.frames import Frames
from .schema import CONNECTIONS, CONNECTIONS_COLUMNS

MOST = 1_000_000
"""Most connections that are remembered; the oldest are reported early."""
_SUMS = ("packets", "bytes", "client_packets", "client_bytes", "server_packets", "server_bytes", "publishes", "dups",
         "gaps", "pings")  # fmt: skip
_LATEST = int(np.iinfo(np.int64).max)
"""Stands for an unknown time where the earliest is looked for."""
_TELLS = kinds(Connect, Connack, Disconnect)
_PINGS = kinds(Pingreq, Pingresp)
_ASKED = "asked"
"""Key of the time of a PINGREQ that waits for its PINGRESP; not a column."""
_NEW: dict[str, Any] = {column.name: 0 if column.name in _SUMS else None for column in CONNECTIONS_COLUMNS}
_ABOUT = (
    "capture", "connection", "client_address", "client_port", "server_address", "server_port", "version",
    "version_guessed",
)  # fmt: skip
_TOLD = ("keep_alive", "clean_start", "will_flag", "username", "session_present")
_READ = ("type_code", "connection", "direction", "reason_code", *_TOLD)


class Connections:
    """Adds up the packets of consecutive batches; can be pickled between them."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        self._closings: Closings[str] = Closings()

    def add(
        self, packets: pa.RecordBatch, frames: Frames | None = None, *, name: Callable[[Endpoints], str] = key
    ) -> pa.RecordBatch:
        """Read rows of `packets` and the other events of `frames`; return rows of `connections` for those that ended.

        `name` gives the keys of connections.
        """
        if len(packets):
            self._count(packets)
            self._tell(packets)
            self._ping(packets)
        over = dict[str, None]()
        for event in () if frames is None else frames.others:
            # What comes after the end does not count: in a batch of its own it would have no row.
            if (connection := name(event.ends)) not in over and self._other(event, connection):
                over[connection] = None
        over |= dict.fromkeys(list(self._rows)[: max(len(self._rows) - MOST, 0)])
        return _table(self._end(over))

    def keep(self, kept: Callable[[str], bool]) -> None:
        """Forget all connections but some, by their keys."""
        self._rows = {name: row for name, row in self._rows.items() if kept(name)}

    def finish(self) -> pa.RecordBatch:
        """Return the rows of all other connections."""
        return _table(self._end(list(self._rows)))

    def _end(self, over: Iterable[str]) -> Iterator[dict[str, Any]]:
        for each in over:
            self._closings.forget(each)
            row = self._rows.pop(each, None)
            if row and row["packets"]:
                row["community_id"] = community_id(
                    *((row[f"{end}_address"], row[f"{end}_port"]) for end in ("client", "server"))
                )
                yield row

    # packets

    def _count(self, packets: pa.RecordBatch) -> None:
        number, names = encoded(packets["connection"])
        groups = _Groups(number)
        columns = _sums(packets, groups)
        first, last = (packets.take(numbers(rows)) for rows in (groups.first, groups.last))
        about, clients = first.select(_ABOUT).to_pylist(), last["client_id"].to_pylist()
        for place, index in enumerate(number[groups.first].tolist()):
            connection = names[index]
            row = self._rows.setdefault(connection, {**_NEW})
            if not row["packets"]:
                row.update(about[place])
            row["client_id"] = clients[place] or row["client_id"]
            for each in columns:
                row[each] = _MERGED.get(each, _added)(row[each], columns[each][place])

    def _tell(self, packets: pa.RecordBatch) -> None:
        """Read CONNECT, CONNACK and DISCONNECT."""
        rows = np.flatnonzero(_TELLS[integers(packets["type_code"])])
        if not len(rows):
            return
        for packet in packets.select(_READ).take(numbers(rows)).to_pylist():
            row = self._rows[packet["connection"]]
            for each in _TOLD:
                if row[each] is None:
                    row[each] = packet[each]
            if packet["type_code"] == Connack.code and row["connack_reason_code"] is None:
                row["connack_reason_code"] = packet["reason_code"]
            if packet["type_code"] == Disconnect.code and row["disconnected_by"] is None:
                row["disconnected_by"] = packet["direction"]
                row["disconnect_reason_code"] = packet["reason_code"]

    def _ping(self, packets: pa.RecordBatch) -> None:
        """Read PINGREQ and PINGRESP."""
        rows = np.flatnonzero(_PINGS[integers(packets["type_code"])])
        if not len(rows):
            return
        number, names = encoded(packets["connection"])
        columns = (number, integers(packets["type_code"]), integers(packets["time"].cast(pa.int64()), NO_TIME))
        for index, code, time_us in zip(*(column[rows].tolist() for column in columns), strict=True):
            row = self._rows[names[index]]
            if code == Pingreq.code:
                row[_ASKED] = time_us
            elif (asked := row.pop(_ASKED, None)) is not None:
                row["pings"] += 1
                if NO_TIME not in (asked, time_us):
                    row["ping_rtt_min_us"] = _earliest(row["ping_rtt_min_us"], time_us - asked)
                    row["ping_rtt_max_us"] = _latest(row["ping_rtt_max_us"], time_us - asked)

    # others

    def _other(self, event: Any, connection: str) -> str | None:
        """Read a gap or a close; return the connection if it has ended."""
        if isinstance(event, Remark):
            return None
        # It may come before the first packet, and whether it does so in a batch of its own must not matter.
        row = self._rows.setdefault(connection, {**_NEW})
        if isinstance(event, GapSeen):
            row["gaps"] += 1
        if not isinstance(event, Closed):
            return None
        time_us = None if event.time is None else event.time // 1000
        if row["closed_how"] is None:
            row["closed_by"], row["closed_how"] = event.direction.value if event.direction else None, event.how
            row["closed_time"] = time_us if event.how in ("FIN", "RST") else None
        row["end_time"] = _latest(row["end_time"], time_us)
        row |= {} if event.tcp is None else _carried(event.tcp)
        return connection if self._closings.over(connection, event) else None


class _Groups:
    """The packets of each connection; groups are in the order of the numbers of connections."""

    def __init__(self, number: NDArray[Any]) -> None:
        alone = bool((number == number[0]).all())
        # numpy sorts integers of 16 bits in linear time.
        small = number.astype(np.uint16) if number.max() < 1 << 16 else number
        self._order = slice(None) if alone else np.argsort(small, kind="stable")
        ordered = number[self._order]
        self._begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        rows = np.arange(len(number))[self._order]
        self.first: Rows = rows[self._begins]
        """The first row of each group."""
        self.last: Rows = rows[np.append(self._begins[1:], len(number)) - 1]

    def reduced(self, function: np.ufunc, values: NDArray[Any]) -> list[Any]:
        """Return the sum, or what else a function makes of all values of a group."""
        found: list[Any] = function.reduceat(values[self._order], self._begins).tolist()
        return found


def _sums(packets: pa.RecordBatch, groups: _Groups) -> dict[str, list[Any]]:
    """Return the sums of each connection, and its first and last times and records."""
    size, code, qos = integers(packets["packet_bytes"]), integers(packets["type_code"]), integers(packets["qos"])
    side, words = encoded(packets["direction"])
    client, server = (side == (words.index(name) if name in words else len(words)) for name in ("client", "server"))
    publish = (code == Publish.code) & ((qos == 1) | (qos == 2))
    weights: dict[str, NDArray[Any]] = {
        "packets": np.ones(len(size), np.int64), "bytes": size, "client_packets": client, "client_bytes": client * size,
        "server_packets": server, "server_bytes": server * size, "publishes": publish,
        "dups": publish * integers(packets["dup"], 0),
    }  # fmt: skip
    time, frame = integers(packets["time"].cast(pa.int64()), NO_TIME), integers(packets["frame"])
    begin = groups.reduced(np.minimum, np.where(time == NO_TIME, _LATEST, time))
    return {
        **{name: groups.reduced(np.add, weight.astype(np.int64)) for name, weight in weights.items()},
        "begin_time": [None if value == _LATEST else value for value in begin],
        "end_time": [None if value == NO_TIME else value for value in groups.reduced(np.maximum, time)],
        "first_frame": groups.reduced(np.minimum, frame),
        "last_frame": groups.reduced(np.maximum, frame),
    }


def _carried(tcp: TcpFigures) -> dict[str, int | None]:
    """Return the columns about TCP."""
    pairs = {"retransmissions": tcp.retransmissions, "out_of_order": tcp.out_of_order, "zero_windows": tcp.zero_windows}
    found = {f"{end}_{name}": pair[at] for at, end in enumerate(("client", "server")) for name, pair in pairs.items()}
    return {**found, "handshake_rtt_us": None if tcp.handshake_ns is None else tcp.handshake_ns // 1000}


def _added(one: int | None, other: int) -> int:
    return (one or 0) + other


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _latest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


_MERGED: dict[str, Any] = {
    "begin_time": _earliest, "end_time": _latest, "first_frame": _earliest, "last_frame": _latest,
}  # fmt: skip


def _table(rows: Iterable[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(found, schema=CONNECTIONS) if (found := list(rows)) else _NONE


_NONE = pa.RecordBatch.from_pylist([], schema=CONNECTIONS)
