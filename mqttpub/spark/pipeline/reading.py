"""Sources of every kind as frames: all captures as if they were one, each text by itself."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrow import coded, numbers, values
from ...columns.read import finish
from ...columns.reassemble.assembly import Batch
from ...columns.reassemble.frames import Frames, of_events
from ...columns.reassemble.reassemble import reassemble
from ...columns.reassemble.state import State
from ...columns.scan.records import Records, reader, records
from ...reading.input import LOOK
from ...reading.text import check_is_text, file_events
from ...traffic.events import Closed, Endpoints, GapSeen, Remark
from .shuffle import hash_slot
from .sources import Source
from .state_classes import keeps

EVENTS = 20_000
"""Events of a text that are put into columns together."""
MOST_OF_A_TEXT = 1 << 26
"""Record numbers that are reserved for each text; records beyond share the last one."""


Step = tuple[int, int]
"""Number of a source, and of a part of it; all tasks divide the sources into the same parts."""
LAST: Step = (1 << 62, 0)
"""The step after all sources."""


class SourceFrames(NamedTuple):
    """Frames of one source, with the names and numbers that relate them to all sources."""

    capture: str
    """The name of the source."""
    frames: Frames
    """Record numbers count from the beginning of the source."""
    names: dict[int, str]
    """Keys of connections by their numbers, including those that `frames.others` refer to."""
    before: int
    """Added to a record number, gives the number that counts on from source to source; see SourceOffsets."""
    step: Step
    """The part of the sources that they come from; all buckets divide the sources into the same parts."""

    @property
    def keys(self) -> list[str]:
        """The key of each of `frames.connections`."""
        return [self.name(each) for each in self.frames.connections]

    def name(self, ends: Endpoints) -> str:
        """Return the key of a connection."""
        return self.names[ends.number]

    def continuous(self) -> Frames:
        """Return the frames with record numbers that count on from all sources before."""
        return shifted(self.frames, self.before)


@keeps("pipeline/offsets", "_names _shifts _starts")
class SourceOffsets:
    """Finds the source of a record whose number counts on from source to source."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._names: list[str] = []

    def begin(self, name: str, before: int, skipped: int = 0) -> None:
        """Begin a source that follows `before` records, and whose first `skipped` records are not read again."""
        self._starts.append(before)
        self._shifts.append(before - skipped)
        self._names.append(name)

    def of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the source of each record number."""
        return np.searchsorted(self._starts, numbers, "left") - 1

    def source(self, index: int) -> tuple[str, int]:
        """Return the name of a source, and the number to add to its record numbers."""
        return self._names[index], self._shifts[index]

    def localized(self, rows: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        """Return rows whose record numbers count from the beginning of their source.

        The column `capture` becomes the name of the source of the first of `columns`.
        """
        for index, column in enumerate(columns):
            given = rows[column]
            if given.null_count:
                rows = self._replaced(rows, column, self._one_by_one(given))
                continue
            counted = values(given)
            place = self.of(counted)
            rows = self._replaced(rows, column, numbers(counted - np.array(self._shifts, np.int64)[place]))
            if not index:
                names = coded(self._names, place)
                rows = self._replaced(rows, "capture", names)
        return rows

    def _one_by_one(self, given: pa.Array) -> pa.Array:
        """Return the numbers of a column with nulls, counted from the beginning of their source."""
        return pa.array([None if each is None else self._own(each) for each in given.to_pylist()], given.type)

    def _own(self, number: int) -> int:
        return number - self._shifts[bisect_left(self._starts, number) - 1]

    @staticmethod
    def _replaced(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
        index = rows.schema.get_field_index(name)
        field = rows.schema.field(index)
        return rows.set_column(index, field, column.cast(field.type))


@keeps(
    "pipeline/reader",
    "_before _bucket _buckets _capture_starts _name _part _sources _state _text_numbers _texts offsets",
)
class SourceReader:
    """Reads sources in order, keeping the connections of one bucket; a checkpoint can hold it between sources."""

    def __init__(self, bucket: int, buckets: int, ports: Iterable[int] = (), balance: bytes = b"") -> None:
        self.offsets = SourceOffsets()
        self._bucket = bucket
        self._buckets = buckets
        self._state = State(ports=ports, bucket=(bucket, buckets), shares=balance)
        self._capture_starts: list[int] = []
        """Number of capture records before each capture."""
        self._text_numbers: list[int] = []
        """Record numbers that texts before each capture took."""
        self._texts = 0
        """Record numbers that texts took; each takes the same amount, as not all buckets read it."""
        self._sources = 0
        self._part = 0
        self._name = ""
        self._before = 0

    def reads(self, source: Source) -> bool:
        """Return whether this bucket reads a source: all buckets read every capture, one reads each text."""
        return source.capture or hash_slot(source.digest.encode(), self._buckets) == self._bucket

    def batches(self, source: Source, file: BinaryIO) -> Iterator[SourceFrames]:
        """Yield the frames of a source; raises BadCapture and BadText after all that could be read."""
        self._name, self._before = source.name, self._state.records - source.skip
        return self._capture(source, file) if source.capture else self._text(source, file)

    def begin(self, source: Source) -> None:
        """Count the next source, whether this bucket reads it or not."""
        self._sources, self._part = self._sources + 1, 0
        count = self._state.records + self._texts
        self.offsets.begin(source.name, count, source.skip if source.capture else -1)
        if source.capture:
            self._capture_starts.append(self._state.records)
            self._text_numbers.append(self._texts)
        else:
            self._texts += MOST_OF_A_TEXT

    def records(self) -> int:
        """Return the number of records in the capture that was read last; 0 for a text."""
        return self._state.records - self._before

    def left_out(self) -> str:
        """Return a sentence about what was skipped in the source that was read last; empty for nothing."""
        return self._state.left_out()

    def finish(self) -> Iterator[SourceFrames]:
        """Yield the frames that only the end of all sources releases."""
        yield from self._divided(finish(self._state), LAST)

    def _capture(self, source: Source, file: BinaryIO) -> Iterator[SourceFrames]:
        skip = source.skip
        for found in records(reader(file), self._state.secrets):
            left, skip = _without_first(found, skip)
            if len(left):
                yield from self._divided(reassemble(left, self._state), self._step())

    def _step(self) -> Step:
        self._part += 1
        return self._sources, self._part

    def _divided(self, batch: Batch, step: Step) -> Iterator[SourceFrames]:
        """Yield frames by the sources whose records completed them, which nearly always is the last source alone."""
        if not len(batch):
            yield SourceFrames(self._name, shifted(batch, self._texts), batch.names, 0, step)
            return
        raised = np.array(self._text_numbers, np.int64)[np.searchsorted(self._capture_starts, batch.record, "left") - 1]
        place = self.offsets.of(batch.record + raised)
        different = np.unique(place).tolist()
        for index in different:
            name, before = self.offsets.source(index)
            own = place == index
            some = _selected(batch, own, others=index == different[-1]) if different[1:] else batch
            yield SourceFrames(name, shifted(some, int(raised[own.argmax()]) - before), batch.names, before, step)

    def _text(self, source: Source, file: BinaryIO) -> Iterator[SourceFrames]:
        before = self._state.records + self._texts - MOST_OF_A_TEXT + 1
        first = file.read(LOOK)
        file.seek(0)
        check_is_text(first)
        found = file_events(file, first)
        while some := list(islice(found, EVENTS)):
            ends = {event.ends.number: event.ends for event in some}
            names = {number: f"{one.client}-{one.server}#{number}@{source.digest[:8]}" for number, one in ends.items()}
            some = [event._replace(record=min(event.record, MOST_OF_A_TEXT - 2)) for event in some]
            yield SourceFrames(source.name, of_events(some), names, before, self._step())


def _without_first(found: Records, skip: int) -> tuple[Records, int]:
    """Return the records after the first `skip`, and how many are still to be skipped in the next batch."""
    if not skip:
        return found, 0
    columns = (found.start, found.end, found.length, found.time, found.link)
    return Records(found.data, *(column[skip:] for column in columns)), max(skip - len(found), 0)


def _selected(frames: Frames, rows: NDArray[np.bool_], *, others: bool) -> Frames:
    """Return some of the frames, with or without the events that are not packets."""
    arrays = ("start", "end", "time", "record", "connection", "direction", "offset", "version", "guessed")
    kept = {name: getattr(frames, name)[rows] for name in arrays}
    before = np.concatenate([[0], np.cumsum(rows)])
    places = before[frames.places].tolist() if others else []
    return replace(frames, others=frames.others if others else [], places=places, **kept)


def shifted(frames: Frames, by: int) -> Frames:
    """Return frames whose record numbers are higher by a number."""
    if not by:
        return frames
    return replace(frames, record=frames.record + by, others=[_later(each, by) for each in frames.others])


def _later(event: GapSeen | Closed | Remark, by: int) -> Any:
    at_end = isinstance(event, Closed) and event.how == "end"
    return event if at_end else event._replace(record=event.record + by)
