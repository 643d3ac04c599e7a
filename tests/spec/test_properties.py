"""The 27 properties, against table 2-4 of 5.0."""

import pytest

from mqttpub.spec.packets import PACKETS
from mqttpub.spec.properties import (
    BY_KEY,
    CONTENT_TYPE,
    PROPERTIES,
    TOPIC_ALIAS,
    USER_PROPERTY,
    WILL,
    of_packet,
    value_of,
)
from mqttpub.spec.versions import Version
from mqttpub.wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE, WireType
from tests.vectors import packets

ALL = "CONNECT CONNACK PUBLISH WILL PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK DISCONNECT AUTH"
TABLE: dict[int, tuple[str, WireType, str]] = {
    1: ("Payload Format Indicator", BYTE, "PUBLISH WILL"),
    2: ("Message Expiry Interval", U32, "PUBLISH WILL"),
    3: ("Content Type", STRING, "PUBLISH WILL"),
    8: ("Response Topic", STRING, "PUBLISH WILL"),
    9: ("Correlation Data", BINARY, "PUBLISH WILL"),
    11: ("Subscription Identifier", VARIABLE, "PUBLISH SUBSCRIBE"),
    17: ("Session Expiry Interval", U32, "CONNECT CONNACK DISCONNECT"),
    18: ("Assigned Client Identifier", STRING, "CONNACK"),
    19: ("Server Keep Alive", U16, "CONNACK"),
    21: ("Authentication Method", STRING, "CONNECT CONNACK AUTH"),
    22: ("Authentication Data", BINARY, "CONNECT CONNACK AUTH"),
    23: ("Request Problem Information", BYTE, "CONNECT"),
    24: ("Will Delay Interval", U32, "WILL"),
    25: ("Request Response Information", BYTE, "CONNECT"),
    26: ("Response Information", STRING, "CONNACK"),
    28: ("Server Reference", STRING, "CONNACK DISCONNECT"),
    31: ("Reason String", STRING, "CONNACK PUBACK PUBREC PUBREL PUBCOMP SUBACK UNSUBACK DISCONNECT AUTH"),
    33: ("Receive Maximum", U16, "CONNECT CONNACK"),
    34: ("Topic Alias Maximum", U16, "CONNECT CONNACK"),
    35: ("Topic Alias", U16, "PUBLISH"),
    36: ("Maximum QoS", BYTE, "CONNACK"),
    37: ("Retain Available", BYTE, "CONNACK"),
    38: ("User Property", PAIR, ALL),
    39: ("Maximum Packet Size", U32, "CONNECT CONNACK"),
    40: ("Wildcard Subscription Available", BYTE, "CONNACK"),
    41: ("Subscription Identifier Available", BYTE, "CONNACK"),
    42: ("Shared Subscription Available", BYTE, "CONNACK"),
}
PUBLISHED = {0x01, 0x02, 0x23, 0x08, 0x09, 0x26, 0x0B, 0x03}
"""The walkthrough's table of the PUBLISH properties."""
FLAGS = {1, 23, 25, 36, 37, 40, 41, 42}
NOT_ZERO = {11, 33, 35, 39}


def test_there_are_the_27_properties_of_the_specification() -> None:
    assert list(PROPERTIES) == list(TABLE)
    assert len(PROPERTIES) == 27


@pytest.mark.parametrize("id", TABLE)
def test_each_is_a_row_of_the_table(id: int) -> None:
    row = PROPERTIES[id]
    label, type, places = TABLE[id]
    assert (row.id, row.label, row.type, row.packets) == (id, label, type, frozenset(places.split()))


def test_keys_are_the_names_in_python() -> None:
    assert PROPERTIES[1].key == "payload_format_indicator"
    assert {key: row.id for key, row in BY_KEY.items()} == {row.key: id for id, row in PROPERTIES.items()}


def test_of_packet_gives_the_rows_of_a_packet() -> None:
    assert {row.id for row in of_packet("PUBLISH")} == PUBLISHED
    assert {row.id for row in of_packet("PUBACK")} == {0x1F, 0x26}
    assert {row.id for row in of_packet(WILL)} == {24, 1, 2, 3, 8, 9, 38}
    assert len(of_packet("CONNECT")) == 9
    assert len(of_packet("CONNACK")) == 17
    assert of_packet("PINGREQ") == ()


def test_places_are_packets_with_properties_and_the_will() -> None:
    places = {name for row in PROPERTIES.values() for name in row.packets}
    assert places == {cls.name for cls in PACKETS.values() if "properties" in cls.fields} | {WILL}


def test_what_may_be_repeated() -> None:
    assert PROPERTIES[38].repeatable == frozenset(ALL.split())
    assert PROPERTIES[11].repeatable == {"PUBLISH"}
    assert all(not row.repeatable for id, row in PROPERTIES.items() if id not in (11, 38))


@pytest.mark.parametrize("id", TABLE)
def test_a_property_has_the_range_of_the_specification(id: int) -> None:
    row = PROPERTIES[id]
    wrong = {
        value for value in (0, 1, 2, 255) if row.type not in (STRING, BINARY, PAIR)
        for limit in row.limits if limit.ref.id(Version.V5) and limit.violation(value)
    }  # fmt: skip
    assert wrong == ({2, 255} if id in FLAGS else {0} if id in NOT_ZERO else set())


def test_only_authentication_data_is_secret() -> None:
    assert [row.key for row in PROPERTIES.values() if row.secret] == ["authentication_data"]


def test_sections_are_those_of_the_first_packet_that_carries_it() -> None:
    assert (PROPERTIES[1].section, PROPERTIES[18].section, PROPERTIES[38].section) == (
        "3.3.2.3.2",
        "3.2.2.3.7",
        "3.3.2.3.7",
    )
    assert len({row.section for row in PROPERTIES.values()}) == 27


def test_every_property_is_described() -> None:
    assert all(row.doc and not row.doc.endswith(".") for row in PROPERTIES.values())


def test_every_property_has_a_vector() -> None:
    seen = {
        one.id for vector in packets() if vector.packet and not vector.findings
        for one in getattr(vector.packet, "properties", None) or ()
    }  # fmt: skip
    assert set(PROPERTIES) - seen == {24}
    assert any(vector.name == "property 0x18: Will Delay Interval" for vector in packets())


def test_the_first_value_of_a_property_is_found_by_its_row() -> None:
    properties = [(0x26, ("a", "1")), (0x23, 5), (0x26, ("b", "2"))]
    assert value_of(properties, USER_PROPERTY) == ("a", "1")
    assert value_of(properties, TOPIC_ALIAS) == 5
    assert value_of(properties, CONTENT_TYPE) is None
    assert (value_of(None, TOPIC_ALIAS, 0), value_of((), TOPIC_ALIAS, 7)) == (0, 7)
