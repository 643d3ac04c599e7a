"""Threads that measure, and a group of them."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from ...common.quantiles import Latencies


class BenchWorker(threading.Thread, ABC):
    """One connection that measures; a subclass does its work in `work`, which begins `begins_s` after the start."""

    def __init__(self, begins_s: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._begins_s = begins_s
        self._stopped = threading.Event()
        self.latencies = Latencies()
        """Nanoseconds of what it measures."""
        self.failure: Exception | None = None
        self.over = threading.Event()

    @abstractmethod
    def work(self) -> None:
        """Do what is measured, until it is done or `stop` is called."""

    def stop(self) -> None:
        """Ask `work` to return soon, or keep it from being called; for any thread."""
        self._stopped.set()

    def run(self) -> None:
        """Work, and keep the error that ends it."""
        try:
            if not self._stopped.wait(self._begins_s):
                self.work()
        except Exception as error:
            # Whatever it is, it ends the program in the main thread: a broken benchmark must not look like a result.
            self.failure = error
        finally:
            self.over.set()


class WorkerGroup:
    """Workers that start and end together."""

    def __init__(self, workers: Sequence[BenchWorker]) -> None:
        self._all = workers
        self._began_s = self._ended_s = 0.0

    def start(self) -> None:
        """Let all workers begin."""
        self._began_s = time.monotonic()
        for worker in self._all:
            worker.start()

    def wait(self, longest_s: float = float("inf")) -> bool:
        """Wait until all workers have ended, or for some seconds; return whether they have."""
        are_over = ended(self._all, time.monotonic() + longest_s)
        self._ended_s = time.monotonic()
        return are_over

    def stop(self, longest_s: float) -> None:
        """Measure nothing more, and give the connections some seconds to end in order."""
        for worker in self._all:
            worker.stop()
        self.wait(longest_s)

    @property
    def seconds(self) -> float:
        """Seconds from the start to the end of the last wait."""
        return self._ended_s - self._began_s

    @property
    def failures(self) -> list[Exception]:
        """What ended connections before their time, one for each connection that failed."""
        return [worker.failure for worker in self._all if worker.failure]

    @property
    def latencies(self) -> Latencies:
        """The latencies of all connections."""
        return merged(self._all)


def ended(workers: Iterable[BenchWorker], until_s: float) -> bool:
    """Wait until workers have ended, or for a moment of the monotonic clock; return whether all have."""
    # Python takes a thread for ended when a signal breaks off `join`, so an event is waited for.
    return all(worker.over.wait(max(min(until_s - time.monotonic(), threading.TIMEOUT_MAX), 0)) for worker in workers)


def merged(workers: Iterable[BenchWorker]) -> Latencies:
    """Return what several workers measured, together."""
    together = Latencies()
    for worker in workers:
        together.merge(worker.latencies)
    return together
