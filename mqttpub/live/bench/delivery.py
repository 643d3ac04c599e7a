"""Publishers and subscribers in one program: how long a message takes from one to the other, and whether all arrive.

Each payload begins with a stamp: a mark of the run, the number of the publisher and of the message, and the time of
sending. Both ends read the same clock.
"""

import os
import struct
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from ...codec.publish_writer import PublishWriter
from ...common.quantiles import Latencies
from ...spec.packets import Publish, Subscribe, Subscription
from ..net.target import Target
from ..publish.publisher import PublishOptions
from ..publish.sender import Publication
from ..publish.sources import Generated
from ..receive import ReceivedMessage
from ..subscribe.subscriber import SubscribeOptions, Subscriber
from .publishing import Worker
from .workers import BenchWorker, WorkerGroup, ended, merged

STAMP = struct.Struct(">8sHIQ")
"""Mark of the run, publisher, number of the message, nanoseconds since the epoch."""
MARK_BYTES = 8
SILENCE_S = 2.0
"""Silence, once everything is published, after which missing messages count as lost."""


class DeliveryRequest(NamedTuple):
    """Who publishes what to whom."""

    publishers: Sequence[tuple[Target, str]]
    """Where each publisher connects, and its topic; with none, the messages of others are counted."""
    subscribers: Sequence[Target]
    filters: Sequence[str]
    """What each subscriber subscribes to."""
    qos: int = 0
    size_bytes: int = 64
    messages: int | None = None
    """Messages of each publisher; without publishers, of each subscriber. None where `duration_s` ends the run."""
    duration_s: float | None = None
    rate: float | None = None
    """Messages per second of each publisher; None for no limit."""
    window: int = 65535
    timeout_s: float = 30.0


