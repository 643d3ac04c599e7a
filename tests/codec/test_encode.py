"""Packets to bytes: every vector, forbidden values that are built anyway, and values that cannot be written."""

from typing import Any

import pytest

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import Raw, encode, encode_properties
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import (
    PACKETS,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Puback,
    Publish,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
    Will,
)
from mqttpub.spec.properties import TOPIC_ALIAS, USER_PROPERTY
from mqttpub.spec.versions import Version
from tests.checks import for_each
from tests.vectors import Vector, packets
from tests.vectors.notation import parse

V31, V311, V5 = Version


def wrong(**values: Any) -> Packet:
    """Return a PUBLISH with a value of a wrong type."""
    return Publish(topic="a").replace(**values)


def hexed(packet: Packet, version: Version = V5) -> str:
    return encode(packet, version).hex(" ")


@for_each([one for one in packets() if one.packet], lambda vector: vector.name)
def test_a_vector_is_encoded_back(vector: Vector) -> None:
    assert vector.packet is not None
    assert (encode(vector.packet, vector.version) == vector.data) is vector.canonical


@for_each(
    [one for one in packets() if isinstance(one.packet, Connect) and not one.packet.reserved],
    lambda vector: vector.name,
)
def test_a_connect_is_encoded_with_the_values_that_follow_from_its_fields(vector: Vector) -> None:
    packet = vector.packet
    assert isinstance(packet, Connect)
    bare = packet.replace(
        protocol_name=None if packet.protocol_name in ("MQTT", "MQIsdp") else packet.protocol_name,
        protocol_level=None if packet.protocol_level == vector.version else packet.protocol_level,
        will_flag=None,
        username_flag=None if packet.username_flag is (packet.username is not None) else packet.username_flag,
        password_flag=None if packet.password_flag is (packet.password is not None) else packet.password_flag,
    )
    assert (encode(bare, vector.version) == vector.data) is vector.canonical


@pytest.mark.parametrize("version", Version)
def test_what_has_defaults_for_all_can_be_encoded(version: Version) -> None:
    for cls in PACKETS.values():
        if cls.since <= version and all(field.default is not ... for field in cls.layout):
            given: dict[str, Any] = {key: _SOME[key] for key, field in cls.fields.items() if key in _SOME}
            data = encode(cls(**given), version)
            assert decode(data, version).findings == []


_SOME: dict[str, Any] = {"topic": "t", "packet_id": 1, "filters": ("t",), "subscriptions": (Subscription(filter="t"),)}
_SOME["reason_codes"] = ()


# forbidden values are built


@pytest.mark.parametrize(
    ("packet", "version", "data"),
    [
        (Publish(qos=3, topic="a", packet_id=1), V311, "36 05 0001 'a' 0001"),
        (Publish(qos=1, topic="a"), V311, "32 03 0001 'a'"),
        (Publish(topic="a", packet_id=1), V311, "30 05 0001 'a' 0001"),
        (Publish(dup=True, topic="a/#"), V311, "38 05 0003 'a/#'"),
        (Publish(topic="a", properties=(Property(0x23, 0),)), V5, "30 07 0001 'a' 03 23 0000"),
        (
            Publish(topic="a", properties=(Property(0x21, 1), Property(0x21, 1))),
            V5,
            "30 0a 0001 'a' 06 21 0001 21 0001",
        ),
        (Publish(topic="a", properties=(Property(0x7E, b"xy"),)), V5, "30 07 0001 'a' 03 7e 'xy'"),
        (Puback(packet_id=0, reason_code=0x7F), V5, "40 03 0000 7f"),
        (Pubrel(flags=0, packet_id=1), V311, "60 02 0001"),
        (Subscribe(packet_id=1, subscriptions=()), V311, "82 02 0001"),
        (Unsubscribe(packet_id=1, filters=("",)), V311, "a2 04 0001 0000"),
        (Connack(reserved=127, session_present=True, reason_code=9), V311, "20 02 ff 09"),
        (Suback(packet_id=1, reason_codes=(3, 0xFF)), V311, "90 04 0001 03 ff"),
        (Pingreq(flags=15), V311, "cf 00"),
        (Connect(protocol_name="X", protocol_level=9, client_id=""), V311, "10 09 0001 'X' 09 02 003c 0000"),
        (Connect(username_flag=True, will_flag=True), V311, "10 0c 0004 'MQTT' 04 86 003c 0000"),
        (Connect(username_flag=False, username="u"), V311, "10 0f 0004 'MQTT' 04 02 003c 0000 0001 'u'"),
    ],
)
def test_forbidden_packets_can_be_built(packet: Packet, version: Version, data: str) -> None:
    assert hexed(packet, version) == parse(data).hex(" ")


@pytest.mark.parametrize(
    ("length", "header"),
    [(0, "c0 00"), (9, "c0 09"), (268_435_455, "c0 ff ff ff 7f"), (Raw(b"\x80\x00"), "c0 80 00"), (Raw(), "c0")],
)
def test_a_wrong_remaining_length_is_built(length: int | Raw, header: str) -> None:
    assert encode(Pingreq(), V5, remaining_length=length).hex(" ") == header


RAW = Raw(b"\xde\xad")


