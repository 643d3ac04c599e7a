"""The packets of some runs, as arrays: what draws many packets at once begins with."""

import numpy as np
from numpy.typing import NDArray

from ...traffic.runs import PacketRun, RunArrays
from ..form.matrix import Integers
from .facts import FIRST_PLAIN, LAST_PLAIN, LONGEST

_POWERS = 10 ** np.arange(5)
"""The least Packet Identifiers of so many digits."""


class RunBatch:
    """The values of the packets of some runs, which have the same columns."""

    def __init__(self, runs: list[PacketRun], arrays: RunArrays) -> None:
        self.runs = runs
        self.arrays = arrays
        self.buffer = runs[0].columns.buffer
        starts = np.array([run.start for run in runs])
        counts = np.array([run.stop for run in runs]) - starts
        self.run = np.repeat(np.arange(len(runs)), counts)
        """Which run each packet is in."""
        first = np.cumsum(counts) - counts
        self.rows = np.arange(len(self.run)) + np.repeat(starts - first, counts)
        self.names = arrays.names
        self.time_ns, self.packet_id = arrays.time_ns[self.rows], arrays.packet_id[self.rows]
        self.payload_begin = arrays.payload_begin[self.rows]
        self.size = arrays.end[self.rows] - self.payload_begin
        """Bytes of the payload."""

    def packet(self, at: int) -> tuple[PacketRun, int]:
        """Return the run of a packet and its row."""
        return self.runs[int(self.run[at])], int(self.rows[at])

    def keys(self, topics: Integers) -> Integers:
        """Return for each packet a number that determines its form.

        `topics` has a number for each Topic Name; those that have the same are drawn alike.
        """
        arrays, rows = self.arrays, self.rows
        digits = np.searchsorted(_POWERS, self.packet_id, side="right")
        versions = np.array([int(run.version) for run in self.runs])[self.run]
        # A packet has a Topic Name or a Reason Code, or neither: the Topic Name of all acks is number 0.
        key = (topics[arrays.topic[rows]] + arrays.reason[rows] + 1) << 28 | self.size
        found: Integers = ((key << 3 | digits) << 8 | arrays.first[rows]) << 3 | versions
        return found

    def has_other_characters(self) -> NDArray[np.bool_]:
        """Return which payloads, as far as previews show them, have characters that do not stand for themselves."""
        size = np.minimum(self.size, LONGEST + 1)
        if not size.any():
            return np.zeros(len(size), np.bool_)
        low, high = int(self.payload_begin.min()), int((self.payload_begin + size).max())
        data = np.frombuffer(self.buffer, np.uint8, high - low, low)
        others = np.append((data - np.uint8(FIRST_PLAIN) > LAST_PLAIN - FIRST_PLAIN) | (data == ord("\\")), False)
        # From each place to the next: every other one is a payload.
        places = np.empty(2 * len(size), np.int64)
        places[::2], places[1::2] = self.payload_begin - low, self.payload_begin - low + size
        found: NDArray[np.bool_] = np.logical_or.reduceat(others, places)[::2] & (size > 0)
        return found
