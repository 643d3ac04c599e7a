"""The thread that receives messages from a broker; each is in the spool before it is acknowledged."""

import logging
import threading
import time
from typing import NamedTuple

from ...codec.encode import encode
from ...lint.packet.check import lint
from ...lint.packet.fast import is_clean
from ...live.failures import Failure, Refused
from ...live.net.target import Target
from ...live.session import Session
from ...live.subscribe.subscriber import SubscribeOptions, Subscriber, SubscriptionOutcome
from ...spec.packets import Subscribe, Unsubscribe
from ...spec.versions import Version
from .errors import BrokerError, OptionError, SourceError
from .spool import Spool

UNSUBSCRIBE_ID = 2
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
    for each in map(SubscriptionOutcome, packet.subscriptions, codes):
        if each.refused:
            raise Refused(each.refusal(version), each.code)
        if each.code < each.subscription.qos:
            log.warning(each.lowering())


class SubscriberThread(threading.Thread):
    """Keeps a subscription alive across lost connections, until it is stopped or refused."""

    def __init__(self, request: SubscribeRequest, spool: Spool) -> None:
        super().__init__(name="mqttpub-subscriber", daemon=True)
        self.spool = spool
        self.connected = threading.Event()
        """Set after the first SUBACK, and if there will be none."""
        self.quiet_since = time.monotonic()
        """When the spool last grew, on the monotonic clock."""
        self._timeout_s = request.timeout_s
        self._failed: Exception | None = None
        self._subscriber = Subscriber(
            request.target, options=SubscribeOptions(request.timeout_s, reconnects=None, patient=False), store=spool,
            subscribe=lambda session: subscribe(session, request.subscribe, spool), resumes=bool(spool.facts.filters),
            remark=log.warning,
        )  # fmt: skip

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
        self._subscriber.stop()
        self.join(self._timeout_s)

    def run(self) -> None:
        """Receive until stopped; an error ends the thread, and `check` raises it."""
        position = self.spool.position
        try:
            for _ in self._subscriber.run():
                if self._subscriber.connections:
                    self.connected.set()
                if self.spool.position != position:
                    position = self.spool.position
                    self.quiet_since = time.monotonic()
        except Exception as error:
            # `check` raises it in the thread that asks for messages.
            self._failed = error
        finally:
            self.connected.set()
            self.spool.close()
