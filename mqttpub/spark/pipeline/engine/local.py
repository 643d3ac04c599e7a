"""The tasks without Spark: in this process, or in several of this machine.

The rows that a task makes go to a file of its own, and only the place of each row is kept, so that memory is
bounded by what the tasks themselves hold.
"""

import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple

from .. import states
from ..checkpoint import StateError
from ..flow import results
from ..job import BlobRow, Job, TableFile, TaskResult, Unit
from ..route import COUNTS, RESULT, is_large, parts, route, units
from ..sources import Source
from ..task import UNWRITTEN, join_files, joins, pair_slots, read_buckets
from . import FIND, JOIN, PAIR, READ, ROUTE, Failed, StageShare
from .workers import OnBytes, WorkerEnded, Workers

SMALLEST = 24 << 20
"""Bytes of sources below which one process is quicker than several, which have to start."""

Task = Callable[..., Any]


class SpilledRow(NamedTuple):
    """Where a row is, and what it is sorted by."""

    key: int
    major: int
    minor: int
    path: str
    offset: int
    size: int


class LocalEngine:
    """Does the tasks of a job in `processes` processes, or in this one; rows between them are in files in `folder`."""

    def __init__(self, job: Job, sources: Sequence[Source], folder: str, processes: int) -> None:
        self.job = job
        self._sources = sources
        self.folder = folder
        self._processes = processes
        self._workers: Workers | None = None
        self._cancelled = False
        self._spilled = 0
        """Number of files."""
        self._lock = Lock()
        self._stage, self._done, self._total = ROUTE, 0, 1

    def run(self) -> list[TaskResult]:
        """Do all tasks and return their results; raises Failed."""
        with ExitStack() as stack:
            if self._processes > 1:
                self._workers = stack.enter_context(Workers(self._processes))
            try:
                return self._run()
            except StateError as error:
                raise Failed(str(error)) from None
            except WorkerEnded as error:
                raise Failed(f"{error}; nothing was written") from None
            except OSError as error:
                raise Failed(f"the output cannot be written: {error.strerror}: {error.filename}", UNWRITTEN) from None

    def progress(self) -> StageShare:
        """Return how far it is."""
        return StageShare(self._stage, min(self._done / self._total, 1.0))

    def cancel(self) -> None:
        """Make `run` end soon."""
        self._cancelled = True
        if self._workers:
            self._workers.end()

    def _run(self) -> list[TaskResult]:
        job = self.job
        given = self._units()
        sizes = [sum(unit.size for unit in each) for each in given]
        routed = self._each(ROUTE, _route, given, sizes)
        done = self._results(routed)
        routed += self._each(ROUTE, _states, list(job.states), [0] * len(job.states))
        read = self._each_share(READ, read_buckets, routed)
        _remove({row.path for row in routed})
        paired = self._each_share(PAIR, pair_slots, read)
        done += self._results([*read, *paired])
        small = joins(job, done)
        sizes = [sum(part.bytes for part in each) for each in small]
        return done + self._results(self._each(JOIN, _join, small, sizes))

    def _results(self, rows: list[SpilledRow]) -> list[TaskResult]:
        return results(row.blob for row in _opened((row for row in rows if row.key == RESULT), self._count))

    def _units(self) -> list[list[Unit]]:
        """Return what each of the first tasks reads."""
        given = units(self._sources, self.job)
        large = list(filter(is_large, given))
        found = self._all(FIND, _parts, [(each[0],) for each in large], [0] * len(large))
        rest = [each for each in given if not is_large(each)]
        return sorted([*rest, *([each] for each in chain.from_iterable(found))])

    def _each_share(self, stage: str, step: Task, rows: list[SpilledRow]) -> list[SpilledRow]:
        """Do the tasks that follow a shuffle, each with all rows of some keys; results need none."""
        given = shares((row for row in rows if row.key != RESULT), self.job.tasks)
        sizes = [sum(row.size for row in each) for each in given]
        return self._each(stage, _step, [(step, each) for each in given], sizes)

    def _each(self, stage: str, task: Task, given: list[Any], sizes: list[int]) -> list[SpilledRow]:
        """Do tasks that make rows, and return these in the order of the tasks."""
        calls = [(self.job, self._spill(), each) for each in given]
        return list(chain.from_iterable(self._all(stage, task, calls, sizes)))

    def _spill(self) -> str:
        self._spilled += 1
        return os.path.join(self.folder, f"rows-{self._spilled}")

    def _all(self, stage: str, task: Task, calls: list[tuple[Any, ...]], sizes: list[int]) -> list[Any]:
        """Call a function with each of some arguments, and return what it returns in that order."""
        if not calls:
            return []
        self._stage, self._done, self._total = stage, 0, max(sum(sizes), 1)
        workers = self._workers
        if workers is None:
            return [task(*each, self._count) for each in calls]
        with ThreadPoolExecutor(self._processes) as pool:
            pending = [pool.submit(workers.call, task, *each, on_bytes=self._count) for each in calls]
            try:
                return [each.result() for each in pending]
            except BaseException:
                workers.end()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _count(self, size: int) -> None:
        """Count bytes that a task did; raises Failed to end it."""
        if self._cancelled:
            raise Failed("the run was cancelled")
        with self._lock:
            self._done += size


