"""A capture as judged packets: those of one end in a row together, as far as they have no findings."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np

from ...capture.network.tcp import MAX_FLOWS
from ...capture.types import BadCapture
from ...reading.follow import JudgedTraffic
from ...reading.input import AllEvents, Input, InputNames, InputOptions, skipped_remarks
from ...spec.versions import Direction, Version
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.runs import PacketRun, RunOrItem
from ..arrow import Mask
from ..read import finish, read
from ..reassemble.frames import CLIENT, SERVER, UNKNOWN, Frames
from ..reassemble.state import State
from .clean import CleanPackets

BLOCK = 1 << 20
"""Bytes of a capture that are read at a time; with a list of values for each column they take 15 MB more."""
_ENDS = {CLIENT: Direction.CLIENT, SERVER: Direction.SERVER, UNKNOWN: None}


class RunJudge:
    """Judges the frames of consecutive batches: most packets in runs, the others one by one."""

    def __init__(self) -> None:
        self.traffic = JudgedTraffic(())
        """Judges single packets and other events, and counts what was yielded."""
        self.items = 0
        """Packets and other items that were yielded so far."""
        self.connections = 0
        """The highest number of a connection so far."""
        self._clean = CleanPackets()

    def judged(self, frames: Frames, before: int = 0) -> Iterator[RunOrItem]:
        """Yield the packets of a batch, and the other events at their places among them.

        `before` is the number of connections in captures before that of the batch.
        """
        columns, clean = self._clean.find(frames)
        if before:
            _shift(frames, before)
        ends = (*frames.connections, *(each.ends for each in frames.others))
        self.connections = max([self.connections, *(each.number for each in ends)])
        others = iter(zip(frames.places, frames.others, strict=True))
        place, other = next(others, (len(frames), None))
        for run in _runs(frames, columns, clean):
            while other and place <= run.start:
                yield from self._counted(self.traffic.judged([other]))
                place, other = next(others, (len(frames), None))
            if clean[run.start]:
                yield from self._run(run)
            else:
                yield from self._counted(self.traffic.judged(_packets(run)))
        while other:
            yield from self._counted(self.traffic.judged([other]))
            _, other = next(others, (0, None))

    def _counted(self, items: Iterable[TrafficItem]) -> Iterator[TrafficItem]:
        for item in items:
            self.items += 1
            yield item

    def _run(self, run: PacketRun) -> Iterator[RunOrItem]:
        """Yield a run in parts, and between them the packets that have to be judged one by one."""
        traffic = self.traffic
        if traffic.zero.time_ns is None:
            times = run.columns.time_ns[run.start : run.stop]
            traffic.zero.time_ns = next((each for each in times if each is not None), None)
        run = run._replace(client=traffic.client(run.ends))
        while run.start < run.stop:
            after = traffic.judge.run(run)
            if after > run.start:
                traffic.packets += after - run.start
                self.items += after - run.start
                yield run if after == run.stop else run._replace(stop=after)
            if after < run.stop:
                yield from self._counted(traffic.judged(_packets(run._replace(start=after, stop=after + 1))))
            run = run._replace(start=after + 1)


class JudgedRuns:
    """Iterates over captures once; yields what `reading.follow.JudgedTraffic` does, but runs of packets as a whole.

    `files` are regular files. `before` is the number of connections in inputs that were read before them. Afterwards
    `errors` and `packets` are those of JudgedTraffic, `faults`, `remarks` and `names` those of AllEvents.
    """

    def __init__(
        self, files: Iterable[Input], options: InputOptions, tick: Callable[[Any], Any] | None = None, *,
        before: int = 0,
    ) -> None:  # fmt: skip
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self.names = InputNames()
        self._files = files
        self._options = options
        self._tick = tick or (lambda file: None)
        self._judge = RunJudge()
        self._judge.connections = before
        self.zero = self._judge.traffic.zero
        """The time of the first event."""

    @property
    def errors(self) -> bool:
        """Whether something that was yielded has an error."""
        return self._judge.traffic.errors

    @property
    def packets(self) -> int:
        """How many packets were yielded."""
        return self._judge.traffic.packets

    def __iter__(self) -> Iterator[RunOrItem]:
        """Yield runs, packets in their context, and other events as they are."""
        for file in self._files:
            before = self._judge.connections
            self.names.begin(file.name, before)
            yield from self._of_file(file, before)

    def _of_file(self, file: Input, before: int) -> Iterator[RunOrItem]:
        options, judge, broken = self._options, self._judge, ""
        items, packets = judge.items, judge.traffic.packets
        state = State(
            ports=options.ports, version=options.version, max_flows=options.max_connections or MAX_FLOWS
        )  # fmt: skip
        try:
            for batch in read([file.file], state=state, block=BLOCK):
                if state.secrets:
                    yield from self._again(file, before, judge.items - items, packets)
                    return
                yield from judge.judged(batch, before)
                self._tick(file)
        except BadCapture as error:
            broken = f"{file.name}: {error}"
        yield from judge.judged(finish(state), before)
        self.faults += filter(None, [broken])
        found = skipped_remarks(state.skipped.sentence, state.reassembler.skipped)
        self.remarks += (f"{file.name}: {remark}" for remark in found)

    def _again(self, file: Input, before: int, items: int, packets: int) -> Iterator[TrafficItem]:
        """Read a file again, with the keys for TLS that it holds; the items before them, so many, are the same."""
        file.file.seek(0)
        events = AllEvents([file], self._options, self._tick, before=before)
        alone, total = JudgedTraffic(events), self._judge.traffic
        alone.zero = self.zero
        for item in islice(alone, items, None):
            ends = item.event.ends if isinstance(item, PacketInContext) else item.ends
            self._judge.connections = max(self._judge.connections, ends.number)
            yield item
        total.errors, total.packets = total.errors or alone.errors, packets + alone.packets
        self.faults += events.faults
        self.remarks += events.remarks


def _runs(frames: Frames, columns: Any, clean: Mask) -> Iterator[PacketRun]:
    """Yield packets in stretches of one end that are all clean or all not, between other events."""
    kinds = (frames.connection, frames.direction, frames.version, frames.guessed, clean)
    changes = [each[1:] != each[:-1] for each in kinds]
    begins = np.union1d(np.flatnonzero(np.logical_or.reduce(changes)) + 1, np.array(frames.places, np.int64))
    edges = [0, *(each for each in begins.tolist() if 0 < each < len(frames)), len(frames)]
    firsts = np.array(edges[:-1], np.int64) if len(frames) else np.zeros(0, np.int64)
    about = zip(*(each[firsts].tolist() for each in kinds[:4]), strict=True)
    for (start, stop), (connection, side, version, guessed) in zip(pairwise(edges), about, strict=False):
        ends, direction = frames.connections[connection], _ENDS[side]
        yield PacketRun(columns, start, stop, ends, direction, Version(version), guessed, "")  # type: ignore[arg-type]


def _packets(run: PacketRun) -> Iterator[Any]:
    columns, start, stop, ends, direction, version, guessed, _ = run
    return (columns.packet(row, ends, direction, version, guessed) for row in range(start, stop))


def _shift(frames: Frames, before: int) -> None:
    """Count the connections on from those of earlier inputs."""
    frames.connections = [ends._replace(number=ends.number + before) for ends in frames.connections]
    frames.others = [each._replace(ends=each.ends._replace(number=each.ends.number + before)) for each in frames.others]
