"""Packets that passed together as runs: those of one type and length that are clean, without an object for each.

A FrameRun that is not certainly clean, and every type and form that is not frequent, is left as it is.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from struct import iter_unpack
from typing import Any, NamedTuple

from ..codec.fast_decode import Irregular
from ..codec.frame_runs import LONGEST_ACK_BYTES, SHORTEST_ACK_BYTES, FrameRun
from ..codec.framing import publish_head
from ..common.lru import BoundedMemo
from ..lint.packet.fast import ACKS
from ..lint.packet.judge import HEAD_BYTES, MOST_HEAD_BYTES, PUBLISH, CleanHead, PacketJudge
from ..spec.versions import Version
from ..traffic.events import Endpoints
from ..traffic.runs import LONGEST_RUN, PacketRun, RunColumns


class _RunValues(NamedTuple):
    """The values of the packets of a FrameRun; each packet has the same `topic` and `payload_begin`."""

    ids: list[int]
    topic: str
    payload_begin: int
    """Where the payload begins in each packet."""
    reasons: Sequence[int | None]
    """The Reason Code of each packet; None if it has none."""
    properties: bytes = b""
    """The Identifiers of the properties of each."""


class CleanFrames:
    """Finds FrameRuns of clean packets; it remembers what kinds of packets are clean."""

    def __init__(self, version: Version) -> None:
        self._version = version
        """The version of packets whose own is not known."""
        self._judge = PacketJudge()
        self._heads: BoundedMemo[Any, CleanHead] = BoundedMemo(MOST_HEAD_BYTES)
        """By first byte, Topic Name, properties, version and sender."""

    def runs(self, frames: Sequence[FrameRun], time_ns: int, ends: Endpoints) -> Iterator[PacketRun | FrameRun]:
        """Yield the packets that passed at one time; a FrameRun that is not certainly clean is yielded unchanged."""
        read = [(each, self._values(each)) for each in frames]
        for (direction, version, is_clean), some in groupby(
            read, lambda one: (one[0].direction, one[0].version, one[1] is not None)
        ):
            if not is_clean:
                yield from (run for run, _ in some)
                continue
            columns = _FrameColumns([(run, values) for run, values in some if values], time_ns)
            for start in range(0, len(columns.first), LONGEST_RUN):
                stop = min(start + LONGEST_RUN, len(columns.first))
                yield PacketRun(columns, start, stop, ends, direction, version or self._version, False, "")

    def _values(self, run: FrameRun) -> _RunValues | None:
        """Return the values of packets; None if one of them may not be clean."""
        first = run.data[0]
        if first >> 4 == PUBLISH:
            return self._messages(run)
        return self._of_acks(run) if first in ACKS else None

    def _messages(self, run: FrameRun) -> _RunValues | None:
        data, _, size, direction, version = run
        try:
            begin, id_begin, id_end, end = publish_head(data, version or self._version)
        except (IndexError, Irregular):
            return None
        if end > size:
            return None
        ids = run.packet_ids(id_begin) if id_end > id_begin else [0] * run.packets
        if id_end > id_begin and 0 in ids:
            return None
        if len(data) > size:
            heads = list(iter_unpack(f"{id_begin}s{id_end - id_begin}x{end - id_end}s{size - end}x", data))
            if heads.count(heads[0]) != len(heads):
                return None
        topic, properties = data[begin:id_begin], data[id_end:end]
        key = data[0], topic, properties, version, direction
        head = self._heads.get(key)
        if head is None:
            header = topic + b"\0\1"[: id_end - id_begin] + properties
            judged = self._judge.head(data[0], header, version or self._version, direction)
            head = self._heads.keep(key, judged, HEAD_BYTES + end)
        # Whether a payload is a text is for those who look at each packet.
        if not head.topic or head.needs_text:
            return None
        return _RunValues(ids, head.topic, end, [None] * len(ids), head.properties)

    def _of_acks(self, run: FrameRun) -> _RunValues | None:
        data, _, size, direction, version = run
        if size not in (SHORTEST_ACK_BYTES, LONGEST_ACK_BYTES):
            return None
        ids = run.packet_ids()
        if 0 in ids:
            return None
        reasons = run.reasons or b""
        known = version or self._version
        if not all(self._judge.is_clean_ack(data[0], reason, known, direction) for reason in set(reasons)):
            return None
        return _RunValues(ids, "", size, list(reasons) or [None] * len(ids))


class _FrameColumns(RunColumns):
    """The packets of FrameRuns."""

    def __init__(self, runs: Sequence[tuple[FrameRun, _RunValues]], time_ns: int) -> None:
        self.buffer = b"".join([run.data for run, _ in runs])
        self.first = b"".join([run.data[:: run.size_bytes] for run, _ in runs])
        count = len(self.first)
        self.time_ns = [time_ns] * count
        self.record = [0] * count
        self.begin, self.size, self.offset, self.packet_id, self.topic = [], [], [], [], []
        self.payload_begin, self.reason = [], []
        all_ids, begins = b"", [0]
        at = 0
        for run, values in runs:
            data, offset, size, _, _ = run
            stop, packets = at + len(data), len(values.ids)
            self.begin += range(at, stop, size)
            self.size += [size] * packets
            self.offset += range(offset, offset + len(data), size)
            self.packet_id += values.ids
            self.topic += [values.topic] * packets
            self.payload_begin += range(at + values.payload_begin, stop + values.payload_begin, size)
            self.reason += values.reasons
            all_ids += values.properties * packets
            last, step = begins[-1], len(values.properties)
            begins += [last + step * number for number in range(1, packets + 1)]
            at = stop
        self.properties = all_ids, begins
