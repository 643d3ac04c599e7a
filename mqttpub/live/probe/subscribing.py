"""Probes of SUBSCRIBE: QoS, wildcards, shared subscriptions, Subscription Identifiers."""

from collections.abc import Iterator

from ...spec.packets import Connack
from ...spec.properties import (
    SHARED_SUBSCRIPTION_AVAILABLE,
    SUBSCRIPTION_IDENTIFIER,
    SUBSCRIPTION_IDENTIFIER_AVAILABLE,
    WILDCARD_SUBSCRIPTION_AVAILABLE,
    PropertyRow,
    value_of,
)
from ...spec.versions import Version
from .result import Agreement, ProbeResult, compared, declared_of
from .trial import Prober, TrialSession

IDENTIFIER = 7
"""The Subscription Identifier that is tried."""


def granted(prober: Prober) -> Iterator[ProbeResult]:
    """Yield the highest QoS that the broker grants a subscription."""
    trial = prober.attempt(lambda session: session.subscribe(prober.topic, qos=2))
    yield ProbeResult("granted_qos", "QoS of a subscription", None, trial.value, said=trial.said)


def filters(prober: Prober, connack: Connack) -> Iterator[ProbeResult]:
    """Yield which kinds of subscriptions bring a message."""
    topic = prober.topic
    several = [_delivers(prober, each) for each in (f"{topic}/#", f"{topic}/+", f"+/{topic.partition('/')[2]}/a")]
    said = next(filter(None, several), "")
    yield _available(prober, connack, WILDCARD_SUBSCRIPTION_AVAILABLE, said)
    said = _delivers(prober, f"$share/{topic.rpartition('/')[2]}/{topic}/a")
    yield _available(prober, connack, SHARED_SUBSCRIPTION_AVAILABLE, said)
    if prober.version == Version.V5:
        said = _delivers(prober, f"{topic}/a", IDENTIFIER)
        yield _available(prober, connack, SUBSCRIPTION_IDENTIFIER_AVAILABLE, said)


def _delivers(prober: Prober, filter: str, identifier: int | None = None) -> str:
    """Return why a subscription brings no message; empty if it does."""

    def act(session: TrialSession) -> str:
        session.subscribe(filter, identifier=identifier)
        session.publish(f"{prober.topic}/a", b"probe", qos=0)
        came = session.arrival()
        if came is None:
            return "granted, but brings no message"
        if identifier is not None and value_of(came.properties, SUBSCRIPTION_IDENTIFIER) != identifier:
            return "granted, but the message does not carry it"
        return ""

    trial = prober.attempt(act)
    return str(trial.value) if trial.works else trial.said


def _available(prober: Prober, connack: Connack, row: PropertyRow, said: str) -> ProbeResult:
    label = row.label.removesuffix(" Available")
    if prober.version < Version.V5:
        return ProbeResult(row.key, label, None, not said, said=said)
    declared = bool(declared_of(connack, row, 1))
    agreement: Agreement = compared(declared, not said)
    return ProbeResult(row.key, label, declared, not said, agreement=agreement, said=said)
