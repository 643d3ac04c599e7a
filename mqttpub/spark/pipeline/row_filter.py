"""Which rows of the tables are written, and what is kept of a payload."""

import hashlib
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...traffic.topics import topic_matches

PAYLOADS = ("keep", "hash", "drop")
_BEGIN = {"packets": "time", "findings": "time", "exchanges": "begin_time", "connections": "begin_time"}
_TOPIC = {"packets": "resolved_topic", "exchanges": "topic"}
_PAYLOADS = ("payload", "will_payload")


class RowFilter(NamedTuple):
    """Which rows to write. The manifest holds these fields by name."""

    since: int | None = None
    """Microseconds since 1970; rows that began earlier, or at an unknown time, are left out."""
    until: int | None = None
    """Microseconds since 1970; rows that begin then or later are left out."""
    topics: tuple[str, ...] = ()
    """Topic Filters; of packets and exchanges only messages on matching topics remain."""
    payload: str = "keep"
    """keep, hash (SHA-256 in its place) or drop (null in its place)."""


class RowSelector:
    """Applies a `RowFilter` to batches."""

    def __init__(self, row_filter: RowFilter) -> None:
        self._filter = row_filter
        self._matches = matcher(row_filter.topics)

    def rows(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a table that pass the filter, in their order."""
        masks = [*self._times(batch, _BEGIN[table]), *self._topics(batch, _TOPIC.get(table))]
        if masks:
            batch = batch.filter(reduce(pc.and_, masks))
        return self._payloads(batch) if self._filter.payload != "keep" else batch

    def _times(self, batch: pa.RecordBatch, name: str) -> Iterable[Any]:
        kind = batch.schema.field(name).type
        if self._filter.since is not None:
            yield pc.greater_equal(batch[name], pa.scalar(self._filter.since, kind))
        if self._filter.until is not None:
            yield pc.less(batch[name], pa.scalar(self._filter.until, kind))

    def _topics(self, batch: pa.RecordBatch, name: str | None) -> Iterable[Any]:
        if not self._filter.topics or name is None:
            return
        encoded = batch[name].dictionary_encode()
        wanted = pa.array([self._matches(topic) for topic in encoded.dictionary.to_pylist()], pa.bool_())
        yield wanted.take(encoded.indices)

    def _payloads(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in _PAYLOADS:
            index = batch.schema.get_field_index(name)
            if index >= 0:
                column = _hashed(batch[name]) if self._filter.payload == "hash" else pa.nulls(len(batch), pa.binary())
                batch = batch.set_column(index, batch.schema.field(index), column)
        return batch


def _hashed(column: pa.Array) -> pa.Array:
    values = [None if value is None else hashlib.sha256(value).digest() for value in column.to_pylist()]
    return pa.array(values, pa.binary())


def matcher(filters: Iterable[str]) -> Callable[[str | None], bool]:
    """Return a function that says whether a topic matches one of the Topic Filters (5.0: 4.7)."""
    patterns = [each.split("/") for each in filters]
    return lambda topic: topic is not None and any(topic_matches(pattern, topic.split("/")) for pattern in patterns)
