"""Dumps of runs, drawn for thousands of packets at a time."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...spec.packets import Publish
from ...spec.versions import Direction
from ...traffic.runs import PacketRun
from ..packet.show import Show
from .dump_matrix import FEWEST, DumpMatrix
from .places import Places
from .run_batch import Integers, RunBatch, Texts

MOST_PACKETS = 1 << 12
MOST_BYTES = 1 << 19
"""Packets that are drawn together, and their bytes, at most, but for the last run."""
MOST_GATHERED = 1 << 20
"""Characters of other packets among them, at most, but for the last one."""
LONGEST_BITS = 10
LONGEST = 1 << LONGEST_BITS
"""Bytes of packets that are drawn one by one, at least."""
MULTI_BYTE = 0x80
"""The first byte of a Remaining Length of several bytes, at least."""


class _HeldRun(NamedTuple):
    """A run that is drawn later."""

    run: PacketRun
    place: int
    """What `Show.reserve` returned."""
    begun: bool
    """Whether a blank line is before it."""


class RunDumps:
    """Shows runs on a screen without colours, which gathers text.

    Runs are held until thousands of packets have been read, so this is for inputs that are files.
    """

    def __init__(self, screen: Show, places: Places) -> None:
        self._screen = screen
        self._places = places
        self._matrix = DumpMatrix(screen.repeated)
        self._held: list[_HeldRun] = []
        self._packets = self._bytes = 0
        """In the runs that are held."""
        screen.gather(MOST_GATHERED, self._draw)

    def show(self, run: PacketRun) -> None:
        """Show the packets of a run, all of them when the screen is flushed."""
        held, columns = self._held, run.columns
        if held and held[0].run.columns is not columns:
            self._screen.flush()
        self._places.begin(run)
        begun = self._screen.begun
        self._held.append(_HeldRun(run, self._screen.reserve(), begun))
        self._packets += run.stop - run.start
        self._bytes += sum(columns.size[run.start : run.stop])
        if self._packets >= MOST_PACKETS or self._bytes >= MOST_BYTES:
            self._screen.flush()

    def _draw(self) -> None:
        """Draw what is held."""
        held, self._held = self._held, []
        self._packets = self._bytes = 0
        if not held:
            return
        arrays = held[0].run.columns.arrays
        runs = [each.run for each in held]
        below = [line for run in runs for line in self._screen.below_each(self._places.of_run(run))]
        texts = self._texts(RunBatch(runs, arrays), below) if arrays else [""] * len(below)
        end = 0
        for run, place, begun in held:
            begin, end = end, end + run.stop - run.start
            for at, row in zip(range(begin, end), range(run.start, run.stop), strict=True):
                texts[at] = texts[at] or self._alone(run, row)
            self._screen.fill(place, "\n".join(["", *texts[begin:end]] if begun else texts[begin:end]))

    def _alone(self, run: PacketRun, row: int) -> str:
        """Return the dump of one packet."""
        columns = run.columns
        begin = columns.begin[row]
        data = columns.buffer[begin : begin + columns.size[row]]
        [where] = self._places.of_run(run.between(row, row + 1))
        return self._screen.drawn(data, run.version, run.direction, time=where)

    def _texts(self, batch: RunBatch, below: list[str]) -> list[str]:
        """Return the dumps of packets; those that are not drawn with others are empty."""
        texts = [""] * len(below)
        data = np.frombuffer(batch.buffer, np.uint8)
        begins = batch.arrays.begin[batch.rows]
        for rows, size in _alike(batch, begins, data):
            run, _ = batch.packet(int(rows[0]))
            packets = data[begins[rows][:, None] + np.arange(size)]
            for found in self._matrix.draw(packets, run.version, run.direction):
                for at, head, body in zip(rows[found.rows].tolist(), found.heads, found.bodies, strict=True):
                    texts[at] = f"{head}{below[at]}{body}"
        return texts


def _alike(batch: RunBatch, begins: Integers, data: Texts) -> Iterator[tuple[Integers, int]]:
    """Yield the numbers and the size of packets that begin at `begins` and whose dumps may differ in values only."""
    size = batch.arrays.end[batch.rows] - begins
    rows = np.flatnonzero(size < LONGEST)
    if not len(rows):
        return
    first = batch.arrays.first[batch.rows]
    topic_at = begins + 2 + (data[begins + 1] >= MULTI_BYTE)
    topic_size = data[topic_at].astype(np.int64) << 8 | data[topic_at + 1]
    from_client = np.array([run.direction is Direction.CLIENT for run in batch.runs])[batch.run]
    key = np.zeros(len(rows), np.int64)
    for values, bits in (
        (size, LONGEST_BITS),
        (batch.payload_begin - begins, LONGEST_BITS),
        (np.where(first >> 4 == Publish.code, topic_size, batch.arrays.reason[batch.rows] + 1), LONGEST_BITS),
        (batch.id_digits(), 3),
        (first, 8),
        (batch.versions(), 3),
        (from_client, 1),
    ):
        key = key << bits | values[rows]
    order = np.argsort(key, kind="stable")
    edges = np.flatnonzero(np.diff(key[order])) + 1
    for begin, end in pairwise([0, *edges.tolist(), len(rows)]):
        if end - begin >= FEWEST:
            found = rows[order[begin:end]]
            yield found, int(size[found[0]])
