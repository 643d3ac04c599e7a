"""Record numbers that have the number of their source in the upper bits, as rows have them, and what it is called."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from ...columns.arrays import Integers
from ...columns.arrow import coded, numbers, values
from ...columns.reassemble.state import SOURCE_BITS
from ..storage.files import open_file
from ..storage.folder import StorageFolder
from .job import Job

_WITHIN = (1 << SOURCE_BITS) - 1
_BLOCK = 4096
"""Names that are written, and read, together."""


def write_names(job: Job, names: Iterable[str]) -> None:
    """Write the names of all sources, earlier runs' as well, in the order of their numbers, for the tasks of a job."""
    schema = pa.schema([("name", pa.string())])
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        StorageFolder(job.staging).create(job.state_name("names")) as file,
        pa.ipc.new_file(file, schema, options=options) as table,
    ):
        held = list(names)
        for begin in range(0, len(held), _BLOCK):
            table.write_batch(pa.record_batch([pa.array(held[begin : begin + _BLOCK], pa.string())], schema=schema))


class SourceNames:
    """The names of sources by their numbers, as `write_names` wrote them; a task reads those that it asks for."""

    def __init__(self, job: Job) -> None:
        self._place = StorageFolder(job.staging).place(job.state_name("names"))
        self._blocks: dict[int, pa.Array] = {}

    def of(self, sources: Integers) -> list[str]:
        """Return the names of sources; raises OSError."""
        places = [divmod(number, _BLOCK) for number in sources.tolist()]
        if missing := {block for block, _ in places} - self._blocks.keys():
            with open_file(self._place) as file, pa.ipc.open_file(file) as table:
                self._blocks.update((block, table.get_batch(block).column(0)) for block in sorted(missing))
        return [self._blocks[block][within].as_py() for block, within in places]


def localized(rows: pa.RecordBatch, columns: Sequence[str], names: Callable[[Integers], list[str]]) -> pa.RecordBatch:
    """Return rows whose record numbers count from the beginning of their source, which `capture` names.

    `columns` have record numbers, and the first of them has that of the row's source; `names` returns those of sources.
    """
    if not rows.num_rows:
        return rows
    for index, name in enumerate(columns):
        column = rows[name]
        counted = values(column.fill_null(0)) if column.null_count else values(column)
        if not index:
            source = counted >> SOURCE_BITS
            found = np.unique(source)
            rows = _replaced(rows, "capture", coded(names(found), np.searchsorted(found, source)))
        valid = values(column.is_valid().cast(pa.uint8())) > 0 if column.null_count else None
        rows = _replaced(rows, name, numbers(counted & _WITHIN, valid))
    return rows


def _replaced(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    index = rows.schema.get_field_index(name)
    field = rows.schema.field(index)
    return rows.set_column(index, field, column if column.type == field.type else column.cast(field.type))
