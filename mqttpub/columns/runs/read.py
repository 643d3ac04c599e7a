"""Captures as events, most packets of them in runs."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np

from ...capture.network.tcp import MAX_FLOWS
from ...capture.types import BadCapture
from ...reading.input import AllEvents, Input, InputNames, InputOptions, skipped_remarks
from ...spec.versions import Version
from ...traffic.events import Event
from ...traffic.runs import LONGEST_RUN, PacketRun, RunOrEvent
from ..arrays import NO_TIME
from ..read import finish, read
from ..reassemble.frames import ENDS, Frames, packets_of
from ..reassemble.state import State
from .clean import CleanBatch, CleanPackets

BLOCK = 1 << 19
"""Bytes of a capture that are read at a time."""
MOST_ROWS = 1 << 14
"""Packets of a block whose values are in lists at a time, which take 8 MB: a block may hold a quarter of a million."""
FEWEST = 4
"""Packets for which a run pays, at least."""
WORTH = 3
"""Packets that one end sends in a row, on average in the first block of a file, for which columns pay; where many
connections take turns packet by packet, what is done for each run takes longer than reading the packets one by one."""


class AllRuns:
    """Iterates over captures once; yields what `reading.input.AllEvents` does, but clean packets in a row as runs.

    `files` are regular files. The other arguments and the attributes are those of AllEvents.
    """

    def __init__(
        self, files: Iterable[Any], options: InputOptions, tick: Callable[[Any], Any] | None = None, *, before: int = 0
    ) -> None:
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self.names = InputNames()
        self._files = files
        self._options = options
        self._tick = tick or (lambda file: None)
        self._clean = CleanPackets()
        self._connections = before
        """The highest number of a connection so far."""
        self._events = 0
        """Events of the file that were yielded so far, each packet of a run counted."""

    def __iter__(self) -> Iterator[RunOrEvent]:
        """Yield runs, and packets and other events as they are."""
        for file in self._files:
            self._events, before = 0, self._connections
            self.names.begin(file.name, before)
            for event in self._of_file(file, before):
                self._connections = max(self._connections, event.ends.number)
                self._events += event.stop - event.start if isinstance(event, PacketRun) else 1
                yield event

    def _of_file(self, file: Input, before: int) -> Iterator[RunOrEvent]:
        options, broken = self._options, ""
        state = State(
            ports=options.ports, version=options.version, max_flows=options.max_connections or MAX_FLOWS
        )  # fmt: skip
        try:
            for batch in read([file.file], state=state, block=BLOCK):
                if state.secrets or _lacks_times(batch) or (not self._events and _is_scattered(batch)):
                    yield from self._again(file, before)
                    return
                yield from in_runs(batch, self._clean, before)
                self._tick(file)
        except BadCapture as error:
            broken = f"{file.name}: {error}"
        yield from in_runs(finish(state), self._clean, before)
        self.faults += filter(None, [broken])
        found = skipped_remarks(state.skipped.sentence, state.reassembler.skipped)
        self.remarks += (f"{file.name}: {remark}" for remark in found)

    def _again(self, file: Input, before: int) -> Iterator[Event]:
        """Read a file again, packet by packet and with the keys for TLS that it holds; what was yielded is the same."""
        file.file.seek(0)
        events = AllEvents([file], self._options, self._tick, before=before)
        yield from islice(events, self._events, None)
        self.faults += events.faults
        self.remarks += events.remarks


def events_of(frames: Frames, clean: CleanPackets) -> Iterator[RunOrEvent]:
    """Yield the packets and the other events of any batch, in runs where that pays."""
    if not (_lacks_times(frames) or _is_scattered(frames)):
        yield from in_runs(frames, clean)
        return
    packets, before = packets_of(frames), 0
    for place, other in zip(frames.places, frames.others, strict=True):
        yield from islice(packets, place - before)
        yield other
        before = place
    yield from packets


def _lacks_times(frames: Frames) -> bool:
    """Whether a time is unknown, or perhaps only too late for an array: from the year 2262 on."""
    return bool((frames.time == NO_TIME).any()) or any(each.time is None for each in frames.others)


def _is_scattered(frames: Frames) -> bool:
    """Whether most packets have another sender than those beside them."""
    turns = (frames.connection[1:] != frames.connection[:-1]) | (frames.direction[1:] != frames.direction[:-1])
    return len(frames) < WORTH * int(np.count_nonzero(turns))


def in_runs(frames: Frames, clean: CleanPackets, before: int = 0) -> Iterator[RunOrEvent]:
    """Yield the packets of a batch, those that are clean by themselves in runs, and the other events among them.

    `before` is the number of connections in captures before that of the batch.
    """
    if before:
        _shift(frames, before)
    for part in _parts(frames):
        yield from _in_runs(part, clean.find(part))


def _parts(frames: Frames) -> Iterator[Frames]:
    """Yield frames in parts of at most MOST_ROWS packets."""
    begun = 0
    for start in range(0, max(len(frames), 1), MOST_ROWS):
        stop = start + MOST_ROWS
        rows, end = slice(start, stop), bisect_left(frames.places, stop) if stop < len(frames) else len(frames.places)
        yield Frames(
            frames.buffer, frames.start[rows], frames.end[rows], frames.time[rows], frames.record[rows],
            frames.connection[rows], frames.direction[rows], frames.offset[rows], frames.version[rows],
            frames.guessed[rows], frames.connections, frames.others[begun:end],
            [place - start for place in frames.places[begun:end]],
        )  # fmt: skip
        begun = end


def _in_runs(frames: Frames, found: CleanBatch) -> Iterator[RunOrEvent]:
    others = iter(zip(frames.places, frames.others, strict=True))
    place, other = next(others, (len(frames), None))
    for run in _runs(frames, found):
        while other and place <= run.start:
            yield other
            place, other = next(others, (len(frames), None))
        if found.clean[run.start] and run.stop - run.start >= FEWEST:
            yield run
        else:
            yield from run.events()
    while other:
        yield other
        _, other = next(others, (0, None))


def _runs(frames: Frames, found: CleanBatch) -> Iterator[PacketRun]:
    """Yield packets in stretches of one end that are all clean or all not, between other events, and not too long."""
    columns, clean = found
    kinds = (frames.connection, frames.direction, frames.version, frames.guessed, clean)
    begins = np.zeros(len(frames) + 1, np.bool_)
    for each in kinds:
        begins[1:-1] |= each[1:] != each[:-1]
    begins[::LONGEST_RUN] = True
    begins[frames.places] = True
    begins[-1] = True
    edges = np.flatnonzero(begins)
    firsts = edges[:-1]
    about = zip(*(each[firsts].tolist() for each in kinds[:4]), strict=True)
    for (start, stop), (connection, side, version, guessed) in zip(pairwise(edges.tolist()), about, strict=True):
        ends, direction = frames.connections[connection], ENDS[side]
        yield PacketRun(columns, start, stop, ends, direction, Version(version), guessed, "")  # type: ignore[arg-type]


def _shift(frames: Frames, before: int) -> None:
    """Count the connections on from those of earlier captures."""
    frames.connections = [ends._replace(number=ends.number + before) for ends in frames.connections]
    frames.others = [each._replace(ends=each.ends._replace(number=each.ends.number + before)) for each in frames.others]
