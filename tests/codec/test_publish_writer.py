"""Writing many PUBLISH packets gives what encode gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.strategies import packets_of

VERSIONS = st.sampled_from(Version)


@given(st.data(), VERSIONS, st.binary(max_size=300), st.booleans())
def test_a_packet_is_written_as_encode_writes_it(
    data: st.DataObject, version: Version, payload: bytes, dup: bool
) -> None:
    packet = data.draw(packets_of(Publish, version))
    assert isinstance(packet, Publish)
    writer = PublishWriter(packet, version)
    wanted = packet.replace(payload=payload, dup=packet.dup or dup)
    written = [writer.write(payload, packet.packet_id, dup=again) for again in (dup, dup, True, dup)]
    assert written[0] == written[1] == written[3] == encode(wanted, version)
    assert written[2] == encode(wanted.replace(dup=True), version)
    assert writer.size(payload) == len(written[0])


@given(VERSIONS, st.lists(st.binary(max_size=200), max_size=30))
def test_joined_packets_are_the_packets_in_a_row(version: Version, payloads: list[bytes]) -> None:
    packet = Publish(topic="a/b", properties=(Property(3, "x"),) if version == Version.V5 else ())
    writer = PublishWriter(packet, version)
    wanted = b"".join(encode(packet.replace(payload=payload), version) for payload in payloads)
    assert writer.join(payloads) == writer.join(payloads) == wanted


def test_lengths_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.codec.publish_writer.MOST_HEADS", 3)
    writer = PublishWriter(Publish(topic="a"), Version.V5)
    for length in range(10):
        assert writer.join([bytes(length)]) == encode(Publish(topic="a", payload=bytes(length)), Version.V5)
        assert len(writer._heads) <= 3


def test_an_alias_takes_the_place_of_the_topic() -> None:
    writer = PublishWriter(Publish(topic="a", properties=(Property(3, "x"),)), Version.V5)
    first, later = writer.aliased(7, first=True), writer.aliased(7, first=False)
    assert (first.packet.topic, later.packet.topic) == ("a", "")
    assert first.packet.properties == later.packet.properties == (Property(3, "x"), Property(0x23, 7))


def test_a_payload_that_fits_no_packet_is_refused() -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return 268_435_456

    with pytest.raises(ValueError, match="does not fit a Variable Byte Integer"):
        PublishWriter(Publish(topic="a"), Version.V5).write(Huge(), None)
