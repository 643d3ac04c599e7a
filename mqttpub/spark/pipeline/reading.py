"""Sources of every kind as frames: captures one after another as if they were one, texts each for itself."""

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
from ...traffic.events import Closed, Ends, GapSeen, Remark
from .shuffle import LAST, Step, share
from .sources import Source

EVENTS = 20_000
"""Events of a text that are put into columns together."""
MOST_OF_A_TEXT = 1 << 26
"""Records of which a text can tell; those beyond count as the last one."""


class Piece(NamedTuple):
    """Frames of one source, and what they do not tell themselves."""

    capture: str
    frames: Frames
    """Records count from the beginning of the source."""
    names: dict[int, str]
    """Keys of connections by their numbers, also of those that `frames.others` are about."""
    before: int
    """What makes of these records numbers that count on from source to source; see Places."""
    step: Step
    """Which part of the sources it comes of; they are the same parts in all buckets."""

    @property
    def keys(self) -> list[str]:
        """The key of each of `frames.connections`."""
        return [self.name(each) for each in self.frames.connections]

    def name(self, ends: Ends) -> str:
        """Return the key of a connection."""
        return self.names[ends.number]

    def counted_on(self) -> Frames:
        """Return the frames with records that count on from all sources before."""
        return shifted(self.frames, self.before)


