"""Record numbers that have the number of their source in the upper bits, as rows have them."""

from collections.abc import Sequence

import pyarrow as pa

from ...columns.arrow import coded, numbers, values
from ...columns.reassemble.state import SOURCE_BITS

_WITHIN = (1 << SOURCE_BITS) - 1


def localized(rows: pa.RecordBatch, columns: Sequence[str], names: Sequence[str]) -> pa.RecordBatch:
    """Return rows whose record numbers count from the beginning of their source, which `capture` names.

    `columns` have record numbers, and the first of them has that of the row's source; `names` are those of all sources.
    """
    if not rows.num_rows:
        return rows
    for index, name in enumerate(columns):
        column = rows[name]
        counted = values(column.fill_null(0)) if column.null_count else values(column)
        if not index:
            source = counted >> SOURCE_BITS
            low = int(source.min())
            rows = _replaced(rows, "capture", coded(names[low : int(source.max()) + 1], source - low))
        valid = values(column.is_valid().cast(pa.uint8())) > 0 if column.null_count else None
        rows = _replaced(rows, name, numbers(counted & _WITHIN, valid))
    return rows


def _replaced(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    index = rows.schema.get_field_index(name)
    field = rows.schema.field(index)
    return rows.set_column(index, field, column if column.type == field.type else column.cast(field.type))
