"""`read.format("mqtt_capture")`: tasks read captures, each for a bucket of the connections.

Captures that belong together, such as rotated files, are one stream of records: each task reads all
of them in order and keeps the connections of its bucket, so that packets and exchanges that span files
are kept intact. With the option `alone` each file stands for itself, and tasks divide the files among
them; a large file is read by several tasks. These too divide its connections, not its bytes: the
meaning of a byte depends on all bytes before it, and walking the records takes little of the time.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import BinaryIO

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from ...capture.text.source import BadText
from ...capture.types import BadCapture
from ...columns.decode.context import Memory
from ...columns.decode.decode import decode
from ...columns.read import finish
from ...columns.reassemble.assembly import Batch
from ...columns.reassemble.balance import WINDOW, shares
from ...columns.reassemble.reassemble import reassemble
from ...columns.reassemble.state import SOURCE_BITS, State
from ...columns.scan.records import reader as record_reader
from ...columns.scan.records import records
from ...columns.schema import PACKETS
from ..pipeline.record_numbers import localized
from ..pipeline.shuffle.clients import hash_slot
from ..pipeline.sources import Source, expand, opens, unseen
from ..pipeline.texts import text_frames
from ..storage.files import BadLocation, as_path, open_file, reason
from .errors import CaptureError, OptionError, short_errors
from .options import Options
from .schema import arrow_schema, check, fitted

OPTIONS = frozenset(("ports", "broken", "alone", "partitions", "split_bytes", "pushdown"))
SHARES = 4
"""Default maximum of tasks that read the same captures, as each of them scans all."""
SPLIT = 64 << 20
"""Bytes of a file for each task, with the option `alone`."""
log = logging.getLogger("mqttpub.spark")


class UnseenError(CaptureError):
    """A task cannot open a file that was listed."""


class CaptureShare(InputPartition):
    """The input of one task: some captures, and the bucket of connections to keep."""

    def __init__(self, sources: list[Source], bucket: int, buckets: int, table: bytes = b"") -> None:
        self.sources = sources
        self.bucket = bucket
        self.buckets = buckets
        self.table = table
        """The number of the bucket of each hash slot of connections."""


class CaptureDecoder:
    """Decodes captures one after the other."""

    def __init__(
        self, bucket: int, buckets: int, ports: tuple[int, ...], skip_broken: bool, table: bytes = b""
    ) -> None:
        self._bucket = bucket, buckets
        self._state = State(ports=ports, bucket=self._bucket, shares=table)
        self._names: list[str] = []
        """The sources so far; record numbers have the index in their upper bits."""
        self._before: dict[int, int] = {}
        """Records of all captures before each capture, by its index."""
        self._total = 0
        """Records of all captures so far."""
        self._memory = Memory()
        self._skip_broken = skip_broken

    def rows(self, source: Source) -> Iterator[pa.RecordBatch]:
        """Yield the packets of a capture; raises CaptureError after the last packet that can be read."""
        try:
            if source.problem:
                raise CaptureError(f"cannot read '{source.name}': {source.problem}")
            self._names.append(source.name)
            if not self._reads(source):
                return
            with _opened(source) as file:
                yield from map(self._decoded, self._capture(file) if source.capture else self._text(source, file))
            if left_out := self._state.left_out():
                log.warning("'%s': %s", source.name, left_out)
        except (BadCapture, BadText, OSError, CaptureError) as error:
            sentence = str(error) if isinstance(error, CaptureError) else f"'{source.name}': {_words(error)}"
            # Skipping a file that only this task cannot open would lose good rows.
            if not self._skip_broken or isinstance(error, UnseenError):
                raise CaptureError(sentence) from None
            log.warning("%s; the unreadable part is skipped", sentence)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield the packets that only the end of the last capture releases."""
        yield self._decoded(finish(self._state))

    def _reads(self, source: Source) -> bool:
        """Return whether this bucket reads a source: all buckets read every capture, one reads each text."""
        bucket, count = self._bucket
        return source.capture or hash_slot(source.digest.encode(), count) == bucket

    def _capture(self, file: BinaryIO) -> Iterator[Batch]:
        index = len(self._names) - 1
        self._before[index] = self._total
        self._state.reassembler.before = self._before
        self._state.records = index << SOURCE_BITS
        try:
            for found in records(record_reader(file), self._state.secrets):
                yield reassemble(found, self._state)
        finally:
            self._total += self._state.records - (index << SOURCE_BITS)

    def _text(self, source: Source, file: BinaryIO) -> Iterator[Batch]:
        return text_frames(source, file, len(self._names) - 1)

    def _decoded(self, frames: Batch) -> pa.RecordBatch:
        rows = decode(frames, keys=frames.keys, memory=self._memory)
        return localized(rows, ("frame",), lambda found: [self._names[number] for number in found.tolist()])


