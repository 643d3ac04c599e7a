"""Packets that the tests of the view show, and what every shown text must obey."""

import json
import re
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded, Finding, finding
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Publish, Subscribe, Subscription, Will
from mqttpub.spec.versions import Version
from mqttpub.view.packet.dump import annotate, plain
from mqttpub.view.packet.record_json import packet_record
from mqttpub.view.terminal.cells import Line
from mqttpub.wire.cursor import Span
from tests.strategies import encoded, versions

laws = settings(derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])

WALKTHROUGH = bytes.fromhex(
    "30310007726571756573741002000001 2c080008726573706f6e736554686973206973206120516f532030206d657373616765"
)
CONNECT = Connect(
    client_id="sensor-17", username="alice", password=b"s3cret!", will_qos=1,
    properties=(Property(0x15, "SCRAM"), Property(0x16, b"\1\2\3"), Property(0x26, ("region", "eu-west"))),
    will=Will(topic="sensors/17/state", payload=b'{"online":false}', properties=(Property(0x18, 30),)),
)  # fmt: skip
SUBSCRIBE = Subscribe(
    packet_id=25674, properties=(Property(0x0B, 268),),
    subscriptions=(
        Subscription(filter="sensors/+/temperature", qos=1, no_local=True),
        Subscription(filter="a/#", qos=2, retain_handling=2),
    ),
)  # fmt: skip
CONNACK = Connack(
    session_present=True,
    properties=tuple(
        Property(id, value)
        for id, value in [
            (0x11, 0xFFFFFFFF), (0x21, 100), (0x24, 1), (0x25, 1), (0x27, 1), (0x12, "auto-7F2A"), (0x22, 10),
            (0x28, 1), (0x29, 0), (0x1F, "welcome \u4f60\u597d"),
        ]
    ),
)  # fmt: skip
BROKEN = [
    bytes.fromhex(text)
    for text in (
        "", "00", "30", "ff8585858500", "38050001746869", "300a000161052300", "30050009616200", "3003000161",
        "30060001617f0100", "e0039d00aa", "3085000000016100", "101000044d51545405c2003c0000016100",
        "f0091800061600037331 73", "10060004 4d515454",
    )
]  # fmt: skip


def of(packet: Packet, version: Version = Version.V5) -> Decoded:
    """Return a packet as it is decoded from its bytes."""
    return decode(encode(packet, version), version)


def publish(payload: bytes, version: Version = Version.V311) -> Decoded:
    """Return a PUBLISH of a payload to the topic t."""
    return of(Publish(topic="t", payload=payload), version)


def found(start: int, stop: int, message: str, *, mask: int = 0, id: str = "MQTT5-3.3.1-2") -> Finding:
    """Return a finding such as a lint makes."""
    return finding(id, "publish", Span(start, stop), message, mask=mask)


def record(decoded: Decoded, **options: Any) -> dict[str, Any]:
    """Return the JSON record of a packet as a value."""
    return json.loads(packet_record(decoded, **options))  # type: ignore[no-any-return]


def screen(decoded: Decoded, **options: object) -> str:
    """Return a dump as text."""
    return plain(annotate(decoded, **options))  # type: ignore[arg-type]


def hex_of(lines: Iterable[Line]) -> str:
    """Return the hex digits that a dump shows, spaces taken out."""
    text = "".join(next((shown for shown, style in line if _HEX.fullmatch(shown)), "") for line in lines)
    return text.replace(" ", "")


_HEX = re.compile("(?:[0-9a-f]{2} ?)+")


@st.composite
def wires(draw: st.DrawFn) -> tuple[bytes, Version]:
    """Return the bytes of packets, whole, cut short, damaged or made of nothing but chance."""
    version = draw(versions)
    data = bytearray(draw(encoded(version, draw(st.booleans())) | st.binary(max_size=60)))
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data), version


@st.composite
def judged(draw: st.DrawFn) -> Decoded:
    """Return decoded bytes with findings of a lint at any place."""
    data, version = draw(wires())
    decoded = decode(data, version)
    for number in range(draw(st.integers(0, 4))):
        start, length, mask = draw(st.tuples(st.integers(0, 70), st.integers(0, 9), st.integers(0, 255)))
        decoded.findings.append(found(start, start + length, f"remark {number}.", mask=mask))
    return decoded
