"""Many publishers at once, one thread and one connection each, and what they measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from ...codec.publish_writer import PublishWriter
from ...spec.packets import Publish
from ..net.target import Target
from ..publish.publisher import Publisher, PublishOptions
from ..publish.sender import NotSent, OutgoingMessage, Publication
from ..publish.sources import Generated
from .workers import BenchWorker, WorkerGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """What each connection publishes, and for how long."""

    publishers: Sequence[tuple[Target, Publish]]
    """Of each connection, where to connect and the PUBLISH, without its payload."""
    payload: bytes
    messages: int | None
    """Messages of each connection; None where `duration_s` ends the run."""
    duration_s: float | None = None
    rate: float | None = None
    """Messages per second of each connection; None for no limit."""
    window: int = 65535
    timeout_s: float = 30.0
    payloads: Sequence[Iterator[bytes]] = ()
    """Of each connection the payloads of its messages, without end; empty where all are `payload`."""


class Worker(BenchWorker):
    """One connection that publishes and measures the time to the last acknowledgement of each message."""

    def __init__(self, target: Target, source: Generated, options: PublishOptions) -> None:
        super().__init__()
        self.source = source
        self.publisher = Publisher(target, source, options)
        self.done = self.refused = 0

    def work(self) -> None:
        """Publish until the source ends."""
        for outcomes in self.publisher.run():
            while outcomes:
                self._count(outcomes.popleft())

    def stop(self) -> None:
        """Publish nothing more."""
        super().stop()
        self.source.stop()

    def _count(self, outcome: OutgoingMessage | NotSent) -> None:
        if isinstance(outcome, OutgoingMessage):
            self.done += 1
            self.refused += outcome.refused
            if outcome.latency_s is not None:
                self.latencies.add(round(outcome.latency_s * 1e9))


class Benchmark(WorkerGroup):
    """The workers of a request; what they measured can be read at any time after the start."""

    def __init__(self, request: BenchRequest) -> None:
        own = chain(request.payloads, repeat(None))
        self.workers = [
            _worker(request, target, packet, payloads)
            for (target, packet), payloads in zip(request.publishers, own, strict=False)
        ]
        super().__init__(self.workers)

    @property
    def done(self) -> int:
        """Number of messages that were sent and, with QoS 1 and 2, acknowledged."""
        return sum(worker.done for worker in self.workers)

    @property
    def refused(self) -> int:
        """Number of messages that the broker refused; they count as done as well."""
        return sum(worker.refused for worker in self.workers)


def _worker(request: BenchRequest, target: Target, packet: Publish, payloads: Iterator[bytes] | None) -> Worker:
    message = Publication(PublishWriter(packet, target.version), request.payload)
    source = Generated(message, request.messages, request.duration_s, request.rate, payloads)
    options = PublishOptions(timeout_s=request.timeout_s, window=request.window)
    return Worker(target, source, options)
