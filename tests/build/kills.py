"""A program that is killed at events and started again, and what was lost or doubled by that.

    with KilledProgram(tmp_path, [*PROGRAM, "pipeline", "--tail", ...]) as program:
        for number in (3, 40, 0):
            program.reach(records_so_far, number)
            program.kill()
            program.start()
        assert program.end() == 0
    assert compared(expected, found) == Compared([], [])

An event is anything that a function counts: records of output, requests to a store, batches, milliseconds.
"""

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

from tests.processes import running

T = TypeVar("T", bound=Hashable)
LONGEST_S = 900
"""Time for something that must come, however busy the machine is."""


class KilledProgram:
    """A program in a session of its own, by which all its processes are found; it ends with the tests at the latest.

    What it prints is appended to the file `said` of a folder; `stdin` is read from its beginning at each start.
    """

    def __init__(
        self, folder: Path, command: Sequence[str], *, stdin: Path | None = None, said: str = "said",
        env: Mapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        self.output = folder / said
        self.starts = 0
        # No signal for the tests reaches another session: the kernel ends the program when the tests have ended.
        # The program may have a PATH of its own.
        ending = shutil.which("setpriv")
        assert ending, "the tests need setpriv (Debian: apt-get install util-linux)"
        self._command = (ending, "--pdeathsig", "KILL", *command)
        self._stdin = stdin or Path(os.devnull)
        # What leads to the JVM of the tests is not for it.
        self._env = {name: value for name, value in env.items() if not name.startswith("PYSPARK_GATEWAY")}
        self.start()

    def start(self, *more: str) -> None:
        """Start it, with more arguments."""
        with open(self._stdin, "rb") as stdin, open(self.output, "ab") as out:
            self.process = subprocess.Popen(
                [*self._command, *more], stdin=stdin, stdout=out, stderr=out, start_new_session=True, env=self._env
            )
        self.starts += 1

    def said(self) -> str:
        """Return the end of what it printed."""
        return self.output.read_text(errors="replace")[-5000:]

    def members(self) -> list[int]:
        """Return its processes, which for Spark are the driver, the JVM and workers."""
        return [process for process, each in running().items() if each.session == self.process.pid]

    def wait(self, condition: Callable[[], Any]) -> bool:
        """Return True as soon as something is so, or False if the program ended before."""
        until = time.monotonic() + LONGEST_S
        while not condition():
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < until, self.said()
            time.sleep(0.005)
        return True

    def reach(self, events: Callable[[], int], number: int) -> bool:
        """Return True as soon as so many events more have happened, or False if the program ended before."""
        least = events() + number
        return self.wait(lambda: events() >= least)

    def kill(self) -> int:
        """Kill all its processes at once; return how many there were."""
        found = left = self.members()
        until = time.monotonic() + LONGEST_S
        while left:
            assert time.monotonic() < until, left
            # Workers end by themselves when their JVM is gone.
            kill(left)
            self.process.wait(LONGEST_S)
            left = self.members()
        return len(found)

    def end(self, how: signal.Signals | None = None) -> int:
        """Let it end, after a signal if one is given; return its status."""
        if how:
            self.process.send_signal(how)
        return self.process.wait(LONGEST_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def kill(processes: Iterable[int]) -> None:
    """Kill processes, of which some may have ended."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


class Compared(NamedTuple, Generic[T]):
    """What should have arrived, and how often, against what did."""

    lost: list[T]
    doubled: list[T]


def compared(expected: Iterable[T], found: Iterable[T]) -> Compared[T]:
    """Compare what should have arrived once each with what arrived."""
    counts = Counter(found)
    return Compared([each for each in expected if each not in counts], [each for each in counts if counts[each] > 1])
