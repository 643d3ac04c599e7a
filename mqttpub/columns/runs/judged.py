"""A capture as judged packets: those of one end in a row together, as far as they have no findings."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np

from ...capture.network.tcp import MAX_FLOWS
from ...capture.types import BadCapture
from ...reading.follow import JudgedTraffic
from ...reading.input import AllEvents, Input, InputOptions, skipped_remarks
from ...spec.versions import Direction, Version
from ...traffic.runs import PacketRun, RunOrItem
from ..arrow import Mask
from ..read import finish, read
from ..reassemble.assembly import Batch
from ..reassemble.frames import CLIENT, SERVER, UNKNOWN
from ..reassemble.state import State
from .clean import CleanPackets

BLOCK = 1 << 20
"""Bytes of a capture that are read at a time; with a list of values for each column they take 15 MB more."""
_ENDS = {CLIENT: Direction.CLIENT, SERVER: Direction.SERVER, UNKNOWN: None}


class JudgedRuns:
    """Iterates over a capture once; yields what `reading.follow.JudgedTraffic` does, but runs of packets as a whole.

    `file` is a regular file. `before` is the number of connections in inputs that were read before it. Afterwards
    `errors` and `packets` are those of JudgedTraffic, `faults` and `remarks` those of `reading.input.AllEvents`.
    """

    def __init__(
        self, file: Input, options: InputOptions, tick: Callable[[Any], Any] | None = None, *, before: int = 0
    ) -> None:
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self._file = file
        self._options = options
        self._tick = tick
        self._before = before
        self._traffic = JudgedTraffic(())
        self._clean = CleanPackets()
        self._items = 0
        """Packets and other items that were yielded so far."""
        self.zero = self._traffic.zero
        """The time of the first event."""

    @property
    def errors(self) -> bool:
        """Whether something that was yielded has an error."""
        return self._traffic.errors

    @property
    def packets(self) -> int:
        """How many packets were yielded."""
        return self._traffic.packets

    def __iter__(self) -> Iterator[RunOrItem]:
        """Yield runs, packets in their context, and other events as they are."""
        options = self._options
        state = State(
            ports=options.ports, version=options.version, max_flows=options.max_connections or MAX_FLOWS
        )  # fmt: skip
        broken = ""
        try:
            for batch in read([self._file.file], state=state, block=BLOCK):
                if state.secrets:
                    yield from self._again()
                    return
                yield from self._judged(batch)
                if self._tick:
                    self._tick(self._file)
        except BadCapture as error:
            broken = f"{self._file.name}: {error}"
        yield from self._judged(finish(state))
        self.faults += filter(None, [broken])
        found = skipped_remarks(state.skipped.sentence, state.reassembler.skipped)
        self.remarks += (f"{self._file.name}: {remark}" for remark in found)

    def _again(self) -> Iterator[RunOrItem]:
        """Read everything again, with the keys for TLS that the capture holds, which nothing before them needs."""
        self._file.file.seek(0)
        events = AllEvents([self._file], self._options, self._tick, before=self._before)
        self._traffic = JudgedTraffic(events)
        self._traffic.zero = self.zero
        yield from islice(self._traffic, self._items, None)
        self.faults, self.remarks = events.faults, events.remarks

    # one batch

    def _judged(self, batch: Batch) -> Iterator[RunOrItem]:
        """Yield the packets of a batch, and the other events at their places among them."""
        columns, clean = self._clean.find(batch)
        if self._before:
            _shift(batch, self._before)
        others = iter(zip(batch.places, batch.others, strict=True))
        place, other = next(others, (len(batch), None))
        for run in _runs(batch, columns, clean):
            while other and place <= run.start:
                yield from self._counted(self._traffic.judged([other]))
                place, other = next(others, (len(batch), None))
            if clean[run.start]:
                yield from self._run(run)
            else:
                yield from self._counted(self._traffic.judged(_packets(run)))
        while other:
            yield from self._counted(self._traffic.judged([other]))
            _, other = next(others, (0, None))

    def _counted(self, items: Iterable[RunOrItem]) -> Iterator[RunOrItem]:
        for item in items:
            self._items += 1
            yield item

    def _run(self, run: PacketRun) -> Iterator[RunOrItem]:
        """Yield a run in parts, and between them the packets that have to be judged one by one."""
        traffic = self._traffic
        if self.zero.time_ns is None:
            self.zero.time_ns = next(filter(None, run.columns.time_ns[run.start : run.stop]), None)
        run = run._replace(client=traffic.client(run.ends))
        while run.start < run.stop:
            after = traffic.judge.run(run)
            if after > run.start:
                traffic.packets += after - run.start
                self._items += after - run.start
                yield run if after == run.stop else run._replace(stop=after)
            if after < run.stop:
                yield from self._counted(traffic.judged(_packets(run._replace(start=after, stop=after + 1))))
            run = run._replace(start=after + 1)


def _runs(batch: Batch, columns: Any, clean: Mask) -> Iterator[PacketRun]:
    """Yield the packets of a batch in stretches of one end that are all clean or all not, between other events."""
    kinds = (batch.connection, batch.direction, batch.version, batch.guessed, clean)
    changes = [each[1:] != each[:-1] for each in kinds]
    begins = np.union1d(np.flatnonzero(np.logical_or.reduce(changes)) + 1, np.array(batch.places, np.int64))
    edges = [0, *(each for each in begins.tolist() if 0 < each < len(batch)), len(batch)]
    firsts = np.array(edges[:-1], np.int64) if len(batch) else np.zeros(0, np.int64)
    about = zip(*(each[firsts].tolist() for each in kinds[:4]), strict=True)
    for (start, stop), (connection, side, version, guessed) in zip(pairwise(edges), about, strict=False):
        ends, direction = batch.connections[connection], _ENDS[side]
        yield PacketRun(columns, start, stop, ends, direction, Version(version), guessed, "")  # type: ignore[arg-type]


def _packets(run: PacketRun) -> Iterator[Any]:
    columns, start, stop, ends, direction, version, guessed, _ = run
    return (columns.packet(row, ends, direction, version, guessed) for row in range(start, stop))


def _shift(batch: Batch, before: int) -> None:
    """Count the connections of a batch on from those of earlier inputs."""
    batch.connections = [ends._replace(number=ends.number + before) for ends in batch.connections]
    batch.others = [each._replace(ends=each.ends._replace(number=each.ends.number + before)) for each in batch.others]
