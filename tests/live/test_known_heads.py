"""A PUBLISH whose head is known is read as if it were decoded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.live.failures import PeerFault
from mqttpub.live.incoming import read
from mqttpub.live.known_heads import MOST_HEADS, KnownHeads
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from tests.strategies import packets

V5 = Version.V5


def found(known: KnownHeads, data: bytes) -> tuple[Any, ...] | None:
    """Return topic, properties, Packet Identifier and payload of a packet with a known head."""
    result = known.find(data)
    if result is None:
        return None
    (topic, properties), packet_id, payload = result
    return topic, properties, packet_id, payload


@given(st.data(), st.sampled_from(Version), st.binary(max_size=300), st.integers(1, 65535))
def test_a_known_head_gives_what_the_decoder_gives(
    data: st.DataObject, version: Version, payload: bytes, packet_id: int
) -> None:
    packet: Any = data.draw(packets(version, code=Publish.code, direction=Direction.SERVER))
    known = KnownHeads(version)
    first = encode(packet, version)
    known.learn(packet, first)
    again = packet.replace(payload=payload, packet_id=packet_id if packet.qos else None)
    result = found(known, encode(again, version))
    if result is not None:
        assert result == (again.topic, again.properties, again.packet_id, payload)


@given(st.binary(max_size=40), st.sampled_from(Version))
def test_any_bytes_are_found_only_as_the_decoder_reads_them(data: bytes, version: Version) -> None:
    known = KnownHeads(version)
    known.learn(Publish(topic="a"), encode(Publish(topic="a"), version))
    frame = bytes((0x30 | data[0] & 0x0F, len(data) - 1)) + data[1:] if data else b"\x30\0"
    result = found(known, frame)
    if result is not None:
        packet: Any = read(frame, version)
        assert result == (packet.topic, packet.properties, packet.packet_id, packet.payload)


@pytest.mark.parametrize(
    ("packet", "remembered"),
    [
        (Publish(topic="a"), True),
        (Publish(topic="a", qos=2, packet_id=1, dup=True, retain=True), True),
        (Publish(topic="a", properties=(Property(0x0B, 5), Property(0x26, ("k", "v")))), True),
        (Publish(topic="a", properties=(Property(0x01, 1),)), False),
        (Publish(topic="a", properties=(Property(0x23, 1),)), False),
        (Publish(topic="a" * 600), False),
        (Publish(topic="a", properties=(Property(0x26, ("k", "v" * 200)),)), True),
    ],
)
def test_only_heads_with_rules_of_their_own_are_remembered(packet: Publish, remembered: bool) -> None:
    known, data = KnownHeads(V5), encode(packet, V5)
    assert known.find(data) is None
    known.learn(packet, data)
    assert (known.find(data) is not None) == remembered


@pytest.mark.parametrize(
    "bad", ["36 06 0001 61 0001 00", "38 04 0001 61 00", "32 06 0001 61 0000 00", "30 84 00 0001 61 00"]
)
def test_a_known_head_does_not_hide_a_broken_packet(bad: str) -> None:
    known, data = KnownHeads(V5), bytes.fromhex(bad)
    known.learn(Publish(topic="a"), encode(Publish(topic="a"), V5))
    assert known.find(data) is None
    with pytest.raises(PeerFault):
        read(data, V5)


def test_memory_is_bounded() -> None:
    known = KnownHeads(V5)
    for number in range(3 * MOST_HEADS):
        packet = Publish(topic=f"{number}")
        known.learn(packet, encode(packet, V5))
    assert len(known._heads) <= MOST_HEADS
