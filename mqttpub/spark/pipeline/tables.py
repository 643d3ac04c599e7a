"""From frames to the rows of tables, with state that carries over from batch to batch, source to source, run to run."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from ...columns.connections import Connections
from ...columns.decode.context import Memory
from ...columns.decode.decode import decode_coded
from ...columns.exchanges.apart import ApartPairing
from ...columns.exchanges.pair import closes
from ...columns.findings import Judging
from ...columns.reassemble.assembly import Batch
from ...columns.schema import CODED_PACKETS, CONNECTIONS, EXCHANGES, FINDINGS, PACKETS
from ...traffic.closings import Closings
from ...traffic.events import Endpoints
from ..storage.folder import StorageFolder
from .job import Job, TableFile
from .record_numbers import SourceNames, localized
from .row_filter import RowSelector
from .shuffle.clients import Ints, Outgoing
from .state_classes import keeps
from .writers import TableWriter

SCHEMAS = {"packets": PACKETS, "exchanges": EXCHANGES, "connections": CONNECTIONS, "findings": FINDINGS}
RECORDS = {
    "packets": ("frame",), "exchanges": ("first_frame", "last_frame"), "connections": ("first_frame", "last_frame"),
    "findings": ("frame",),
}  # fmt: skip
"""Columns that hold record numbers, first the one that the column `capture` refers to."""
NOTHING = pa.RecordBatch.from_pylist([], CODED_PACKETS)
"""No packets."""


class TableFiles:
    """The files of all tables that a task writes.

    Rows that are final and rows that a later run may still change go to different files.
    """

    def __init__(self, job: Job, tag: str) -> None:
        self._job = job
        self._names = SourceNames(job).of
        self._tag = tag
        self._folder = StorageFolder(job.staging)
        self._selector = RowSelector(job.row_filter)
        self._writers: dict[tuple[str, bool], TableWriter] = {}

    def put(self, table: str, rows: pa.RecordBatch, *, final: bool) -> None:
        """Write rows whose record numbers have the number of their source in the upper bits."""
        if not rows.num_rows:
            return
        if (table, final) not in self._writers:
            self._writers[table, final] = TableWriter(
                self._folder, table, SCHEMAS[table], file_format=self._job.file_format,
                partition_by=self._job.partition_by, tag=self._job.file_tag(self._tag, final=final),
                open_rows=not final,
            )  # fmt: skip
        self._writers[table, final].write(self._selector.rows(table, localized(rows, RECORDS[table], self._names)))

    def close(self) -> Iterator[TableFile]:
        """Finish all files and yield them."""
        for writer in self._writers.values():
            yield from writer.close()


@keeps("pipeline/tables", "_memory _connections _judging _closings _pairing")
class TableBuilder:
    """Makes the rows of one bucket of connections; a checkpoint can hold it between two sources."""

    def __init__(self) -> None:
        self._memory = Memory()
        self._connections = Connections()
        self._judging = Judging()
        self._closings: Closings[str] = Closings()
        self._pairing = ApartPairing()

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("_memory", "_connections", "_judging", "_closings", "_pairing")}

    def keep(self, kept: Callable[[str], bool]) -> None:
        """Forget what is open of all connections but some, without rows for the others."""
        self._connections.keep(kept)
        self._pairing.keep_connections(kept)

    def begin(self, files: TableFiles, outgoing: Outgoing, before: Callable[[Ints], Ints], *, lint: bool) -> None:
        """Set where rows go; comes before the first `add`. `before` is that of Outgoing."""
        self._files, self._outgoing, self._lint = files, outgoing, lint
        outgoing.begin(before)

    def add(self, frames: Batch, *, last: bool = False) -> None:
        """Write the rows of some frames; `last` is whether the end of all sources released them."""
        if not len(frames) and not frames.others:
            return
        packets = decode_coded(frames, keys=frames.keys, memory=self._memory) if len(frames) else NOTHING
        self._files.put("packets", packets, final=not last)

        def name(ends: Endpoints) -> str:
            return frames.names[ends.number]

        exchanges, shared = self._pairing.add(packets, closes(frames, self._closings, name))
        self._files.put("exchanges", exchanges, final=not last)
        self._outgoing.put(shared, last=last)
        self._files.put("connections", self._connections.add(packets, frames, name=name), final=not last)
        if self._lint:
            found = self._judging.add(frames, packets, name=name, client=self._memory.client)
            self._files.put("findings", found, final=not last)

    def finish(self) -> None:
        """Write the connections and exchanges that are still open after the last source."""
        self._files.put("exchanges", self._pairing.finish(), final=False)
        self._files.put("connections", self._connections.finish(), final=False)
