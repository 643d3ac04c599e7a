"""The thread that receives messages from a broker; each is in the spool before it is acknowledged."""

import logging
import threading
import time
from typing import NamedTuple

from ...codec.encode import encode
from ...lint.packet.check import lint
from ...lint.packet.fast import is_clean
from ...live.failures import Failure, PeerFault, Refused
from ...live.net.target import Target
from ...live.receive import Receiver
from ...live.reconnect import is_refused_for_good, pause_before
from ...live.session import Session
from ...spec.packets import Subscribe, Unsubscribe
from ...spec.reason_codes import Codes
from ...spec.versions import Version
from .errors import BrokerError, OptionError, SourceError
from .spool import Spool

UNSUBSCRIBE_ID = 2
REASONS = Codes("SUBACK")
SESSION_LOST = "the broker no longer has the session: messages it kept since the last connection are lost"
log = logging.getLogger("mqttpub.spark")


class SubscribeRequest(NamedTuple):
    """The broker and the subscription."""

    target: Target
    subscribe: Subscribe
    timeout_s: float = 30.0


def checked(subscribe: Subscribe) -> Subscribe:
    """Return a SUBSCRIBE that breaks no rule; raises OptionError for the first that it breaks."""
    if not is_clean(subscribe, Version.V5):
        from ...codec.decode import decode

        for finding in lint(decode(encode(subscribe, Version.V5), Version.V5)):
            if finding.severity == "error":
                raise OptionError(f"the broker would refuse the subscription: {finding.message} ({finding.statement})")
    return subscribe


def subscribe(session: Session, packet: Subscribe, spool: Spool) -> None:
    """Subscribe, and unsubscribe from Topic Filters that the spool remembers of the session but `packet` lacks.

    Raises Refused if the broker refuses a Topic Filter.
    """
    wanted = tuple(each.filter for each in packet.subscriptions)
    gone = tuple(each for each in spool.facts.filters if each not in wanted)
    if gone and session.connack and session.connack.session_present:
        session.unsubscribe(Unsubscribe(packet_id=UNSUBSCRIBE_ID, filters=gone))
    # Saved first, since a filter that is not on record could never be unsubscribed from.
    spool.remember((*gone, *wanted))
    codes = session.subscribe(packet)
    spool.remember(wanted)
    _check_granted(packet, codes, session.target.version)


def _check_granted(packet: Subscribe, codes: tuple[int, ...], version: Version) -> None:
    for each, code in zip(packet.subscriptions, codes, strict=False):
        if code >= 0x80:
            name = f"0x{code:02x} {REASONS.name(code, version)}"
            raise Refused(f"the broker refused the Topic Filter '{each.filter}': {name}", code)
        if code < each.qos:
            log.warning("the broker grants QoS %d for the Topic Filter %r, not %d", code, each.filter, each.qos)


class Subscriber(threading.Thread):
    """Keeps a subscription alive across lost connections, until it is stopped or refused."""

    def __init__(self, request: SubscribeRequest, spool: Spool) -> None:
        super().__init__(name="mqttpub-subscriber", daemon=True)
        self.spool = spool
        self.connected = threading.Event()
        """Set after the first SUBACK, and if there will be none."""
        self.quiet_since = time.monotonic()
        """When the spool last grew, on the monotonic clock."""
        self._request = request
        self._stopping = False
        self._failed: Exception | None = None
        self._attempts = 0
        self._had_session = bool(spool.facts.filters)

    def check(self) -> None:
        """Raise the error that ended the thread, if there is one."""
        if isinstance(self._failed, (SourceError, OSError)):
            raise self._failed
        if isinstance(self._failed, Failure):
            raise BrokerError(str(self._failed))
        if self._failed:
            raise RuntimeError("the subscription has ended") from self._failed

    def stop(self) -> None:
        """End the connection; the session stays with the broker."""
        self._stopping = True
        self.join(self._request.timeout_s)

    def run(self) -> None:
        """Receive until stopped; an error ends the thread, and `check` raises it."""
        try:
            while not self._stopping:
                self._connect_once()
        except Exception as error:
            # `check` raises it in the thread that asks for messages.
            self._failed = error
        finally:
            self.connected.set()
            self.spool.close()

    def _connect_once(self) -> None:
        try:
            request = self._request
            receiver = Receiver(request.target.version, self.spool)
            with Session(request.target, receiver=receiver, timeout_s=request.timeout_s) as session:
                self._listen(session, receiver)
        except Failure as failure:
            if self._is_final(failure):
                raise
            if self._stopping:
                return
            pause = pause_before(self._attempts)
            self._attempts += 1
            log.warning("%s; connecting again in %g s", failure, pause)
            self._sleep(pause)

    def _is_final(self, failure: Failure) -> bool:
        """Return whether not to reconnect: the first attempt failed, or the broker refused for good."""
        return not self.connected.is_set() or isinstance(failure, PeerFault) or is_refused_for_good(failure)

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _listen(self, session: Session, receiver: Receiver) -> None:
        connack = session.open()
        if self._had_session and not connack.session_present:
            log.warning(SESSION_LOST)
        subscribe(session, self._request.subscribe, self.spool)
        self._had_session = True
        self._attempts = 0
        self.connected.set()
        warned = False
        while not self._stopping:
            before = self.spool.position
            session.step("")
            if receiver.excess and not warned:
                warned = True
                log.warning("%s; these messages are kept like any other", receiver.excess)
            if self.spool.position != before:
                self.quiet_since = time.monotonic()
            session.check_open("it was asked to")
        session.close()
