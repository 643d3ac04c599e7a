"""mosquitto_sub: its settings become the request of `sub`, its messages the lines of mosquitto."""

import random
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from ....live.failures import Exit, Failure, Interrupted, NotConnected, Refused, Unanswered
from ....live.net.target import Target
from ....live.receive import ReceivedMessage
from ....live.subscribe.subscriber import SubscribeOptions
from ....spec.packets import Disconnect, Unsubscribe
from ....spec.versions import Version
from ...sub.flags import Selected
from ...sub.format_string import FormatString
from ...sub.lines import shown
from ...sub.request import ReceiveRequest
from ...sub.run import MessageSink, Reception
from ...sub.standard_output import StandardOutput
from ...sub.subscription import subscribe_packets
from ..given import Given, timeout_s
from .client import connectable, debug_lines, said
from .failures import SENTENCES, Outcome, Status, outcome
from .settings import SUB, MosquittoSettings
from .target import target_of

BEFORE_CONNACK = 255
"""Exit status where -W ends the run before there is a connection; nothing is said about it."""
DENIED = "All subscription requests were denied."
WITH_WILL = 0x04
"""Reason Code of the DISCONNECT of a client that is stopped."""
ALL = 10_000
SENSELESS = "\nError: Combining '-R' and '--retained-only' makes no sense."
WATCH = "Error: {} cannot be used: it draws on a terminal what mosquitto draws; mqttpub sub --watch shows such a table."


def run(words: list[str]) -> int:
    """Receive as a line of mosquitto_sub says and return the exit status."""
    return said(SUB, words, subscribe)


def subscribe(settings: MosquittoSettings) -> None:
    """Receive what the settings say; raises GrammarError and Outcome."""
    if settings.no_retain and settings.retained_only:
        raise Outcome(Status.USAGE, SENSELESS)
    for given, option in ((settings.watch, "--watch"), (settings.message_rate, "--message-rate")):
        if given:
            raise Outcome(Status.USAGE, WATCH.format(option))
    target = target_of(settings)
    connectable(target)
    request = receive_request(settings, _leaving_its_will(target))
    with ExitStack() as stack:
        reception = MosquittoReception(settings, request, stack, target.disconnect)
        try:
            reception.run()
        except Interrupted as interrupted:
            if interrupted.status == Exit.HUNG_UP:
                raise
        except Failure as failure:
            raise _outcome(failure, reception, settings, target.version) from failure
        if reception.timed_out and not reception.was_connected:
            raise Outcome(BEFORE_CONNACK)
        if reception.timed_out:
            raise Outcome(Status.TIMEOUT, SENTENCES[Status.TIMEOUT])


def _outcome(
    failure: Failure, reception: "MosquittoReception", settings: MosquittoSettings, version: Version
) -> Outcome:
    if isinstance(failure, Refused) and reception.is_denied:
        return Outcome(Status.DONE, DENIED)
    if settings.wait_s and isinstance(failure, (NotConnected, Unanswered)) and not reception.was_connected:
        cause = failure if isinstance(failure, Unanswered) else failure.__cause__
        if isinstance(cause, (Unanswered, TimeoutError)):
            return Outcome(BEFORE_CONNACK)
    return first_line_only(outcome(failure, version))


def first_line_only(found: Outcome) -> Outcome:
    """Return an outcome with its first line only: of a refused connection, a receiver says only why."""
    return Outcome(found.status, *found.lines[:1])


