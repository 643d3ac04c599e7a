"""Bytes to a tree; every vector, and every kind of fault."""

from typing import Any

import pytest

from mqttpub.codec.connect_version import unknown_level
from mqttpub.codec.decode import decode
from mqttpub.codec.framing import frame_length
from mqttpub.codec.tree import Decoded, Node
from mqttpub.spec.packets import PACKETS, Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Span
from tests.checks import assert_sound, every, for_each
from tests.vectors import Vector, named, packets

V31, V311, V5 = Version
LARGE = 20_000
"""Bytes from which on a vector is not tried byte by byte."""

each_vector = for_each(packets(), lambda vector: vector.name)
small = for_each([one for one in packets() if len(one.data) < LARGE], lambda vector: vector.name)


def findings(decoded: Decoded) -> list[tuple[str, str, Span]]:
    return [(found.statement, found.path, found.span) for found in decoded.findings]


# the vectors


@each_vector
def test_a_vector_has_its_values(vector: Vector) -> None:
    decoded = decode(vector.data, vector.version)
    assert decoded.packet == vector.packet
    assert decoded.version == vector.version


@each_vector
def test_a_vector_has_its_findings(vector: Vector) -> None:
    decoded = decode(vector.data, vector.version)
    assert findings(decoded) == [(found.id, found.path, found.span) for found in vector.findings]
    for made, expected in zip(decoded.findings, vector.findings, strict=True):
        assert made.message == (made.message if expected.message is None else expected.message)
        # 5.0: 2.4, Malformed Packet
        assert made.reason == (0x81 if decoded.version == Version.V5 else None)


@each_vector
def test_a_vector_is_tiled_by_its_leaves(vector: Vector) -> None:
    assert_sound(decode(vector.data, vector.version))


@for_each([one for one in packets() if one.places], lambda vector: vector.name)
def test_a_vector_has_its_fields_in_their_places(vector: Vector) -> None:
    decoded = decode(vector.data, vector.version)
    for path, span in vector.places.items():
        node = decoded.at(path)
        assert node is not None, path
        assert node.span == span, path


@small
def test_a_vector_followed_by_bytes_is_read_the_same(vector: Vector) -> None:
    if vector.packet is None or frame_length(vector.data) != len(vector.data):
        return
    decoded = decode(vector.data + b"\xc0\x00", vector.version)
    assert decoded.packet == vector.packet
    size = len(vector.data)
    assert findings(decoded)[-1][1:] == (f"{decoded.root.name}.trailing", Span(size, size + 2))
    assert_sound(decoded)


@small
def test_a_truncated_vector_is_not_a_packet(vector: Vector) -> None:
    # How a CONNECT of unknown level is read depends on what fits, which only the whole packet shows.
    if vector.packet is None or vector.findings or unknown_level(vector.data) is not None:
        return
    ends = range(len(vector.data))
    for size in ends if len(ends) < 400 else (*ends[:100], *ends[-100:]):
        decoded = decode(vector.data[:size], vector.version)
        assert decoded.packet is None
        (found,) = decoded.findings
        assert found.path.endswith("remaining_length") or size == 0, found
        assert_sound(decoded)


@pytest.mark.slow
@small
def test_a_vector_with_a_byte_flipped_gives_a_tree(vector: Vector) -> None:
    for at in range(min(len(vector.data), 60)):
        for flip in (0x01, 0x10, 0x80, 0xFF):
            data = bytearray(vector.data)
            data[at] ^= flip
            assert_sound(decode(bytes(data), vector.version))


def test_vectors_have_names_of_their_own() -> None:
    names = [vector.name for vector in packets()]
    assert len(set(names)) == len(names) > 400


def test_every_packet_has_a_vector_in_every_version() -> None:
    seen = {(type(vector.packet), vector.version) for vector in packets() if vector.packet}
    assert seen == {(cls, version) for cls in PACKETS.values() for version in Version if cls.since <= version}


# the version, the direction, the offset


def test_a_connect_is_read_by_the_version_that_it_announces() -> None:
    data = named("mosquitto_pub: CONNECT").data
    for version in (None, *Version):
        assert decode(data, version).version == V311
        assert decode(data, version).packet == named("mosquitto_pub: CONNECT").packet


