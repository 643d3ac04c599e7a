"""`df.write.format("mqtt")` and `writeStream`: each row is published, by the same publisher as in `mqttpub pub`.

A task publishes its rows over one connection and is done when all are acknowledged. Rows that are
refused, by the broker or because no PUBLISH can carry them, do not fail the task, since Spark would
publish all its rows again; they are reported when all tasks are done. If Spark repeats a task anyway,
receivers recognize the rows that come twice by the User Property `mqttpub-row`.
"""

import json
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from ...live.net.target import Target
from ...live.publish.durability import NoJournal
from ...live.publish.publisher import Publisher, PublishOptions
from ...live.publish.sender import NotSent, OutgoingMessage, Publication
from ...live.publish.sources import MessageSource
from ...spec.declare import Property
from ...spec.packets import Publish
from ...spec.properties import SESSION_EXPIRY_INTERVAL
from ...spec.versions import Version
from .errors import OptionError, RefusedError, short_errors
from .options import CONNECTION, Options, target
from .rows import MessageMaker, RowReader, UnfitRow

OPTIONS = CONNECTION | {"topic", "qos", "retain", "properties", "row_property", "refused", "window", "reconnects"}
SESSION_EXPIRY = 300
"""Seconds for which the broker keeps the session of a task that lost its connection."""
WINDOW = 500
"""Unacknowledged messages, at most; with many more, mosquitto is about ten times slower at QoS 2."""
SHOWN = 5
"""Reasons in an error message, at most."""
BATCH_ID, QUERY_ID = "streaming.sql.batchId", "sql.streaming.queryId"
"""Local properties of a task with the batch and the query of a stream."""
DOUBTFUL = "it is unknown whether it arrived: the broker lost the session"
LOST = "it is unknown whether it arrived: the connection was lost right after sending"
log = logging.getLogger("mqttpub.spark")


class PublishedRows(WriterCommitMessage):
    """The outcome of the rows of a task."""

    def __init__(self, rows: int, refused: Counter[str], file: str | None) -> None:
        self.rows = rows
        """Number of rows that were acknowledged, or sent at QoS 0."""
        self.refused = refused
        """Number of rows that were not published, by reason."""
        self.file = file
        """The file that lists them; None without one."""


class RowSource(MessageSource):
    """The rows of a task as a source of messages for a publisher; calls `unfit` for rows that cannot become one."""

    ended = False

    def __init__(
        self, batches: Iterable[pa.RecordBatch], rows: RowReader, version: Version, name: str | None,
        unfit: Callable[[int, None, str], None],
    ) -> None:  # fmt: skip
        self._unfit = unfit
        self._rows = (row for batch in batches for row in rows.read(batch))
        self._writers = MessageMaker(version)
        self._name = name
        self._count = 0

    def take(self, most: int, now: float) -> list[Publication]:
        """Return the next messages."""
        taken: list[Publication] = []
        while len(taken) < most and not self.ended:
            row = next(self._rows, None)
            if row is None:
                self.ended = True
                break
            number, self._count = self._count, self._count + 1
            try:
                if isinstance(row, UnfitRow):
                    raise row
                name = None if self._name is None else f"{self._name}/{number}"
                taken.append(self._writers.message(*row, number, name))
            except UnfitRow as unfit:
                self._unfit(number, None, str(unfit))
        return taken


class RefusalLog:
    """Counts published and refused rows, and lists refused ones in a file; use it in a `with`."""

    def __init__(self, folder: str | None, name: str) -> None:
        self.rows = 0
        self.refused: Counter[str] = Counter()
        self._path = Path(folder) / f"{name}.jsonl" if folder else None
        self._file: Any = None

    def __enter__(self) -> "RefusalLog":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.close()

    def note(self, number: int, topic: str | None, reason: str) -> None:
        """Record a row that was not published."""
        self.refused[reason] += 1
        if self._path is None:
            return
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path, "w", encoding="utf-8")  # noqa: SIM115
        self._file.write(json.dumps({"row": number, "topic": topic, "reason": reason}) + "\n")

    def outcome(self) -> PublishedRows:
        """Return the outcome of all rows so far."""
        return PublishedRows(self.rows, self.refused, str(self._path) if self._file else None)


