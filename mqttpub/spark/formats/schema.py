"""Conversion between Arrow schemas and Spark schemas; imports pyspark when that is needed."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def spark_schema(schema: pa.Schema) -> "StructType":
    """Return the Spark schema for an Arrow schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def arrow_schema(schema: "StructType") -> pa.Schema:
    """Return the Arrow schema that Spark accepts for a schema; its types must match exactly."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def check(asked: "StructType", offered: pa.Schema) -> None:
    """Raise OptionError for a column that does not exist, or that cannot be cast to its type."""
    from .errors import OptionError

    wanted = arrow_schema(asked)
    for field in wanted:
        at = offered.get_field_index(field.name)
        if at < 0:
            raise OptionError(f"there is no column '{field.name}'; there are {', '.join(offered.names)}")
        try:
            pa.nulls(0, offered.field(at).type).cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise OptionError(f"column '{field.name}' is {offered.field(at).type}, not {field.type}") from None


def fitted(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    """Return the columns of `batch` that `wanted` names, in its order, cast to its types.

    Raises ArrowInvalid for a value that does not fit its type.
    """
    if batch.schema.names != wanted.names:
        batch = batch.select(wanted.names)
    arrays: list[Any] = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(batch.columns, wanted, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)
