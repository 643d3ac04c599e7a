"""Publishing from a source of messages, over one connection or as many as it takes.

The publisher decides what is sent next and whether to connect again. The `Session` owns the connection and
its loop, the `Sender` the handshakes; outcomes are yielded to the caller, who alone turns them into words
and an exit status.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from ssl import SSLCertVerificationError as CertificateError
from typing import Any, NamedTuple

from ...common.words import counted
from ...spec.versions import Version
from ..failures import ConnectionLost, ConnectionRefused, Failure, NoConnack, NotConnected, Refused
from ..net.target import Target
from ..session import ALL_SENT, Session
from ..tap import Observer, buffering
from .limits import AliasAssigner, ServerLimits
from .outgoing import NAMES, NotSent, OutgoingMessage, Publication
from .sender import Journal, Sender
from .sources import Listed, MessageSource, PayloadBatch

OUTPUT_LIMIT_BYTES = 1 << 18
"""Bytes that may wait for the socket before more messages are taken."""
BATCH = 1000
"""Messages that are taken before they are sent."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
"""Pause before the first attempt to reconnect, and the longest between two."""
IDLE_S = 60.0
"""How long to wait at most where nothing is due; a session wakes up more often by itself."""
NOTHING_SENT = "no message was sent"
MOST_STRAYS = 10
"""Stray acknowledgements that are named one by one."""
PASSING = frozenset((3, 0x88, 0x89, 0x8B, 0x8D, 0x96, 0x97, 0x9F, 0xA0))
"""Codes of refusals that may be gone at the next attempt; all others are final."""


class PublishOptions(NamedTuple):
    """How to publish."""

    timeout_s: float = 30.0
    window: int = 65535
    """Largest number of unacknowledged QoS 1 and 2 messages; the broker's Receive Maximum may lower it."""
    force: bool = False
    """Whether to send what the broker's CONNACK forbids, and more at once than its Receive Maximum."""
    reconnects: int | None = 0
    """Attempts to connect again after a loss; None for as many as the timeout allows."""
    aliases: bool = False
    """Whether to use Topic Aliases as far as the broker allows them."""


DEFAULT = PublishOptions()