class MqttSink:
    """The common part of the sinks for tables and streams; made once per job, and pickled for its tasks."""

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        with short_errors():
            self.options = Options(given, OPTIONS)
            self.columns = schema.fieldNames()
            RowReader(self.options, self.columns)
            _check_payload(schema)
            target(self.options)
        self.job = secrets.token_hex(4)

    def publish(self, batches: Iterator[pa.RecordBatch]) -> PublishedRows:
        """Publish the rows of a task and return their outcome; raises SourceError."""
        task = TaskContext.get()
        part, attempt = (task.partitionId(), task.attemptNumber()) if task else (0, 0)
        job = self._job(task)
        name = f"{job}/{part}" if self.options.flag("row_property") else None
        with short_errors():
            where = _target(self.options, f"{job.replace('/', '-')}-{part}-{attempt}")
            with RefusalLog(self.options.maybe("refused"), f"{job.replace('/', '-')}-{part}") as report:
                feed = RowSource(batches, RowReader(self.options, self.columns), where.version, name, report.note)
                _publish(where, feed, report, self.options)
                return report.outcome()

    def _job(self, task: Any) -> str:
        """Return a name that stays the same when Spark repeats a batch or a task."""
        query = task and task.getLocalProperty(QUERY_ID)
        return f"{query}/{task.getLocalProperty(BATCH_ID)}" if query else self.job

    def conclude(self, messages: list[WriterCommitMessage | None]) -> None:
        """Raise RefusedError if rows were refused; with the option `refused`, which lists them in files, only warn."""
        published = [each for each in messages if isinstance(each, PublishedRows)]
        refused: Counter[str] = Counter()
        for each in published:
            refused.update(each.refused)
        if not refused:
            return
        rows = sum(each.rows for each in published)
        sentence = f"{_count(refused.total(), rows)} not published: {_reasons(refused)}"
        if "refused" not in self.options:
            with short_errors():
                raise RefusedError(sentence)
        log.warning("%s; see %s", sentence, self.options.text("refused"))


class TableSink(MqttSink, DataSourceArrowWriter):
    """Publishes the rows of a table."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of one task and return what `commit` needs; raises SourceError."""
        return self.publish(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Report the rows that were refused."""
        self.conclude(messages)


class StreamSink(MqttSink, DataSourceStreamArrowWriter):
    """Publishes the rows of a stream."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of one task and return what `commit` needs; raises SourceError."""
        return self.publish(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Report the rows that were refused."""
        self.conclude(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing, as published messages cannot be withdrawn."""


def _check_payload(schema: StructType) -> None:
    types: dict[str, DataType] = {field.name: field.dataType for field in schema.fields}
    name = "payload" if "payload" in types else "value"
    if not isinstance(types[name], (BinaryType, StringType)):
        kind = types[name].simpleString()
        raise OptionError(f"column '{name}' is {kind}, but a payload is a string or binary: cast it, or use to_json")


def _target(options: Options, name: str) -> Target:
    """Return the broker and the CONNECT of a task, with a session that outlives a lost connection."""
    prefix = options.text("client_id", "mqttpub")
    expiry = Property(SESSION_EXPIRY_INTERVAL.id, SESSION_EXPIRY)
    made = target(options, expiry, client_id=f"{prefix}-{name}")
    # In 3.1 a Client Identifier has at most 23 characters.
    return made if made.version > Version.V31 else made.changed(client_id=made.connect.client_id[-23:])


def _publish(where: Target, feed: RowSource, report: RefusalLog, options: Options) -> None:
    how = PublishOptions(
        timeout_s=options.seconds("timeout", 30.0), window=options.number("window", WINDOW, 1, 65535),
        reconnects=options.number("reconnects", 10),
    )  # fmt: skip
    publisher = Publisher(where, feed, how, journal=NoJournal(), remark=log.warning)
    for outcomes in publisher.run():
        while outcomes:
            _report(outcomes.popleft(), report)
    for outgoing in publisher.unknown:
        report.note(outgoing.token, outgoing.writer.packet.topic, DOUBTFUL if outgoing.qos else LOST)


def _report(outcome: OutgoingMessage | NotSent, report: RefusalLog) -> None:
    if isinstance(outcome, NotSent):
        report.note(outcome.message.token, _topic(outcome.message), outcome.violation.text)
    elif outcome.refused:
        report.note(outcome.token, outcome.writer.packet.topic, f"the broker refused it: {outcome.reason}")
    else:
        report.rows += 1


def _topic(message: Publication) -> str:
    packet: Publish = message.writer.packet
    return packet.topic


def _count(refused: int, others: int) -> str:
    whole = refused + others
    return f"{refused:,} of {whole:,} rows {'were' if refused != 1 else 'was'}"


def _reasons(refused: Counter[str]) -> str:
    shown = [f"{count:,} because {reason}" for reason, count in refused.most_common(SHOWN)]
    more = len(refused) - len(shown)
    return "; ".join(shown) + (f"; and {more} other reasons" if more > 0 else "")
