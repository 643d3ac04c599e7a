"""Receiving the messages of subscriptions, over one connection or as many as it takes.

The subscriber owns the loop: it subscribes, hands messages on, has them acknowledged, and decides whether to connect
again. The `Receiver` owns the exchanges, the `Session` the connection.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from threading import Event
from typing import NamedTuple

from ...spec.packets import Connack, Disconnect, Subscribe, Subscription, Unsubscribe
from ...spec.properties import SESSION_EXPIRY_INTERVAL, value_of
from ...spec.reason_codes import FAILURE, Codes
from ...spec.versions import Version
from ..failures import Failure, PeerFault, Refused
from ..limits import ServerLimits
from ..net.target import Target
from ..publish.sender import Sender
from ..receive import AT_ONCE, Answering, MessageStore, ReceivedMessage, Receiver
from ..reconnect import Reconnection
from ..session import HOUSEKEEPING_S, LINGER_S, Session
from ..tap import Observer

GRANTS = Codes("SUBACK")
UNSUBSCRIBED = Codes("UNSUBACK")
SESSION_LOST = "the broker no longer has the session: messages it kept since the last connection are lost"


class SubscriptionOutcome(NamedTuple):
    """What SUBACK said of one Topic Filter."""

    subscription: Subscription
    code: int
    """The granted QoS, or a Reason Code of 0x80 and above."""

    @property
    def refused(self) -> bool:
        """Whether the broker refused the Topic Filter."""
        return self.code >= FAILURE

    def refusal(self, version: Version) -> str:
        """Return one sentence about a refusal."""
        name = f"0x{self.code:02x} {GRANTS.name(self.code, version)}"
        return f"the broker refused the Topic Filter '{self.subscription.filter}': {name}"

    def lowering(self) -> str:
        """Return one sentence about a QoS lower than the one that was asked for."""
        filter, qos = self.subscription.filter, self.subscription.qos
        return f"the broker grants QoS {self.code} for the Topic Filter '{filter}', not {qos}"


class SubscribeOptions(NamedTuple):
    """How to receive."""

    timeout_s: float = 30.0
    """How many seconds may pass without progress while something is awaited."""
    reconnects: int | None = 0
    """Attempts to connect again that may fail in a row; None for no end of them."""
    patient: bool = True
    """Whether the first connection may be attempted again as well."""
    answering: Answering = AT_ONCE
    force: bool = False
    """Whether to subscribe even to what the broker's CONNACK forbids."""


