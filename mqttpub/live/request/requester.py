"""Requests and their answers, over one connection."""

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import NamedTuple, NoReturn

from ...codec.publish_writer import PublishWriter
from ...spec.constraints import SHARE
from ...spec.declare import Property
from ...spec.packets import Connack, Publish, Subscribe, Subscription
from ...spec.properties import CORRELATION_DATA, RESPONSE_INFORMATION, RESPONSE_TOPIC, value_of
from ...spec.reason_codes import FAILURE
from ...spec.versions import Version
from ..failures import Refused
from ..limits import ServerLimits
from ..net.target import Target
from ..publish.sender import Publication, Sender
from ..receive import ReceivedMessage
from ..session import Session
from ..subscribe.subscriber import GRANTS, SubscribeOptions, Subscriber
from ..tap import Observer

CORRELATION_BYTES = 16
"""Length of Correlation Data that is chosen at random."""
SUFFIX_BYTES = 4
"""Random bytes at the end of a Response Topic of our own, in hex."""
LONGEST_TOPIC_BYTES = 65535
MOST_SHOWN = 200
"""Characters of Response Information that a message shows."""
NO_SUBSCRIBERS = 0x10
NO_RETAINED = 2
"""Retain Handling: retained messages are not sent (5.0: 3.8.3.1)."""


class Round(NamedTuple):
    """One request that was sent."""

    number: int
    correlation: bytes
    """Its Correlation Data; empty where answers need none."""
    sent_ns: int
    """When it was sent, in nanoseconds since the epoch."""
    answers: int = 0
    """Number of its answers so far."""


class Answer(NamedTuple):
    """An answer to a request."""

    round: Round
    message: ReceivedMessage

    @property
    def latency_ns(self) -> int:
        """Nanoseconds from sending the request to the arrival of the answer."""
        return self.message.time_ns - self.round.sent_ns


class AskOptions(NamedTuple):
    """How to ask, and how patiently to wait."""

    timeout_s: float = 30.0
    """How many seconds may pass without progress while the broker owes something."""
    wait_s: float = 30.0
    """How many seconds to wait for the answers to a request."""
    answers: int = 1
    """Number of answers that complete a request."""
    rounds: int = 1
    """Number of requests."""
    window: int = 1
    """Number of requests that may be open at once."""
    response_topic: str = ""
    """The topic of the answers; empty for one of our own, on the basis of the Response Information if there is one."""
    correlation: bytes | None = None
    """The Correlation Data; None for random data, of each request its own."""
    answer_qos: int = 1
    """The QoS to subscribe with."""
    matches: bool = True
    """Whether an answer must carry the Correlation Data; never before 5.0."""
    force: bool = False
    """Whether to send even what the broker does not allow."""
    retain_handling: int = NO_RETAINED
    """The Retain Handling of the subscription; none before 5.0."""
    retain_as_published: bool = False
    correlates: bool = True
    """Whether a request carries Correlation Data; never before 5.0."""


