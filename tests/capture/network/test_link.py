"""Where in a frame the IP packet begins."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.network.link import NotTcp, ip_start
from tests.build.frames import CLIENT, LINKS, ONE_VERSION, LinkLayer, ipv4, ipv6, vlan

PACKETS = {4: ipv4((CLIENT[0],) * 2, b""), 6: ipv6((CLIENT[1],) * 2, b"")}

each_version = pytest.mark.parametrize("version", PACKETS)


@each_version
@pytest.mark.parametrize("name", LINKS)
def test_of_every_link_layer(name: str, version: int) -> None:
    frame = LINKS[name].frame(PACKETS[version])
    start = ip_start(LINKS[name].type, frame)
    assert frame[start : start + len(PACKETS[version])] == PACKETS[version]


@each_version
def test_of_raw_packets_of_one_version(version: int) -> None:
    assert ip_start(ONE_VERSION[version].type, PACKETS[version]) == 0


def test_after_any_number_of_tags() -> None:
    assert ip_start(1, vlan(PACKETS[4], *[0x8100] * 50)) == 14 + 50 * 4


def test_a_tag_may_follow_a_cooked_header() -> None:
    cooked = bytes(14) + b"\x81\x00" + b"\x00\x07\x08\x00"
    assert ip_start(113, cooked + PACKETS[4]) == 20


@pytest.mark.parametrize(
    ("link", "frame", "reason"),
    [
        (1, bytes(12) + b"\x08\x06" + bytes(28), "not IP"),
        (1, bytes(12) + b"\x88\xcc" + bytes(28), "not IP"),
        (1, bytes(12) + b"\x81\x00\x00\x01\x08\x06" + bytes(28), "not IP"),
        (1, bytes(12) + b"\x00\x26\x42\x42\x03" + bytes(35), "not IP"),
        (1, bytes(12) + b"\x00\x26\xaa\xaa\x03\0\0\0\x88\xcc" + bytes(30), "not IP"),
        (1, bytes(12) + b"\x88\x64\x11\x00\x00\x01\x00\x04\xc0\x21\x01\x01", "not IP"),
        (1, bytes(13), "cut short before the IP header"),
        (1, b"", "cut short before the IP header"),
        (1, bytes(12) + b"\x81\x00\x00\x01", "cut short before the IP header"),
        (1, bytes(12) + b"\x88\x64\x11\x00\x00\x01\x00\x04", "cut short before the IP header"),
        (113, bytes(15), "cut short before the IP header"),
        (113, bytes(14) + b"\x08\x06" + bytes(28), "not IP"),
        (276, b"\x08\x06" + bytes(50), "not IP"),
        (0, b"\x07\0\0\0" + PACKETS[4], "not IP"),
        (147, PACKETS[4], "of link type 147, which is not supported"),
    ],
)
def test_frames_without_an_ip_packet(link: int, frame: bytes, reason: str) -> None:
    with pytest.raises(NotTcp) as caught:
        ip_start(link, frame)
    assert caught.value.reason == reason


@given(st.sampled_from([*LINKS.values(), *ONE_VERSION.values()]), st.binary(max_size=80))
def test_any_bytes_have_an_answer(link: LinkLayer, frame: bytes) -> None:
    with suppress(NotTcp):
        assert ip_start(link.type, frame) >= 0
