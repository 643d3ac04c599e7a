"""Frames to the rows of tables, carried on from batch to batch, from capture to capture, from run to run."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...columns.arrow import numbers, values
from ...columns.connections import Connections
from ...columns.decode.context import Memory
from ...columns.decode.decode import decode_coded
from ...columns.exchanges.pair import closes
from ...columns.findings import Judging
from ...columns.schema import CONNECTIONS, EXCHANGES, FINDINGS, PACKETS
from ...traffic.closings import Closings
from .manifest import Part
from .reading import Piece, Places
from .row_filter import Chooser
from .shuffle import LAST, Outbox
from .writers import Writer

if TYPE_CHECKING:
    from .task import Job

SCHEMAS = {"packets": PACKETS, "exchanges": EXCHANGES, "connections": CONNECTIONS, "findings": FINDINGS}
_RECORDS = {
    "exchanges": ("first_frame", "last_frame"), "connections": ("first_frame", "last_frame"), "findings": ("frame",),
}  # fmt: skip
"""Columns that name records, the one first that `capture` is about."""


class Files:
    """The files that a task writes, of all tables; what is over apart from what a later run may know more of."""

    def __init__(self, job: "Job", places: Places, tag: str) -> None:
        self._job = job
        self._places = places
        self._tag = tag
        self._chooser = Chooser(job.choice)
        self._writers: dict[tuple[str, bool], Writer] = {}

    def put(self, table: str, rows: pa.RecordBatch, *, over: bool) -> None:
        """Write rows whose records count from the beginning of their source."""
        if not rows.num_rows:
            return
        if (table, over) not in self._writers:
            self._writers[table, over] = Writer(
                Path(self._job.staging), table, SCHEMAS[table], form=self._job.form, divided=self._job.divided,
                tag=f"{self._tag}-{'over' if over else 'open'}", open_rows=not over,
            )  # fmt: skip
        self._writers[table, over].write(self._chooser.rows(table, rows))

    def put_counted_on(self, table: str, rows: pa.RecordBatch, *, over: bool) -> None:
        """Write rows whose records count on from source to source."""
        if rows.num_rows:
            self.put(table, self._places.told(rows, _RECORDS[table]), over=over)

    def close(self) -> Iterator[Part]:
        """End all files and yield them."""
        for writer in self._writers.values():
            yield from writer.close()


class Tables:
    """Makes the rows of one share of the connections; it can be pickled between two sources."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._connections = Connections()
        self._judging = Judging()
        self._closings: Closings[str] = Closings()
        self._homes: dict[str, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("_memory", "_connections", "_judging", "_closings", "_homes")}

    def begin(self, files: Files, outbox: Outbox, *, lint: bool) -> None:
        """Begin to write."""
        self._files, self._outbox, self._lint = files, outbox, lint
        outbox.homes = self._homes

    def take(self, piece: Piece) -> None:
        """Write what frames hold."""
        over = piece.step != LAST
        packets = decode_coded(piece.frames, capture=piece.capture, keys=piece.keys, memory=self._memory)
        self._files.put("packets", packets, over=over)
        frames, packets = piece.counted_on(), _counted_on(packets, piece.before)
        self._outbox.put(piece.step, packets, closes(frames, self._closings, piece.name))
        connections = self._connections.add(packets, frames, name=piece.name)
        self._files.put_counted_on("connections", connections, over=over)
        if self._lint:
            found = self._judging.add(
                frames, packets, capture=piece.capture, name=piece.name, client=self._memory.client
            )
            self._files.put_counted_on("findings", found, over=over)

    def end(self) -> None:
        """Write what the end of all sources leaves."""
        self._files.put_counted_on("connections", self._connections.finish(), over=False)


def _counted_on(packets: pa.RecordBatch, before: int) -> pa.RecordBatch:
    """Return rows of packets whose records count on from all sources before."""
    index = packets.schema.get_field_index("frame")
    if not before:
        return packets
    return packets.set_column(index, packets.schema.field(index), numbers(values(packets["frame"]) + before))
