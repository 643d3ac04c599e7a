"""Publishing from a source of messages, over one connection or as many as it takes."""

import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from ssl import SSLCertVerificationError as CertificateError
from typing import Any, NamedTuple, Protocol

from ...codec.publish_writer import PublishWriter
from ...common.words import counted
from ...spec.versions import Version
from ..failures import ConnectionRefused, Failure, Lost, NoConnack, NotConnected, Refused
from ..net.target import Target
from ..session import Session
from ..tap import Observer, buffering
from .durability import Settling
from .flows import ALL_SENT, NAMES, Exchange, Message, Sender
from .limits import Limits

OUTPUT_LIMIT = 1 << 18
"""Bytes that may wait for the socket before more messages are taken."""
BATCH = 1000
"""Messages that are taken before the socket gets them."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds before the first attempt to reconnect, and at most between two."""
NOTHING_SENT = "no message was sent"
MOST_STRAYS = 10
"""Acknowledgements of nothing that are named one by one."""
PASSING = frozenset((3, 0x88, 0x89, 0x8B, 0x8D, 0x96, 0x97, 0x9F, 0xA0))
"""Codes of refusals that may be gone at the next attempt; all others are final."""


class Batch(NamedTuple):
    """QoS 0 messages that differ in their payload only and are written at once, without an exchange each."""

    writer: PublishWriter
    payloads: list[bytes]


class Source(Protocol):
    """Where messages come from; one may have a method `batch` beside `take`, which returns a Batch or None."""

    @property
    def ended(self) -> bool:
        """Whether no message will come any more."""

    @property
    def descriptor(self) -> int | None:
        """A descriptor to wait for when `take` has nothing; None when waiting is never needed."""

    def take(self, most: int, now: float) -> list[Message]:
        """Return up to `most` messages that are there now."""

    def read(self) -> None:
        """Read on, once the descriptor can be read."""

    def pause(self, now: float) -> float:
        """Return how many seconds to wait before more may be taken."""


class Ahead:
    """Messages of an iterable, taken as they are needed; true as long as there are more."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._rest = iter(messages)
        self._next: list[Message] = []

    def __bool__(self) -> bool:
        if not self._next:
            self._next = list(islice(self._rest, 1))
        return bool(self._next)

    def take(self, most: int) -> list[Message]:
        """Return up to `most` messages."""
        taken, self._next = self._next[:most], self._next[most:]
        return taken + list(islice(self._rest, most - len(taken)))


class Listed:
    """A source of messages that are there already."""

    descriptor = None

    def __init__(self, messages: Iterable[Message]) -> None:
        self._messages = Ahead(messages)

    @property
    def ended(self) -> bool:
        """Whether all were taken."""
        return not self._messages

    def take(self, most: int, now: float) -> list[Message]:
        """Return the next messages."""
        return self._messages.take(most)

    def read(self) -> None:
        """Do nothing: all is there."""

    def pause(self, now: float) -> float:
        """Never wait."""
        return 0.0


class Journal(Protocol):
    """Keeps what is not acknowledged yet, beyond the life of the program."""

    def note(self, sent: list[Exchange], released: list[Exchange], done: list[Exchange]) -> None:
        """Write down, durably, what is about to be sent, and what needs no keeping any more."""

    def doubt(self, exchanges: list[Exchange]) -> None:
        """Write down that it cannot be known whether these arrived."""

    def exchanges(self, version: Version) -> Iterable[Exchange]:
        """Return what an earlier run began and did not end."""


class Options(NamedTuple):
    """How to publish."""

    timeout: float = 30.0
    window: int = 65535
    """Most QoS 1 and 2 messages unacknowledged at once; the broker's Receive Maximum may lower it."""
    force: bool = False
    """Send what the broker's CONNACK forbids, and more at once than its Receive Maximum."""
    reconnects: int | None = 0
    """How often to connect again after a loss; None as often as the timeout allows."""
    aliases: bool = False
    """Use Topic Aliases as the broker allows them."""


