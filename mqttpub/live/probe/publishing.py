"""Probes of PUBLISH: QoS, retain, topics, size, Topic Aliases, Receive Maximum."""

from collections.abc import Callable, Iterator

from ...codec.encode import encode
from ...codec.stream import MAX_PACKET
from ...spec.declare import Property
from ...spec.packets import Connack, Publish
from ...spec.properties import (
    MAXIMUM_PACKET_SIZE,
    MAXIMUM_QOS,
    MESSAGE_EXPIRY_INTERVAL,
    RECEIVE_MAXIMUM,
    RETAIN_AVAILABLE,
    TOPIC_ALIAS,
    TOPIC_ALIAS_MAXIMUM,
)
from ...spec.versions import Version
from .result import Agreement, ProbeResult, compared, declared_of
from .trial import Prober, Trial, TrialSession, highest

LONGEST_TOPIC = 65535
"""Bytes of the longest Topic Name that can be encoded."""
MOST_LEVELS = 1000
MOST_IN_FLIGHT = 1000
"""The most messages that are left unacknowledged to find Receive Maximum."""
RETAINED_S = 60
"""Message Expiry Interval of a retained message, should removing it fail."""


class _LastRefusal:
    """Remembers how the last trial that failed was refused."""

    def __init__(self, prober: Prober) -> None:
        self.prober = prober
        self.said = ""

    def works(self, act: Callable[[TrialSession], object]) -> bool:
        trial = self.prober.attempt(act)
        self.said = self.said if trial.works else trial.said
        return trial.works


def maximum_qos(prober: Prober, connack: Connack) -> ProbeResult:
    """Return the highest QoS of a message."""
    last = _LastRefusal(prober)
    seen = highest(0, 2, lambda qos: last.works(lambda session: session.publish(prober.topic, b"probe", qos=qos)))
    declared = declared_of(connack, MAXIMUM_QOS, 2)
    return ProbeResult(
        "maximum_qos", "Maximum QoS", declared, seen, agreement=compared(declared, seen), said=last.said
    )  # fmt: skip


def retaining(prober: Prober, connack: Connack, qos: int) -> Iterator[ProbeResult]:
    """Yield whether a retained message reaches a later subscriber; it is removed afterwards."""
    topic = f"{prober.topic}/retained"
    expiry = (Property(MESSAGE_EXPIRY_INTERVAL.id, RETAINED_S),) if prober.version == Version.V5 else ()
    kept = prober.attempt(
        lambda session: session.publish(topic, b"probe", qos=qos, retain=True, properties=expiry)
    )  # fmt: skip

    def fetched(session: TrialSession) -> bool:
        session.subscribe(topic)
        came = session.arrival()
        return came is not None and came.retain

    try:
        trial = prober.attempt(fetched) if kept.works else kept
    finally:
        if kept.works:
            prober.attempt(lambda session: session.publish(topic, qos=qos, retain=True))
    seen = trial.works and bool(trial.value)
    declared = bool(declared_of(connack, RETAIN_AVAILABLE, 1))
    said = trial.said or ("" if seen else "accepted, but not sent to a later subscriber")
    yield ProbeResult(
        "retain_available", "Retain Available", declared, seen, agreement=compared(declared, seen), said=said
    )


def topics(prober: Prober, connack: Connack, qos: int) -> Iterator[ProbeResult]:
    """Yield the longest Topic Name, and how many levels it may have."""
    last, start = _LastRefusal(prober), f"{prober.topic}/"
    most_bytes = declared_of(connack, MAXIMUM_PACKET_SIZE, MAX_PACKET)
    top = min(LONGEST_TOPIC, most_bytes - len(start) - 16)
    seen = highest(
        len(start) + 1, top, lambda size: last.works(lambda session: session.publish(start.ljust(size, "x"), qos=qos))
    )
    yield ProbeResult(
        "topic_bytes", "Topic Name length", None, seen, seen == top < LONGEST_TOPIC, said=last.said, unit="bytes"
    )
    last, first = _LastRefusal(prober), start.count("/") + 1

    def takes(levels: int) -> bool:
        topic = start + "/".join("x" * (levels - first + 1))
        return last.works(lambda session: session.publish(topic, qos=qos))

    seen = highest(first, MOST_LEVELS, takes)
    yield ProbeResult("topic_levels", "Topic levels", None, seen, seen == MOST_LEVELS, said=last.said)


def sizes(prober: Prober, connack: Connack, qos: int) -> Iterator[ProbeResult]:
    """Yield the largest packet, up to the bound of the prober."""
    last = _LastRefusal(prober)
    declared = declared_of(connack, MAXIMUM_PACKET_SIZE, None)
    least = _size(prober, 0, qos)
    top = prober.most_bytes if declared is None else min(prober.most_bytes, declared + 1)

    def takes(size: int) -> bool:
        payload = bytes(_fitting(prober, size, qos))
        return last.works(lambda session: session.publish(prober.topic, payload, qos=qos))

    seen = highest(least, max(top, least), takes)
    if declared is None:
        agreement = Agreement.NOT_DECLARED
    elif seen is not None and seen == prober.most_bytes <= declared:
        agreement = Agreement.AGREES
    else:
        agreement = compared(declared, seen)
    yield ProbeResult(
        "maximum_packet_size", "Maximum Packet Size", declared, seen, seen == top, agreement, last.said, "bytes"
    )


def _size(prober: Prober, payload_bytes: int, qos: int) -> int:
    packet = Publish(topic=prober.topic, payload=bytes(payload_bytes), qos=qos, packet_id=1 if qos else None)
    return len(encode(packet, prober.version))


def _fitting(prober: Prober, size: int, qos: int) -> int:
    """Return the length of a payload that makes a packet of this size, or one byte less where no payload does."""
    payload = max(size - _size(prober, 0, qos), 0)
    while payload and _size(prober, payload, qos) > size:
        payload -= 1
    return payload


def aliases(prober: Prober, connack: Connack) -> Iterator[ProbeResult]:
    """Yield whether the highest Topic Alias works, and the one above it does not."""
    last, declared = _LastRefusal(prober), declared_of(connack, TOPIC_ALIAS_MAXIMUM, 0)

    def uses(alias: int) -> bool:
        def act(session: TrialSession) -> None:
            properties = (Property(TOPIC_ALIAS.id, alias),)
            session.publish(prober.topic, b"probe", qos=0, properties=properties)
            session.publish("", b"probe", qos=0, properties=properties)

        return last.works(act)

    seen = declared if not declared or uses(declared) else None
    if seen == declared < 0xFFFF and uses(declared + 1):
        seen = declared + 1
    yield ProbeResult(
        "topic_alias_maximum", "Topic Alias Maximum", declared, seen, seen == declared + 1, compared(declared, seen),
        last.said,
    )  # fmt: skip


def in_flight(prober: Prober, connack: Connack) -> Iterator[ProbeResult]:
    """Yield how many QoS 2 messages the broker takes before the first is released."""
    declared = declared_of(connack, RECEIVE_MAXIMUM, 65535)
    top, taken = min(declared + 1, MOST_IN_FLIGHT), 0

    def fill(session: TrialSession) -> None:
        nonlocal taken
        for _ in range(top):
            session.publish(prober.topic, b"probe", qos=2, release=False)
            taken += 1

    trial: Trial = prober.attempt(fill)
    agreement = Agreement.AGREES if taken == top <= declared else compared(declared, taken)
    yield ProbeResult(
        "receive_maximum", "Receive Maximum", declared, taken, taken == top, agreement, trial.said
    )  # fmt: skip
