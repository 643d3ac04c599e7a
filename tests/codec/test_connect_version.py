"""The version that a connection speaks, by its CONNECT and CONNACK."""

import pytest

from mqttpub.codec.connect_version import answer_form, connect_layout, connect_version, unknown_level
from mqttpub.spec.versions import Version

V31, V311, V5 = Version


@pytest.mark.parametrize(
    ("level", "version"), [(3, V31), (4, V311), (5, V5), (0x83, V31), (0x84, V311), (0, None), (6, None), (255, None)]
)
def test_a_connect_announces_its_version(level: int, version: Version | None) -> None:
    data = b"\x10\x0c\x00\x04MQTT" + bytes([level])
    assert connect_version(data) == version
    assert unknown_level(data) == (level if version is None else None)
    assert connect_layout(data) == (version or V311)


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ("100d 0004 4d515454 06 02 003c 0001 61", V311),
        ("100e 0004 4d515454 06 02 003c 00 0001 61", V5),
        ("100e 0004 4d515454 06 02 003c 00 0001", V311),
        ("100e 0004 4d515454 07 02 003c 00 0003 61", V311),
        ("100f 0006 4d5149736470 02 02 003c 0001 61", V31),
        ("100e 0004 4d515454 05 02 003c 0002 6161", V5),
        ("1008 0004 4d515454 07 ff", V311),
        ("3003 0001 61", None),
    ],
)
def test_an_unknown_level_is_read_by_what_fits(data: str, version: Version | None) -> None:
    assert connect_layout(bytes.fromhex(data)) == version


def test_the_protocol_name_may_have_any_length() -> None:
    assert connect_version(b"\x10\x0f\x00\x06MQIsdp\x03") == V31
    assert connect_version(b"\x10\x03\x00\x00\x04") == V311


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xc0\x00", b"\x30\x0c\x00\x04MQTT\x05", b"\x10", b"\x10\x0c", b"\x10\x0c\x00\x04MQT",
        b"\x10\x0c\x00\x04MQTT", b"\x10\x80\x80\x80\x80\x00\x04MQTT\x05",
    ],
)  # fmt: skip
def test_other_packets_and_cut_ones_announce_no_version(data: bytes) -> None:
    assert connect_version(data) is None


@pytest.mark.parametrize(
    "data", [b"\x10\x00\x00\x04MQTT\x05", b"\x10\x06\x00\x04MQTT\x05", b"\x10\x04\x00\x09MQTTabcde\x05"]
)
def test_a_level_after_the_end_of_the_packet_is_ignored(data: bytes) -> None:
    assert connect_version(data) is None


def test_a_server_of_an_older_version_refuses_in_its_own_form() -> None:
    for code in range(1, 6):
        refusal = b"\x20\x02\x00" + bytes([code])
        assert [answer_form(refusal, version) for version in (V31, V311, V5)] == [V31, V311, V311]


@pytest.mark.parametrize(
    "answer",
    ["20020000", "20020006", "20020087", "2003000100", "20020001c0", "200100", "20820001", "21020001", "40020001", ""],
)
def test_a_packet_like_such_a_refusal_has_the_form_of_the_connect(answer: str) -> None:
    assert answer_form(bytes.fromhex(answer), V5) == V5