def _opened(source: Source) -> BinaryIO:
    try:
        return open_file(source.path)
    except OSError as error:
        raise UnseenError(unseen(source, error)) from None


def _words(error: BadCapture | BadText | OSError) -> str:
    return reason(error) if isinstance(error, OSError) else str(error)


def capture_decoder(options: Options, bucket: int, buckets: int, table: bytes = b"") -> CaptureDecoder:
    """Return a decoder with the settings of the options; raises OptionError."""
    ports = options.json("ports") if options.text("ports").startswith("[") else options.text("ports").split(",")
    try:
        numbers = tuple(int(port) for port in ports if port != "")
    except (TypeError, ValueError):
        raise OptionError(f"option 'ports' is a list of TCP ports, not '{options.text('ports')}'") from None
    skip = options.choice("broken", "fail", ("fail", "skip")) == "skip"
    return CaptureDecoder(bucket, buckets, numbers, skip, table)


def buckets(options: Options) -> int:
    """Return the number of tasks that the connections are divided among; raises OptionError."""
    return options.number("partitions", min(os.cpu_count() or 1, SHARES), 1, 10_000)


def locations(options: Options) -> list[str]:
    """Return the paths and URLs of the captures; raises OptionError for one that tasks cannot open."""
    try:
        given = [as_path(path) for path in options.paths()]
        unopened = next((each for each in given if not opens(each)), None)
    except BadLocation as error:
        raise OptionError(str(error)) from None
    if unopened:
        raise OptionError(f"tasks cannot open '{unopened}' themselves; `mqttpub pipeline` reads it through Hadoop")
    return given


class CaptureReader(DataSourceReader):
    """Reads captures as a batch."""

    keep: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None
    """The filters that Spark pushed down."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.options = options
        self.schema = schema
        capture_decoder(options, 0, 1)
        check(schema, PACKETS)
        self._paths = locations(options)
        if not self._paths:
            raise OptionError("there is nothing to read: pass a file, a folder, a glob, or a list of these to load()")

    def partitions(self) -> list[InputPartition]:
        """Return the inputs of the tasks."""
        with short_errors(CaptureError):
            most, sources = buckets(self.options), self._sources()
            if not self.options.flag("alone"):
                return _divided(sources, most)
            size = self.options.number("split_bytes", SPLIT, 1)
            return [each for source in sources for each in _divided([source], min(-(-source.size // size) or 1, most))]

    def _sources(self) -> list[Source]:
        try:
            sources = expand(self._paths)
        except BadLocation as error:
            raise CaptureError(str(error)) from None
        problem = next((each for each in sources if each.problem), None)
        if problem and self.options.text("broken") != "skip":
            raise CaptureError(f"cannot read '{problem.name}': {problem.problem}")
        return sources

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        assert isinstance(partition, CaptureShare)
        pa.set_cpu_count(1)
        wanted = arrow_schema(self.schema)
        with short_errors(CaptureError):
            made = capture_decoder(self.options, partition.bucket, partition.buckets, partition.table)
            for batch in _rows_of_all(made, partition.sources):
                kept = self.keep(batch) if self.keep else batch
                if kept.num_rows:
                    yield fitted(kept, wanted)


def _divided(sources: list[Source], count: int) -> list[InputPartition]:
    """Return the inputs of `count` tasks, with the connections divided evenly."""
    captures = [source.path for source in sources if source.capture and not source.problem]
    table = shares(captures, count, partial(open_file, read_bytes=WINDOW))
    return [CaptureShare(sources, bucket, count, table) for bucket in range(count)]


def _rows_of_all(made: CaptureDecoder, sources: list[Source]) -> Iterator[pa.RecordBatch]:
    for source in sources:
        yield from made.rows(source)
    yield from made.rest()


class FilteringReader(CaptureReader):
    """A reader with filters; Spark accepts it only if filter push-down is enabled."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802
        """Accept the filters that can be applied to columns, and yield the others."""
        from .pushdown import PushedFilters

        kept = PushedFilters(self.schema)
        for each in filters:
            if not kept.accept(each):
                yield each
        self.keep = kept


def reader(given: Mapping[str, str], schema: StructType) -> CaptureReader:
    """Return the reader for the options; raises OptionError."""
    with short_errors():
        options = Options(given, OPTIONS)
        return (FilteringReader if options.flag("pushdown") else CaptureReader)(options, schema)