DEFAULT = Options()


class Publisher:
    """Sends the messages of a source and yields each exchange when it has ended.

    `remark` is called with sentences for people: reconnects, stray acknowledgements.
    """

    def __init__(
        self, target: Target, source: Source, options: Options = DEFAULT, *,
        observer: Observer | None = None, journal: Journal | None = None,
        remark: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.target = target
        self.source = source
        self.options = options
        self.sender = Sender(target.version, window=options.window)
        self.limits = Limits()
        self.doubtful: list[Exchange] = []
        """QoS 2 messages that may or may not have arrived, because the session was lost."""
        self.turned_away: Callable[[Message, str], None] = lambda message, reason: None
        """Called for each message that is not sent because of a limit of the broker, with the reason."""
        self.session: Session | None = None
        self.tick: Callable[[], None] = lambda: None
        """Called now and then while messages go."""
        self.in_batches = 0
        """Messages that were sent in batches, which yield no exchanges."""
        self._observer = observer
        self._journal = journal
        self._remark = remark
        self._aliases: dict[str, int] = {}
        self._aliased: dict[tuple[PublishWriter, bool], PublishWriter] = {}
        self._noted: list[Exchange] = []
        self._settling = Settling()
        self.sender.keeps = journal is not None
        self._attempts = 0
        self._hurried = False
        """Whether taking was broken off only to let finished exchanges go."""

    def run(self) -> Generator[Exchange, None, None]:
        """Publish everything; raises a Failure."""
        for exchange in self._journal.exchanges(self.target.version) if self._journal else ():
            self.sender.restore(exchange)
        while True:
            try:
                yield from self._connection()
                return
            except (Lost, NotConnected, ConnectionRefused, Refused) as failure:
                self._pause_or_give_up(failure)

    def finished(self) -> Iterator[Exchange]:
        """Yield what has ended and was not yielded before the run was broken off."""
        while self.sender.done:
            exchange = self.sender.done.popleft()
            if not exchange.reported:
                exchange.reported = True
                yield exchange

    def unfinished(self) -> str:
        """Say which messages have no answer yet, or that none was sent."""
        if not (self.sender.writes or self.in_batches):
            return NOTHING_SENT
        missing = [f"{NAMES[each.awaits]} came for Packet Identifier {id}" for id, each in self.sender.open.items()]
        if not missing:
            return "nothing was awaited"
        more = f", nor for {len(missing) - 1} more" if missing[1:] else ""
        return f"no {missing[0]}{more}"

    # connections

    def _connection(self) -> Iterator[Exchange]:
        options = self.options
        with Session(self.target, self.sender, timeout=options.timeout, observer=self._observer) as session:
            self.session = session
            connack = session.open()
            self.limits = Limits.of(connack)
            allowed = options.window if options.force else self.limits.receive_maximum
            self.sender.window = min(options.window, allowed)
            self._aliases.clear()
            self._aliased.clear()
            self._resume(session, connack.session_present)
            try:
                yield from self._exchanges(session)
            finally:
                self._report_strays()
            if self._silent or self._settling.exchanges:
                session.probe()
            self._noted += self._settling.rest()
            self._note([])
            session.close()

    def _resume(self, session: Session, present: bool) -> None:
        again = len(self.sender.open)
        if self._journal:
            self._reopen(present)
        self._note([])
        self.sender.output.clear()
        doubtful = self.sender.resume(present)
        self.doubtful += doubtful
        if self._journal and doubtful:
            self._journal.doubt(doubtful)
        if again:
            how = "with DUP, the session is there" if present else "anew, the session is gone"
            self._remark(f"sending {counted(again, 'unacknowledged message')} again {how}")
        self._flush(session)

    def _reopen(self, present: bool) -> None:
        """Let what the lost broker acknowledged last go on, but for what cannot."""
        sender = self.sender
        ended, sender.done = sender.done, deque()
        for exchange in ended:
            self._noted += self._settling.settle(exchange)
        before = len(sender.open)
        self._noted += self._settling.reopen(sender, present)
        sender.done.extend(each for each in self._noted if not each.reported)
        if count := len(sender.open) - before:
            which = f"{count} messages that were" if count != 1 else "1 message that was"
            self._remark(f"sending again {which} acknowledged just before the broker was lost, lest it forgot")

    def _pause_or_give_up(self, failure: Lost | NotConnected | ConnectionRefused | Refused) -> None:
        """Wait before the next attempt, or raise the failure when there is to be none."""
        code = getattr(failure, "code", None)
        limit = self.options.reconnects
        final = (code is not None and code not in PASSING) or _stays_so(failure)
        if final or limit == 0 or (limit is not None and self._attempts >= limit):
            raise self._outcome(failure)
        pause = _pause(self._attempts)
        if self._waited + pause > self.options.timeout:
            raise self._outcome(failure)
        self._attempts += 1
        self._remark(f"{failure}; connecting again in {pause:g} s")
        if shown_later := buffering(self._observer):
            shown_later.flush()
        time.sleep(pause)
        self.target = self.target.changed(clean_start=False)

    def _outcome(self, failure: Lost | NotConnected | ConnectionRefused | Refused) -> Failure:
        """Return the failure that ends the run: where none can be connected, what was sent before is in doubt."""
        if not isinstance(failure, (NotConnected, ConnectionRefused)):
            return failure
        if any(each.sent_in for each in self.sender.open.values()):
            return Lost(f"{failure}; {self.unfinished()}")
        if isinstance(failure, NoConnack) and not (self.sender.writes or self.in_batches):
            return NoConnack(f"{failure}; {NOTHING_SENT}")
        return failure

    @property
    def _waited(self) -> float:
        return sum(_pause(number) for number in range(self._attempts))

    @property
    def _silent(self) -> bool:
        """Whether the broker neither acknowledged the last message nor could say why it refuses it."""
        return self.sender.unconfirmed and self.target.version < Version.V5

    # messages

    def _exchanges(self, session: Session) -> Iterator[Exchange]:
        sender, source = self.sender, self.source
        while True:
            self._fill(session)
            while sender.done:
                self._attempts = 0
                exchange = sender.done.popleft()
                if self._journal:
                    self._noted += self._settling.settle(exchange)
                if not exchange.reported:
                    exchange.reported = True
                    yield exchange
            self.tick()
            if source.ended and not sender.open and not session.unsent:
                self._note([])
                return
            self._step(session)

    def _step(self, session: Session) -> None:
        """Wait for the broker, for input, or for the rate to allow more."""
        busy = bool(self.sender.open or session.unsent)
        listening = self.source.descriptor if not self.source.ended and self._room(session) else None
        pause = self.source.pause(time.monotonic()) if not self.source.ended and self._room(session) else 0.0
        most = 0.0 if self._hurried else pause or 60.0
        ready = session.step(self.sender.awaited if busy else "", most=most, also=None if pause else listening)
        if ready:
            self.source.read()
        self._flush(session)
        if not self.source.ended or self.sender.open or session.unsent:
            session.check_open(self.sender.awaited)

    def _room(self, session: Session) -> bool:
        return self.sender.has_room and session.unsent < OUTPUT_LIMIT

    def _fill(self, session: Session) -> None:
        """Take messages while the window, the socket and the source allow."""
        sender, source = self.sender, self.source
        began = not sender.open
        if batch := getattr(source, "batch", None):
            self._send_batches(session, batch)
            return
        self._hurried = True
        while self._room(session) and not source.ended:
            if len(sender.done) >= BATCH:
                break
            room = min(BATCH, sender.window - len(sender.open))
            messages = source.take(room, time.monotonic())
            if not messages:
                self._hurried = False
                break
            now = time.time()
            sent = [exchange for each in messages if (exchange := self._publish(each, now))]
            self._note(sent)
            self._flush(session)
        else:
            self._hurried = False
        if began and sender.open:
            session.restart_clock()

    def _send_batches(self, session: Session, batch: Callable[[], Batch | None]) -> None:
        self._hurried = False
        while self._room(session) and (taken := batch()):
            writer, payloads = taken
            if not self.options.force and payloads:
                longest = Message(writer, max(payloads, key=len))
                if self.limits.broken(longest):
                    payloads = self._within_limits(writer, payloads)
            self.in_batches += len(payloads)
            if payloads:
                self.sender.unconfirmed = True
                session.send(writer.join(payloads), ALL_SENT)

    def _within_limits(self, writer: PublishWriter, payloads: list[bytes]) -> list[bytes]:
        """Leave out, and note, what is beyond a limit of the broker."""
        kept = []
        for payload in payloads:
            message = Message(writer, payload)
            if reason := self.limits.broken(message):
                self.turned_away(message, reason)
            else:
                kept.append(payload)
        return kept

    def _publish(self, message: Message, now: float) -> Exchange | None:
        reason = "" if self.options.force else self.limits.broken(message)
        if reason:
            self.turned_away(message, reason)
            return None
        return self.sender.publish(message, now, writer=self._alias(message.writer) if self.options.aliases else None)

    def _alias(self, writer: PublishWriter) -> PublishWriter | None:
        """Return the writer that uses an alias for the topic, if there is one left for it."""
        topic = writer.packet.topic
        known = topic in self._aliases
        if not known and len(self._aliases) >= self.limits.topic_alias_maximum:
            return None
        alias = self._aliases.setdefault(topic, len(self._aliases) + 1)
        key = (writer, known)
        if key not in self._aliased:
            if len(self._aliased) > BATCH:
                self._aliased.clear()
            self._aliased[key] = writer.aliased(alias, first=not known)
        return self._aliased[key]

    def _note(self, sent: list[Exchange]) -> None:
        """Let the journal know before anything goes out."""
        if self._journal and (sent or self.sender.released or self._noted):
            self._journal.note(sent, self.sender.released, self._noted)
        self.sender.released.clear()
        self._noted.clear()

    def _flush(self, session: Session) -> None:
        output = self.sender.output
        if not output:
            return
        if self.sender.released:
            self._note([])
        data = output[0] if len(output) == 1 else b"".join(output)
        output.clear()
        self.sender.writes += 1
        session.send(data, self.sender.awaited)

    def _report_strays(self) -> None:
        """Name the acknowledgements that belonged to nothing, each once."""
        strays = Counter(self.sender.unknown)
        self.sender.unknown.clear()
        for (code, packet_id), count in list(strays.items())[:MOST_STRAYS]:
            times = f", {count} times" if count > 1 else ""
            which = f"Packet Identifier {packet_id}{times}"
            self._remark(f"the broker sent {NAMES[code]} for {which}, which is not in flight")
        if (more := len(strays) - MOST_STRAYS) > 0:
            self._remark(f"the broker sent {more} more acknowledgements of what is not in flight")


def _stays_so(failure: Failure) -> bool:
    """Whether another attempt must fail alike: a certificate that is wrong, something that is not installed."""
    cause = failure.__cause__
    if isinstance(failure, NoConnack):
        return not isinstance(cause, Lost)
    return isinstance(failure, NotConnected) and (isinstance(cause, CertificateError) or not isinstance(cause, OSError))


def _pause(attempts: int) -> float:
    return float(min(FIRST_PAUSE * 2**attempts, LONGEST_PAUSE))


def publish_all(target: Target, messages: Iterable[Message], **options: Any) -> list[Exchange]:
    """Publish a few messages and return their exchanges."""
    observer = options.pop("observer", None)
    return list(Publisher(target, Listed(messages), Options(**options), observer=observer).run())
