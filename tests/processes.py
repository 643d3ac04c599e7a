"""The processes of this machine: who started whom, what each runs, and the processor time it took."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class RunningProcess(NamedTuple):
    """What /proc says of a process."""

    parent: int
    session: int
    cpu_s: float
    """With that of the processes that it waited for."""


def running() -> dict[int, RunningProcess]:
    """Return all processes by their ids."""
    found, tick_s = {}, 1 / os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        used_s = sum(map(int, fields[11:15])) * tick_s
        found[int(path.parent.name)] = RunningProcess(int(fields[1]), int(fields[3]), used_s)
    return found


def above(process: int) -> Iterator[int]:
    """Yield the processes that a process comes from, the nearest first."""
    known = running()
    while each := known.get(process):
        yield (process := each.parent)


def below(root: int) -> dict[int, RunningProcess]:
    """Return a process and those that come from it."""
    known, found, left = running(), dict[int, RunningProcess](), [root]
    while left:
        process = left.pop()
        if process in known:
            found[process] = known[process]
        left += (other for other, each in known.items() if each.parent == process)
    return found


def words_of(process: int) -> str:
    """Return the words of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
