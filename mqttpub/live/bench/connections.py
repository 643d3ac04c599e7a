"""Many connections at once: how long each takes, and whether all last."""

import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from ..net.target import Target
from ..session import Session
from .workers import BenchWorker, WorkerGroup

TURN_S = 0.2
"""How long a connection waits before it looks whether it is to end."""
AWAITED = "it was asked to"


class ConnectionBenchRequest(NamedTuple):
    """Which connections to open, how fast, and how long to hold them."""

    targets: Sequence[Target]
    interval_s: float = 0.0
    """Seconds between the beginnings of two connections."""
    hold_s: float = 0.0
    """How many seconds the connections are held once all are open."""
    timeout_s: float = 30.0


class HeldClient(BenchWorker):
    """One connection that is opened at its time and held until the others are open, and for some seconds more."""

    def __init__(self, request: ConnectionBenchRequest, target: Target, begins_s: float, group: "_Gathering") -> None:
        super().__init__(begins_s)
        self.connected_s = 0.0
        """When CONNACK came, on the monotonic clock; 0 before."""
        self._request, self._target, self._group = request, target, group

    def work(self) -> None:
        """Connect, hold the connection, and disconnect; raises a Failure."""
        try:
            began_ns = time.perf_counter_ns()
            with Session(self._target, timeout_s=self._request.timeout_s) as session:
                session.open()
                self.latencies.add(time.perf_counter_ns() - began_ns)
                self.connected_s = time.monotonic()
                self._group.arrive()
                self._hold(session)
                session.close()
        finally:
            if not self.connected_s:
                # The others must not wait for one that failed.
                self._group.arrive()

    def _hold(self, session: Session) -> None:
        until_s = None
        while not self._stopped.is_set() and (until_s is None or time.monotonic() < until_s):
            if until_s is None and self._group.complete.is_set():
                until_s = time.monotonic() + self._request.hold_s
                continue
            left_s = TURN_S if until_s is None else min(until_s - time.monotonic(), TURN_S)
            session.step("", most_s=max(left_s, 0))
            session.check_open(AWAITED)


class _Gathering:
    """Counts the connections that are open or have failed."""

    def __init__(self, count: int) -> None:
        self.complete = threading.Event()
        self._left = count
        self._lock = threading.Lock()

    def arrive(self) -> None:
        with self._lock:
            self._left -= 1
            if not self._left:
                self.complete.set()


class ConnectionBenchmark(WorkerGroup):
    """The connections of a request."""

    def __init__(self, request: ConnectionBenchRequest) -> None:
        group = _Gathering(len(request.targets))
        self.clients = [
            HeldClient(request, target, number * request.interval_s, group)
            for number, target in enumerate(request.targets)
        ]
        super().__init__(self.clients)

    @property
    def connected(self) -> int:
        """Number of connections that the broker accepted."""
        return sum(client.connected_s > 0 for client in self.clients)

    @property
    def opening_s(self) -> float:
        """Seconds from the start to the last CONNACK."""
        return max((client.connected_s for client in self.clients), default=0.0) - self._began_s
