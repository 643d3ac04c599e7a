"""Publishing from a source of messages, over one connection or as many as it takes.

The publisher owns the loop: it decides what is sent next, when to wait and whether to connect again. The `Sender`
owns the exchanges, the `Session` the connection; outcomes are yielded to the caller, who alone turns them into words
and an exit status.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...codec.publish_writer import PublishWriter
from ...common.words import counted
from ...wire.types import MAX_VARIABLE
from ..failures import ConnectionLost, ConnectionRefused, Failure, NoConnack, NotConnected, Refused
from ..limits import AliasAssigner, ServerLimits
from ..net.target import Target
from ..reconnect import Reconnection
from ..session import ALL_SENT, LOOK_S, Session
from ..tap import Observer
from .sender import NAMES, NotSent, OutgoingMessage, Publication, Resumed, Sender
from .sources import Listed, MessageSource

if TYPE_CHECKING:
    from .durability import Journal

MOST_UNPROVED = 40_000
"""QoS 0 messages that may wait for the socket to take them, or for the next look at the open connection."""
OUTPUT_LIMIT_BYTES = 1 << 18
"""Bytes that may wait for the socket before more messages are taken."""
BATCH = 1000
"""Messages that are taken before they are sent."""
IDLE_S = 60.0
"""How long to wait at most where nothing is due; a session wakes up more often by itself."""
HIGHEST_ALIAS = 65535
NOTHING_SENT = "no message was sent"
MOST_STRAYS = 10
"""Stray acknowledgements that are named one by one."""


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
    any_alias: bool = False
    """Whether to send a Topic Alias that the broker does not allow."""
    probes: bool = True
    """Whether to make sure of a last QoS 0 message before 5.0, which nothing acknowledges, with a PINGREQ."""
    persists: bool = False
    """Whether to connect again with the CONNECT unchanged, but only once there was a connection, and without an end of
    the timeout."""


DEFAULT = PublishOptions()


class Publisher:
    """Sends the messages of a source.

    `remark` is called with sentences for people: reconnects, stray acknowledgements.
    """

    def __init__(
        self, target: Target, source: MessageSource, options: PublishOptions = DEFAULT, *,
        observer: Observer | None = None, journal: "Journal | None" = None,
        remark: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.target = target
        self.source = source
        self.options = options
        self.sender = _sender(target, options, journal)
        self.outcomes: deque[OutgoingMessage | NotSent] = deque()
        """What has ended and was not taken by the caller."""
        self.session: Session | None = None
        """The connection, from its CONNACK on; None while there is none."""
        self._limits = ServerLimits()
        self._aliases: AliasAssigner | None = None
        self._observer = observer
        self._remark = remark
        persists = options.persists
        self._reconnection = Reconnection(
            options.reconnects, longest_s=float("inf") if persists else options.timeout_s, needs_open=persists,
            observer=observer, remark=remark,
        )  # fmt: skip
        self._hurried = False
        """Whether taking messages was broken off only so that outcomes can be yielded."""
        self._held: list[Publication] = []
        """Messages that were taken from the source, from the first whose Packet Identifier was in use."""

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
                    yield from self._pause(failure)
        finally:
            self.outcomes.extend(self.sender.take_ended())

    def run_all(self) -> list[OutgoingMessage]:
        """Publish everything and return the messages that were sent, as they ended; raises a Failure."""
        for _ in self.run():
            pass
        return [each for each in self.outcomes if isinstance(each, OutgoingMessage)]

    @property
    def in_batches(self) -> int:
        """Number of messages that were sent in batches, which have no outcome of their own."""
        return self.sender.batched

    @property
    def unknown(self) -> list[OutgoingMessage]:
        """The messages of which it is unknown whether they arrived."""
        return [*self.sender.doubtful, *self.sender.open.values(), *self.sender.unproved]

    def unfinished(self) -> str:
        """Return a sentence about the messages without an answer, or that none was sent."""
        if not (self.sender.writes or self.in_batches):
            return NOTHING_SENT
        missing = [f"{NAMES[each.awaits]} came for Packet Identifier {id}" for id, each in self.sender.open.items()]
        if not missing:
            lost = len([each for each in self.sender.doubtful if not each.qos]) + self.sender.lost_in_batches
            return f"in doubt: {counted(lost, 'message')} of QoS 0" if lost else "no message is in doubt"
        more = f", nor for {len(missing) - 1} more" if missing[1:] else ""
        return f"no {missing[0]}{more}"

    # one connection

    def _connection(self) -> Iterator[deque[OutgoingMessage | NotSent]]:
        """Connect, send everything, wait until all of it is answered, and disconnect."""
        with Session(self.target, self.sender, timeout_s=self.options.timeout_s, observer=self._observer) as session:
            self._begin(session)
            self.session = session
            try:
                yield from self._turns(session)
            finally:
                self.session = None
                self._report_strays()
            if self.sender.finish():
                if self.options.probes:
                    session.probe()
                self.sender.confirm()
            session.close()
            self.sender.confirm()
            self.outcomes.extend(self.sender.take_ended())
            yield self.outcomes

    def _begin(self, session: Session) -> None:
        """Wait for CONNACK, keep to what it allows, and send again what an earlier connection left open."""
        options, sender = self.options, self.sender
        connack = session.open()
        self._reconnection.opened()
        self._limits = ServerLimits.of(connack)
        if options.any_alias:
            self._limits = self._limits._replace(topic_alias_maximum=HIGHEST_ALIAS)
        self._aliases = AliasAssigner(self._limits.topic_alias_maximum) if options.aliases else None
        sender.window = options.window if options.force else min(options.window, self._limits.receive_maximum)
        self._report_resumed(sender.resume(connack.session_present), connack.session_present)
        session.send_output()

    def _turns(self, session: Session) -> Iterator[deque[OutgoingMessage | NotSent]]:
        """Send and wait in turn, until the source has ended and everything is answered."""
        sender = self.sender
        # PUBREL packets go out together with the next messages.
        session.begin_bulk()
        while True:
            has_more = self._fill(session)
            session.send_output()
            if sender.ended and (ended := sender.take_ended()):
                self._reconnection.progressed()
                self.outcomes.extend(ended)
            yield self.outcomes
            if not (has_more or sender.open or session.unsent):
                session.end_bulk()
                if not sender.settled:
                    session.check_open()
                return
            self._wait(session, has_more)

    def _wait(self, session: Session, has_more: bool) -> None:
        """Wait for the broker, for input, or for the rate to allow more."""
        source = self.source
        wants_more = has_more and self._room(session) > 0
        pause_s = source.pause_s(time.monotonic()) if wants_more else 0.0
        waits_for = source.descriptor if wants_more and not pause_s else None
        # A message may have become due since the source was asked for it.
        is_due = wants_more and not pause_s and waits_for is None
        most_s = 0.0 if self._hurried or is_due else pause_s or IDLE_S
        if len(self.sender.unproved) >= MOST_UNPROVED:
            most_s = min(most_s, LOOK_S)
        if session.step(most_s=most_s, also=waits_for):
            source.read()
        if (has_more and not source.ended) or not session.settled or session.unsent:
            session.check_open()

    def _report_resumed(self, resumed: Resumed, session_present: bool) -> None:
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

    def _room(self, session: Session) -> int:
        """Return how many messages may be sent now."""
        sender = self.sender
        if len(session.unsent) >= OUTPUT_LIMIT_BYTES or len(sender.unproved) >= MOST_UNPROVED:
            return 0
        # All wait with the first, so that messages arrive in their order.
        if self._held and self._held[0].packet_id in sender.open:
            return 0
        return min(sender.window - len(sender.open), BATCH)

    def _fill(self, session: Session) -> bool:
        """Send messages while the window, the socket and the source allow; return whether the source has more."""
        source = self.source
        self._hurried = False
        if source.has_batches:
            self._send_batches(session)
            return not source.ended
        room = self._room(session)
        while room > 0 and self._has_more:
            messages = self._take(room)
            if messages:
                self._publish(messages)
                session.send_output()
            if len(messages) < room:
                break
            self._hurried = len(self.sender.ended) + len(self.sender.unproved) >= BATCH
            room = 0 if self._hurried else self._room(session)
        return self._has_more

    @property
    def _has_more(self) -> bool:
        return bool(self._held) or not self.source.ended

    def _take(self, most: int) -> list[Publication]:
        """Return messages that were held, or else of the source."""
        if not self._held:
            return self.source.take(most, time.monotonic())
        taken, self._held = self._held[:most], self._held[most:]
        return taken

    def _publish(self, messages: list[Publication]) -> None:
        """Put messages into the output, but for those that go beyond a limit of the broker.

        From one whose Packet Identifier is in use on, they are held: their acknowledgements would not show which of
        two messages they are for (5.0: 2.2.1).
        """
        # This loop bounds the messages per second, and usually all of them have one writer
        # (tests/benchmarks/publish.py).
        now_s, limits, aliases, publish = time.time(), self._limits, self._aliases, self.sender.publish
        checked: PublishWriter | None = None
        safe_bytes = 0
        rest = iter(messages)
        for message in rest:
            writer, payload, packet_id, _ = message
            if writer is not checked:
                checked = writer
                safe_bytes = MAX_VARIABLE if self.options.force else limits.safe_bytes(writer)
            if len(payload) > safe_bytes and not self._is_allowed(message):
                continue
            if packet_id is not None and packet_id in self.sender.open:
                self._held[:0] = [message, *rest]
                return
            publish(message, now_s, writer=aliases.writer(writer) if aliases else None)

    def _send_batches(self, session: Session) -> None:
        while self._room(session) > 0 and (taken := self.source.batch()):
            writer, payloads = taken
            if not self.options.force and self._limits.violation(writer, max(payloads, key=len, default=b"")):
                payloads = [payload for payload in payloads if self._is_allowed(Publication(writer, payload))]
            if payloads:
                self.sender.count_batch(len(payloads))
                session.send(writer.join(payloads), ALL_SENT)

    def _is_allowed(self, message: Publication) -> bool:
        violation = None if self.options.force else self._limits.violation(message.writer, message.payload)
        if violation:
            self.outcomes.append(NotSent(message, violation))
        return not violation

    # between connections

    def _pause(
        self, failure: ConnectionLost | NotConnected | ConnectionRefused | Refused
    ) -> Iterator[deque[OutgoingMessage | NotSent]]:
        """Wait before the next attempt, or raise the failure when there is to be none."""
        try:
            self._reconnection.check(failure)
        except Failure:
            raise self._final(failure) from failure.__cause__
        for _ in self._reconnection.pause(failure):
            yield self.outcomes
        # What a lost connection did not send is put into the output again by `resume`.
        self.sender.output.clear()
        if not self.options.persists:
            self.target = self.target.changed(clean_start=False)

    def _final(self, failure: ConnectionLost | NotConnected | ConnectionRefused | Refused) -> Failure:
        """Return the failure that ends the run: without a new connection, what was sent before is in doubt."""
        if not isinstance(failure, (NotConnected, ConnectionRefused)):
            return failure
        if self._has_doubt():
            return ConnectionLost(f"{failure}; {self.unfinished()}")
        if isinstance(failure, NoConnack) and not (self.sender.writes or self.in_batches):
            return NoConnack(f"{failure}; {NOTHING_SENT}")
        return failure

    def _has_doubt(self) -> bool:
        """Whether a message was perhaps sent of which nothing is known."""
        sender = self.sender
        return bool(sender.doubtful or sender.lost_in_batches) or any(each.sent_in for each in sender.open.values())


def _sender(target: Target, options: PublishOptions, journal: "Journal | None") -> Sender:
    if journal is None:
        return Sender(target.version, window=options.window)
    from .durability import DurableSender

    return DurableSender(target.version, journal, window=options.window)


def publish_all(
    target: Target, messages: Iterable[Publication], *, observer: Observer | None = None, **options: Any
) -> list[OutgoingMessage]:
    """Publish a few messages and return them as they ended; `options` are those of PublishOptions."""
    return Publisher(target, Listed(messages), PublishOptions(**options), observer=observer).run_all()