def cores() -> int:
    """Return how many processes can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shares(rows: Iterable[SpilledRow], count: int) -> list[list[SpilledRow]]:
    """Divide rows by their keys into at most so many lists of about equal size, sorted as tasks need them.

    Of rows with counts each list has those whose key is its place.
    """
    sizes: Counter[int] = Counter()
    by_key: dict[int, list[SpilledRow]] = {}
    counts: dict[int, list[SpilledRow]] = {}
    for row in rows:
        if row.major == COUNTS:
            counts.setdefault(row.key, []).append(row)
            continue
        sizes[row.key] += row.size
        by_key.setdefault(row.key, []).append(row)
    found: list[list[int]] = [[] for _ in range(min(count, len(sizes)))]
    held = [0] * len(found)
    for key, size in sizes.most_common():
        least = held.index(min(held))
        found[least].append(key)
        held[least] += size
    return [
        [*counts.get(place, ()), *(row for key in sorted(keys) for row in sorted(by_key[key], key=itemgetter(1, 2)))]
        for place, keys in enumerate(found)
    ]


def _parts(unit: Unit, on_bytes: OnBytes) -> list[Unit]:
    return parts(unit)


def _route(job: Job, path: str, given: list[Unit], on_bytes: OnBytes) -> list[SpilledRow]:
    return _spilled(path, route(job, given), on_bytes)


def _states(job: Job, path: str, place: str, on_bytes: OnBytes) -> list[SpilledRow]:
    return _spilled(path, states.rows(job, place), on_bytes)


def _join(job: Job, path: str, given: list[TableFile], on_bytes: OnBytes) -> list[SpilledRow]:
    found = _spilled(path, join_files(job, given))
    on_bytes(sum(part.bytes for part in given))
    return found


def _step(job: Job, path: str, given: tuple[Task, list[SpilledRow]], on_bytes: OnBytes) -> list[SpilledRow]:
    step, rows = given
    return _spilled(path, step(job, _opened(rows, on_bytes)))


def _spilled(path: str, rows: Iterable[BlobRow], on_bytes: OnBytes | None = None) -> list[SpilledRow]:
    """Write rows to a file, and return where they are; raises OSError with the name of the file."""
    found: list[SpilledRow] = []
    offset = 0
    try:
        with open(path, "wb") as file:
            for row in rows:
                file.write(row.blob)
                found.append(SpilledRow(row.key, row.major, row.minor, path, offset, len(row.blob)))
                offset += len(row.blob)
                if on_bytes:
                    on_bytes(len(row.blob))
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), error.filename or path) from None
    return found


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        os.unlink(path)


def _opened(rows: Iterable[SpilledRow], on_bytes: OnBytes) -> Iterator[BlobRow]:
    """Yield the rows in files, without reading them; each counts as done as soon as the next one is asked for."""
    files: dict[str, memoryview] = {}
    for row in rows:
        if row.size and row.path not in files:
            with open(row.path, "rb") as file:
                files[row.path] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        blob = files[row.path][row.offset : row.offset + row.size] if row.size else b""
        yield BlobRow(row.key, row.major, row.minor, blob)
        on_bytes(row.size)
