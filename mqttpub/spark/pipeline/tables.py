"""From frames to the rows of tables, with state that carries over from batch to batch, source to source, run to run."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ...columns.arrow import numbers, values
from ...columns.connections import Connections
from ...columns.decode.context import Memory
from ...columns.decode.decode import decode_coded
from ...columns.exchanges.pair import closes
from ...columns.findings import Judging
from ...columns.schema import CONNECTIONS, EXCHANGES, FINDINGS, PACKETS
from ...traffic.closings import Closings
from ..storage.folder import StorageFolder
from .job import Job, TableFile
from .reading import SourceFrames, SourceOffsets
from .row_filter import RowSelector
from .shuffle import LAST, ShuffleWriter
from .state_classes import keeps
from .writers import TableWriter

SCHEMAS = {"packets": PACKETS, "exchanges": EXCHANGES, "connections": CONNECTIONS, "findings": FINDINGS}
_RECORDS = {
    "exchanges": ("first_frame", "last_frame"), "connections": ("first_frame", "last_frame"), "findings": ("frame",),
}  # fmt: skip
"""Columns that hold record numbers, first the one that the column `capture` refers to."""


class TableFiles:
    """The files of all tables that a task writes.

    Rows that are final and rows that a later run may still change go to different files.
    """

    def __init__(self, job: Job, offsets: SourceOffsets, tag: str) -> None:
        self._job = job
        self._offsets = offsets
        self._tag = tag
        self._folder = StorageFolder(job.staging)
        self._selector = RowSelector(job.row_filter)
        self._writers: dict[tuple[str, bool], TableWriter] = {}

    def put(self, table: str, rows: pa.RecordBatch, *, final: bool) -> None:
        """Write rows whose record numbers count from the beginning of their source."""
        if not rows.num_rows:
            return
        if (table, final) not in self._writers:
            self._writers[table, final] = TableWriter(
                self._folder, table, SCHEMAS[table], file_format=self._job.file_format,
                partition_by=self._job.partition_by, tag=f"{'part' if final else 'open'}-{self._job.run}-{self._tag}",
                open_rows=not final,
            )  # fmt: skip
        self._writers[table, final].write(self._selector.rows(table, rows))

    def put_continuous(self, table: str, rows: pa.RecordBatch, *, final: bool) -> None:
        """Write rows whose record numbers count on from source to source."""
        if rows.num_rows:
            self.put(table, self._offsets.localized(rows, _RECORDS[table]), final=final)

    def close(self) -> Iterator[TableFile]:
        """Finish all files and yield them."""
        for writer in self._writers.values():
            yield from writer.close()


@keeps("pipeline/tables", "_memory _connections _judging _closings _slots")
class TableBuilder:
    """Makes the rows of one bucket of connections; a checkpoint can hold it between two sources."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._connections = Connections()
        self._judging = Judging()
        self._closings: Closings[str] = Closings()
        self._slots: dict[str, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("_memory", "_connections", "_judging", "_closings", "_slots")}

    def begin(self, files: TableFiles, shuffle: ShuffleWriter, *, lint: bool) -> None:
        """Set where rows are written; comes before the first `add`."""
        self._files, self._shuffle, self._lint = files, shuffle, lint
        shuffle.slots_of = self._slots

    def add(self, batch: SourceFrames) -> None:
        """Write the rows of some frames."""
        final = batch.step != LAST
        packets = decode_coded(batch.frames, capture=batch.capture, keys=batch.keys, memory=self._memory)
        self._files.put("packets", packets, final=final)
        frames, packets = batch.continuous(), _continuous(packets, batch.before)
        self._shuffle.put(batch.step, packets, closes(frames, self._closings, batch.name))
        connections = self._connections.add(packets, frames, name=batch.name)
        self._files.put_continuous("connections", connections, final=final)
        if self._lint:
            found = self._judging.add(
                frames, packets, capture=batch.capture, name=batch.name, client=self._memory.client
            )
            self._files.put_continuous("findings", found, final=final)

    def finish(self) -> None:
        """Write the connections that are still open after the last source."""
        self._files.put_continuous("connections", self._connections.finish(), final=False)


def _continuous(packets: pa.RecordBatch, before: int) -> pa.RecordBatch:
    """Return packets with record numbers that count on from all sources before."""
    index = packets.schema.get_field_index("frame")
    if not before:
        return packets
    return packets.set_column(index, packets.schema.field(index), numbers(values(packets["frame"]) + before))