@pytest.mark.parametrize(
    ("packet", "data"),
    [
        (Publish(topic=RAW), "30 03 dead 00"),  # type: ignore[arg-type]
        (Publish(topic="", properties=RAW), "30 04 0000 dead"),  # type: ignore[arg-type]
        (Publish(topic="", payload=RAW), "30 05 0000 00 dead"),
        (Publish(topic="", properties=(Property(0x23, RAW),)), "30 06 0000 03 23 dead"),
        (Connect(will=RAW), "10 0f 0004 'MQTT' 05 06 003c 00 0000 dead"),  # type: ignore[arg-type]
        (Subscribe(packet_id=1, subscriptions=RAW), "82 05 0001 00 dead"),  # type: ignore[arg-type]
        (Subscribe(packet_id=1, subscriptions=(RAW,)), "82 05 0001 00 dead"),  # type: ignore[arg-type]
        (Suback(packet_id=RAW, reason_codes=(RAW, 1)), "90 06 dead 00 dead 01"),  # type: ignore[arg-type]
    ],
)
def test_raw_bytes_stand_for_any_field(packet: Packet, data: str) -> None:
    assert hexed(packet) == parse(data).hex(" ")


def test_properties_by_themselves() -> None:
    assert encode_properties(()) == b"\x00"
    given = [Property(USER_PROPERTY.id, ("k", "v")), Property(TOPIC_ALIAS.id, 5)]
    assert encode_properties(given) == parse("0a 26 0001 'k' 0001 'v' 23 0005")


# what cannot be written


@pytest.mark.parametrize(
    ("packet", "version", "says"),
    [
        (Auth(), V311, "AUTH needs MQTT 5.0"),
        (Publish(topic="a", qos=4), V311, "4 does not fit QoS (0, 1 or 2)"),
        (Publish(topic="a", qos=-1), V311, "-1 does not fit QoS (0, 1 or 2)"),
        (Publish(topic="a", packet_id=65536), V311,
         "Packet Identifier: 65536 does not fit a Two Byte Integer (0 to 65535)"),
        (Publish(topic="x" * 65536), V311, "Topic Name: 65536 bytes do not fit Binary Data (0 to 65535 bytes)"),
        (Publish(topic="a\ud800"), V311, "Topic Name: U+D800 cannot be encoded as UTF-8"),
        (Publish(topic="a", properties=(Property(1, 256),)), V5,
         "Payload Format Indicator: 256 does not fit a Byte (0 to 255)"),
        (Publish(topic="a", properties=(Property(0x0B, 268_435_456),)), V5,
         "Subscription Identifier: 268435456 does not fit a Variable Byte Integer (0 to 268435455)"),
        (Publish(topic="a", properties=(Property(0x26, ("a", "\ud800")),)), V5,
         "User Property: U+D800 cannot be encoded as UTF-8"),
        (Publish(topic="a", properties=(Property(1, 1),)), V311, "Publish Properties needs MQTT 5.0"),
        (Puback(packet_id=1, reason_code=0x10), V311, "Puback Reason Code needs MQTT 5.0"),
        (Puback(packet_id=1, properties=()), V5, "Properties needs Reason Code before it"),
        (Disconnect(properties=()), V5, "Properties needs Reason Code before it"),
        (Pubrel(packet_id=1, dup=True), V311, "Pubrel DUP needs MQTT 3.1"),
        (Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", no_local=True),)), V311,
         "Subscription No Local needs MQTT 5.0"),
        (Connect(will=Will(topic="w", properties=(Property(1, 1),))), V311, "Will Properties needs MQTT 5.0"),
        (Unsuback(packet_id=1, reason_codes=(17,)), V311, "Unsuback Reason Code needs MQTT 5.0"),
        (Suback(packet_id=1, reason_codes=(256,)), V311, "Reason Code: 256 does not fit a Byte (0 to 255)"),
        (Connack(session_present=True), V31, "Connack Session Present needs MQTT 3.1.1"),
        (wrong(qos="1"), V5, "QoS: a value of the type str does not fit"),
        (wrong(packet_id=7.9), V5, "Packet Identifier: a value of the type float does not fit"),
        (wrong(topic=b"a"), V5, "Topic Name: a value of the type bytes does not fit"),
        (wrong(payload=5), V5, "Payload: a value of the type int does not fit"),
        (wrong(properties=5), V5, "Properties: a value of the type int does not fit"),
        (wrong(properties=(Property(2, "5"),)), V5,
         "Message Expiry Interval: a value of the type str does not fit"),
        (wrong(properties=(Property(0x26, "ab"),)), V5, "User Property: a pair has two texts"),
        (wrong(properties=(Property(0x26, ("a", "b", "c")),)), V5, "User Property: a pair has two texts"),
        (Subscribe(packet_id=1, subscriptions=("a",)), V5,  # type: ignore[arg-type]
         "Subscriptions: a value of the type str does not fit"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_the_callers_fault(packet: Packet, version: Version, says: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        encode(packet, version)
    assert str(caught.value) == says


@pytest.mark.parametrize("length", [-1, 268_435_456])
def test_a_remaining_length_that_does_not_fit_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="does not fit a Variable Byte Integer"):
        encode(Pingreq(), V5, remaining_length=length)


def test_an_empty_value_may_be_given_to_a_version_without_the_field() -> None:
    assert hexed(Publish(topic="a", properties=()), V311) == "30 03 00 01 61"
    assert hexed(Puback(packet_id=1, properties=()), V311) == "40 02 00 01"
    assert hexed(Unsuback(packet_id=1, reason_codes=()), V31) == "b0 02 00 01"


def test_in_3_1_a_user_name_may_be_missing_before_a_password() -> None:
    packet = Connect(client_id="x", username_flag=True, password=b"p")
    assert hexed(packet, V31) == parse("10 12 0006 'MQIsdp' 03 c2 003c 0001 'x' 0001 'p'").hex(" ")