def receive_request(settings: MosquittoSettings, target: Target) -> ReceiveRequest:
    """Return the request of `sub` that the settings make."""
    is_5 = settings.mqtt_version == Version.V5
    given = Given(
        topic=settings.topics, qos=(settings.qos,),
        retain_as_published=(settings.retain_as_published,) if is_5 else (),
        retain_handling=(settings.handling,) if is_5 else (), no_local=(), subscription_identifier=(),
        property=settings.property if is_5 else (),
    )  # fmt: skip
    subscribes = subscribe_packets(given, settings.mqtt_version)
    unsubscribes = tuple(
        Unsubscribe(packet_id=number, filters=(each,), properties=settings.of("UNSUBSCRIBE"))
        for number, each in enumerate(settings.unsubscribe, len(subscribes) + 1)
    )
    patience_s = min(timeout_s(), settings.wait_s or timeout_s())
    retained = True if settings.retained_only else False if settings.no_retain else None
    return ReceiveRequest(
        subscribes=subscribes, unsubscribes=unsubscribes, target=target,
        options=SubscribeOptions(timeout_s=patience_s, reconnects=None, patient=False),
        selected=Selected(
            most=settings.count or None, duration_s=settings.wait_s or None,
            only_subscribe=settings.exit_after_suback, retained=retained,
            remove_retained=settings.remove_retained, filter_out=tuple(settings.filter_out),
        ),
    )  # fmt: skip


def _leaving_its_will(target: Target) -> Target:
    """Return the target with the DISCONNECT of a client that is stopped, where it can have a Reason Code."""
    if target.version < Version.V5:
        return target
    return target._replace(disconnect=target.disconnect.replace(reason_code=WITH_WILL))


class MosquittoReception(Reception):
    """A run of mosquitto_sub; `disconnect` is what it sends once enough has come."""

    def __init__(
        self, settings: MosquittoSettings, request: ReceiveRequest, stack: ExitStack, disconnect: Disconnect
    ) -> None:
        observer = debug_lines(settings, request.target)
        super().__init__(
            request, stack, observer=observer, remark=lambda text: None,
            output=lambda standard: MosquittoOutput(settings, standard),
        )  # fmt: skip
        self._disconnect = disconnect
        self.timed_out = False
        """Whether -W ended the run."""

    @property
    def was_connected(self) -> bool:
        """Whether the broker accepted a connection."""
        return self._subscriber.connack is not None

    @property
    def is_denied(self) -> bool:
        """Whether the broker refused each Topic Filter."""
        outcomes = self._subscriber.outcomes
        return bool(outcomes) and all(each.refused for each in outcomes)

    def _ends(self) -> bool:
        ends = super()._ends()
        asked = self._wanted.enough or self._request.selected.only_subscribe or not self._request.subscribes
        self.timed_out = ends and not asked
        return ends

    def _stop(self) -> None:
        self._subscriber.stop(None if self.timed_out else self._disconnect)

    def _status(self) -> int:
        return Status.DONE


class MosquittoOutput(MessageSink):
    """Writes messages as mosquitto_sub does; on a terminal, what is not printable is escaped."""

    def __init__(self, settings: MosquittoSettings, standard: StandardOutput) -> None:
        self._standard = standard
        self._chance = settings.random_filter
        self._write = message_writer(settings)

    def write(self, messages: Sequence[ReceivedMessage]) -> None:
        """Write messages, or a random part of them."""
        if self._chance < ALL:
            messages = [each for each in messages if random.randrange(ALL) < self._chance]
        self._standard.write(b"".join(map(self._write, messages)))


def message_writer(settings: MosquittoSettings) -> Callable[[ReceivedMessage], bytes]:
    """Return the function that makes the bytes of a message."""
    plain = shown if sys.stdout.isatty() else _unchanged
    end = b"\n" if settings.newline else b""
    if settings.format is not None:
        form = FormatString(settings.format, shown=plain, pretty=settings.pretty, cuts=True)
        return lambda message: form.write(message) + end
    if settings.verbose:
        # Without the end of a line, nothing is written of an empty payload.
        nothing = b"(null)\n" if end else None
        return lambda message: _with_topic(plain(message.topic.encode()), plain(message.payload), end, nothing)
    return lambda message: plain(message.payload) + end if message.payload else b""


def _with_topic(topic: bytes, payload: bytes, end: bytes, nothing: bytes | None) -> bytes:
    if payload:
        return b"%b %b%b" % (topic, payload, end)
    return b"" if nothing is None else b"%b %b" % (topic, nothing)


def _unchanged(data: bytes) -> bytes:
    return data