class Stamped(Generated):
    """A source of messages that carry their number and the time at which they were taken."""

    def __init__(self, writer: PublishWriter, mark: bytes, publisher: int, request: DeliveryRequest) -> None:
        message = Publication(writer, bytes(request.size_bytes))
        super().__init__(message, request.messages, request.duration_s, request.rate)
        self._writer, self._mark, self._publisher = writer, mark, publisher
        self._rest = bytes(request.size_bytes - STAMP.size)

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return as many messages as the count and the rate allow."""
        count = len(super().take(most, now_s))
        first, mark, publisher, rest = self._taken - count, self._mark, self._publisher, self._rest
        return [
            Publication(self._writer, STAMP.pack(mark, publisher, number, time.time_ns()) + rest)
            for number in range(first, first + count)
        ]


class Listener(BenchWorker):
    """One connection that subscribes and measures the latency of the messages of this run."""

    def __init__(self, target: Target, request: DeliveryRequest, mark: bytes, finished: threading.Event) -> None:
        super().__init__()
        self.ready = threading.Event()
        """Set once the broker has acknowledged the subscriptions."""
        self.received = self.foreign = self.disordered = 0
        self.first_ns = self.last_ns = 0
        """When the first and the last message arrived, in nanoseconds since the epoch."""
        self._request, self._mark, self._finished = request, mark, finished
        self._next: dict[int, int] = {}
        """For each publisher, the number of the message that should come next."""
        self._until_s: float | None = None
        self._silent_since_s = 0.0
        subscriptions = tuple(Subscription(filter=each, qos=request.qos) for each in request.filters)
        subscribe = Subscribe(packet_id=1, subscriptions=subscriptions)
        self._subscriber = Subscriber(target, (subscribe,), SubscribeOptions(request.timeout_s))

    def stop(self) -> None:
        """Receive nothing more."""
        super().stop()
        self._subscriber.stop()

    def work(self) -> None:
        """Receive until all messages have come, or the missing ones count as lost; raises a Failure."""
        request = self._request
        for messages in self._subscriber.run():
            if self._subscriber.session and not self.ready.is_set():
                self.ready.set()
                if not request.publishers and request.duration_s is not None:
                    self._until_s = time.monotonic() + request.duration_s
            taken = list(messages)
            messages.clear()
            if taken:
                self._take(taken)
            if self._is_done():
                self._subscriber.stop()

    def _take(self, messages: Sequence[ReceivedMessage]) -> None:
        self.first_ns = self.first_ns or messages[0].time_ns
        self.last_ns = messages[-1].time_ns
        mark, size, latencies, following = self._mark, STAMP.size, self.latencies, self._next
        if not self._request.publishers:
            self.received += len(messages)
            return
        for message in messages:
            payload = message.payload
            if len(payload) < size or payload[:MARK_BYTES] != mark:
                self.foreign += 1
                continue
            _, publisher, number, sent_ns = STAMP.unpack_from(payload)
            latencies.add(message.time_ns - sent_ns)
            self.received += 1
            expected = following.get(publisher, 0)
            self.disordered += number < expected
            following[publisher] = max(number + 1, expected)

    def _is_done(self) -> bool:
        request = self._request
        if not request.publishers:
            over = self._until_s is not None and time.monotonic() >= self._until_s
            return over or (request.messages is not None and self.received >= request.messages)
        if not self._finished.is_set():
            return False
        if request.messages is not None and self.received >= request.messages * len(request.publishers):
            return True
        # Nothing may have come at all, so the end of publishing counts too.
        self._silent_since_s = self._silent_since_s or time.time()
        return time.time() - max(self.last_ns / 1e9, self._silent_since_s) >= SILENCE_S


class Talker(Worker):
    """One connection that publishes as soon as all listeners are ready."""

    def __init__(self, target: Target, source: Stamped, options: PublishOptions, listeners: Sequence[Listener]) -> None:
        super().__init__(target, source, options)
        self._listeners = listeners

    def work(self) -> None:
        """Wait for the listeners, then publish until the source ends."""
        for listener in self._listeners:
            while not (listener.ready.wait(0.1) or listener.over.is_set()):
                if self.source.ended:
                    return
        if any(listener.failure for listener in self._listeners):
            return
        super().work()


class DeliveryBenchmark(WorkerGroup):
    """The publishers and the subscribers of a request."""

    def __init__(self, request: DeliveryRequest) -> None:
        mark = os.urandom(MARK_BYTES)
        self.request = request
        self._published = threading.Event()
        self.listeners = [Listener(target, request, mark, self._published) for target in request.subscribers]
        options = PublishOptions(timeout_s=request.timeout_s, window=request.window)
        self.talkers = [
            Talker(target, Stamped(_writer(request, target, topic), mark, number, request), options, self.listeners)
            for number, (target, topic) in enumerate(request.publishers)
        ]
        super().__init__([*self.talkers, *self.listeners])

    def wait(self, longest_s: float = float("inf")) -> bool:
        """Wait until all is published and has arrived, or for some seconds; return whether it is over."""
        until_s = time.monotonic() + longest_s
        if ended(self.talkers, until_s):
            self._published.set()
        return super().wait(until_s - time.monotonic())

    @property
    def latencies(self) -> Latencies:
        """The latencies from publishing to receiving, of all subscribers."""
        return merged(self.listeners)

    @property
    def published(self) -> int:
        """Number of messages that were sent and, with QoS 1 and 2, acknowledged."""
        return sum(talker.done for talker in self.talkers)

    @property
    def refused(self) -> int:
        """Number of messages that the broker refused."""
        return sum(talker.refused for talker in self.talkers)

    @property
    def received(self) -> int:
        """Number of messages of this run that arrived, at all subscribers together."""
        return sum(listener.received for listener in self.listeners)

    @property
    def disordered(self) -> int:
        """Number of messages that arrived after a later one of the same publisher, or once more."""
        return sum(listener.disordered for listener in self.listeners)

    @property
    def foreign(self) -> int:
        """Number of messages on the topics of this run that belong to something else."""
        return sum(listener.foreign for listener in self.listeners)

    @property
    def lost(self) -> int:
        """Number of messages that were published and did not arrive at a subscriber."""
        if not self.talkers:
            return 0
        return max((self.published - self.refused) * len(self.listeners) - self.received, 0)

    @property
    def receiving_s(self) -> float:
        """Seconds from the first message that arrived to the last."""
        first = min((listener.first_ns for listener in self.listeners if listener.first_ns), default=0)
        return (max((listener.last_ns for listener in self.listeners), default=0) - first) / 1e9


def _writer(request: DeliveryRequest, target: Target, topic: str) -> PublishWriter:
    return PublishWriter(Publish(topic=topic, qos=request.qos), target.version)
