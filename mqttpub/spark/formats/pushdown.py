"""Filters that Spark pushes down, applied to Arrow columns before rows leave the task."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource
from pyspark.sql.datasource import Filter
from pyspark.sql.types import StructType

from ...columns.schema import PACKETS
from .schema import arrow_schema

_Test = Callable[[pa.RecordBatch], Any]
_TESTS: dict[type[Filter], Callable[[Any, Any], Any]] = {
    datasource.EqualTo: pc.equal,
    datasource.GreaterThan: pc.greater,
    datasource.GreaterThanOrEqual: pc.greater_equal,
    datasource.LessThan: pc.less,
    datasource.LessThanOrEqual: pc.less_equal,
}
_TEXT_TESTS: dict[type[Filter], Callable[[Any, str], Any]] = {
    datasource.StringStartsWith: lambda column, text: pc.starts_with(column, pattern=text),
    datasource.StringEndsWith: lambda column, text: pc.ends_with(column, pattern=text),
    datasource.StringContains: lambda column, text: pc.match_substring(column, pattern=text),
}
_SIMPLE = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_string)
"""Types that Spark and Arrow compare alike; comparing times depends on the time zone of the session."""


class PushedFilters:
    """The pushed-down filters; called with a batch, it keeps the rows for which all are true."""

    def __init__(self, schema: StructType) -> None:
        self._schema = arrow_schema(schema)
        self._filters: list[Filter] = []

    def accept(self, filter: Filter) -> bool:
        """Accept a filter; return False if Spark has to apply it."""
        if self._test(filter) is None:
            return False
        self._filters.append(filter)
        return True

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that pass all filters."""
        tests = [test(batch) for each in self._filters if (test := self._test(each))]
        if not tests:
            return batch
        mask = tests[0]
        for test in tests[1:]:
            mask = pc.and_kleene(mask, test)
        return batch.filter(mask)

    def _test(self, filter: Filter) -> _Test | None:
        if isinstance(filter, datasource.Not):
            inner = self._test(filter.child)
            return (lambda batch: pc.invert(inner(batch))) if inner else None
        column = self._column(filter)
        if column is None:
            return None
        if isinstance(filter, datasource.IsNull):
            return lambda batch: pc.is_null(batch.column(column))
        if isinstance(filter, datasource.IsNotNull):
            return lambda batch: pc.is_valid(batch.column(column))
        return self._comparison(filter, column)

    def _comparison(self, filter: Any, column: str) -> _Test | None:
        type = PACKETS.field(column).type
        if self._schema.field(column).type != type or not any(simple(type) for simple in _SIMPLE):
            return None
        value = getattr(filter, "value", None)
        try:
            if isinstance(filter, datasource.In):
                return _among(column, value, type)
            if test := _TESTS.get(filter.__class__):
                scalar = pa.scalar(value, type)
                return lambda batch: test(batch.column(column), scalar)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return None
        text_test = _TEXT_TESTS.get(filter.__class__)
        if text_test is None or not pa.types.is_string(type):
            return None
        return lambda batch: text_test(batch.column(column), str(value))

    def _column(self, filter: Filter) -> str | None:
        path: tuple[str, ...] = getattr(filter, "attribute", ())
        return path[0] if len(path) == 1 and path[0] in self._schema.names else None


def _among(column: str, values: Any, type: Any) -> _Test | None:
    if any(value is None for value in values):
        return None
    wanted = pa.array(values, type)

    def test(batch: pa.RecordBatch) -> Any:
        found = batch.column(column)
        # Null is neither in the list nor outside of it.
        return pc.if_else(pc.is_valid(found), pc.is_in(found, value_set=wanted), pa.scalar(None, pa.bool_()))

    return test
