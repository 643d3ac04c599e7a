"""`readStream.format("mqtt")`: a subscription as a stream that can be read again.

The subscriber runs in the process in which Spark plans the query. Tasks read the messages that it wrote
to the spool, so the spool has to be in a folder that all machines share.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from ...columns.reassemble.frames import SERVER, Frames
from ...columns.schema import PACKETS
from ...spec.declare import Property
from ...spec.packets import Subscribe, Subscription
from ...spec.properties import RECEIVE_MAXIMUM, SESSION_EXPIRY_INTERVAL, TOPIC_ALIAS_MAXIMUM
from ...spec.versions import Version
from ...traffic.events import Endpoints
from ..storage.files import as_path, is_url
from .errors import OptionError, SpoolError, short_errors
from .options import CONNECTION, Options, target
from .schema import arrow_schema, check, fitted
from .spool import (
    MESSAGE,
    SEGMENT,
    SegmentRange,
    SpoolRecord,
    ahead,
    opened,
    segment_ranges,
    segments,
    spool_records,
    trim,
)
from .subscriber import SubscribeRequest, SubscriberThread, checked

WEEK = 7 * 24 * 3600
SUBSCRIBE_ID = 1
OPTIONS = CONNECTION | {
    "filter", "filters", "qos", "share", "no_local", "retain_as_published", "retain_handling", "subscribe_properties",
    "session_expiry", "receive_maximum", "spool", "fsync", "segment_bytes", "split_bytes", "max_rows_per_trigger",
    "max_bytes_per_trigger", "quiet",
}  # fmt: skip
TAKEN = ("topic", "payload", "qos", "retain", "dup", "packet_id", "properties", "time")
"""Columns as in the table of packets; `time` is when the message arrived."""
MESSAGES = pa.schema([*(PACKETS.field(name) for name in TAKEN), ("position", pa.int64())])
"""The columns of a message; `position`, its position in the spool, is unique."""
BATCH = 16384
BATCH_BYTES = 32 << 20
"""Messages, and bytes unless one message has more, that are decoded together, at most."""
POLL = 0.05


def subscribe_request(options: Options, client_id: str) -> SubscribeRequest:
    """Return the subscription that the options describe; raises OptionError."""
    if Version.named(options.text("version", "5")) != Version.V5:
        raise OptionError("option 'version': a subscription needs MQTT 5.0")
    more = (
        Property(SESSION_EXPIRY_INTERVAL.id, options.number("session_expiry", WEEK)),
        Property(RECEIVE_MAXIMUM.id, _window(options)),
    )
    made = target(options, *more, client_id=client_id, clean_start=False)
    if any(each.id == TOPIC_ALIAS_MAXIMUM.id for each in made.connect.properties):
        raise OptionError("option 'connect_properties': Topic Aliases cannot be stored in the spool")
    properties = options.properties("subscribe_properties", "SUBSCRIBE")
    subscribe = Subscribe(packet_id=SUBSCRIBE_ID, properties=properties, subscriptions=tuple(_subscriptions(options)))
    return SubscribeRequest(made, checked(subscribe), options.seconds("timeout", 30.0))


def _window(options: Options) -> int:
    return options.number("receive_maximum", 1000, 1, 65535)


def _subscriptions(options: Options) -> Iterator[Subscription]:
    filters = options.texts("filters") or options.texts("filter") or options.paths()
    if not filters:
        raise OptionError("option 'filter' is missing: the Topic Filter to subscribe to, or 'filters': a JSON list")
    share = options.text("share")
    for each in filters:
        yield Subscription(
            filter=f"$share/{share}/{each}" if share else each, qos=options.number("qos", 1, 0, 2),
            no_local=options.flag("no_local"), retain_as_published=options.flag("retain_as_published"),
            retain_handling=options.number("retain_handling", 1, 0, 2),
        )  # fmt: skip


class SpoolRange(InputPartition):
    """The input of one task."""

    def __init__(self, stretch: SegmentRange) -> None:
        self.stretch = stretch


class SubscribeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a subscription through a spool; offsets are positions in it.

    It connects, and checks its options, when Spark first asks for messages: Spark makes more readers than it
    uses, and Spark 4.3 does not report errors that a constructor raises.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self.schema = schema
        self._given = given
        self._subscriber: SubscriberThread | None = None
        self._last: int | None = None
        """Where a query with the trigger availableNow ends."""

    @cached_property
    def options(self) -> Options:
        """The options; raises OptionError."""
        return Options(self._given, OPTIONS)

    @cached_property
    def folder(self) -> str:
        """The path or URL of the spool."""
        folder = self.options.needed("spool", "a folder in which messages are kept until Spark has them")
        return folder if is_url(folder := as_path(folder)) else os.path.abspath(folder)

    # offsets

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return where a new query begins: at the oldest message that is kept."""
        with short_errors(SpoolError):
            spool = self._started().spool
            return {"spool": spool.facts.id, "position": spool.first}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how much one batch may bring."""
        with short_errors():
            if "max_rows_per_trigger" in self.options:
                return ReadMaxRows(self.options.number("max_rows_per_trigger", 1, 1))
            if "max_bytes_per_trigger" in self.options:
                return ReadMaxBytes(self.options.number("max_bytes_per_trigger", 1, 1, 2**62))
            return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the offset of the end of the spool, or of a batch that the limit allows."""
        with short_errors(SpoolError):
            spool = self._started().spool
            end = spool.position if self._last is None else self._last
            begin = self._position(start, spool.position)
            if begin < end and isinstance(limit, ReadMaxRows):
                end = ahead(self.folder, begin, end, rows=limit.max_rows)
            elif begin < end and isinstance(limit, ReadMaxBytes):
                end = ahead(self.folder, begin, end, size=limit.max_bytes)
            return {"spool": spool.facts.id, "position": max(begin, end)}

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the offset of the end of the spool, whatever the limit."""
        if self._subscriber is None:
            return None
        spool = self._subscriber.spool
        return {"spool": spool.facts.id, "position": spool.position}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Wait until the broker has sent the messages that it kept."""
        with short_errors(SpoolError):
            subscriber = self._started()
            quiet = self.options.seconds("quiet", 2.0)
            subscriber.quiet_since = time.monotonic()
            while time.monotonic() - subscriber.quiet_since < quiet:
                time.sleep(POLL)
                subscriber.check()
            self._last = subscriber.spool.position

    def commit(self, end: dict[str, Any]) -> None:
        """Remove the messages that Spark will not read again."""
        with short_errors(SpoolError):
            trim(self.folder, end["position"])

    def stop(self) -> None:
        """End the connection; Spark kills the process without a call in most cases, which is safe."""
        if self._subscriber:
            self._subscriber.stop()

    def _position(self, offset: dict[str, Any], end: int) -> int:
        """Return the position of an offset; raises SpoolError for an offset of another spool, or beyond its end."""
        facts = self._started().spool.facts
        if offset["spool"] != facts.id:
            raise SpoolError(
                f"the checkpoint of this query belongs to another spool than '{self.folder}': "
                "restore both, or begin with a new checkpoint"
            )
        if offset["position"] > end:
            raise SpoolError(
                f"the checkpoint is at position {offset['position']}, but the spool '{self.folder}' ends at {end}: "
                "its end was lost with the machine (option 'fsync' prevents that); begin with a new checkpoint"
            )
        return int(offset["position"])

    def _started(self) -> SubscriberThread:
        if self._subscriber is None:
            options = self.options
            check(self.schema, MESSAGES)
            subscribe_request(options, "")
            spool = opened(
                self.folder, window=_window(options), fsync=options.flag("fsync"),
                segment=options.number("segment_bytes", SEGMENT, 1, 1 << 30), client_id=options.text("client_id"),
            )  # fmt: skip
            self._subscriber = SubscriberThread(subscribe_request(options, spool.facts.client_id), spool)
            self._subscriber.start()
            self._subscriber.connected.wait()
        self._subscriber.check()
        return self._subscriber

    # rows

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the inputs of the tasks."""
        with short_errors(SpoolError):
            size = self.options.number("split_bytes", 8 << 20, 1)
            found = segments(self.folder)
            if found and found[-1].base + found[-1].size < end["position"]:
                raise SpoolError(f"the spool '{self.folder}' ends before position {end['position']} of the checkpoint")
            return [SpoolRange(each) for each in segment_ranges(self.folder, start["position"], end["position"], size)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the messages of one part of the spool."""
        assert isinstance(partition, SpoolRange)
        wanted = arrow_schema(self.schema)
        with short_errors(SpoolError):
            yield from (fitted(rows(each), wanted) for each in _batches(spool_records(partition.stretch)))