def test_without_a_version_packets_are_read_as_5() -> None:
    assert decode(b"\xc0\x00").version == V5
    assert decode(b"").version == V5


def test_a_version_after_the_end_of_a_connect_is_ignored() -> None:
    decoded = decode(b"\x10\x00\x00\x04MQTT\x05", V311)
    assert decoded.version == V311


def test_direction_and_offset_are_kept() -> None:
    decoded = decode(b"\xc0\x00", direction=Direction.CLIENT, offset=7)
    assert (decoded.direction, decoded.offset, decoded.root.span) == (Direction.CLIENT, 7, Span(0, 2))


# the tree


def tree(data: bytes, version: Version = V5) -> list[tuple[str, str, Any]]:
    """Return path, kind and value of every leaf."""
    decoded = decode(data, version)
    return [(path, node.kind, node.value) for path, node in decoded.root.walk() if not node.children]


def test_the_tree_of_the_walkthrough() -> None:
    assert tree(named("walkthrough: PUBLISH of QoS 0").data) == [
        ("publish.type", "type", 3),
        ("publish.dup", "flag", False),
        ("publish.qos", "flag", 0),
        ("publish.retain", "flag", False),
        ("publish.remaining_length", "length", 49),
        ("publish.topic", "topic", "request"),
        ("publish.properties.property_length", "length", 16),
        ("publish.properties.message_expiry_interval.identifier", "length", 2),
        ("publish.properties.message_expiry_interval.value", "number", 300),
        ("publish.properties.response_topic.identifier", "length", 8),
        ("publish.properties.response_topic.value", "text", "response"),
        ("publish.payload", "payload", b"This is a QoS 0 message"),
    ]


def test_the_tree_of_a_subscribe() -> None:
    data = named("5.0 subscription options: all legal bits").data
    assert tree(data)[4:] == [
        ("subscribe.properties.property_length", "length", 0),
        ("subscribe.subscriptions.0.filter", "topic", "a/b"),
        ("subscribe.subscriptions.0.reserved", "reserved", 0),
        ("subscribe.subscriptions.0.retain_handling", "flag", 2),
        ("subscribe.subscriptions.0.retain_as_published", "flag", True),
        ("subscribe.subscriptions.0.no_local", "flag", True),
        ("subscribe.subscriptions.0.qos", "flag", 2),
    ]


def test_the_tree_of_a_user_property_and_a_secret() -> None:
    assert tree(named("AUTH with every property").data)[4:] == [
        ("auth.properties.property_length", "length", 24),
        ("auth.properties.authentication_method.identifier", "length", 0x15),
        ("auth.properties.authentication_method.value", "text", "one"),
        ("auth.properties.authentication_data.identifier", "length", 0x16),
        ("auth.properties.authentication_data.value", "secret", b"\x00\xff"),
        ("auth.properties.reason_string.identifier", "length", 0x1F),
        ("auth.properties.reason_string.value", "text", "why"),
        ("auth.properties.user_property.identifier", "length", 0x26),
        ("auth.properties.user_property.name", "text", "k"),
        ("auth.properties.user_property.value", "text", "v"),
    ]


def test_an_empty_payload_and_an_empty_list_have_no_node() -> None:
    assert decode(named("PUBLISH with a payload of zero length").data).at("publish.payload") is None
    assert decode(named("5.0 SUBSCRIBE: no filter").data).at("subscribe.subscriptions") is None
    assert decode(named("5.0 UNSUBSCRIBE: no filter").data).at("unsubscribe.filters") is None


def test_short_acks_have_no_node_for_omitted_fields() -> None:
    decoded = decode(named("walkthrough: PUBREL").data)
    assert decoded.at("pubrel.reason_code") is not None
    assert decoded.at("pubrel.properties") is None


