"""Writing to a standard output that may never be read, such as a pipe to a program that waits."""

import os
import sys
import time
from contextlib import suppress

from ...common.system import PIPE_BYTES, takes_output
from ...common.words import counted
from ...live.failures import Exit, Failure


class NotRead(Failure):
    """The time was up before the output was read."""

    status = Exit.NOT_WRITTEN


class StandardOutput:
    """Writes whole batches, without a buffer that would have to be written when the program ends.

    `until_s` is the moment of the monotonic clock until which it waits for a reader; None for as long as it takes.
    """

    def __init__(self, until_s: float | None = None) -> None:
        self._size = 0
        self._written: list[int] = []
        self._until_s = until_s
        self._descriptor: int | None = None
        with suppress(OSError):
            self._descriptor = sys.stdout.fileno()

    def write(self, data: bytes) -> None:
        """Write all bytes; raises OSError, and NotRead when the time is up."""
        sys.stdout.flush()
        if self._descriptor is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            return
        view = memoryview(data)
        # A pipe that is ready takes PIPE_BYTES at once; of more, a write would wait for the rest.
        piece = len(view) if self._until_s is None else PIPE_BYTES
        self._size, self._written = len(view), []
        begin = 0
        while begin < len(view):
            self._wait(self._descriptor)
            # An interrupt is raised between two calls: what is written is counted by the call that writes it.
            self._written.extend(map(os.write, (self._descriptor,), (view[begin : begin + piece],)))
            begin += self._written[-1]

    def _wait(self, descriptor: int) -> None:
        if self._until_s is None:
            return
        left_s = max(self._until_s - time.monotonic(), 0.0)
        if not takes_output(descriptor, left_s):
            raise NotRead(f"the time was up before standard output was read{self.missing}")

    @property
    def unwritten(self) -> int:
        """Bytes of the last batch that were not written."""
        return self._size - sum(self._written)

    @property
    def missing(self) -> str:
        """What the output lacks, as the end of a sentence; empty if everything was written."""
        return f"; {counted(self.unwritten, 'byte')} of the output were not written" if self.unwritten else ""