class Publisher:
    """Sends the messages of a source.

    `remark` is called with sentences for people: reconnects, stray acknowledgements.
    """

    def __init__(
        self, target: Target, source: MessageSource, options: PublishOptions = DEFAULT, *,
        observer: Observer | None = None, journal: Journal | None = None,
        remark: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.target = target
        self.source = source
        self.options = options
        self.sender = Sender(target.version, window=options.window, journal=journal)
        self.outcomes: deque[OutgoingMessage | NotSent] = deque()
        """What has ended and was not taken by the caller."""
        self.in_batches = 0
        """Number of messages that were sent in batches, which have no outcome of their own."""
        self._limits = ServerLimits()
        self._aliases = AliasAssigner(0)
        self._observer = observer
        self._remark = remark
        self._attempts = 0
        self._hurried = False
        """Whether taking messages was broken off only so that outcomes can be yielded."""

    def run(self) -> Generator[deque[OutgoingMessage | NotSent], None, None]:
        """Publish everything; raises a Failure.

        Yields `outcomes` once for each turn of the loop, also where it is empty. The caller empties it; what it did
        not take is still there after an interrupt, and so is what ended before a failure.
        """
        try:
            self.sender.restore()
            while True:
                try:
                    yield from self._connection()
                    return
                except (ConnectionLost, NotConnected, ConnectionRefused, Refused) as failure:
                    self._pause_or_give_up(failure)
        finally:
            self.outcomes.extend(self.sender.take_ended())

    def run_all(self) -> list[OutgoingMessage]:
        """Publish everything and return the messages that were sent, as they ended; raises a Failure."""
        for _ in self.run():
            pass
        return [each for each in self.outcomes if isinstance(each, OutgoingMessage)]

    @property
    def unknown(self) -> list[OutgoingMessage]:
        """The messages of which it is unknown whether they arrived."""
        return [*self.sender.doubtful, *self.sender.open.values()]

    def unfinished(self) -> str:
        """Return a sentence about the messages without an answer, or that none was sent."""
        if not (self.sender.writes or self.in_batches):
            return NOTHING_SENT
        missing = [f"{NAMES[each.awaits]} came for Packet Identifier {id}" for id, each in self.sender.open.items()]
        if not missing:
            return "no message is in doubt"
        more = f", nor for {len(missing) - 1} more" if missing[1:] else ""
        return f"no {missing[0]}{more}"

    # one connection

    def _connection(self) -> Iterator[deque[OutgoingMessage | NotSent]]:
        options, sender = self.options, self.sender
        sender.forget_output()
        with Session(self.target, sender, timeout_s=options.timeout_s, observer=self._observer) as session:
            connack = session.open()
            self._limits = ServerLimits.of(connack)
            self._aliases = AliasAssigner(self._limits.topic_alias_maximum if options.aliases else 0)
            sender.window = min(options.window, options.window if options.force else self._limits.receive_maximum)
            self._resume(session, bool(connack.session_present))
            try:
                yield from self._turns(session)
            finally:
                self._report_strays()
            if self._must_probe:
                session.probe()
            sender.confirm()
            session.close()

    def _turns(self, session: Session) -> Iterator[deque[OutgoingMessage | NotSent]]:
        """Send and wait in turn, until the source has ended and everything is answered."""
        while True:
            self._fill(session)
            if ended := self.sender.take_ended():
                self._attempts = 0
                self.outcomes.extend(ended)
            yield self.outcomes
            has_more = not self.source.ended
            if not (has_more or self.sender.open or session.unsent_bytes):
                self.sender.note()
                return
            self._wait(session, has_more)

    def _wait(self, session: Session, has_more: bool) -> None:
        """Wait for the broker, for input, or for the rate to allow more."""
        source = self.source
        wants_more = has_more and self._has_room(session)
        pause_s = source.pause_s(time.monotonic()) if wants_more else 0.0
        most_s = 0.0 if self._hurried else pause_s or IDLE_S
        if session.step(most_s=most_s, also=source.descriptor if wants_more and not pause_s else None):
            source.read()
        if not source.ended or self.sender.open or session.unsent_bytes:
            session.check_open()

    @property
    def _must_probe(self) -> bool:
        """Whether only a PINGRESP shows that the broker took the last message, or that what it acknowledged is safe."""
        unanswerable = self.sender.unconfirmed and self.target.version < Version.V5
        return unanswerable or self.sender.has_unsafe

    def _resume(self, session: Session, session_present: bool) -> None:
        resumed = self.sender.resume(session_present)
        if count := resumed.acknowledged:
            which = f"{count} messages that were" if count != 1 else "1 message that was"
            them = "them" if count != 1 else "it"
            self._remark(
                f"sending again {which} acknowledged just before the connection to the broker was lost, "
                f"in case it lost {them}"
            )
        if count := resumed.unacknowledged:
            how = (
                "with DUP, because the broker kept the session"
                if session_present
                else "from the beginning, because the broker lost the session"
            )
            self._remark(f"sending {counted(count, 'unacknowledged message')} again {how}")
        session.send_output()

    def _report_strays(self) -> None:
        """Name the acknowledgements of nothing that is in flight, each once."""
        strays = Counter(self.sender.strays)
        self.sender.strays.clear()
        for (code, packet_id), count in list(strays.items())[:MOST_STRAYS]:
            times = f", {count} times" if count > 1 else ""
            which = f"Packet Identifier {packet_id}{times}"
            self._remark(f"the broker sent {NAMES[code]} for {which}, which is not in flight")
        if (more := len(strays) - MOST_STRAYS) > 0:
            self._remark(f"the broker sent {more} more acknowledgements of messages that are not in flight")

    # messages

    def _has_room(self, session: Session) -> bool:
        return self.sender.has_room and session.unsent_bytes < OUTPUT_LIMIT_BYTES

    def _fill(self, session: Session) -> None:
        """Send messages while the window, the socket and the source allow."""
        sender, source = self.sender, self.source
        nothing_awaited = not sender.open
        self._hurried = False
        if batch := getattr(source, "batch", None):
            self._send_batches(session, batch)
            return
        while self._has_room(session) and not source.ended:
            if len(sender.ended) >= BATCH:
                self._hurried = True
                break
            messages = source.take(min(BATCH, sender.window - len(sender.open)), time.monotonic())
            if not messages:
                break
            now_s = time.time()
            for message in messages:
                self._publish(message, now_s)
            session.send_output()
        if nothing_awaited and sender.open:
            session.restart_clock()

    def _publish(self, message: Publication, now_s: float) -> None:
        reason = "" if self.options.force else self._limits.violation(message)
        if reason:
            self.outcomes.append(NotSent(message, reason))
        else:
            aliased = self._aliases.writer(message.writer) if self.options.aliases else None
            self.sender.publish(message, now_s, writer=aliased)

    def _send_batches(self, session: Session, batch: Callable[[], PayloadBatch | None]) -> None:
        while self._has_room(session) and (taken := batch()):
            writer, payloads = taken
            if (
                payloads
                and not self.options.force
                and self._limits.violation(Publication(writer, max(payloads, key=len)))
            ):
                payloads = [payload for payload in payloads if self._is_allowed(Publication(writer, payload))]
            self.in_batches += len(payloads)
            if payloads:
                self.sender.unconfirmed = True
                session.send(writer.join(payloads), ALL_SENT)

    def _is_allowed(self, message: Publication) -> bool:
        reason = self._limits.violation(message)
        if reason:
            self.outcomes.append(NotSent(message, reason))
        return not reason

    # between connections

    def _pause_or_give_up(self, failure: ConnectionLost | NotConnected | ConnectionRefused | Refused) -> None:
        """Wait before the next attempt, or raise the failure when there is to be none."""
        code = getattr(failure, "code", None)
        limit = self.options.reconnects
        is_final = (code is not None and code not in PASSING) or _is_permanent(failure)
        pause_s = pause_before(self._attempts)
        waited_s = sum(pause_before(number) for number in range(self._attempts))
        if is_final or (limit is not None and self._attempts >= limit) or waited_s + pause_s > self.options.timeout_s:
            raise self._final(failure)
        self._attempts += 1
        self._remark(f"{failure}; connecting again in {pause_s:g} s")
        if shown_later := buffering(self._observer):
            shown_later.flush()
        time.sleep(pause_s)
        self.target = self.target.changed(clean_start=False)

    def _final(self, failure: ConnectionLost | NotConnected | ConnectionRefused | Refused) -> Failure:
        """Return the failure that ends the run: without a new connection, what was sent before is in doubt."""
        if not isinstance(failure, (NotConnected, ConnectionRefused)):
            return failure
        if any(each.sent_in for each in self.sender.open.values()):
            return ConnectionLost(f"{failure}; {self.unfinished()}")
        if isinstance(failure, NoConnack) and not (self.sender.writes or self.in_batches):
            return NoConnack(f"{failure}; {NOTHING_SENT}")
        return failure


def _is_permanent(failure: Failure) -> bool:
    """Whether another attempt must fail in the same way: a wrong certificate, something that is not installed."""
    cause = failure.__cause__
    if isinstance(failure, NoConnack):
        return not isinstance(cause, ConnectionLost)
    return isinstance(failure, NotConnected) and (isinstance(cause, CertificateError) or not isinstance(cause, OSError))


def pause_before(attempt: int) -> float:
    """Return the seconds to wait before an attempt to reconnect, counted from 0."""
    return float(min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S))


def publish_all(
    target: Target, messages: Iterable[Publication], *, observer: Observer | None = None, **options: Any
) -> list[OutgoingMessage]:
    """Publish a few messages and return them as they ended; `options` are those of PublishOptions."""
    return Publisher(target, Listed(messages), PublishOptions(**options), observer=observer).run_all()