def test_nodes_of_groups_and_lists_hold_their_values() -> None:
    vector = named("3.1 SUBSCRIBE: pairs of topic and QoS")
    decoded = decode(vector.data, vector.version)
    assert vector.packet is not None
    whole, first = decoded.at("subscribe.subscriptions"), decoded.at("subscribe.subscriptions.0")
    assert whole is not None
    assert first is not None
    assert whole.value == vector.packet.subscriptions  # type: ignore[attr-defined]
    assert first.value == whole.value[0]
    assert (first.kind, first.label) == ("group", "Subscription 1")


def test_a_property_node_holds_its_value_and_its_row() -> None:
    decoded = decode(named("property 0x26: User Property").data)
    node = decoded.at("publish.properties.user_property")
    assert node is not None
    assert node.value == ("name", "value")
    assert node.row is not None
    assert all(child.row is node.row for child in node.children)
    assert [child.prefix for child in node.children] == [0, 2, 2]


def test_labels_are_the_words_of_the_version() -> None:
    old = decode(named("3.1.1 CONNECT with everything").data).at("connect.clean_start")
    new = decode(named("5.0 CONNECT: a password without a user name is legal").data).at("connect.clean_start")
    assert old is not None
    assert new is not None
    assert (old.label, new.label) == ("Clean Session", "Clean Start")


def test_fields_are_known_to_their_nodes() -> None:
    decoded = decode(named("walkthrough: PUBLISH of QoS 1").data)
    for key in ("topic", "qos", "packet_id", "payload"):
        node = decoded.at(f"publish.{key}")
        assert node is not None
        assert node.field is Publish.fields[key]


def gaps(data: bytes, version: Version = V5) -> list[tuple[str, Span, str]]:
    decoded = decode(data, version)
    return [(node.name, node.span, node.label) for node in every(decoded.root) if node.kind == "gap"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bytes behind the last field of an ack", [("trailing", Span(4, 6))]),
        ("one byte behind a body and one behind the packet", [("trailing", Span(2, 3)), ("trailing", Span(3, 4))]),
        ("packet type 0 with a body", [("unread", Span(2, 5))]),
        ("topic length 9, but two bytes are left", [("topic", Span(2, 6))]),
        ("a property is cut in half by the Property Length", [("value", Span(9, 11))]),
        ("a property that is not known takes the rest of the properties", [("value", Span(11, 13))]),
        ("a property identifier of five bytes", [("identifier", Span(8, 12)), ("unread", Span(12, 14))]),
        ("Property Length of five bytes", [("property_length", Span(7, 11)), ("unread", Span(11, 12))]),
        ("PUBLISH whose Remaining Length does not end", [("remaining_length", Span(1, 5)), ("unread", Span(5, 6))]),
        ("a User Property with a value cut short", [("value", Span(12, 14))]),
    ],
)
def test_what_belongs_to_no_field_is_a_gap(name: str, expected: list[tuple[str, Span]]) -> None:
    vector = named(name)
    assert [gap[:2] for gap in gaps(vector.data, vector.version)] == expected


def test_the_payload_is_read_despite_a_wrong_property() -> None:
    decoded = decode(named("a property is cut in half, the payload is still read").data)
    payload = decoded.at("publish.payload")
    assert payload is not None
    assert payload.value == b"hi"
    assert decoded.packet is None


def test_a_packet_of_another_version_is_a_type_without_a_name() -> None:
    decoded = decode(b"\xf0\x02\x18\x00", V311)
    assert (decoded.name, decoded.type, decoded.root.name) == ("TYPE 15", None, "type_15")


def test_nodes_without_bytes_are_groups_that_were_cut_at_their_start() -> None:
    decoded = decode(named("CONNECT with a will flag and no will").data)
    empty = [node for node in every(decoded.root) if not node.span.length]
    assert [(node.name, node.kind) for node in empty] == [("will", "group")]


def leaf(decoded: Decoded, name: str) -> Node:
    return next(node for node in decoded.root.leaves() if node.name == name)


def test_reserved_bits_are_of_the_kind_reserved() -> None:
    assert leaf(decode(b"\xc0\x00"), "flags").kind == "reserved"
    assert leaf(decode(named("3.1.1 CONNACK: reserved bits set").data, V311), "reserved").kind == "reserved"
    assert leaf(decode(b"\x00\x00"), "flags").kind == "reserved"
