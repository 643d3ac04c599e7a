"""Many publishers at once, one thread and one connection each, and what they measured."""

import threading
import time
from dataclasses import dataclass

from ...codec.publish_writer import PublishWriter
from ...common.quantiles import Latencies
from ...spec.packets import Publish
from ..net.target import Target
from .publisher import Publisher, PublishOptions
from .sender import NotSent, OutgoingMessage, Publication
from .sources import Generated


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """What each connection publishes, and for how long."""

    target: Target
    packets: tuple[Publish, ...]
    """The PUBLISH of each connection; its length is the number of connections."""
    payload: bytes
    messages: int | None
    """Messages of each connection; None where `duration_s` ends the run."""
    duration_s: float | None = None
    rate: float | None = None
    """Messages per second of each connection; None for no limit."""
    window: int = 65535
    timeout_s: float = 30.0


class Worker(threading.Thread):
    """One connection that publishes and measures."""

    def __init__(self, target: Target, source: Generated, options: PublishOptions) -> None:
        super().__init__(daemon=True)
        self.source = source
        self.publisher = Publisher(target, source, options)
        self.latencies = Latencies()
        """Nanoseconds from sending a message to its last acknowledgement."""
        self.done = self.refused = 0
        self.failure: Exception | None = None
        self.over = threading.Event()

    def run(self) -> None:
        """Publish until the source ends."""
        try:
            for outcomes in self.publisher.run():
                while outcomes:
                    self._count(outcomes.popleft())
        except Exception as error:
            # Whatever it is, it ends the program in the main thread: a broken benchmark must not look like a result.
            self.failure = error
        finally:
            self.over.set()

    def _count(self, outcome: OutgoingMessage | NotSent) -> None:
        if isinstance(outcome, OutgoingMessage):
            self.done += 1
            self.refused += outcome.refused
            if outcome.latency_s is not None:
                self.latencies.add(round(outcome.latency_s * 1e9))


class Benchmark:
    """The workers of a request; what they measured can be read at any time after the start."""

    def __init__(self, request: BenchRequest) -> None:
        self.workers = [_worker(request, number) for number in range(len(request.packets))]
        self._began_s = self._ended_s = 0.0

    def start(self) -> None:
        """Let all workers publish."""
        self._began_s = time.monotonic()
        for worker in self.workers:
            worker.start()

    def wait(self, longest_s: float = float("inf")) -> None:
        """Wait until all workers have ended, or for some seconds."""
        # Python takes a thread for ended when a signal breaks off `join`, so an event is waited for.
        until_s = time.monotonic() + longest_s
        for worker in self.workers:
            worker.over.wait(max(min(until_s - time.monotonic(), threading.TIMEOUT_MAX), 0))
        self._ended_s = time.monotonic()

    def stop(self, longest_s: float) -> None:
        """Publish nothing more, and give the connections some seconds to end in order."""
        for worker in self.workers:
            worker.source.stop()
        self.wait(longest_s)

    @property
    def seconds(self) -> float:
        """Seconds from the start to the end of the last wait."""
        return self._ended_s - self._began_s

    @property
    def done(self) -> int:
        """Number of messages that were sent and, with QoS 1 and 2, acknowledged."""
        return sum(worker.done for worker in self.workers)

    @property
    def refused(self) -> int:
        """Number of messages that the broker refused; they count as done as well."""
        return sum(worker.refused for worker in self.workers)

    @property
    def failures(self) -> list[Exception]:
        """What ended connections before their time, one for each connection that failed."""
        return [worker.failure for worker in self.workers if worker.failure]

    @property
    def latencies(self) -> Latencies:
        """The latencies of all connections, in nanoseconds."""
        merged = Latencies()
        for worker in self.workers:
            merged.merge(worker.latencies)
        return merged


def _worker(request: BenchRequest, number: int) -> Worker:
    target, packet = request.target, request.packets[number]
    if len(request.packets) > 1:
        target = target.changed(client_id=f"{target.connect.client_id}-{number + 1}")
    message = Publication(PublishWriter(packet, target.version), request.payload)
    source = Generated(message, request.messages, request.duration_s, request.rate)
    return Worker(target, source, PublishOptions(timeout_s=request.timeout_s, window=request.window))
