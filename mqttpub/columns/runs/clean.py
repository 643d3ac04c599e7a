"""Which packets of a batch have no findings by themselves, and their values.

What is decided here for many packets at once is what `lint.packet.judge` decides for each. A packet that is not
certainly clean, and every type and form that is not frequent, is left to it.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...codec.frame_runs import LONGEST_ACK_BYTES, SHORTEST_ACK_BYTES
from ...lint.packet.fast import ACKS, is_free, is_text
from ...lint.packet.judge import HEAD_BYTES, MOST_HEAD_BYTES, NOT_CLEAN, CleanHead, PacketJudge
from ...spec.packets import Publish
from ...spec.properties import PROPERTIES
from ...spec.versions import Version
from ...traffic.runs import RunArrays, RunColumns
from ..arrays import NO_TIME, Mask, Octets, Rows, integers_at_every_byte
from ..decode.property_reader import BLOB, NUMBER, SIZE, PropertyParts, PropertyRows, by_id, read_properties
from ..reassemble.frames import ENDS, UNKNOWN, Frames

_KEY_BYTES = 2
"""Bytes of a head before the variable header: the first byte, and version and sender."""
_NEW = -1
"""Stands for the number of a head that has none yet."""
_MOST_SIZES = 32
"""Most sizes of heads in a batch for which those of one size are read together."""


class _Numbers(dict[bytes, int]):
    """Numbers of heads, _NEW for one that is not there."""

    def __missing__(self, head: bytes) -> int:
        return _NEW


class CleanBatch(NamedTuple):
    """The packets of a batch."""

    columns: RunColumns
    clean: Mask
    """Whether each may be in a run."""


class CleanPackets:
    """Finds clean packets in one batch after another; it remembers heads of messages and kinds of acks."""

    def __init__(self) -> None:
        self._judge = PacketJudge()
        self._acks: dict[tuple[int, ...], bool] = {}
        """Whether acks with a Reason Code are clean, by first byte, Reason Code, sender and version."""
        self._forget()

    def _forget(self) -> None:
        """Begin new numbers: columns of earlier batches keep theirs."""
        self._numbers = _Numbers()
        self._heads = [NOT_CLEAN]
        """By their numbers."""
        self._need_text = [False]
        """By the numbers of heads, whether the payload has to be UTF-8."""
        self._topics = [0]
        """By the numbers of heads, those of their Topic Names."""
        self._names = [""]
        """Topic Names by their numbers; 0 is none."""
        self._of_name = {"": 0}
        self._bytes = 0

    def find(self, frames: Frames) -> CleanBatch:
        """Return the packets of a batch."""
        if self._bytes > MOST_HEAD_BYTES:
            self._forget()
        found = _BatchValues(frames)
        rows = found.published()
        if len(rows):
            self._publishes(found, rows)
        self._find_acks(found)
        return CleanBatch(found.columns(self._heads, self._names), found.clean)

    # messages

    def _publishes(self, found: "_BatchValues", rows: Rows) -> None:
        for own, heads in found.heads_of(rows):
            found.head[own] = self._numbers_of(heads)
        found.topic[rows] = np.array(self._topics)[found.head[rows]]
        found.clean[rows] = found.topic[rows] > 0
        if any(self._need_text):
            found.clean_if_text(rows[np.array(self._need_text)[found.head[rows]]])

    def _numbers_of(self, heads: list[bytes]) -> Rows:
        """Return the numbers of heads; 0 for those that are not clean."""
        known = self._numbers
        numbers = np.fromiter(map(known.__getitem__, heads), np.int64, len(heads))
        for at in np.flatnonzero(numbers == _NEW).tolist():
            number = known[heads[at]]
            numbers[at] = self._new(heads[at]) if number == _NEW else number
        return numbers

    def _new(self, head: bytes) -> int:
        """Judge a new head, and number it if it is clean."""
        first, kind = head[:_KEY_BYTES]
        judged = self._judge.head(first, head[_KEY_BYTES:], Version(kind >> 2), ENDS[kind & 3])
        self._bytes += len(head) + HEAD_BYTES
        number = self._numbers[head] = len(self._heads) if judged.topic else 0
        if number:
            self._heads.append(judged)
            self._need_text.append(judged.needs_text)
            topic = self._of_name.setdefault(judged.topic, len(self._names))
            self._topics.append(topic)
            if topic == len(self._names):
                self._names.append(judged.topic)
        return number

    # acks

    def _find_acks(self, found: "_BatchValues") -> None:
        rows = found.acks()
        short = found.size[rows] < LONGEST_ACK_BYTES
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


class _BatchValues:
    """The values of the packets of a batch that may be clean."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
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
        self.payload_begin = frames.end.copy()
        self.head = np.zeros(self.count, np.int64)
        self.topic = np.zeros(self.count, np.int64)
        self.reasons: tuple[Rows, NDArray[np.uint8]] = np.zeros(0, np.int64), np.zeros(0, np.uint8)
        self.properties = PropertyParts(self.count)
        self._id_begin = np.zeros(self.count, np.int64)

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
        self._id_begin[whole] = end[good]
        self.clean[whole] = True
        return whole

    def acks(self) -> Rows:
        """Return acks without properties that have the right flags and a Packet Identifier."""
        sized = (self.size >= SHORTEST_ACK_BYTES) & (self.size <= LONGEST_ACK_BYTES)
        rows = np.flatnonzero(self.regular & _IS_ACK[self.first] & sized)
        id = self.data.integer(self.frames.start[rows] + 2, 2)
        self.packet_id[rows] = id
        whole: Rows = rows[id > 0]
        return whole

    def texts(self, begin: Rows, end: Rows) -> list[bytes]:
        """Return the bytes between places."""
        buffer = self.buffer
        return [buffer[start:stop] for start, stop in zip(begin.tolist(), end.tolist(), strict=True)]

    def heads_of(self, rows: Rows) -> Iterator[tuple[Rows, list[bytes]]]:
        """Yield messages in groups, each with what decides whether they are clean, beside their payload.

        That is the first byte, version and sender, and the variable header. What cannot matter is alike in all.
        """
        data = self._alike(rows)
        begin, end = self.body[rows] - _KEY_BYTES, self.payload_begin[rows]
        sizes = np.flatnonzero(np.bincount(end - begin)).tolist()
        if len(sizes) > _MOST_SIZES:
            yield rows, [data[start:stop] for start, stop in zip(begin.tolist(), end.tolist(), strict=True)]
            return
        # Those of one size take a quarter of the time of slices (tests/benchmarks/views.py).
        for size in sizes:
            at = np.flatnonzero(end - begin == size)
            yield rows[at], integers_at_every_byte(data, f"V{size}")[begin[at]].tolist()

    def _alike(self, rows: Rows) -> bytes:
        """Return the buffer with the key of each message instead of its fixed header, the Packet Identifier 1, and
        all values alike of properties that are `is_free`."""
        data = self.data.data.copy()
        for kind, parts in self.properties.parts.items():
            for part in parts:
                # Other packets may claim values that reach anywhere.
                own = np.flatnonzero(self.clean[part.rows] & _IS_FREE[part.ids])
                for begin, end in _places(kind, part, own):
                    at = _between(begin, end)
                    data[at] = 0 if kind in (NUMBER, BLOB) else _ANY_TEXT[data[at]]
        frames, body = self.frames, self.body[rows]
        data[body - 2] = self.first[rows]
        data[body - 1] = frames.version[rows] << 2 | frames.direction[rows]
        id = self._id_begin[rows[self.packet_id[rows] > 0]]
        data[id], data[id + 1] = 0, 1
        return data.tobytes()

    def clean_if_text(self, rows: Rows) -> None:
        """Leave out messages whose payload is not UTF-8."""
        payloads = self.texts(self.payload_begin[rows], self.frames.end[rows])
        self.clean[rows] = [payload.isascii() or is_text(payload) for payload in payloads]

    def columns(self, heads: list[CleanHead], names: list[str]) -> RunColumns:
        """Return the values; heads and Topic Names are given by their numbers."""
        frames, (rows, codes) = self.frames, self.reasons
        reason = np.full(self.count, -1, np.int64)
        reason[rows] = codes
        arrays = RunArrays(
            frames.time, self.first, self.packet_id, frames.start, self.payload_begin, frames.end, self.topic, reason,
            names,
        )  # fmt: skip
        return _BatchColumns(self.buffer, frames, arrays, self.head, heads)