class Places:
    """Which source holds a record that is told by its number among the records of all sources."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._names: list[str] = []

    def begin(self, name: str, before: int, skipped: int = 0) -> None:
        """Begin a source in front of which there are so many records; of its own some are not read again."""
        self._starts.append(before)
        self._shifts.append(before - skipped)
        self._names.append(name)

    def of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the source of each record."""
        return np.searchsorted(self._starts, numbers, "left") - 1

    def source(self, index: int) -> tuple[str, int]:
        """Return the name of a source, and what its records have to be raised by to count on."""
        return self._names[index], self._shifts[index]

    def told(self, rows: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
        """Return rows with records that count from the beginning of their source, and the source of the first."""
        for index, column in enumerate(columns):
            given = rows[column]
            if given.null_count:
                rows = self._replaced(rows, column, self._singly(given))
                continue
            told = values(given)
            place = self.of(told)
            rows = self._replaced(rows, column, numbers(told - np.array(self._shifts, np.int64)[place]))
            if not index:
                names = coded(self._names, place)
                rows = self._replaced(rows, "capture", names)
        return rows

    def _singly(self, given: pa.Array) -> pa.Array:
        """Do the same for a column in which some do not tell a record."""
        return pa.array([None if each is None else self._own(each) for each in given.to_pylist()], given.type)

    def _own(self, number: int) -> int:
        return number - self._shifts[bisect_left(self._starts, number) - 1]

    @staticmethod
    def _replaced(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
        index = rows.schema.get_field_index(name)
        field = rows.schema.field(index)
        return rows.set_column(index, field, column.cast(field.type))


class Reader:
    """Reads sources in order, and of their connections those of one bucket; it can be pickled between sources."""

    def __init__(self, bucket: int, buckets: int, ports: Iterable[int] = (), shares: bytes = b"") -> None:
        self.places = Places()
        self._bucket = bucket
        self._buckets = buckets
        self._state = State(ports=ports, bucket=(bucket, buckets), shares=shares)
        self._begun: list[int] = []
        """Records in front of each capture."""
        self._raised: list[int] = []
        """Numbers that texts in front of it took."""
        self._texts = 0
        """Numbers of records that texts took; each takes as many, as not all buckets read it."""
        self._sources = 0
        self._part = 0
        self._now = ""
        self._before = 0

    def reads(self, source: Source) -> bool:
        """Tell whether the bucket takes part in reading a source: in captures all do, a text is read by one."""
        return source.capture or share(source.digest.encode(), self._buckets) == self._bucket

    def pieces(self, source: Source, file: BinaryIO) -> Iterator[Piece]:
        """Yield what a source holds; raises BadCapture and BadText after all that is good."""
        self._now, self._before = source.name, self._state.records - source.skip
        return self._capture(source, file) if source.capture else self._text(source, file)

    def begin(self, source: Source) -> None:
        """Take note of the next source, be it read here or not."""
        self._sources, self._part = self._sources + 1, 0
        count = self._state.records + self._texts
        self.places.begin(source.name, count, source.skip if source.capture else -1)
        if source.capture:
            self._begun.append(self._state.records)
            self._raised.append(self._texts)
        else:
            self._texts += MOST_OF_A_TEXT

    def records(self) -> int:
        """Return how many records the capture has that was read last; 0 for a text."""
        return self._state.records - self._before

    def left_out(self) -> str:
        """Return what is to be said of the source that was read last; nothing when all of it was read."""
        return self._state.left_out()

    def finish(self) -> Iterator[Piece]:
        """Yield what comes of the end of everything."""
        yield from self._pieces(finish(self._state), LAST)

    def _capture(self, source: Source, file: BinaryIO) -> Iterator[Piece]:
        skip = source.skip
        for found in records(reader(file), self._state.secrets):
            left, skip = _behind(found, skip)
            if len(left):
                yield from self._pieces(reassemble(left, self._state), self._step())

    def _step(self) -> Step:
        self._part += 1
        return self._sources, self._part

    def _pieces(self, batch: Batch, step: Step) -> Iterator[Piece]:
        """Yield frames by the sources whose records completed them; nearly always that is the last one."""
        if not len(batch):
            yield Piece(self._now, shifted(batch, self._texts), batch.names, 0, step)
            return
        raised = np.array(self._raised, np.int64)[np.searchsorted(self._begun, batch.record, "left") - 1]
        place = self.places.of(batch.record + raised)
        different = np.unique(place).tolist()
        for index in different:
            name, before = self.places.source(index)
            own = place == index
            some = _taken(batch, own, index == different[-1]) if different[1:] else batch
            yield Piece(name, shifted(some, int(raised[own.argmax()]) - before), batch.names, before, step)

    def _text(self, source: Source, file: BinaryIO) -> Iterator[Piece]:
        before = self._state.records + self._texts - MOST_OF_A_TEXT + 1
        first = file.read(LOOK)
        file.seek(0)
        check_is_text(first)
        found = file_events(file, first)
        while some := list(islice(found, EVENTS)):
            ends = {event.ends.number: event.ends for event in some}
            names = {number: f"{one.client}-{one.server}#{number}@{source.digest[:8]}" for number, one in ends.items()}
            some = [event._replace(record=min(event.record, MOST_OF_A_TEXT - 2)) for event in some]
            yield Piece(source.name, of_events(some), names, before, self._step())


def _behind(found: Records, skip: int) -> tuple[Records, int]:
    """Return what follows the first records, and how many more of these are to come."""
    if not skip:
        return found, 0
    columns = (found.start, found.end, found.length, found.time, found.link)
    return Records(found.data, *(column[skip:] for column in columns)), max(skip - len(found), 0)


def _taken(frames: Frames, rows: NDArray[np.bool_], others: bool) -> Frames:
    """Return some of the frames, with what is no packet or without."""
    arrays = ("start", "end", "time", "record", "connection", "direction", "offset", "version", "guessed")
    kept = {name: getattr(frames, name)[rows] for name in arrays}
    return replace(frames, others=frames.others if others else [], **kept)


def shifted(frames: Frames, by: int) -> Frames:
    """Return frames whose records have higher numbers."""
    if not by:
        return frames
    return replace(frames, record=frames.record + by, others=[_later(each, by) for each in frames.others])


def _later(event: GapSeen | Closed | Remark, by: int) -> Any:
    at_end = isinstance(event, Closed) and event.how == "end"
    return event if at_end else event._replace(record=event.record + by)
