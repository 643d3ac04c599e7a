"""Which packets of a batch have no findings by themselves, and their values.

What is decided here for many packets at once is what `lint.packet.judge` decides for each. A packet that is not
certainly clean, and every type and form that is not frequent, is left to it.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...lint.packet.fast import ACKS, is_clean, is_text, more_than_printable, property_check
from ...lint.packet.judge import LONGEST_TOPIC, MOST_TOPICS, PacketJudge
from ...spec.packets import Publish
from ...spec.properties import (
    PAYLOAD_FORMAT_INDICATOR,
    PROPERTIES,
    SUBSCRIPTION_IDENTIFIER,
    TOPIC_ALIAS,
    PropertyRow,
)
from ...spec.versions import Version
from ...traffic.runs import RunArrays, RunColumns
from ...wire.types import PAIR, STRING
from ..arrays import NO_TIME, Mask, Octets, Rows, integers_at_every_byte
from ..decode.property_reader import BLOB, NUMBER, TEXT, PropertyParts, PropertyRows, read_properties
from ..reassemble.frames import ENDS, UNKNOWN, Frames

_BYTES = 256
"""How many values a byte has."""
_LONG_ACK = 5
"""Bytes of an ack with a Reason Code and no properties."""
MOST_LONG_BYTES = 1 << 20
"""Bytes of long Topic Names that are kept for those who hold their numbers."""


_NEW = -1
"""Stands for the number of a Topic Name that has none yet."""
_MOST_SIZES = 32
"""Most sizes of Topic Names in a batch for which those of one size are read together."""


class _Numbers(dict[bytes, int]):
    """Numbers of Topic Names, _NEW for one that is not there."""

    def __missing__(self, name: bytes) -> int:
        return _NEW


class CleanBatch(NamedTuple):
    """The packets of a batch."""

    columns: RunColumns
    clean: Mask
    """Whether each may be in a run."""


class CleanPackets:
    """Finds clean packets in one batch after another; it remembers Topic Names and kinds of acks."""

    def __init__(self) -> None:
        self._judge = PacketJudge()
        self._topics: dict[Version, _Numbers] = {version: _Numbers() for version in Version}
        """Numbers of Topic Names without findings."""
        self._names = [""]
        """Topic Names by their numbers; 0 is none."""
        self._long_bytes = 0
        """Bytes of names that are too long to be remembered, in `_names`."""
        self._values: dict[int, dict[bytes, str]] = {row.id: {} for row in PROPERTIES.values()}
        """Texts of properties without findings."""
        self._acks: dict[tuple[int, ...], bool] = {}
        """Whether acks with a Reason Code are clean, by first byte, Reason Code, sender and version."""

    def find(self, frames: Frames) -> CleanBatch:
        """Return the packets of a batch."""
        if len(self._names) > MOST_TOPICS or self._long_bytes > MOST_LONG_BYTES:
            self._forget_topics()
        found = _Batch(frames, self._names)
        rows = found.published()
        if len(rows):
            self._publishes(found, rows)
        self._find_acks(found)
        return CleanBatch(found.columns(), found.clean)

    # messages

    def _publishes(self, found: "_Batch", rows: Rows) -> None:
        version = found.frames.version[rows]
        for each in np.flatnonzero(np.bincount(version)).tolist():
            own = rows if (version == each).all() else rows[version == each]
            numbers = np.zeros(len(own), np.int64)
            for at, names in found.topics(own):
                numbers[at] = self._numbers_of(names, Version(each))
            found.name(own, numbers)
        self._properties(found)

    def _numbers_of(self, names: list[bytes], version: Version) -> Rows:
        """Return the numbers of Topic Names; 0 for those that are not clean."""
        known = self._topics[version]
        numbers = np.fromiter(map(known.__getitem__, names), np.int64, len(names))
        for at in np.flatnonzero(numbers == _NEW).tolist():
            number = known[names[at]]
            numbers[at] = self._new_topic(names[at], version) if number == _NEW else number
        return numbers

    def _new_topic(self, name: bytes, version: Version) -> int:
        """Number a Topic Name if it is clean from either end, and remember it; else return 0."""
        text = _text(name)
        if text[:1] == "$" or not is_clean(Publish(topic=text), version):
            return 0
        number = len(self._names)
        self._names.append(text)
        if len(name) <= LONGEST_TOPIC:
            self._topics[version][name] = number
        else:
            self._long_bytes += len(name)
        return number

    def _forget_topics(self) -> None:
        """Begin new numbers: columns of earlier batches keep theirs."""
        self._names, self._long_bytes = [""], 0
        for known in self._topics.values():
            known.clear()

    def _properties(self, found: "_Batch") -> None:
        """Leave out packets whose properties are not certainly clean."""
        seen = np.zeros(found.count, np.int64)
        for kind, parts in found.properties.parts.items():
            for part in parts:
                bad = ~_ALLOWED[part.ids] | ((seen[part.rows] >> part.ids & ~_REPEATABLE[part.ids]) & 1 > 0)
                seen[part.rows] |= np.int64(1) << np.minimum(part.ids, 62).astype(np.int64)
                if kind != BLOB:
                    bad |= self._bad_values(found, kind, part)
                found.clean[part.rows[bad]] = False

    def _bad_values(self, found: "_Batch", kind: int, part: PropertyRows) -> Mask:
        """Return which values may have a finding, or are of packets that are not clean."""
        # The texts of packets that are not clean may reach anywhere, and be many times larger than these together.
        bad = ~found.clean[part.rows]
        if kind == NUMBER:
            for id in _LIMITED_NUMBERS:
                some = np.flatnonzero((part.ids == id) & ~bad)
                # numpy imports masked arrays to look for something in an array of nothing: 8 ms.
                if len(some):
                    bad[some] = found.bad_numbers(id, part.spans[0][some], part.rows[some])
            return bad
        whole = np.flatnonzero(~bad)
        for begin, end in zip(part.spans[::2], part.spans[1::2], strict=True):
            bad[whole] |= ~found.printable(begin[whole], end[whole])
        for id in _LIMITED_TEXTS if kind == TEXT else ():
            some = np.flatnonzero((part.ids == id) & ~bad)
            known = self._values[id]
            values = found.texts(part.spans[0][some], part.spans[1][some])
            bad[some] = [not (known.get(value) or self._new_value(id, value)) for value in values]
        return bad

    def _new_value(self, id: int, value: bytes) -> str:
        text, check = _text(value), property_check(id)
        assert check
        return _remembered(self._values[id], value, text) if text and check(text) else ""

    # acks

    def _find_acks(self, found: "_Batch") -> None:
        rows = found.acks()
        short = found.size[rows] < _LONG_ACK
        found.clean[rows[short]] = True
        rows = rows[~short]
        kinds = (found.first[rows], found.data.byte(found.frames.start[rows] + 4), found.frames.direction[rows],
                 found.frames.version[rows])  # fmt: skip
        keys = zip(*(column.tolist() for column in kinds), strict=True)
        known = self._acks
        found.clean[rows] = [known[key] if key in known else self._new_ack(*key) for key in keys]
        found.reasons = rows, kinds[1]

    def _new_ack(self, first: int, code: int, side: int, version: int) -> bool:
        clean = self._acks[first, code, side, version] = self._judge.is_clean_ack(
            first, code, Version(version), ENDS[side]
        )
        return clean


class _Batch:
    """The values of the packets of a batch that may be clean."""

    def __init__(self, frames: Frames, names: list[str]) -> None:
        self.frames = frames
        self.names = names
        self.count = len(frames)
        self.buffer = bytes(frames.buffer)
        self.data = Octets(np.frombuffer(self.buffer or b"\0", np.uint8))
        self.size = frames.end - frames.start
        self.first = self.data.byte(frames.start)
        remaining, width = self.data.variable(frames.start + 1)
        self.body = frames.start + 1 + width
        self.regular = (width > 0) & (self.body + remaining == frames.end) & (frames.direction != UNKNOWN)
        self.clean = np.zeros(self.count, np.bool_)
        self.packet_id = np.zeros(self.count, np.int64)
        self.topic_begin = np.zeros(self.count, np.int64)
        self.topic_end = np.zeros(self.count, np.int64)
        self.payload_begin = frames.end.copy()
        self.topic = np.zeros(self.count, np.int64)
        self.reasons: tuple[Rows, NDArray[np.uint8]] = np.zeros(0, np.int64), np.zeros(0, np.uint8)
        self.properties = PropertyParts(self.count)

    def published(self) -> Rows:
        """Read PUBLISH packets; return those that are whole, which are `clean` as far as is known here."""
        frames, data = self.frames, self.data
        rows = np.flatnonzero(self.regular & (self.first >> 4 == Publish.code))
        first, begin = self.first[rows], self.body[rows] + 2
        qos = first >> 1 & 3
        end = begin + data.integer(begin - 2, 2)
        id = np.where(qos > 0, data.integer(end, 2), 0)
        at = end + 2 * (qos > 0)
        good = (qos < 3) & (first & 8 == 0) & ((id > 0) | (qos == 0)) & (at <= frames.end[rows])
        having = np.flatnonzero(good & (frames.version[rows] == Version.V5))
        after, wrong = read_properties(data, rows[having], at[having], frames.end[rows[having]], self.properties)
        at[having] = after
        good[having[wrong]] = False
        self.packet_id[rows], self.payload_begin[rows] = id, at
        whole: Rows = rows[good]
        self.topic_begin[whole], self.topic_end[whole] = begin[good], end[good]
        self.clean[whole] = True
        return whole

    def acks(self) -> Rows:
        """Return acks without properties that have the right flags and a Packet Identifier."""
        known = self.regular & _IS_ACK[self.first] & ((self.size == _LONG_ACK - 1) | (self.size == _LONG_ACK))
        rows = np.flatnonzero(known)
        id = self.data.integer(self.frames.start[rows] + 2, 2)
        self.packet_id[rows] = id
        whole: Rows = rows[id > 0]
        return whole

    def texts(self, begin: Rows, end: Rows) -> list[bytes]:
        """Return the bytes between places."""
        buffer = self.buffer
        return [buffer[start:stop] for start, stop in zip(begin.tolist(), end.tolist(), strict=True)]

    def topics(self, rows: Rows) -> Iterator[tuple[Rows, list[bytes]]]:
        """Yield the Topic Names of rows in groups, each with the positions in `rows` of those that have them."""
        begin, end = self.topic_begin[rows], self.topic_end[rows]
        sizes = np.flatnonzero(np.bincount(end - begin)).tolist()
        if len(sizes) > _MOST_SIZES:
            yield np.arange(len(rows)), self.texts(begin, end)
            return
        # Those of one size take a quarter of the time of slices (tests/benchmarks/views.py).
        for size in filter(None, sizes):
            at = np.flatnonzero(end - begin == size)
            yield at, integers_at_every_byte(self.buffer, f"V{size}")[begin[at]].tolist()

    def name(self, rows: Rows, numbers: Rows) -> None:
        """Set the Topic Names of packets; those without one are not clean."""
        self.topic[rows] = numbers
        self.clean[rows[numbers == 0]] = False

    def printable(self, begin: Rows, end: Rows) -> Mask:
        """Return which texts consist of printable ASCII characters; they must not overlap."""
        sizes = end - begin
        some = np.flatnonzero(sizes)
        sizes = sizes[some]
        good = np.ones(len(begin), np.bool_)
        if len(some):
            # All characters are looked at in one array, which is as large as the texts.
            first = np.cumsum(sizes) - sizes
            at = np.repeat(begin[some] - first, sizes) + np.arange(int(sizes.sum()))
            good[some] = np.add.reduceat(_UNPRINTABLE[self.data.data[at]], first) == 0
        return good

    def bad_numbers(self, id: int, values: Rows, rows: Rows) -> Mask:
        """Return which values of a property may have a finding."""
        check = property_check(id)
        assert check
        wrong = [value for value in set(values.tolist()) if not check(value)]
        bad: Mask = np.isin(values, wrong)
        if id == PAYLOAD_FORMAT_INDICATOR.id:
            text = np.flatnonzero(values == 1)
            payloads = self.texts(self.payload_begin[rows[text]], self.frames.end[rows[text]])
            bad[text] = [not (payload.isascii() or is_text(payload)) for payload in payloads]
        return bad

    def columns(self) -> RunColumns:
        """Return the values."""
        frames, (rows, codes) = self.frames, self.reasons
        reason = np.full(self.count, -1, np.int64)
        reason[rows] = codes
        arrays = RunArrays(
            frames.time, self.first, self.packet_id, frames.start, self.payload_begin, frames.end, self.topic, reason,
            self.names,
        )  # fmt: skip
        return _BatchColumns(self.buffer, frames, arrays, self.properties.ids())


class _BatchColumns(RunColumns):
    """The columns of a batch; each list is made when it is first asked for: most views need few of them."""

    arrays: RunArrays

    def __init__(
        self, buffer: bytes, frames: Frames, arrays: RunArrays, ids: list[tuple[Rows, NDArray[np.uint8]]]
    ) -> None:
        self._ids = ids
        self.buffer = buffer
        self.first = arrays.first.tobytes()
        self.arrays = arrays
        self._frames = frames

    def time_span(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the earliest and the latest time of some rows, at least one; None if a time is unknown."""
        times = self.arrays.time_ns[start:stop]
        first_ns, last_ns = int(times.min()), int(times.max())
        return None if first_ns == NO_TIME else (first_ns, last_ns)

    @cached_property
    def properties(self) -> tuple[bytes, list[int]]:  # type: ignore[override]
        """The Identifiers of the properties of all packets, and where those of each begin."""
        count = len(self.first)
        if not self._ids:
            return b"", [0] * (count + 1)
        rows, ids = (np.concatenate(each) for each in zip(*self._ids, strict=True))
        begins = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=count), out=begins[1:])
        self._ids = []
        return ids[np.argsort(rows, kind="stable")].tobytes(), begins.tolist()

    def __getattr__(self, name: str) -> list[Any]:
        if name not in _LISTS:
            raise AttributeError(name)
        found = _LISTS[name](self._frames, self.arrays)
        setattr(self, name, found)
        return found