def _batches(found: Iterator[SpoolRecord]) -> Iterator[list[SpoolRecord]]:
    batch: list[SpoolRecord] = []
    size = 0
    for record in found:
        if record.kind == MESSAGE:
            if batch and (len(batch) == BATCH or size + len(record.data) > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(record)
            size += len(record.data)
    if batch:
        yield batch


def rows(messages: list[SpoolRecord]) -> pa.RecordBatch:
    """Return messages as a batch of the schema MESSAGES."""
    from ...columns.decode.decode import decode

    packets = decode(_frames(messages))
    positions = pa.array([each.position for each in messages], pa.int64())
    arrays = [packets.column(name) for name in TAKEN]
    return pa.RecordBatch.from_arrays([*arrays, positions], schema=MESSAGES)


def _frames(messages: list[SpoolRecord]) -> Frames:
    """Return messages in the form that the decoder reads."""
    count = len(messages)
    end = np.cumsum([len(each.data) for each in messages], dtype=np.int64)
    start = end - np.array([len(each.data) for each in messages], np.int64)
    return Frames(
        b"".join(each.data for each in messages), start, end,
        time=np.array([each.time for each in messages], np.int64), record=np.zeros(count, np.int64),
        connection=np.zeros(count, np.int32), direction=np.full(count, SERVER, np.uint8), offset=start,
        version=np.full(count, Version.V5, np.uint8), guessed=np.zeros(count, np.bool_),
        connections=[Endpoints(1, "", "")], others=[], places=[],
    )  # fmt: skip
