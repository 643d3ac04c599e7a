"""What `copy` does with its request: take messages from one broker, give them to another, and answer for them then.

A message is acknowledged to the source once the target has acknowledged its copy, or once the copy is in the outbox.
Both connections are driven by one loop: the Subscriber waits for its own socket and for that of the Publisher, whose
turns do not wait as long as it can take messages.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from typing import Any

from ...common.words import counted
from ...live.failures import Exit, Failure, Interrupted
from ...live.publish.durability import NoJournal
from ...live.publish.publisher import Publisher, PublishOptions
from ...live.publish.sender import Publication
from ...live.receive import ReceivedMessage
from ...live.subscribe.subscriber import SubscribeOptions, Subscriber
from ...spec.packets import Publish
from .. import signals
from ..notes import note
from ..observe.observers import Observers, observed
from ..pub.feed import lasting
from ..pub.kept import OutboxRequest, opened
from .ends import FROM_SUFFIX, TO_SUFFIX
from .feed import Copies, CopiesInMemory, CopiesInOutbox
from .message import Copier, LeftOut
from .report import CopyReport
from .request import CopyRequest

MOST_WAITING = 10_000
"""Messages that may wait for the target before no more are read, or, while it is away, QoS 0 messages are dropped."""
MOST_WAITING_BYTES = 64 << 20
FROM, TO = "from", "to"


def copy(request: CopyRequest) -> int:
    """Copy until asked to end, and return the exit status; raises a Failure, and UsageError."""

    def run(seen: Observers) -> int:
        with ExitStack() as stack:
            return CopyRun(request, seen, stack).run()

    return observed(request, run)


class CopyRun:
    """A run of `copy`."""

    def __init__(self, request: CopyRequest, seen: Observers, stack: ExitStack) -> None:
        self.request = request
        self.report = CopyReport(request)
        self._copier = Copier(request)
        source, target, outbox = request.source, request.target, None
        if request.outbox is not None:
            wanted = OutboxRequest(
                request.outbox, wait_s=request.timeout_s, renews=request.resend_doubtful, json=request.shown.json,
                is_client_id_chosen=request.is_client_id_chosen,
            )  # fmt: skip
            outbox, target = opened(wanted, target, self.report, stack)
            if not request.is_client_id_chosen:
                # The session at the source is the one of the run that began the outbox, too.
                source = source.changed(client_id=target.connect.client_id.removesuffix(TO_SUFFIX) + FROM_SUFFIX)
        if outbox or request.reconnects != 0:
            source, target = lasting(source, clean=not outbox), lasting(target, clean=False)
            if outbox and not outbox.may_resume:
                target = target.changed(clean_start=True)
        self.copies: Copies = CopiesInOutbox(outbox, target.version) if outbox else CopiesInMemory()
        self._has_outbox = outbox is not None
        # A broker that was killed may have lost what it acknowledged last.
        journal = outbox or (None if request.reconnects == 0 else NoJournal())
        self.publisher = Publisher(
            target, self.copies,
            PublishOptions(
                timeout_s=request.timeout_s, window=request.window, reconnects=request.reconnects, persists=True
            ),
            observer=seen.of(TO), journal=journal, remark=_remark(TO, target.place),
        )  # fmt: skip
        self.subscriber = Subscriber(
            source, (request.subscribe,),
            SubscribeOptions(request.timeout_s, reconnects=request.reconnects, patient=False),
            observer=seen.of(FROM), remark=_remark(FROM, source.place),
        )  # fmt: skip
        self._numbered = self._answered = 0
        """How many messages have a number, and how many of them, in their order, left the queue of the Subscriber."""
        self._queued_bytes = 0
        """Length of the payloads of those that have a number and are in the queue."""
        self._ended: set[int] = set()
        """Numbers of messages in that queue whose copies have ended."""
        self._failure: Failure | None = None
        """What ended the connection to the source."""
        self._until_s = None if request.duration_s is None else time.monotonic() + request.duration_s
        self._is_asked: Callable[[float], bool] = lambda wait_s: False
        self._announced = False

    def run(self) -> Exit:
        """Copy; raises a Failure."""
        try:
            with (
                signals.first_asks() as self._is_asked,
                closing(self.publisher.run()) as giving,
                closing(self.subscriber.run()) as taking,
            ):
                self._turns(giving, taking)
        except KeyboardInterrupt:
            self._finish()
            raise self._interrupted() from None
        except Failure as failure:
            self._finish()
            raise _named(failure, TO, self.publisher.target.place) from failure.__cause__
        self._finish()
        if self._is_asked(0):
            raise self._interrupted()
        if self._failure:
            raise _named(self._failure, FROM, self.subscriber.target.place) from self._failure.__cause__
        if not self._has_given_all():
            raise Failure(f"the time is over, and the target is away; {self._left()}")
        return self.report.status

    def _finish(self) -> None:
        self._settle()
        self.report.finish(self.publisher, self._waiting)

    def _interrupted(self) -> Interrupted:
        return Interrupted(f"{signals.word()}; {self._left()}", signals.status())

    def _left(self) -> str:
        """Return in words what a run that was broken off leaves."""
        waiting = self._waiting
        left = f"{counted(waiting, 'message')} not given" if waiting else "what was taken was given"
        if self._has_outbox and not self._has_given_all():
            left += " or is in the outbox"
        return f"{self.publisher.unfinished()}; {left}" if self.publisher.unknown else left

    # turns

    def _turns(self, giving: Iterator[Any], taking: Iterator[deque[ReceivedMessage]]) -> None:
        """Give and take until it is over and everything taken was given, then let the source go."""
        # Nothing is taken for a target that cannot be reached.
        is_giving = next(giving, None) is not None
        while is_giving:
            if not self.copies.over and self._is_over():
                self._stop_taking()
            if not self._failure and not self._is_full():
                self._take(taking)
            # A target that is away may stay away.
            if self.copies.over and not self.publisher.session and (self._is_late() or self._has_given_all()):
                break
            is_giving = next(giving, None) is not None
            self._settle()
        self.subscriber.stop()
        for _ in () if self._failure else taking:
            pass

    def _is_over(self) -> bool:
        return self._has_enough or self._is_late()

    def _is_late(self) -> bool:
        """Whether the time is over, or the user asked for the end."""
        return self._is_asked(0) or (self._until_s is not None and time.monotonic() >= self._until_s)

    @property
    def _has_enough(self) -> bool:
        most = self.request.most_messages
        return most is not None and self.report.counts["taken"] >= most

    def _has_given_all(self) -> bool:
        """Whether the target needs no more of what was taken, nor of what it acknowledged last."""
        sender = self.publisher.sender
        return self.copies.ended and sender.settled and not sender.finish()

    def _stop_taking(self) -> None:
        self.copies.over = True
        self.subscriber.receiver.stopped = True

    def _is_full(self) -> bool:
        """Whether the target has to take some before more is read."""
        return self.publisher.session is not None and self._has_too_many()

    def _has_too_many(self) -> bool:
        return len(self.subscriber.messages) > MOST_WAITING or self._queued_bytes > MOST_WAITING_BYTES

    def _take(self, taking: Iterator[deque[ReceivedMessage]]) -> None:
        """Let the Subscriber have a turn, and make copies of what came."""
        subscriber, session = self.subscriber, self.publisher.session
        subscriber.wakes = session.descriptor if session else None
        # What the Publisher can do without news from its broker must not wait for a message.
        is_idle = session and not session.unsent and not self.copies.waits and not self.copies.over
        subscriber.wake_s = self._until_s if is_idle else time.monotonic()
        subscriber.receiver.drop = self._drop if self._has_too_many() else None
        try:
            messages = next(taking)
        except Failure as failure:
            self._failure = failure
            self._stop_taking()
            return
        self._announce()
        new = list(islice(messages, self._numbered - self._answered, None))
        if self.request.most_messages is not None:
            new = new[: self.request.most_messages - self.report.counts["taken"]]
        if new and not self.copies.over:
            self._copy(new)

    def _copy(self, messages: list[ReceivedMessage]) -> None:
        copies: list[Publication] = []
        version = self.publisher.target.version
        for number, message in enumerate(messages, self._numbered + 1):
            self._queued_bytes += len(message.payload)
            if packet := self._made(message):
                copies.append(Publication.of(packet, version, number))
            else:
                self._ended.add(number)
        self.report.taken(len(messages))
        first, self._numbered = self._numbered + 1, self._numbered + len(messages)
        self.copies.add(copies)
        if self._has_outbox:
            self._ended.update(range(first, self._numbered + 1))
            self._answer()

    def _made(self, message: ReceivedMessage) -> Publish | None:
        """Return the PUBLISH of a copy; None, and a word about it, for a message that is left out."""
        try:
            return self._copier.copy(message)
        except LeftOut as why:
            self.report.left_out(message, why)
            return None

    def _drop(self, message: ReceivedMessage) -> None:
        """Report a QoS 0 message for which there is no room while the target is away."""
        if not self._has_enough:
            self.report.taken(1)
            if self._made(message):
                self.report.dropped(message)

    def _settle(self) -> None:
        """Take what became of copies, and answer the source for their messages."""
        self.report.take(self.publisher)
        doubtful = self.publisher.sender.doubtful
        for each in doubtful:
            self.report.in_doubt(each)
        doubtful.clear()
        if not self._has_outbox:
            self._ended.update(self.report.settled)
            self._answer()
        self.report.settled.clear()

    def _answer(self) -> None:
        """Take messages whose copies have ended from the front of the queue: the Subscriber acknowledges these."""
        messages = self.subscriber.messages
        while self._answered + 1 in self._ended:
            self._answered += 1
            self._ended.remove(self._answered)
            self._queued_bytes -= len(messages.popleft().payload)

    @property
    def _waiting(self) -> int:
        """Number of messages that were taken and not given, and for which the source was not answered."""
        return self._numbered - self._answered - len(self._ended)

    def _announce(self) -> None:
        if self._announced or self.subscriber.session is None:
            return
        self._announced = True
        if not self.request.shown.json:
            filters = ", ".join(f"'{each.filter}'" for each in self.request.subscribe.subscriptions)
            note(f"copying {filters} from {self.subscriber.target.place} to {self.publisher.target.place}")


def _remark(end: str, place: str) -> Callable[[str], None]:
    return lambda text: note(f"{end} {place}: {text}")


def _named(failure: Failure, end: str, place: str) -> Failure:
    """Return a failure whose text says which of the brokers it is about."""
    failure.args = (f"{end} {place}: {failure}", *failure.args[1:])
    return failure
