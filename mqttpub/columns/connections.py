"""Rows of `packets` to rows of `connections`: both ends, number of packets and bytes, how it began and ended."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..spec.packets import Connack, Connect, Disconnect, Publish
from ..traffic.closings import Closings
from ..traffic.events import Closed, Endpoints, GapSeen
from .arrow import NO_TIME, Rows, encoded, numbers
from .decode.decode import key
from .exchanges.handshakes import integers
from .reassemble.frames import Frames
from .schema import CONNECTIONS, CONNECTIONS_COLUMNS

MOST = 1_000_000
"""Most connections that are remembered; the oldest are reported early."""
_SUMS = ("packets", "bytes", "client_packets", "client_bytes", "server_packets", "server_bytes", "publishes", "dups",
         "gaps")  # fmt: skip
_NEW: dict[str, Any] = {column.name: 0 if column.name in _SUMS else None for column in CONNECTIONS_COLUMNS}
_ABOUT = ("capture", "connection", "client", "server", "version", "version_guessed")
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
        over = [
            each
            for event in (() if frames is None else frames.others)
            if (each := self._other(event, name(event.ends)))
        ]
        over += list(self._rows)[: max(len(self._rows) - MOST, 0)]
        return _table(self._end(over))

    def finish(self) -> pa.RecordBatch:
        """Return the rows of all other connections."""
        return _table(self._end(list(self._rows)))

    def _end(self, over: Iterable[str]) -> Iterator[dict[str, Any]]:
        for each in over:
            self._closings.forget(each)
            if row := self._rows.pop(each, None):
                yield row

    # packets

    def _count(self, packets: pa.RecordBatch) -> None:
        number, names = encoded(packets["connection"])
        first, last = (np.full(len(names), -1) for _ in range(2))
        first[number[::-1]], last[number] = np.arange(len(number))[::-1], np.arange(len(number))
        present = np.flatnonzero(last >= 0)
        columns = _sums(packets, number, len(names))
        about = packets.select(_ABOUT).take(numbers(first[present])).to_pylist()
        clients = packets["client_id"].take(numbers(last[present])).to_pylist()
        for place, index in enumerate(present.tolist()):
            connection = names[index]
            row = self._rows.setdefault(connection, {**_NEW, **about[place]})
            row["client_id"] = clients[place] or row["client_id"]
            for each in columns:
                row[each] = _MERGED.get(each, _added)(row[each], columns[each][index])

    def _tell(self, packets: pa.RecordBatch) -> None:
        """Read CONNECT, CONNACK and DISCONNECT."""
        rows = np.flatnonzero(np.isin(integers(packets["type_code"]), [Connect.code, Connack.code, Disconnect.code]))
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

    # others

    def _other(self, event: Any, connection: str) -> str | None:
        """Read a gap or a close; return the connection if it has ended."""
        row = self._rows.get(connection)
        if row is None:
            return None
        if isinstance(event, GapSeen):
            row["gaps"] += 1
        if not isinstance(event, Closed):
            return None
        time_us = None if event.time is None else event.time // 1000
        if row["closed_how"] is None:
            row["closed_by"], row["closed_how"] = event.direction.value if event.direction else None, event.how
            row["closed_time"] = time_us if event.how in ("FIN", "RST") else None
        row["end"] = _latest(row["end"], time_us)
        return connection if self._closings.over(connection, event) else None


def _sums(packets: pa.RecordBatch, number: NDArray[Any], count: int) -> dict[str, list[Any]]:
    """Return the sums of each connection, and its first and last times and records."""
    size, code, qos = integers(packets["length"]), integers(packets["type_code"]), integers(packets["qos"])
    side, words = encoded(packets["direction"])
    client, server = (side == (words.index(name) if name in words else len(words)) for name in ("client", "server"))
    publish = (code == Publish.code) & ((qos == 1) | (qos == 2))
    dup = integers(packets["dup"], 0)
    weights: dict[str, NDArray[Any]] = {
        "packets": np.ones(len(number)), "bytes": size, "client_packets": client, "client_bytes": client * size,
        "server_packets": server, "server_bytes": server * size, "publishes": publish, "dups": publish * dup,
    }  # fmt: skip
    sums = {name: np.bincount(number, weight, count).astype(np.int64).tolist() for name, weight in weights.items()}
    time, frame = integers(packets["time"].cast(pa.int64()), NO_TIME), integers(packets["frame"])
    known = time != NO_TIME
    return {
        **sums,
        "begin": _extremes(np.minimum, number[known], time[known], count),
        "end": _extremes(np.maximum, number[known], time[known], count),
        "first_frame": _extremes(np.minimum, number, frame, count),
        "last_frame": _extremes(np.maximum, number, frame, count),
    }


def _extremes(which: Any, number: NDArray[Any], values: Rows, count: int) -> list[int | None]:
    """Return the least or the greatest value of each connection, None if it has no value."""
    worst = np.iinfo(np.int64).max if which is np.minimum else NO_TIME
    found = np.full(count, worst)
    which.at(found, number, values)
    return [None if value == worst else value for value in found.tolist()]


def _added(one: int | None, other: int) -> int:
    return (one or 0) + other


def _earliest(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


def _latest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


_MERGED: dict[str, Any] = {"begin": _earliest, "end": _latest, "first_frame": _earliest, "last_frame": _latest}


def _table(rows: Iterable[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(found, schema=CONNECTIONS) if (found := list(rows)) else _NONE


_NONE = pa.RecordBatch.from_pylist([], schema=CONNECTIONS)