def _times(frames: Frames, arrays: RunArrays) -> list[int | None]:
    times: list[Any] = frames.time.tolist()
    if (frames.time == NO_TIME).any():
        return [None if time == NO_TIME else time for time in times]
    return times


def _topics(frames: Frames, arrays: RunArrays) -> list[str]:
    return list(map(arrays.names.__getitem__, arrays.topic.tolist()))


def _reasons(frames: Frames, arrays: RunArrays) -> list[int | None]:
    reason = arrays.reason
    if (reason < 0).all():
        return [None] * len(reason)
    return [None if code < 0 else code for code in reason.tolist()]


_LISTS: dict[str, Callable[[Frames, RunArrays], list[Any]]] = {
    "begin": lambda frames, arrays: frames.start.tolist(),
    "size": lambda frames, arrays: (frames.end - frames.start).tolist(),
    "time_ns": _times,
    "record": lambda frames, arrays: frames.record.tolist(),
    "offset": lambda frames, arrays: frames.offset.tolist(),
    "packet_id": lambda frames, arrays: arrays.packet_id.tolist(),
    "topic": _topics,
    "payload_begin": lambda frames, arrays: arrays.payload_begin.tolist(),
    "reason": _reasons,
}


def _text(value: bytes) -> str:
    """Return a text, empty if it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return ""


def _remembered(texts: dict[bytes, str], value: bytes, text: str) -> str:
    if len(value) <= LONGEST_TOPIC:
        if len(texts) >= MOST_TOPICS:
            texts.clear()
        texts[value] = text
    return text


def _by_byte(holds: Callable[[int], bool]) -> NDArray[np.bool_]:
    return np.array([holds(number) for number in range(_BYTES)], np.bool_)


def _of_publish(id: int) -> PropertyRow | None:
    """Return a property that a PUBLISH in a run may have."""
    row = PROPERTIES.get(id)
    return row if row and Publish.name in row.packets and row not in (TOPIC_ALIAS, SUBSCRIPTION_IDENTIFIER) else None


_UNPRINTABLE = np.array([not ord(" ") <= byte <= ord("~") for byte in range(_BYTES)], np.int32)
_IS_ACK = _by_byte(lambda first: first in ACKS)
_ALLOWED = _by_byte(lambda number: _of_publish(number) is not None)
_REPEATABLE = np.array(
    [1 if (row := _of_publish(id)) and Publish.name in row.repeatable else 0 for id in range(_BYTES)], np.int64
)
_LIMITED = [row for row in map(_of_publish, range(_BYTES)) if row and more_than_printable(row.limits, Version.V5)]
_LIMITED_NUMBERS = tuple(row.id for row in _LIMITED if row.type not in (STRING, PAIR))
_LIMITED_TEXTS = tuple(row.id for row in _LIMITED if row.type is STRING)
