"""Reason codes and return codes, against the tables of the specification."""

from collections import Counter

import pytest

from mqttpub.spec.packets import PACKETS
from mqttpub.spec.reason_codes import CONNECT_RETURN_CODES, REASONS, SUBACK_RETURN_CODES, Codes, Reason
from mqttpub.spec.versions import Version

V31, V311, V5 = Version

PER_PACKET = {
    "CONNACK": "00 80 81 82 83 84 85 86 87 88 89 8a 8c 90 95 97 99 9a 9b 9c 9d 9f",
    "PUBACK": "00 10 80 83 87 90 91 97 99",
    "PUBREC": "00 10 80 83 87 90 91 97 99",
    "PUBREL": "00 92",
    "PUBCOMP": "00 92",
    "SUBACK": "00 01 02 80 83 87 8f 91 97 9e a1 a2",
    "UNSUBACK": "00 11 80 83 87 8f 91",
    # Table 3-10 leaves 0x8C out, but table 2-6 lists it for DISCONNECT.
    "DISCONNECT": ("00 04 80 81 82 83 87 89 8b 8c 8d 8e 8f 90 93 94 95 96 97 98 99 9a 9b 9c 9d 9e 9f a0 a1 a2"),
    "AUTH": "00 18 19",
}
"""Tables 3-1, 3-4 to 3-11 of 5.0."""

CLIENT_ONLY = {("DISCONNECT", 0x04), ("AUTH", 0x19)}
SERVER_ONLY = {
    *(("DISCONNECT", code) for code in bytes.fromhex("87898b8c8d8e8f9a9b9c9d9e9fa0a1a2")),
    ("AUTH", 0x00),
    ("PUBACK", 0x10),
    ("PUBREC", 0x10),
}
"""The `sent by` columns of tables 3-10 and 3-11, and 0x10 in tables 3-4 and 3-5; others have no such column."""


def row(packet: str, code: int, version: Version = V5) -> Reason:
    found = Codes(packet).row(code, version)
    assert found is not None
    return found


@pytest.mark.parametrize("packet", PER_PACKET)
def test_each_packet_has_the_codes_of_its_table(packet: str) -> None:
    assert sorted(Codes(packet).rows[V5]) == sorted(bytes.fromhex(PER_PACKET[packet]))


@pytest.mark.parametrize(
    ("packet", "refusals"),
    [("CONNACK", 21), ("SUBACK", 9), ("UNSUBACK", 5), ("PUBACK", 7), ("PUBREC", 7), ("PUBREL", 1), ("PUBCOMP", 1)],
)
def test_how_many_codes_refuse(packet: str, refusals: int) -> None:
    assert sum(code >= 0x80 for code in Codes(packet).rows[V5]) == refusals


def test_43_codes_are_in_the_table() -> None:
    codes = {row.code for row in REASONS}
    assert len(codes) == 43
    assert {code for code in codes if code < 0x80} == {0x00, 0x01, 0x02, 0x04, 0x10, 0x11, 0x18, 0x19}
    assert codes - set(range(0x80)) == set(range(0x80, 0xA3))


def test_a_packet_has_one_row_for_a_code() -> None:
    counted = Counter((packet, row.code) for row in REASONS for packet in row.packets)
    assert set(counted.values()) == {1}


def test_rows_name_packets_that_exist() -> None:
    assert {packet for row in REASONS for packet in row.packets} == set(PER_PACKET)
    assert set(PER_PACKET) < {cls.name for cls in PACKETS.values()}


def test_rows_are_in_the_order_of_the_codes() -> None:
    assert [row.code for row in REASONS] == sorted(row.code for row in REASONS)


@pytest.mark.parametrize("packet", PER_PACKET)
def test_who_may_send_a_code(packet: str) -> None:
    for code in Codes(packet).rows[V5]:
        expected = "c" if (packet, code) in CLIENT_ONLY else "s" if (packet, code) in SERVER_ONLY else "cs"
        if packet in ("CONNACK", "SUBACK", "UNSUBACK"):
            assert "s" in row(packet, code).sender
        else:
            assert row(packet, code).sender == expected, hex(code)


def test_rows_say_something() -> None:
    for one in (*REASONS, *CONNECT_RETURN_CODES, *SUBACK_RETURN_CODES):
        assert one.name == one.name.strip() != ""
        assert one.meaning.endswith(".")
        assert one.sender in ("c", "s", "cs")


@pytest.mark.parametrize(
    ("packet", "code", "name"),
    [
        ("PUBACK", 0x00, "Success"), ("PUBACK", 0x10, "No matching subscribers"),
        ("PUBACK", 0x80, "Unspecified error"), ("PUBACK", 0x83, "Implementation specific error"),
        ("PUBACK", 0x87, "Not authorized"), ("PUBACK", 0x90, "Topic Name invalid"),
        ("PUBACK", 0x91, "Packet Identifier in use"), ("PUBACK", 0x97, "Quota exceeded"),
        ("PUBACK", 0x99, "Payload format invalid"), ("PUBREL", 0x92, "Packet Identifier not found"),
        ("SUBACK", 0x00, "Granted QoS 0"), ("DISCONNECT", 0x00, "Normal disconnection"),
        ("DISCONNECT", 0x04, "Disconnect with Will Message"), ("UNSUBACK", 0x11, "No subscription existed"),
        ("AUTH", 0x19, "Re-authenticate"), ("CONNACK", 0x9F, "Connection rate exceeded"),
        ("CONNACK", 0x84, "Unsupported Protocol Version"),
    ],
)  # fmt: skip
def test_a_code_has_the_name_of_its_packet(packet: str, code: int, name: str) -> None:
    assert row(packet, code).name == name
    assert Codes(packet).name(code, V5) == name


def test_success_means_something_else_in_each_ack() -> None:
    assert (
        len({row(packet, 0).meaning for packet in ("CONNACK", "PUBACK", "PUBREL", "PUBCOMP", "UNSUBACK", "AUTH")}) == 6
    )
    assert row("PUBACK", 0) is row("PUBREC", 0)


def test_a_code_of_another_packet_keeps_its_name_but_is_not_legal() -> None:
    codes = Codes("PUBACK")
    assert codes.name(0x8E, V5) == "Session taken over"
    assert codes.row(0x8E, V5) is None
    assert not codes.legal(0x8E, V5)
    assert codes.legal(0x87, V5)


def test_a_code_with_several_names_has_the_first_one_of_the_table() -> None:
    assert Codes("PINGRESP").name(0x00, V5) == "Success"


@pytest.mark.parametrize("version", Version)
def test_a_code_of_no_table_is_called_by_its_number(version: Version) -> None:
    assert Codes("PUBACK").name(0x7F, version) == "reason 0x7f"


def test_return_codes_of_connack_before_5() -> None:
    codes = Codes("CONNACK")
    for version in (V31, V311):
        assert sorted(codes.rows[version]) == [0, 1, 2, 3, 4, 5]
        assert codes.name(2, version) == "identifier rejected"
        assert codes.name(0x87, version) == "reason 0x87"
    assert not codes.legal(1, V5)


def test_return_codes_of_suback_before_5() -> None:
    codes = Codes("SUBACK")
    assert sorted(codes.rows[V31]) == [0, 1, 2]
    assert sorted(codes.rows[V311]) == [0, 1, 2, 0x80]
    assert codes.name(0x80, V311) == "Failure"
    assert codes.name(0x80, V31) == "reason 0x80"


def test_other_packets_have_no_codes_before_5() -> None:
    assert Codes("PUBACK").rows[V311] == {} == Codes("PUBACK").rows[V31]
