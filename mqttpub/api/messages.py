"""A broker on the line: publishing and subscribing, over the sessions that the commands use."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Literal, NamedTuple, Self

from ..common.errors import UserError
from ..lint.gate import check_packet
from ..live.failures import Failure
from ..live.net.target import Target, client_id
from ..live.net.transport import Tls, Transport
from ..live.net.urls import HTTP, broker_url
from ..live.publish.publisher import Publisher, PublishOptions
from ..live.publish.sender import NotSent, OutgoingMessage, Publication
from ..live.publish.sources import Listed
from ..live.receive import ReceivedMessage
from ..live.subscribe.subscriber import SubscribeOptions, Subscriber
from ..spec.declare import Properties
from ..spec.packets import Connect, Publish, Subscribe, Subscription
from ..spec.versions import Version
from .packets import version_of
from .traffic import Recorder

MOST_S = 1_000_000_000
"""The longest time that is accepted, as by the flags of the commands."""


class PublishOutcome(NamedTuple):
    """How the publishing of one message ended."""

    packet: Publish
    """The message; its Packet Identifier is that of the last sending."""
    outcome: Literal["accepted", "sent", "refused", "not sent", "unknown"]
    """`accepted` and `refused` are what the broker answered; `sent` is QoS 0, which nothing answers, written and known
    to be; `not sent` goes beyond a limit of the broker; `unknown` was written, and its answer is missing."""
    reason_code: int | None = None
    """The Reason Code of the answer; None without one and before 5.0 (5.0: 2.4)."""
    reason: str = ""
    """Its name and the Reason String, or why the message was not sent."""
    latency_s: float | None = None
    """Seconds from the first sending to the last acknowledgement."""

    @property
    def succeeded(self) -> bool:
        """Whether it was accepted, or sent with QoS 0."""
        return self.outcome in ("accepted", "sent")


class Publishing:
    """Publishes messages while it is iterated over, and yields the PublishOutcome of each; `publish` makes it.

    At the end of a `with`, what was not asked for yet is published as well; if the body raised, the connection is
    closed at once, and the messages that are left are not sent.
    """

    def __init__(self, publisher: Publisher, messages: "_CheckedMessages") -> None:
        self._publisher = publisher
        self._messages = messages
        self._outcomes = self._run()

    def __iter__(self) -> Iterator[PublishOutcome]:
        return self._outcomes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            for _ in self._outcomes:
                pass
        self._outcomes.close()

    def _run(self) -> Generator[PublishOutcome, None, None]:
        publisher = self._publisher
        turns = publisher.run()
        try:
            for outcomes in turns:
                while outcomes:
                    yield _outcome(outcomes.popleft())
        except Failure:
            yield from map(_outcome, publisher.outcomes)
            yield from (_outcome(each)._replace(outcome="unknown") for each in publisher.unknown)
            raise
        finally:
            turns.close()
        if self._messages.error:
            raise self._messages.error


class _CheckedMessages:
    """The messages of packets, up to one that cannot be sent: those before it are answered before `error` is raised."""

    error: Exception | None = None

    def __init__(self, packets: Iterable[Publish], version: Version) -> None:
        self._packets = packets
        self._version = version

    def __iter__(self) -> Iterator[Publication]:
        try:
            for packet in self._packets:
                check_packet(packet, self._version)
                yield Publication.of(packet, self._version)
        except Exception as error:  # it may also be one of the iterable
            self.error = error


def _outcome(ended: OutgoingMessage | NotSent) -> PublishOutcome:
    if isinstance(ended, NotSent):
        packet = ended.message.writer.packet.replace(payload=ended.message.payload)
        return PublishOutcome(packet, "not sent", reason=ended.violation.text)
    packet = ended.writer.packet.replace(payload=ended.publication.payload, packet_id=ended.packet_id)
    said = f": {ended.reason_string}" if ended.reason_string else ""
    reason = f"{ended.reason_name or ''}{said}"
    return PublishOutcome(packet, ended.outcome, ended.reason_code, reason, ended.latency_s)


def publish(
    url: str, topic: str | Iterable[Publish], payload: bytes | str = b"", *, qos: int = 0, retain: bool = False,
    properties: Properties = (), version: str | Version = "5.0", connect: Connect | None = None, tls: Tls | None = None,
    timeout_s: float = 30.0, reconnects: int = 0, recorder: Recorder | None = None,
) -> Publishing:  # fmt: skip
    """Return what publishes a message, or those of an iterable of Publish packets, and yields the outcome of each.

    `url` is `mqtt://user:password@host:port`, or mqtts, ws or wss with an HTTP path. Payloads are bytes, or text that
    is sent in UTF-8; Packet Identifiers are chosen while messages are sent, where packets have none. `connect` is the
    CONNECT to send, a fresh Client Identifier in it if it has none; `tls` says what TLS trusts; `timeout_s` is how many
    seconds may pass without progress; `reconnects` how often a lost connection is opened again, so that no message of
    QoS 1 and 2 is lost; `recorder` gets every byte of both ends. An iterable is read as messages are sent, so that it
    may be endless.

    Raises UserError, before anything is sent, for an option that cannot be, and for `payload`, `qos`, `retain` or
    `properties` beside packets, which have their own; a packet that the specification forbids raises one where it
    stands in the iterable, once those before it are answered. While it runs, a Failure is raised after the outcomes of
    what had ended: NotConnected, ConnectionRefused, Refused, Unanswered, ConnectionLost or PeerFault; its `status` is
    the exit status of `pub`. (5.0: 3.3, 4.3)
    """
    target = _target(url, version, connect, tls)
    _check_time("timeout_s", timeout_s)
    packets: Iterable[Publish]
    if isinstance(topic, str):
        data = payload.encode() if isinstance(payload, str) else payload
        packets = [Publish(topic=topic, qos=qos, retain=retain, properties=properties, payload=data)]
        check_packet(packets[0], target.version)
    else:
        given = {"payload": payload, "qos": qos, "retain": retain, "properties": properties}
        if lost := [name for name, value in given.items() if value]:
            raise UserError(f"{', '.join(lost)}: packets have their own; these options go with a topic")
        packets = topic
    options = PublishOptions(timeout_s=timeout_s, reconnects=reconnects)
    observer = recorder.connection(target.version) if recorder else None
    messages = _CheckedMessages(packets, target.version)
    return Publishing(Publisher(target, Listed(messages), options, observer=observer), messages)


class Receiving:
    """Receives messages while it is iterated over; `subscribe` makes it, and a `with` begins and ends it.

    Once the `with` is entered, the broker has granted the subscriptions. A message is acknowledged when the next one
    is asked for; the connection is served only while the iterator waits, so a body that takes longer than the
    Keep Alive loses it.
    """

    def __init__(self, subscriber: Subscriber, count: int | None, duration_s: float | None) -> None:
        self._subscriber = subscriber
        self._turns = subscriber.run()
        self._left = count
        self._duration_s = duration_s

    @property
    def granted(self) -> Mapping[str, int]:
        """What SUBACK said of each Topic Filter: the granted QoS, or a Reason Code of 0x80 or above."""
        return {each.subscription.filter: each.code for each in self._subscriber.outcomes}

    def __enter__(self) -> Self:
        try:
            while not self._subscriber.connections:
                next(self._turns)
        except BaseException:
            self._turns.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self._subscriber.stop()
            for _ in self._turns:
                pass
        self._turns.close()

    def __iter__(self) -> Iterator[ReceivedMessage]:
        """Yield messages until the `count` is reached or the `duration_s` is over; raises a Failure."""
        subscriber = self._subscriber
        subscriber.wake_s = until_s = None if self._duration_s is None else monotonic() + self._duration_s
        messages = subscriber.messages
        while self._left is None or self._left > 0:
            if messages:
                if self._left is not None:
                    self._left -= 1
                yield messages.popleft()
            elif until_s is not None and monotonic() >= until_s:
                return
            else:
                with suppress(StopIteration):
                    next(self._turns)
                    continue
                return


def subscribe(
    url: str, filters: str | Iterable[str], *, qos: int = 0, count: int | None = None, duration_s: float | None = None,
    properties: Properties = (), version: str | Version = "5.0", connect: Connect | None = None, tls: Tls | None = None,
    timeout_s: float = 30.0, reconnects: int = 0, recorder: Recorder | None = None,
) -> Receiving:  # fmt: skip
    """Return what subscribes to Topic Filters and yields the messages that come, as ReceivedMessages.

    Use it in a `with`, in which the subscriptions are made. It ends after `count` messages, or `duration_s` seconds
    after the iteration began; without both it never does, and `break` leaves it. `qos` is the highest QoS; `properties`
    are those of SUBSCRIBE; the other options are those of `publish`. Times of messages are nanoseconds since 1970.
    Raises UserError for an option that cannot be, and a Failure as `publish` does: Refused if the broker refuses all
    Topic Filters. (5.0: 3.8, 4.3)
    """
    target = _target(url, version, connect, tls)
    _check_time("timeout_s", timeout_s)
    if duration_s is not None:
        _check_time("duration_s", duration_s)
    named = (filters,) if isinstance(filters, str) else tuple(filters)
    packet = Subscribe(
        packet_id=1, properties=properties, subscriptions=tuple(Subscription(filter=each, qos=qos) for each in named)
    )
    check_packet(packet, target.version)
    options = SubscribeOptions(timeout_s=timeout_s, reconnects=reconnects, patient=False)
    observer = recorder.connection(target.version) if recorder else None
    return Receiving(Subscriber(target, [packet], options, observer=observer), count, duration_s)


def _check_time(name: str, time_s: float) -> None:
    if not 0 < time_s <= MOST_S:
        raise UserError(f"{name} is {time_s}, but must be above 0 seconds and at most {MOST_S}")


def _target(url: str, version: str | Version, connect: Connect | None, tls: Tls | None) -> Target:
    """Return where to connect, and the CONNECT; raises UserError, whose text holds no password."""
    try:
        parts, known = broker_url(url), version_of(version)
    except ValueError as error:
        raise UserError(f"the URL of the broker or the version is wrong: {error}") from None
    if parts.topic:
        raise UserError("the URL of the broker has a topic; give the topic by itself")
    secure = tls or (Tls() if parts.protocol in ("mqtts", "wss") else None)
    transport = Transport(tls=secure)
    if parts.protocol in HTTP:
        transport = transport._replace(kind="websocket", path=parts.path or "/mqtt")
    connect = connect or Connect()
    user = {key: value for key in ("username", "password") if (value := getattr(parts, key)) is not None}
    connect = connect.replace(client_id=connect.client_id or client_id(), **user)
    check_packet(connect, known)
    return Target(parts.host, parts.port or transport.default_port, known, connect, transport=transport)