class _BatchColumns(RunColumns):
    """The columns of a batch; each list is made when it is first asked for: most views need few of them."""

    arrays: RunArrays

    def __init__(self, buffer: bytes, frames: Frames, arrays: RunArrays, head: Rows, heads: list[CleanHead]) -> None:
        self.buffer = buffer
        self.first = arrays.first.tobytes()
        self.arrays = arrays
        self._frames = frames
        self._head, self._heads = head, heads

    def time_span(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the earliest and the latest time of some rows, at least one; None if a time is unknown."""
        times = self.arrays.time_ns[start:stop]
        first_ns, last_ns = int(times.min()), int(times.max())
        return None if first_ns == NO_TIME else (first_ns, last_ns)

    @cached_property
    def properties(self) -> tuple[bytes, list[int]]:  # type: ignore[override]
        """The Identifiers of the properties of all packets, and where those of each begin."""
        of_head = [each.properties for each in self._heads]
        ids = list(map(of_head.__getitem__, self._head.tolist()))
        return b"".join(ids), [0, *accumulate(map(len, ids))]

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


def _places(kind: int, part: PropertyRows, own: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Yield where the values of some rows of a part begin and end, of pairs first those of one string."""
    if kind == NUMBER:
        yield part.at[own], part.at[own] + SIZE[part.ids[own]]
    else:
        for begin, end in zip(part.spans[::2], part.spans[1::2], strict=True):
            yield begin[own], end[own]


def _between(begin: Rows, end: Rows) -> Rows:
    """Return all places from each beginning to its end."""
    sizes = end - begin
    first = np.cumsum(sizes) - sizes
    places: Rows = np.repeat(begin - first, sizes) + np.arange(int(sizes.sum()))
    return places


_IS_ACK = by_id(np.bool_, lambda first: first in ACKS)
_IS_FREE = by_id(np.bool_, lambda number: number in PROPERTIES and is_free(number))
_ANY_TEXT = by_id(np.uint8, lambda byte: ord("x") if ord(" ") <= byte <= ord("~") else byte)
"""All printable ASCII characters as one."""
