"""Whole control packets in columns: what reassembly gives, and what decode, exchanges and findings read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...spec.versions import Direction, Version
from ...traffic.events import Closed, Endpoints, GapSeen, PacketSeen, Remark
from ..arrays import NO_TIME

CLIENT, SERVER, UNKNOWN = 0, 1, 2
"""Which end sent a packet."""
SIDES = 3
ENDS = {CLIENT: Direction.CLIENT, SERVER: Direction.SERVER, UNKNOWN: None}
"""The end that each of them stands for."""
NONE = -1
"""Stands for a missing index or number."""


@dataclass
class Frames:
    """Packets of many connections, in the order in which records completed them.

    All arrays have one element for each packet. `buffer` is smaller than 2 GiB, the reach of Arrow's 32-bit offsets.
    """

    buffer: bytes | bytearray | memoryview
    """Holds each packet in one piece, in any order, with any bytes between them."""
    start: NDArray[np.int64]
    """Where each packet begins in `buffer`."""
    end: NDArray[np.int64]
    """Where it ends."""
    time: NDArray[np.int64]
    """Nanoseconds since 1970, or NO_TIME."""
    record: NDArray[np.int64]
    """Number of the record that completed it, counted from 1."""
    connection: NDArray[np.int32]
    """Index into `connections`."""
    direction: NDArray[np.uint8]
    """CLIENT, SERVER or UNKNOWN."""
    offset: NDArray[np.int64]
    """Where it begins in the bytes of its direction of the connection."""
    version: NDArray[np.uint8]
    """Value of spec.versions.Version."""
    guessed: NDArray[np.bool_]
    """Whether the version was guessed, not read from the CONNECT of the connection."""
    connections: list[Endpoints]
    others: list[GapSeen | Closed | Remark]
    """Events other than packets, in order."""
    places: list[int]
    """For each of `others`, how many of these packets came before it."""

    def __len__(self) -> int:
        return len(self.start)


class LastRows:
    """The last packet of each end of each connection, computed once for all other events of the frames."""

    def __init__(self, frames: Frames) -> None:
        self._rows: NDArray[np.int64] = np.full((len(frames.connections), SIDES), NONE, np.int64)
        # Of several values for one element numpy keeps the last.
        self._rows[frames.connection, frames.direction] = np.arange(len(frames))
        self._indices: dict[int, list[int]] = {}
        for index, each in enumerate(frames.connections):
            self._indices.setdefault(each.number, []).append(index)

    def indices(self, ends: Endpoints) -> list[int]:
        """Return the indices of a connection in `Frames.connections`: two if its client became known within them."""
        return self._indices.get(ends.number, [])

    def of(self, ends: Endpoints, side: int | None = None) -> int:
        """Return the row of the last packet of an end, or of any end; NONE if there is none.

        A segment or FIN that came early has the record it came with, so packets before a FIN may have later records.
        """
        rows = self._rows[self.indices(ends)]
        return int((rows if side is None else rows[:, side]).max(initial=NONE))


def of_events(events: Any) -> Frames:
    """Return the frames of events that `capture.reading.events` yields, one by one; the reference for reassembly."""
    sides = {end: side for side, end in ENDS.items()}
    buffer, rows = bytearray(), list[tuple[int, ...]]()
    numbers: dict[Endpoints, int] = {}
    connections: list[Endpoints] = []
    others: list[GapSeen | Closed | Remark] = []
    places: list[int] = []
    for event in events:
        if not isinstance(event, PacketSeen):
            others.append(event)
            places.append(len(rows))
            continue
        index = numbers.setdefault(event.ends, len(connections))
        if index == len(connections):
            connections.append(event.ends)
        start = len(buffer)
        buffer += event.data
        time = NO_TIME if event.time is None else event.time
        rows.append(
            (start, len(buffer), time, event.record, index, sides[event.direction], event.offset, event.version,
             event.guessed)
        )  # fmt: skip
    columns = list(zip(*rows, strict=True)) if rows else [()] * 9
    kinds = (np.int64, np.int64, np.int64, np.int64, np.int32, np.uint8, np.int64, np.uint8, np.bool_)
    names = ("start", "end", "time", "record", "connection", "direction", "offset", "version", "guessed")
    arrays: Any = {name: np.array(column, kind) for name, column, kind in zip(names, columns, kinds, strict=True)}
    return Frames(buffer=bytes(buffer), connections=connections, others=others, places=places, **arrays)


def packets_of(frames: Frames) -> Iterator[PacketSeen]:
    """Yield frames one by one."""
    columns = (frames.start, frames.end, frames.time, frames.record, frames.connection, frames.direction,
               frames.offset, frames.version, frames.guessed)  # fmt: skip
    for start, end, time, record, connection, side, offset, version, guessed in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        data = bytes(frames.buffer[start:end])
        when = None if time == NO_TIME else time
        ends = frames.connections[connection]
        yield PacketSeen(ends, when, record, data, offset, ENDS[side], Version(version), guessed)
