"""The control packets, against the specification."""

import pytest

from mqttpub.spec import packets as module
from mqttpub.spec.declare import Field, Group
from mqttpub.spec.packets import PACKETS, Auth, Publish, Subscription, Will, declared
from mqttpub.spec.reason_codes import Codes
from mqttpub.spec.versions import Direction, Version

V31, V311, V5 = Version
C, S = Direction.CLIENT, Direction.SERVER
BOTH = {C, S}
GROUPS: list[type[Group]] = [*PACKETS.values(), Will, Subscription]

TABLE = {
    1: ("CONNECT", "3.1", {C}, {C}),
    2: ("CONNACK", "3.2", {S}, {S}),
    3: ("PUBLISH", "3.3", BOTH, BOTH),
    4: ("PUBACK", "3.4", BOTH, BOTH),
    5: ("PUBREC", "3.5", BOTH, BOTH),
    6: ("PUBREL", "3.6", BOTH, BOTH),
    7: ("PUBCOMP", "3.7", BOTH, BOTH),
    8: ("SUBSCRIBE", "3.8", {C}, {C}),
    9: ("SUBACK", "3.9", {S}, {S}),
    10: ("UNSUBSCRIBE", "3.10", {C}, {C}),
    11: ("UNSUBACK", "3.11", {S}, {S}),
    12: ("PINGREQ", "3.12", {C}, {C}),
    13: ("PINGRESP", "3.13", {S}, {S}),
    14: ("DISCONNECT", "3.14", BOTH, {C}),
    15: ("AUTH", "3.15", BOTH, BOTH),
}
"""Table 2-1 of 5.0, and who sends DISCONNECT before it."""

LAYOUT = {
    "CONNECT": (
        "flags | protocol_name | protocol_level | username_flag password_flag will_retain will_qos will_flag"
        " clean_start reserved | keep_alive | client_id | will | username | password"
    ),
    "CONNACK": "flags | reserved session_present | reason_code",
    "PUBLISH": "dup qos retain | topic | packet_id | payload",
    "PUBACK": "flags | packet_id",
    "PUBREC": "flags | packet_id",
    "PUBREL": "flags | packet_id",
    "PUBCOMP": "flags | packet_id",
    "SUBSCRIBE": "flags | packet_id | subscriptions",
    "SUBACK": "flags | packet_id | reason_codes",
    "UNSUBSCRIBE": "flags | packet_id | filters",
    "UNSUBACK": "flags | packet_id",
    "PINGREQ": "flags",
    "PINGRESP": "flags",
    "DISCONNECT": "flags",
}
"""Fields of 3.1.1 in wire order, those of one byte together."""
LAYOUT_31 = {
    **LAYOUT,
    "CONNACK": "flags | unused | reason_code",
    "PUBREL": "dup qos retain | packet_id",
    "SUBSCRIBE": "dup qos retain | packet_id | subscriptions",
    "UNSUBSCRIBE": "dup qos retain | packet_id | filters",
}
LAYOUT_5 = {
    **LAYOUT,
    "CONNECT": LAYOUT["CONNECT"].replace("| client_id", "| properties | client_id"),
    "CONNACK": "flags | reserved session_present | reason_code | properties",
    "PUBLISH": "dup qos retain | topic | packet_id | properties | payload",
    **dict.fromkeys(("PUBACK", "PUBREC", "PUBREL", "PUBCOMP"), "flags | packet_id | reason_code | properties"),
    "SUBSCRIBE": "flags | packet_id | properties | subscriptions",
    "SUBACK": "flags | packet_id | properties | reason_codes",
    "UNSUBSCRIBE": "flags | packet_id | properties | filters",
    "UNSUBACK": "flags | packet_id | properties | reason_codes",
    "DISCONNECT": "flags | reason_code | properties",
    "AUTH": "flags | reason_code | properties",
}


def layout(cls: type[Group], version: Version) -> str:
    return " | ".join(" ".join(field.key for field in step) for step in cls.plan[version])


def every_field() -> list[Field]:
    return [field for cls in GROUPS for field in cls.layout]


def test_fifteen_packets_with_their_codes_sections_and_senders() -> None:
    made = {code: (cls.name, cls.section, set(cls.senders), set(cls.senders_before_5)) for code, cls in PACKETS.items()}
    assert made == TABLE


