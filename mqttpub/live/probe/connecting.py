"""Probes of CONNECT: versions, Client Identifiers, sessions."""

from collections.abc import Iterator

from ...spec.declare import Property
from ...spec.packets import Connack, Connect
from ...spec.properties import ASSIGNED_CLIENT_IDENTIFIER, SESSION_EXPIRY_INTERVAL, value_of
from ...spec.versions import Version
from .result import Agreement, ProbeResult
from .trial import Prober, Trial, highest

MUST_ALLOW = 23
"""Bytes of a Client Identifier of letters and digits that every server must allow (5.0: 3.1.3.1; 3.1.1: 3.1.3-5)."""
LONGEST_ID = {Version.V5: 65535, Version.V311: 65535, Version.V31: 1024}
"""The longest Client Identifier that is tried; 3.1 allows 23 characters, but most brokers take more."""
NEVER = 0xFFFF_FFFF
CHARACTERS = {
    "letters and digits": "aZ09",
    "punctuation": "-_.:@",
    "slash": "/",
    "space": " ",
    "dollar": "$",
    "plus": "+",
    "hash": "#",
    "other scripts": "\u00e9\u65e5",
    "emoji": "\U0001f600",
}
"""Kinds of characters, with examples."""


def versions(prober: Prober) -> Iterator[ProbeResult]:
    """Yield the versions that the broker accepts."""
    accepted, said = [], ""
    for version in Version:
        connect = Connect(
            client_id=prober.target.connect.client_id[:MUST_ALLOW], username=prober.target.connect.username,
            password=prober.target.connect.password,
        )  # fmt: skip
        same = version == prober.version
        trial = prober.attempt(
            target=prober.target
            if same
            else prober.target._replace(version=version, connect=connect, authentication=None)
        )
        if trial.works:
            accepted.append(version.label)
        said = trial.said or said
    yield ProbeResult("versions", "MQTT versions", None, accepted, said=said)


def client_identifiers(prober: Prober) -> Iterator[ProbeResult]:
    """Yield the longest Client Identifier, the characters that it may have, and whether it may be empty."""
    start = prober.target.connect.client_id
    last = Trial(True)

    def takes(length: int) -> bool:
        nonlocal last
        trial = prober.connected(client_id=f"m{start[-8:]}{'x' * length}"[:length])
        last = last if trial.works else trial
        return trial.works

    top = LONGEST_ID[prober.version]
    seen = highest(1, top, takes)
    agreement = Agreement.AGREES if seen and seen >= MUST_ALLOW else Agreement.ALLOWS_LESS
    yield ProbeResult(
        "client_id_bytes",
        "Client Identifier length",
        MUST_ALLOW,
        seen,
        seen == top < LONGEST_ID[Version.V5],
        agreement,
        last.said,
        "bytes",
    )
    trials = {name: prober.connected(client_id=f"mqttpub{text}") for name, text in CHARACTERS.items()}
    said = next((f"{name}: {trial.said}" for name, trial in trials.items() if not trial.works), "")
    allowed = [name for name, trial in trials.items() if trial.works]
    yield ProbeResult("client_id_characters", "Client Identifier characters", None, allowed, said=said)
    if prober.version > Version.V31:
        yield _empty(prober)


def _empty(prober: Prober) -> ProbeResult:
    trial = prober.connected(client_id="")
    said = trial.said
    if trial.works and (assigned := value_of(trial.value.properties, ASSIGNED_CLIENT_IDENTIFIER)):
        said = f"assigned: {assigned}"
    return ProbeResult("client_id_empty", "Client Identifier, empty", None, trial.works, said=said)


def sessions(prober: Prober) -> Iterator[ProbeResult]:
    """Yield whether a session outlives its connection, and for how long, asking for one that never expires.

    The session is removed afterwards.
    """
    target = prober.target.changed(client_id=f"{prober.target.connect.client_id[:14]}-session"[:MUST_ALLOW])
    asked: dict[str, tuple[Property, ...]] = {}
    if prober.version == Version.V5:
        asked = {"properties": (*target.connect.properties, Property(SESSION_EXPIRY_INTERVAL.id, NEVER))}
    fresh = {"clean_start": True, **asked} if asked else {"clean_start": False}
    first = prober.attempt(lambda session: session.connack, target=target.changed(**fresh))
    if not first.works:
        yield ProbeResult("session_kept", "Session after the connection", None, False, said=first.said)
        return
    try:
        again = prober.attempt(
            lambda session: session.connack, target=target.changed(**{**fresh, "clean_start": False})
        )
    finally:
        prober.attempt(target=target.changed(clean_start=True))
    kept = again.works and again.value.session_present
    said = again.said or "" if prober.version > Version.V31 else "CONNACK of 3.1 does not say"
    seen = None if prober.version == Version.V31 else kept
    yield ProbeResult("session_kept", "Session after the connection", None, seen, said=said)
    if asked:
        yield _expiry(first.value, kept=kept)


def _expiry(connack: Connack, *, kept: bool) -> ProbeResult:
    declared = value_of(connack.properties, SESSION_EXPIRY_INTERVAL, NEVER)
    agreement = Agreement.AGREES if kept or not declared else Agreement.ALLOWS_LESS
    return ProbeResult(
        "session_expiry_interval", "Session Expiry Interval", declared, declared if kept else 0, agreement=agreement,
        unit="s",
    )  # fmt: skip
