"""Acknowledgements are read alike by the short way and by the full look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.framing import frame_length
from mqttpub.lint.packet.check import lint
from mqttpub.live.failures import PeerFault
from mqttpub.live.incoming import acknowledgement, read, reason_text
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Puback
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Overlong


def whole(data: bytes) -> bool:
    """Whether the bytes are one packet, as the stream cuts them."""
    try:
        return frame_length(data) == len(data)
    except Overlong:
        return False


@given(
    st.sampled_from((0x40, 0x50, 0x70, 0x41, 0x52)), st.binary(max_size=8), st.sampled_from(Version),
)  # fmt: skip
def test_the_short_way_and_the_full_decoder_agree(first: int, body: bytes, version: Version) -> None:
    data = bytes((first, len(body))) + body
    assert whole(data)
    decoded = decode(data, version)
    wrong = [found for found in lint(decoded, Direction.SERVER) if found.severity == "error"]
    if wrong:
        with pytest.raises(PeerFault):
            acknowledgement(data, version, 1.0)
        return
    code, packet_id, reason, now, _ = acknowledgement(data, version, 1.0)
    packet = decoded.packet
    assert (code, packet_id, reason, now) == (first >> 4, packet.packet_id, packet.reason_code, 1.0)  # type: ignore[union-attr]


@pytest.mark.parametrize("data", ["40 82 00 01 00", "50 83 00 01 00 10", "70 82 80 00 01 00"])
def test_a_length_that_is_longer_than_necessary_does_not_shift_the_packet_identifier(data: str) -> None:
    with pytest.raises(PeerFault, match=r"MQTT5-1\.5\.5-1"):
        acknowledgement(bytes.fromhex(data), Version.V5, 1.0)


def test_the_reason_string_comes_along() -> None:
    assert acknowledgement(bytes.fromhex("40 09 00 01 87 05 1f 00 02 6e 6f"), Version.V5, 0.0)[2:] == (0x87, 0.0, "no")


def test_reasons_in_words() -> None:
    properties = (Property(0x1F, "later"),)
    assert reason_text(Connack(reason_code=0x89, properties=properties), Version.V5) == "0x89 Server busy: later"
    assert reason_text(Connack(reason_code=3), Version.V311) == "3 Server unavailable"
    assert reason_text(Puback(packet_id=1), Version.V5) == "0x00 Success"


@pytest.mark.parametrize(
    ("data", "statement"),
    [
        ("20 07 00 00 04 16 00 01 61", "MQTT5-3.1.2.11.10/method"),
        ("20 83 00 00 00 00", "MQTT5-1.5.5-1"),
        ("20 04 00 00 80 00", "MQTT5-1.5.5-1"),
        ("90 84 00 00 01 00 00", "MQTT5-1.5.5-1"),
        ("b0 84 00 00 01 00 00", "MQTT5-1.5.5-1"),
        ("d0 80 00", "MQTT5-1.5.5-1"),
        ("e0 80 00", "MQTT5-1.5.5-1"),
        ("f0 07 18 84 00 15 00 01 61", "MQTT5-1.5.5-1"),
        ("30 84 00 00 01 61 00", "MQTT5-1.5.5-1"),
        ("f0 02 18 00", "MQTT5-3.15.2.2.2/method"),
    ],
)
def test_what_lint_calls_an_error_is_a_fault_on_the_line(data: str, statement: str) -> None:
    with pytest.raises(PeerFault) as caught:
        read(bytes.fromhex(data), Version.V5)
    assert f"({statement})" in str(caught.value)