class Requester:
    """Sends a request once or several times, and yields the answers.

    `packet` is the PUBLISH without Response Topic and Correlation Data; with `packets`, each request takes the next of
    them instead. `remark` is called with sentences for people.
    """

    def __init__(
        self, target: Target, packet: Publish, options: AskOptions | None = None, *, observer: Observer | None = None,
        remark: Callable[[str], None] = lambda text: None, packets: Iterator[Publish] | None = None,
    ) -> None:  # fmt: skip
        self.options = options or AskOptions()
        self.response_topic = self.options.response_topic
        """The topic of the answers, known from CONNACK on."""
        self.open: dict[bytes, Round] = {}
        """The requests that wait for answers, by Correlation Data, the oldest first."""
        self.complete = 0
        """Number of requests that got all their answers."""
        self.unanswered: list[Round] = []
        """The requests that did not get all their answers in time."""
        self.strangers = 0
        """Number of messages on the topic of the answers that answer no open request."""
        self._packet = packet
        self._packets = packets
        self._matches = self.options.matches and target.version == Version.V5
        self._sender = Sender(target.version)
        self._sent = 0
        self._remark = remark
        self._has_warned = False
        self._subscriber = Subscriber(
            target, options=SubscribeOptions(self.options.timeout_s, patient=False), subscribe=self._subscribe,
            sender=self._sender, observer=observer, remark=remark,
        )  # fmt: skip

    def run(self) -> Generator[Answer, None, None]:
        """Ask, and yield each answer as it comes, until all requests are complete or have waited too long.

        Raises Refused where the broker refuses the subscription or a request, and any Failure of the connection.
        """
        with closing(self._subscriber.run()) as turns:
            for messages in turns:
                if self._subscriber.session is None:
                    continue
                while messages:
                    yield from self._take(messages.popleft())
                self._check_acknowledgements()
                self._give_up_late()
                self._fill()
                if not self.open and self._sent >= self.options.rounds:
                    # Whether the requests arrived is answered, or too late to matter.
                    self._sender.confirm()
                    self._subscriber.stop()
                self._subscriber.wake_s = self._wake_s()

    @property
    def connack(self) -> Connack | None:
        """The CONNACK, once it has come."""
        return self._subscriber.connack

    # asking

    def _subscribe(self, session: Session) -> None:
        connack, options = session.connack, self.options
        if not self.response_topic:
            basis = value_of(connack.properties, RESPONSE_INFORMATION) if connack else None
            if basis is not None and (wrong := _unusable(basis)):
                shown = f"'{basis}'" if len(basis) <= MOST_SHOWN else f"of {len(basis):,} characters"
                said = f"the broker's Response Information {shown} cannot begin a Response Topic: it {wrong}"
                _leave(session, f"not sent: {said}; -e names another topic")
            basis = "mqttpub/response" if basis is None else basis
            self.response_topic = f"{basis.rstrip('/')}/{os.urandom(SUFFIX_BYTES).hex()}"
        subscription = Subscription(filter=self.response_topic, qos=options.answer_qos)
        if session.target.version == Version.V5:
            subscription = subscription.replace(
                retain_handling=options.retain_handling, retain_as_published=options.retain_as_published
            )
        packet = Subscribe(packet_id=1, subscriptions=(subscription,))
        if connack and not options.force and (reason := ServerLimits.of(connack).subscription_violation(packet)):
            _leave(session, f"not sent: {reason}")
        (code,) = session.subscribe(packet)
        if code >= FAILURE:
            name = f"0x{code:02x} {GRANTS.name(code, session.target.version)}"
            _leave(session, f"the broker refused the Topic Filter '{self.response_topic}': {name}", code)

    def _fill(self) -> None:
        """Send requests until as many are open as may be."""
        options = self.options
        room = options.window if self._matches else 1
        while self._sent < options.rounds and len(self.open) < room and len(self._sender.open) < self._sender.window:
            self._send()

    def _send(self) -> None:
        correlation = b""
        if self._packets:
            self._packet = next(self._packets)
        properties = self._packet.properties
        if self._subscriber.target.version == Version.V5:
            chosen = self.options.correlation
            correlation = os.urandom(CORRELATION_BYTES) if chosen is None else chosen
            properties = (*properties, Property(RESPONSE_TOPIC.id, self.response_topic))
            if self.options.correlates:
                properties = (*properties, Property(CORRELATION_DATA.id, correlation))
        writer = PublishWriter(self._packet.replace(properties=properties), self._subscriber.target.version)
        connack = self._subscriber.connack
        if connack and not self.options.force and (
            violation := ServerLimits.of(connack).violation(writer, self._packet.payload)
        ):  # fmt: skip
            _leave(self._subscriber.session, f"not sent: {violation.text}")
        self._sent += 1
        now_ns = time.time_ns()
        self.open[correlation if self._matches else b""] = Round(self._sent, correlation, now_ns)
        self._sender.publish(Publication(writer, self._packet.payload), now_ns / 1e9)

    def _check_acknowledgements(self) -> None:
        """Raise Refused for a request that the broker refused; say it once where nobody subscribes."""
        for ended in self._sender.take_ended():
            if ended.refused:
                _leave(
                    self._subscriber.session, f"the broker refused the request: {ended.reason}", ended.reason_code or 0
                )
            if ended.reason_code == NO_SUBSCRIBERS and not self._has_warned:
                self._has_warned = True
                self._remark(f"nobody subscribes to '{self._packet.topic}' (0x10)")

    # answers

    def _take(self, message: ReceivedMessage) -> Iterator[Answer]:
        """Yield the answer that a message is; a retained message is older than the request."""
        key = value_of(message.properties, CORRELATION_DATA, b"") if self._matches else b""
        asked = self.open.get(key)
        if asked is None or message.retain or message.topic != self.response_topic:
            self.strangers += 1
            return
        asked = asked._replace(answers=asked.answers + 1)
        if asked.answers >= self.options.answers:
            del self.open[key]
            self.complete += 1
        else:
            self.open[key] = asked
        yield Answer(asked, message)

    def _give_up_late(self) -> None:
        """Close the requests that have waited too long."""
        last_ns = time.time_ns() - int(self.options.wait_s * 1e9)
        late = deque[bytes]()
        for key, asked in self.open.items():
            if asked.sent_ns > last_ns:
                break
            late.append(key)
        self.unanswered += [self.open.pop(key) for key in late]

    def _wake_s(self) -> float | None:
        """Return the moment of the monotonic clock at which the oldest request has waited too long."""
        oldest = next(iter(self.open.values()), None)
        if oldest is None:
            return None
        return time.monotonic() + max(oldest.sent_ns / 1e9 + self.options.wait_s - time.time(), 0)


def _unusable(basis: str) -> str:
    """Return why Response Information cannot begin a Topic Name that is subscribed to; empty if it can (5.0: 4.10).

    A server may use names of its own that begin with $ (4.7.2), but $share makes another subscription (4.8.2).
    """
    violations = (limit.violation(basis) for limit in RESPONSE_TOPIC.limits)
    if found := next((each for each in violations if each), ""):
        return found
    if basis.startswith(SHARE):
        return "makes a Shared Subscription"
    most = LONGEST_TOPIC_BYTES - 1 - 2 * SUFFIX_BYTES
    return f"has more than {most} bytes" if len(basis.encode()) > most else ""


def _leave(session: Session | None, refusal: str, code: int = 0) -> NoReturn:
    """Disconnect, because the broker would publish the will otherwise, and raise Refused."""
    if session:
        session.close()
    raise Refused(refusal, code)
