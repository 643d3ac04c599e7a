"""Fields under tshark's names."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded
from mqttpub.spec.declare import PACKETS, Group, Property
from mqttpub.spec.packets import Connack, Connect, Publish, Pubrel, Suback, Subscribe, Subscription, Will
from mqttpub.spec.properties import AUTHENTICATION_DATA, PROPERTIES, PropertyRow
from mqttpub.spec.versions import Direction, Version
from mqttpub.view.export import pdml, tshark_json
from mqttpub.view.export.tshark_fields import BOOLEAN, LONGEST, LONGEST_KEPT, MOST_KEPT, NAMES, Shown, octets, shown
from mqttpub.wire.types import BINARY, PAIR, STRING
from tests.vectors import Vector, packets
from tests.view.samples import laws, publish, wires

V31, V311, V5 = Version


def every(fields: tuple[Shown, ...]) -> Iterator[Shown]:
    """Yield fields with those inside them."""
    for field in fields:
        yield field
        yield from every(field.children)


def found(data: bytes, name: str, version: Version = V5) -> Shown:
    """Return the only field with a name."""
    (field,) = (each for each in every(shown(decode(data, version), secrets=True)) if each.name == f"mqtt.{name}")
    return field


@laws
@given(wires())
def test_the_fields_cover_any_bytes_once(wire: tuple[bytes, Version]) -> None:
    decoded = decode(*wire)
    assert covered(decoded) == wire[0].hex()


@pytest.mark.parametrize("vector", packets(), ids=lambda vector: vector.name)
def test_the_fields_of_every_vector_cover_it_once(vector: Vector) -> None:
    decoded = decode(vector.data, vector.version)
    assert covered(decoded) == decoded.data.hex()


def covered(decoded: Decoded) -> str:
    """Return the bytes of fields that hold no whole fields, in their order, if each begins where the last one ends."""
    at, pieces = 0, []
    for field in every(shown(decoded, secrets=True)):
        if field.mask or any(not child.mask for child in field.children):
            continue
        assert field.span.start == at
        at = field.span.stop
        pieces.append(field.value)
    return "".join(pieces)


def test_every_declared_field_has_a_name_in_every_version() -> None:
    def members(group: type[Group], version: Version) -> Iterator[str]:
        for field in group.layout:
            if field.exists_in(version):
                yield field.octet or field.key
                yield field.key
                if isinstance(field.item, type) and issubclass(field.item, Group):
                    yield from members(field.item, version)

    keys = {key for cls in PACKETS.values() for version in Version for key in members(cls, version)}
    holders = {"will", "subscriptions", "properties"}
    last = {name.removeprefix("older ").rpartition(".")[2] for name in NAMES}
    assert keys - holders <= last


EXAMPLES = {STRING: "text", BINARY: b"\0\xff", PAIR: ("k", "v")}
OWN = {
    "content_type": "property.content_type",
    "topic_alias": "property.topic_alias",
    "maximum_qos": "property.max_qos",
}
KINDS = {STRING: "prop_string", BINARY: "prop_string", PAIR: "prop_value"}


@pytest.mark.parametrize("row", PROPERTIES.values(), ids=lambda row: row.key)
def test_every_property_has_a_field_for_its_value(row: PropertyRow) -> None:
    data = encode(Publish(topic="t", properties=(Property(row.id, EXAMPLES.get(row.type, 1)),)), V5)
    last = [field for field in every(shown(decode(data), secrets=True)) if field.span.length][-1]
    assert last.name == "mqtt." + OWN.get(row.key, KINDS.get(row.type, "prop_number"))
    assert last.span.stop == len(data)


def test_bits_have_their_value_their_byte_and_their_picture() -> None:
    qos = found(bytes.fromhex("34 06 0001 61 0007 00"), "qos")
    assert (qos.span, qos.mask, qos.show, qos.value, qos.unmasked) == ((0, 1), 6, "2", "2", "34")
    assert qos.words == ".... .10. = QoS Level: exactly once (2)"


def test_a_byte_of_bits_says_which_are_set() -> None:
    data = encode(Connect(client_id="", username="u", clean_start=False, will=Will(topic="w"), will_qos=1), V5)
    flags = found(data, "conflags")
    assert flags.words == "Connect Flags: 0x8c, User Name Flag, QoS Level: at least once, Will Flag"
    assert (flags.show, flags.value, len(flags.children)) == ("0x8c", "8c", 7)


def test_reserved_bits_of_connack_are_a_flag_with_their_value() -> None:
    field = found(bytes.fromhex("20 03 fe 00 00"), "conack.flags.reserved")
    assert (field.type, field.show, field.value, field.unmasked) == (BOOLEAN, "1", "7F", "fe")


def test_the_first_byte_after_the_header_of_connack_is_one_flag_in_3_1() -> None:
    field = found(encode(Connack(), V31), "conack.flags.reserved", V31)
    assert (field.mask, field.show, field.value, field.words) == (0, "0", "00", "Reserved: Not set")


def test_header_bits_of_3_1_have_fields_of_their_own() -> None:
    data = encode(Pubrel(packet_id=1), V31)
    assert found(data, "qos", V31).show == "1"
    assert found(data, "retain_reserved", V31).show == "0"
    assert found(encode(Pubrel(packet_id=1), V311), "hdr_reserved", V311).show == "2"


def test_the_options_of_a_subscription_are_its_qos_before_5_0() -> None:
    packet = Subscribe(packet_id=1, subscriptions=(Subscription(filter="f", qos=1),))
    older = found(encode(packet, V311), "sub.qos", V311)
    assert (older.show, older.children, older.words) == ("1", (), "Requested QoS: at least once (1)")
    newer = found(encode(packet, V5), "subscription_options")
    assert (newer.show, [child.name[5:] for child in newer.children][-1]) == ("0x01", "subscription_options_qos")


def test_codes_have_other_names_before_5_0() -> None:
    data = encode(Connack(reason_code=5), V311)
    assert found(data, "conack.val", V311).words == "Return Code: not authorized (5)"
    data = encode(Suback(packet_id=1, reason_codes=(1,)), V311)
    assert found(data, "suback.qos", V311).words == "Granted QoS: Granted QoS 1 (1)"
    data = encode(Connack(reason_code=0x87), V5)
    assert found(data, "connack.reason_code").words == "Reason Code: Not authorized (135)"


def test_an_empty_payload_has_a_field_without_bytes() -> None:
    field = found(encode(Publish(topic="t"), V311), "msg", V311)
    assert (field.span, field.show, field.value) == ((5, 5), "", "")


def test_bytes_that_are_not_a_field_have_no_name() -> None:
    fields = shown(decode(bytes.fromhex("c0 02 4142")))
    assert [(field.name, field.show, field.value) for field in fields[-1:]] == [
        ("", "not part of any field", "4142"),
    ]  # fmt: skip


def test_the_rest_after_an_unknown_property_has_tsharks_field() -> None:
    assert found(bytes.fromhex("30 08 0001 61 04 7e010203"), "prop_unknown").value == "010203"


def test_secrets_are_masked_unless_asked_for() -> None:
    properties = (Property(0x15, "m"), Property(AUTHENTICATION_DATA.id, b"xy"))
    decoded = decode(encode(Connect(client_id="c", username="u", password=b"pass", properties=properties), V5))
    masked = {field.name: field for field in every(shown(decoded))}
    assert (masked["mqtt.passwd"].show, masked["mqtt.passwd"].value) == ("****", "********")
    assert masked["mqtt.prop_string"].show == "**:**"
    assert "70617373" not in octets(decoded)
    assert len(octets(decoded)) == len(octets(decoded, secrets=True)) == 2 * len(decoded.data)
    plain = {field.name: field for field in every(shown(decoded, secrets=True))}
    assert (plain["mqtt.passwd"].show, plain["mqtt.prop_string"].show) == ("pass", "78:79")


def test_long_values_say_how_much_is_left_out() -> None:
    field = found(encode(Publish(topic="t", payload=bytes(1000)), V5), "msg")
    assert len(field.show) == 2999
    assert field.words == f"Message: {field.show[:LONGEST]}... {2999 - LONGEST} more characters"


def test_a_packet_of_unknown_type() -> None:
    fields = shown(decode(bytes.fromhex("00 01 02"), direction=Direction.CLIENT))
    assert fields[0].words == "Header Flags: 0x00, Message Type: Reserved"
    assert fields[0].children[1].name == "mqtt.hdr_reserved"


@pytest.mark.parametrize(("module", "written"), [(pdml, pdml.pdml), (tshark_json, tshark_json.tshark_json)])
def test_the_texts_of_few_and_short_fields_are_kept(module: Any, written: Any) -> None:
    kept = module._remembered
    kept.cache_clear()
    sizes = set()
    for octet in range(9):
        list(written([(publish(bytes(LONGEST_KEPT) + bytes((octet,))), None)]))
        sizes.add(kept.cache_info().currsize)
    assert len(sizes) == 1
    assert kept.cache_info().maxsize == MOST_KEPT
