"""Frames to rows of `findings`: lint of every packet, by itself and in its conversation, one by one."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..codec.tree import Finding
from ..lint.judge import Judge
from ..traffic.events import Closed, Endpoints, GapSeen, Remark
from ..wire.types import readable
from .arrow import numbers, replaced
from .decode.decode import key
from .reassemble.frames import Frames, packets_of
from .schema import FINDINGS

_OF_PACKET = ("capture", "frame", "pos", "time", "connection", "client_id", "direction", "type")
"""Columns of a finding that come from its packet."""


class PlacedFinding(NamedTuple):
    """A finding, the row of its packet or of the packet before it, and its event if that is not a packet."""

    row: int
    finding: Finding
    event: GapSeen | Closed | None


class Judging:
    """Judges the frames of consecutive batches; can be pickled between them."""

    def __init__(self) -> None:
        self._judge = Judge()

    def add(
        self, frames: Frames, packets: pa.RecordBatch, *, capture: str = "", name: Callable[[Endpoints], str] = key,
        client: Callable[[str], str | None] = lambda key: None,
    ) -> pa.RecordBatch:  # fmt: skip
        """Return rows of `findings` for frames; `packets` has the rows of the same packets.

        `name` gives the keys of connections, and `client` the Client Identifier by such a key.
        """
        found = list(self._found(frames))
        return _rows(found, packets, capture, lambda ends: (name(ends), client(name(ends))))

    def _found(self, frames: Frames) -> Iterator[PlacedFinding]:
        """Yield findings in order, those of gaps and closes at their places among the packets."""
        others = iter(placed(frames))
        place, other = next(others, (len(frames), None))
        for row, event in enumerate(packets_of(frames)):
            while other and place <= row:
                yield from self._other(row, other)
                place, other = next(others, (len(frames), None))
            yield from (PlacedFinding(row, finding, None) for finding in self._judge.packet(event)[1])
        while other:
            yield from self._other(len(frames), other)
            _, other = next(others, (0, None))

    def _other(self, row: int, event: GapSeen | Closed) -> Iterator[PlacedFinding]:
        for finding in self._judge.event(event):
            yield PlacedFinding(row, finding, event)
        if isinstance(event, GapSeen) and event.malformed:
            yield PlacedFinding(row, self._judge.unread(event), event)


def placed(frames: Frames) -> list[tuple[int, GapSeen | Closed]]:
    """Return gaps and closes with the number of packets that come before each."""
    pairs = zip(frames.places, frames.others, strict=True)
    return [(place, event) for place, event in pairs if not isinstance(event, Remark)]


# rows


Whose = Callable[[Endpoints], tuple[str, str | None]]
"""Returns the key of a connection and its Client Identifier."""


def _rows(found: list[PlacedFinding], packets: pa.RecordBatch, capture: str, whose: Whose) -> pa.RecordBatch:
    columns = _whose(found, packets, capture, whose)
    columns |= {
        "severity": [each.finding.severity for each in found],
        "statement": [each.finding.statement or None for each in found],
        "path": [readable(each.finding.path) for each in found],
        "fault_offset": [each.finding.span.start for each in found],
        "fault_bytes": [each.finding.span.length for each in found],
        "mask": [each.finding.mask for each in found],
        "message": [readable(each.finding.message) for each in found],
        "at_fault": [each.finding.at_fault.value if each.finding.at_fault else None for each in found],
    }
    return pa.RecordBatch.from_arrays([_array(columns[each.name], each.type) for each in FINDINGS], schema=FINDINGS)


def _array(values: Any, type: pa.DataType) -> pa.Array:
    return pa.array(values, type) if isinstance(values, list) else values


def _whose(found: list[PlacedFinding], packets: pa.RecordBatch, capture: str, whose: Whose) -> dict[str, Any]:
    """Return the columns about the packet or the connection of findings."""
    about = np.array([each.row if each.event is None else 0 for each in found], np.int64)
    odd = np.array([index for index, each in enumerate(found) if each.event is not None], np.int64)
    events = [each.event for each in found if each.event is not None]
    named = [whose(event.ends) for event in events]
    cells: dict[str, list[Any]] = {
        "capture": [capture for _ in events],
        "frame": [event.record or None for event in events],
        "pos": [event.offset if isinstance(event, GapSeen) else None for event in events],
        "time": [None if event.time is None else event.time // 1000 for event in events],
        "connection": [connection for connection, _ in named],
        "client_id": [client for _, client in named],
        "direction": [
            event.direction.value if isinstance(event, GapSeen) and event.direction else None for event in events
        ],
        "type": [None for _ in events],
    }
    if not len(packets):
        return {each: pa.array(cells[each], FINDINGS.field(each).type) for each in _OF_PACKET}
    own = packets.take(numbers(about))
    return {each: replaced(own[each], odd, cells[each]) for each in _OF_PACKET}