def test_only_auth_is_new_in_5() -> None:
    assert [cls.name for cls in PACKETS.values() if cls.since == V5] == ["AUTH"]
    assert {cls.since for cls in PACKETS.values()} == {V31, V5}


@pytest.mark.parametrize(("version", "expected"), [(V31, LAYOUT_31), (V311, LAYOUT), (V5, LAYOUT_5)])
def test_fields_are_in_wire_order(version: Version, expected: dict[str, str]) -> None:
    made = {cls.name: layout(cls, version) for cls in PACKETS.values() if cls.since <= version}
    assert made == expected


def test_the_will_has_properties_since_5_0() -> None:
    assert layout(Will, V311) == layout(Will, V31) == "topic | payload"
    assert layout(Will, V5) == "properties | topic | payload"


def test_subscription_options_came_with_5_0() -> None:
    assert layout(Subscription, V311) == layout(Subscription, V31) == "filter | unused qos"
    assert layout(Subscription, V5) == "filter | reserved retain_handling retain_as_published no_local qos"


@pytest.mark.parametrize("version", Version)
def test_the_bits_of_every_byte_are_declared_once(version: Version) -> None:
    for cls in GROUPS:
        for step in cls.plan[version]:
            masks = [field.mask for field in step]
            if masks[0]:
                whole = 0xFF if step[0].octet else 0x0F
                assert sum(masks) == whole, (cls, step[0].key)
                assert masks == sorted(masks, reverse=True), (cls, step[0].key)


@pytest.mark.parametrize("version", Version)
def test_the_first_step_is_the_rest_of_the_first_byte(version: Version) -> None:
    for cls in PACKETS.values():
        first, *others = cls.plan[version]
        assert all(field.mask and not field.octet for field in first)
        assert not any(field.mask and not field.octet for step in others for field in step)


def test_reserved_first_bytes_since_3_1_1() -> None:
    low = {cls.name: cls.fields["flags"].default for cls in PACKETS.values() if "flags" in cls.fields}
    assert {name for name, bits in low.items() if bits == 2} == {"PUBREL", "SUBSCRIBE", "UNSUBSCRIBE"}
    assert {name for name, bits in low.items() if bits == 0} == set(low) - {"PUBREL", "SUBSCRIBE", "UNSUBSCRIBE"}


def test_fields_refer_to_fields_that_are_there() -> None:
    for cls in GROUPS:
        keys = list(cls.fields)
        for field in cls.layout:
            if field.when:
                assert keys.index(field.when) < keys.index(field.key)
            if field.derived:
                assert cls.fields[field.derived].when == field.key


def test_every_code_field_has_its_names() -> None:
    codes = {cls.name: field.names for cls in PACKETS.values() for field in cls.layout if field.kind == "reason"}
    assert set(codes) == {
        "CONNACK", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBACK", "UNSUBACK", "DISCONNECT", "AUTH",
    }  # fmt: skip
    for name, names in codes.items():
        assert isinstance(names, Codes)
        assert names.packet == name


def test_only_the_password_is_secret() -> None:
    assert [field.key for field in every_field() if field.kind == "secret"] == ["password"]


def test_what_3_1_1_calls_by_another_name() -> None:
    older = {field.label: field.name_before_5 for field in every_field() if field.name_before_5}
    assert older == {
        "Protocol Version": "Protocol Level", "Clean Start": "Clean Session", "Will Payload": "Will Message",
        "Reason Code": "Return Code", "Maximum QoS": "Requested QoS",
    }  # fmt: skip


def test_docs_of_packets_are_one_sentence() -> None:
    for cls in PACKETS.values():
        assert (cls.__doc__ or "").endswith(".")
        assert "\n" not in (cls.__doc__ or "")


def test_the_module_gives_all_packets_by_name() -> None:
    assert {cls.__name__ for cls in PACKETS.values()} <= set(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)


def test_a_packet_type_is_found_only_in_versions_that_have_it() -> None:
    assert declared(3, V31) is Publish
    assert declared(0, V5) is None
    assert declared(15, V311) is None
    assert declared(15, V5) is Auth