class Subscriber:
    """Receives the messages of `subscribes`; packets need different Packet Identifiers.

    After SUBSCRIBE it sends `unsubscribes`. With a `store`, messages go there instead of into the deque that `run`
    yields. `subscribe` takes the place of subscribing where the caller does that itself, on every connection.
    `sender` is for a caller that publishes on the same connection. `resumes` says that an earlier run left a session
    with the broker. `remark` is called with sentences for people:
    reconnects, lost sessions, refused Topic Filters, what exceeds our Receive Maximum.
    """

    def __init__(
        self, target: Target, subscribes: Sequence[Subscribe] = (), options: SubscribeOptions | None = None, *,
        unsubscribes: Sequence[Unsubscribe] = (), store: MessageStore | None = None,
        subscribe: Callable[[Session], None] | None = None, sender: Sender | None = None, resumes: bool = False,
        observer: Observer | None = None, remark: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.target = target
        self.options = options or SubscribeOptions()
        self.sender = sender
        self.wake_s: float | None = None
        """A moment of the monotonic clock at which the current turn is to end, so that the caller can do something."""
        self.wakes: int | None = None
        """A descriptor of the caller that ends a turn when it can be read."""
        self.lasting = _lasts(target)
        """Whether the broker is asked to keep the session between connections."""
        self.session: Session | None = None
        """The connection, from the SUBACKs on."""
        self.connack: Connack | None = None
        """The last CONNACK."""
        self.connections = 0
        """Number of connections on which the subscriptions were made."""
        self.outcomes: tuple[SubscriptionOutcome, ...] = ()
        """What the last SUBACKs said, in the order of the Topic Filters."""
        self.messages: deque[ReceivedMessage] = deque()
        """What has arrived and was not taken by the caller."""
        self.receiver = Receiver(
            target.version, store, queue=None if store else self.messages, answering=self.options.answering
        )
        self._subscribes = tuple(subscribes)
        self._unsubscribes = tuple(unsubscribes)
        self._subscribe = subscribe
        self._resumes = resumes
        self._observer = observer
        self._remark = remark
        self._reconnection = Reconnection(
            self.options.reconnects, needs_open=not self.options.patient, observer=observer, remark=remark
        )
        self._stopping = Event()
        self._disconnect: Disconnect | None = None
        """What `stop` wants to be sent last."""
        self._has_reported_excess = False

    def stop(self, disconnect: Disconnect | None = None) -> None:
        """Take no more messages, and let `run` disconnect and end; another thread may call it.

        Without a `disconnect` it sends the DISCONNECT of the target.
        """
        self._disconnect = disconnect
        self._stopping.set()

    @property
    def refusals(self) -> list[str]:
        """A sentence for each Topic Filter that the broker refused."""
        return [each.refusal(self.target.version) for each in self.outcomes if each.refused]

    def run(self) -> Generator[deque[ReceivedMessage], None, None]:
        """Receive until stopped; raises a Failure.

        Yields `messages` once for each turn of the loop, as the package describes. A turn lasts half a second at most
        once there is a connection.
        """
        while not self._stopping.is_set():
            try:
                yield from self._connection()
            except Failure as failure:
                self.session = None
                yield self.messages
                if self._stopping.is_set():
                    if self._matters(failure):
                        raise
                    return
                yield from self._pause(failure)

    def _matters(self, failure: Failure) -> bool:
        """Whether the end of the connection matters although enough has come."""
        return isinstance(failure, (PeerFault, Refused)) or bool(self.sender and self.sender.unconfirmed)

    # one connection

    def _connection(self) -> Iterator[deque[ReceivedMessage]]:
        options = self.options
        with Session(
            self.target, self.sender, receiver=self.receiver, timeout_s=options.timeout_s, observer=self._observer
        ) as session:
            yield from self._begin(session)
            yield from self._turns(session)
            self._complete(session)
            session.close(self._disconnect)
            if self.sender:
                self.sender.confirm()
        self.session = None

    def _begin(self, session: Session) -> Iterator[deque[ReceivedMessage]]:
        """Wait for CONNACK, subscribe where the broker does not have the subscriptions yet, and resume publishing."""
        self.connack = connack = session.open()
        if self._resumes and self.lasting and not connack.session_present:
            self._remark(SESSION_LOST)
        if self._subscribe:
            self._subscribe(session)
        elif not (self.connections and connack.session_present):
            yield from self._make_subscriptions(session)
        self.session = session
        self.connections += 1
        self._resumes = True
        if self._reconnection.attempts:
            self._remark("connected again" if self.connections > 1 else "connected")
        self._reconnection.opened()
        if self.sender:
            self.sender.window = ServerLimits.of(connack).receive_maximum
            self.sender.resume(connack.session_present)
            session.send_output()

    def _make_subscriptions(self, session: Session) -> Iterator[deque[ReceivedMessage]]:
        """Subscribe and unsubscribe; raises Refused if CONNACK forbids it or the broker refuses all Topic Filters.

        Retained messages, of which there can be millions, may come before SUBACK, so they are handed on meanwhile.
        """
        outcomes: list[SubscriptionOutcome] = []
        if self.connack and not self.options.force:
            limits = ServerLimits.of(self.connack)
            for packet in self._subscribes:
                if reason := limits.subscription_violation(packet):
                    session.close()
                    raise Refused(f"not subscribed: {reason}")
        for packet in self._subscribes:
            codes = yield from self._await(session, session.subscribing(packet))
            outcomes += map(SubscriptionOutcome, packet.subscriptions, codes)
        self.outcomes = tuple(outcomes)
        refusals = self.refusals
        if refusals and len(refusals) == len(outcomes):
            # Without DISCONNECT the broker would publish the will.
            session.close()
            raise Refused("; ".join(refusals), next(each.code for each in outcomes if each.refused))
        for each in outcomes:
            if each.refused or each.code < each.subscription.qos:
                self._remark(each.refusal(self.target.version) if each.refused else each.lowering())
        for unsubscribe in self._unsubscribes:
            self._report_unsubscribed(
                unsubscribe, (yield from self._await(session, session.unsubscribing(unsubscribe)))
            )

    def _await(
        self, session: Session, steps: Generator[None, None, tuple[int, ...]]
    ) -> Generator[deque[ReceivedMessage], None, tuple[int, ...]]:
        """Take steps, hand on what comes with each, and return what the last one returns."""
        while True:
            try:
                next(steps)
            except StopIteration as done:
                codes: tuple[int, ...] = done.value
                return codes
            yield from self._hand_on(session)

    def _report_unsubscribed(self, packet: Unsubscribe, codes: tuple[int, ...]) -> None:
        # Before 5.0 an UNSUBACK has no codes.
        for filter, code in zip(packet.filters, codes, strict=False):
            if code:
                name = f"0x{code:02x} {UNSUBSCRIBED.name(code, self.target.version)}"
                self._remark(f"the broker answered the UNSUBSCRIBE of '{filter}': {name}")

    def _turns(self, session: Session) -> Iterator[deque[ReceivedMessage]]:
        """Hand on and wait in turn, until stopped."""
        while True:
            yield from self._hand_on(session)
            if self._stopping.is_set():
                return
            session.step(most_s=self._longest_s(), also=self.wakes)
            session.check_open("it was asked to")

    def _longest_s(self) -> float:
        """Return how many seconds a turn may wait."""
        due_s = self.receiver.due_in_s()
        left_s = HOUSEKEEPING_S if self.wake_s is None else max(self.wake_s - time.monotonic(), 0.0)
        return left_s if due_s is None else min(due_s, left_s)

    def _hand_on(self, session: Session) -> Iterator[deque[ReceivedMessage]]:
        """Yield the messages, then acknowledge those that were taken."""
        messages, receiver = self.messages, self.receiver
        self._report_excess()
        count = len(messages)
        receiver.offer()
        yield messages
        receiver.taken(count - len(messages))
        session.send_output()

    def _complete(self, session: Session) -> None:
        """Complete the exchanges of the messages that were taken, as far as the broker answers soon."""
        receiver = self.receiver
        receiver.stopped = True
        until_s = time.monotonic() + min(LINGER_S, self.options.timeout_s) + self.options.answering.delay_s
        while (left_s := until_s - time.monotonic()) > 0:
            due_s = receiver.due_in_s()
            if due_s is None and not receiver.unreleased and not (self.sender and self.sender.open):
                return
            session.step(most_s=left_s if due_s is None else min(due_s, left_s))
            session.send_output()
            session.check_open("PUBREL" if receiver.unreleased else "")

    def _report_excess(self) -> None:
        excess = self.receiver.excess
        if excess and not self._has_reported_excess:
            self._has_reported_excess = True
            self._remark(f"{excess}; these messages are kept like any other")

    # between connections

    def _pause(self, failure: Failure) -> Iterator[deque[ReceivedMessage]]:
        """Wait before the next attempt, in turns, or raise the failure when there is to be none."""
        self._reconnection.check(failure)
        for _ in self._reconnection.pause(failure):
            yield self.messages
            if self._stopping.is_set():
                return
        if self.connections and self.target.version == Version.V5:
            # Before 5.0 this would make a session that lasts.
            self.target = self.target.changed(clean_start=False)


def _lasts(target: Target) -> bool:
    if target.version < Version.V5:
        return not target.connect.clean_start
    return bool(value_of(target.connect.properties, SESSION_EXPIRY_INTERVAL, 0))
