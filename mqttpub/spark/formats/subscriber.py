"""The thread that listens to a broker: what comes is in the spool before it is acknowledged."""

import logging
import threading
import time
from typing import NamedTuple

from ...codec.encode import encode
from ...lint.packet.check import lint
from ...lint.packet.fast import is_clean
from ...live.failures import ConnectionRefused, Failure, PeerFault, Refused
from ...live.net.target import Target
from ...live.publish.acks import read
from ...live.publish.flows import PACKET_NOT_FOUND, Sender
from ...live.publish.publisher import FIRST_PAUSE, LONGEST_PAUSE, PASSING
from ...live.session import Session
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel, Subscribe, Unsubscribe
from ...spec.reason_codes import Codes
from ...spec.versions import Version
from .errors import BrokerError, OptionError, SourceError
from .spool import Spool

MOST = 4096
"""Packets that are written to the spool at once."""
UNSUBSCRIBE_ID = 2
REASONS = Codes("SUBACK")
SESSION_LOST = "the broker has no session any more: what it kept since the last connection is gone"
log = logging.getLogger("mqttpub.spark")


class Wishes(NamedTuple):
    """What to listen to, and how."""

    target: Target
    subscribe: Subscribe
    timeout: float = 30.0


def checked(subscribe: Subscribe) -> Subscribe:
    """Return a SUBSCRIBE in which nothing is wrong; raises OptionError with the reason."""
    if not is_clean(subscribe, Version.V5):
        from ...codec.decode import decode

        for finding in lint(decode(encode(subscribe, Version.V5), Version.V5)):
            if finding.severity == "error":
                raise OptionError(f"the broker would refuse the subscription: {finding.message} ({finding.statement})")
    return subscribe


class Listening(Session):
    """A connection on which messages are answered when they are in the spool."""

    def __init__(self, wishes: Wishes, spool: Spool) -> None:
        super().__init__(wishes.target, Sender(wishes.target.version), timeout=wishes.timeout)
        self._spool = spool
        self._answers: list[bytes] = []

    def subscribe_to(self, subscribe: Subscribe) -> None:
        """Ask for the messages, and to be left alone with those that were asked for before; raises Refused."""
        wanted = tuple(each.filter for each in subscribe.subscriptions)
        gone = tuple(each for each in self._spool.facts.filters if each not in wanted)
        if gone and self.connack and self.connack.session_present:
            packet = Unsubscribe(packet_id=UNSUBSCRIBE_ID, filters=gone)
            self.send(encode(packet, self.target.version), "SUBACK")
        # Noted before: what the session has and nobody knows of could never be given up again.
        self._spool.remember((*gone, *wanted))
        self.codes.clear()
        self.send(encode(subscribe, self.target.version), "SUBACK")
        self.restart_clock()
        while len(self.codes) < len(wanted):
            self.step("SUBACK")
            self.check_open("SUBACK")
        self._spool.remember(wanted)
        self._check_granted(subscribe)

    def _check_granted(self, subscribe: Subscribe) -> None:
        for each, code in zip(subscribe.subscriptions, self.codes, strict=False):
            if code >= 0x80:
                name = f"0x{code:02x} {REASONS.name(code, self.target.version)}"
                raise Refused(f"the broker refused the Topic Filter '{each.filter}': {name}", code)
            if code < each.qos:
                log.warning("the broker grants QoS %d for the Topic Filter %r, not %d", code, each.filter, each.qos)

    def _read_flows(self) -> None:
        inbox = self._tap.inbox
        if self._closing:
            # Nothing may follow DISCONNECT; what is not acknowledged comes again.
            inbox.clear()
        while inbox:
            for _ in range(min(len(inbox), MOST)):
                now, frame = inbox.popleft()
                self._take(int(now * 1e9), frame.data)
            self._spool.flush()
            answers, self._answers = b"".join(self._answers), []
            if answers and not self._tap.ended:
                self.send(answers, "its messages were acknowledged")

    def _take(self, now: int, data: bytes) -> None:
        packet = read(data, self.target.version)
        if isinstance(packet, Publish):
            self._publish(now, data, packet)
        elif isinstance(packet, Pubrel):
            known = self._spool.release(now, packet.packet_id)
            code = None if known else PACKET_NOT_FOUND
            self._answer(Pubcomp(packet_id=packet.packet_id, reason_code=code))
        else:
            raise PeerFault(f"the broker sent {packet.name}, though nothing was published", data)

    def _publish(self, now: int, data: bytes, packet: Publish) -> None:
        if not packet.topic:
            raise PeerFault("the broker sent a Topic Alias, though our Topic Alias Maximum is 0", data)
        self._spool.message(now, data)
        if packet.packet_id is not None:
            cls: type[Puback | Pubrec] = Puback if packet.qos == 1 else Pubrec
            self._answer(cls(packet_id=packet.packet_id))

    def _answer(self, packet: Puback | Pubrec | Pubcomp) -> None:
        self._answers.append(encode(packet, self.target.version))


class Subscriber(threading.Thread):
    """Keeps a subscription alive through losses of the connection, until it is stopped or refused."""

    def __init__(self, wishes: Wishes, spool: Spool) -> None:
        super().__init__(name="mqttpub-subscriber", daemon=True)
        self.spool = spool
        self.connected = threading.Event()
        """Set from the first SUBACK on, and when there will be none."""
        self.quiet_since = time.monotonic()
        """When the spool last grew, on the monotonic clock."""
        self._wishes = wishes
        self._stopping = False
        self._failed: Exception | None = None
        self._attempts = 0
        self._had_session = bool(spool.facts.filters)

    def check(self) -> None:
        """Raise what ended the thread, if anything did."""
        if isinstance(self._failed, (SourceError, OSError)):
            raise self._failed
        if isinstance(self._failed, Failure):
            raise BrokerError(str(self._failed))
        if self._failed:
            raise RuntimeError("the subscription has ended") from self._failed

    def stop(self) -> None:
        """End the connection; the session stays with the broker."""
        self._stopping = True
        self.join(self._wishes.timeout)

    def run(self) -> None:
        """Listen until stopped."""
        try:
            while not self._stopping:
                self._again()
        except Exception as error:
            # It is told by `check`, on the thread that is asked for messages.
            self._failed = error
        finally:
            self.connected.set()
            self.spool.close()

    def _again(self) -> None:
        try:
            with Listening(self._wishes, self.spool) as session:
                self._listen(session)
        except Failure as failure:
            if self._is_final(failure):
                raise
            if self._stopping:
                return
            pause = min(FIRST_PAUSE * 2**self._attempts, LONGEST_PAUSE)
            self._attempts += 1
            log.warning("%s; connecting again in %g s", failure, pause)
            self._sleep(pause)

    def _is_final(self, failure: Failure) -> bool:
        """Whether to give up: when it never worked, and when the broker means it."""
        code = getattr(failure, "code", None)
        refused = isinstance(failure, (ConnectionRefused, Refused)) and code not in PASSING
        return refused or not self.connected.is_set() or isinstance(failure, PeerFault)

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _listen(self, session: Listening) -> None:
        connack = session.open()
        if self._had_session and not connack.session_present:
            log.warning(SESSION_LOST)
        self.spool.connected(connack.session_present)
        session.subscribe_to(self._wishes.subscribe)
        self._had_session = True
        self._attempts = 0
        self.connected.set()
        while not self._stopping:
            before = self.spool.position
            session.step("")
            if self.spool.position != before:
                self.quiet_since = time.monotonic()
            session.check_open("it was asked to")
        session.close()
