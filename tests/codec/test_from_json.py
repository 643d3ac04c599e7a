"""Packets from JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.codec.from_json import BadMember, packet_of
from mqttpub.spec.declare import PACKETS, Field, Group, Packet, Property
from mqttpub.spec.packets import Connect, Disconnect, Publish, Suback, Subscribe, Subscription, Unsubscribe, Will
from mqttpub.spec.versions import Version
from tests.strategies import packets, versions
from tests.view.samples import WALKTHROUGH, laws

SAMPLE = {
    "type": "PUBLISH", "version": "5.0", "topic": "a", "qos": 1, "packet_id": 10,
    "properties": [{"name": "topic_alias", "value": 5}, ["user_property", ["k", "v"]]], "payload": {"text": "hello"},
}  # fmt: skip


def test_the_plain_form_is_read() -> None:
    assert packet_of(SAMPLE) == (
        Publish(
            topic="a", qos=1, packet_id=10, payload=b"hello",
            properties=(Property(0x23, 5), Property(0x26, ("k", "v"))),
        ),
        Version.V5,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "packet"),
    [
        ({"type": "pingreq"}, None),
        ({"type": "PUBLISH", "topic": "t", "retain": True, "dup": 1}, Publish(topic="t", retain=True, dup=True)),
        ({"type": "PUBLISH", "topic": {"hex": "61ff"}}, Publish(topic="a\udcff")),
        ({"type": "PUBLISH", "topic": "", "packet_id": None}, Publish(topic="")),
        (
            {
                "type": "CONNECT",
                "will": {"topic": "w", "payload": {"hex": "00ff"}, "properties": [["will-delay-interval", 5]]},
            },
            Connect(will=Will(topic="w", payload=b"\x00\xff", properties=(Property(0x18, 5),))),
        ),
        (
            {"type": "SUBSCRIBE", "packet_id": 1, "subscriptions": [{"filter": "a/#", "qos": 2}]},
            Subscribe(packet_id=1, subscriptions=(Subscription(filter="a/#", qos=2),)),
        ),
        ({"type": "UNSUBSCRIBE", "packet_id": 1, "filters": ["a", "b"]}, Unsubscribe(packet_id=1, filters=("a", "b"))),
        ({"type": "SUBACK", "packet_id": 1, "reason_codes": [0, 128]}, Suback(packet_id=1, reason_codes=(0, 128))),
        (
            {"type": "DISCONNECT", "reason_code": 0, "properties": [{"id": 31, "value": "bye"}]},
            Disconnect(reason_code=0, properties=(Property(31, "bye"),)),
        ),
        (
            {
                "type": "PUBLISH", "topic": "t",
                "properties": [[127, {"hex": "01"}], {"id": 126, "name": "property_126", "value": "x"}],
            },
            Publish(topic="t", properties=(Property(127, b"\1"), Property(126, b"x"))),
        ),
        (
            {"type": "PUBLISH", "topic": "t", "properties": [["User Property", [{"hex": "ff"}, ""]]]},
            Publish(topic="t", properties=(Property(0x26, ("\udcff", "")),)),
        ),
    ],
)  # fmt: skip
def test_each_packet_type_is_read(given: dict[str, Any], packet: Packet | None) -> None:
    made, version = packet_of(given)
    assert version == Version.V5
    assert made.name == given["type"].upper()
    assert packet is None or made == packet


@pytest.mark.parametrize(
    ("payload", "data"),
    [
        ("text \u4f60", "text \u4f60".encode()),
        ({"text": "\udcff"}, b"\xff"),
        ({"hex": "00 ff"}, b"\x00\xff"),
        ({"base64": "AP8="}, b"\x00\xff"),
        ({"json": {"a": [1, "\u4f60"]}}, '{"a":[1,"\u4f60"]}'.encode()),
        ({"json": None}, b"null"),
    ],
)
def test_a_payload_is_text_hex_base64_or_json(payload: Any, data: bytes) -> None:
    packet, _ = packet_of({**SAMPLE, "payload": payload})
    assert isinstance(packet, Publish)
    assert packet.payload == data


@pytest.mark.parametrize(
    ("version", "meant"),
    [("5.0", Version.V5), ("5", Version.V5), (5, Version.V5), (3.1, Version.V31), ("3.1.1", Version.V311)],
)
def test_a_version_may_have_any_of_its_names(version: Any, meant: Version) -> None:
    assert packet_of({"type": "PINGREQ", "version": version})[1] == meant


def test_keys_about_the_record_are_skipped() -> None:
    about = {"direction": "client", "time": "now", "offset": 9, "length": 9, "findings": []}
    assert packet_of({**SAMPLE, **about}) == packet_of(SAMPLE)


def test_hex_counts_more_than_anything_else() -> None:
    packet, _ = packet_of({"type": "PINGREQ", "version": "5.0", "hex": WALKTHROUGH.hex(), "topic": "other"})
    assert encode(packet, Version.V5) == WALKTHROUGH


def test_the_version_of_a_connect_is_in_its_bytes() -> None:
    data = encode(Connect(), Version.V311)
    assert packet_of({"version": "5.0", "hex": data.hex()}) == packet_of({"version": "3.1.1", "hex": data.hex()})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "PUBLISHED"}, r"type: 'PUBLISHED' is not a packet (CONNECT, CONNACK, PUBLISH, "),
        ({"type": None}, "type: None is not a packet"),
        ({"type": "AUTH", "version": "3.1.1"}, "type: AUTH needs MQTT 5.0"),
        ({"version": "4.2"}, "version: '4.2' is not an MQTT version"),
        ({"topci": "a"}, "topci: PUBLISH has no such field (dup, qos, retain, topic, "),
        ({"topic": 5}, "topic: must be a string or an object with one of text, hex, base64, json"),
        ({"topic": "x" * 65536}, "topic: 65536 bytes do not fit"),
        ({"topic": "\ud800"}, "topic: a lone surrogate cannot be encoded as UTF-8"),
        ({"qos": 4}, "qos: 4 does not fit QoS (0, 1 or 2)"),
        ({"qos": -1}, "qos: -1 does not fit QoS (0, 1 or 2)"),
        ({"qos": "1"}, "qos: must be a number or a boolean"),
        ({"packet_id": 65536}, "packet_id: 65536 does not fit"),
        ({"packet_id": 1.5}, "packet_id: must be a number"),
        ({"topic": {}}, "topic: must have one of text, hex, base64, json"),
        ({"topic": {"text": "a", "hex": "61"}}, "topic: must have one of text, hex, base64, json"),
        ({"payload": {"hex": "6"}}, "payload.hex: a single hex digit, but a byte needs two"),
        ({"payload": {"hex": "61 6g"}}, "payload.hex: column 5: 'g' is not a hex digit"),
        ({"payload": {"hex": "61\u00a0"}}, "payload.hex: column 3: '\u00a0' is not a hex digit"),
        ({"payload": {"text": "a\udc00"}}, "payload.text: a lone surrogate cannot be encoded as UTF-8"),
        ({"payload": {"json": ["\ud800"]}}, "payload.json: a lone surrogate cannot be encoded as UTF-8"),
        ({"payload": {"hex": 6}}, "payload.hex: must be a string"),
        ({"payload": {"base64": "%"}}, "payload.base64: it is not base64"),
        ({"payload": {"json": float("nan")}}, "payload.json: "),
        ({"payload": {"text": "\ud800"}}, "payload.text: "),
        ({"payload": None}, "payload: must be a string or an object"),
        ({"properties": {}}, "properties: must be an array"),
        ({"properties": ["x"]}, "properties[0]: must be an object or an array of name and value"),
        ({"properties": [["x", 1]]}, "properties[0][0]: 'x' is not a property"),
        ({"properties": [[-1, 1]]}, "properties[0][0]: -1 is not a property"),
        ({"properties": [{"value": 1}]}, "properties[0].id: None is not a property"),
        ({"properties": [{"name": "x", "value": 1}]}, "properties[0].name: 'x' is not a property"),
        ({"properties": [{"name": "topic_alias"}]}, "properties[0].value: must be a number"),
        ({"properties": [["topic_alias", 65536]]}, "properties[0][1]: 65536 does not fit"),
        ({"properties": [["user_property", ["k"]]]}, "properties[0][1]: must be an array of name and value"),
        ({"properties": [["user_property", ["k", 1]]]}, "properties[0][1][1]: must be a string"),
        ({"properties": [], "version": "3.1.1"}, "properties: MQTT 3.1.1 does not have it"),
        ({"hex": 5}, "hex: must be a string"),
        ({"hex": "3"}, "hex: a single hex digit, but a byte needs two"),
        ({"hex": "3000"}, "hex: Topic Name needs 2 bytes, but 0 bytes are left"),
        ({"hex": "30**"}, "hex: 1 byte is masked"),
    ],
)
def test_a_wrong_value_is_named_by_its_json_path(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        packet_of({**SAMPLE, **change})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "must be an object"),
        ({"type": "PUBLISH"}, "topic: it is missing, and PUBLISH needs it"),
        ({"type": "SUBSCRIBE", "packet_id": 1}, "subscriptions: it is missing, and SUBSCRIBE needs it"),
        ({"type": "SUBSCRIBE", "packet_id": 1, "subscriptions": [{}]}, "subscriptions[0].filter: it is missing, and"),
        ({"type": "SUBSCRIBE", "packet_id": 1, "subscriptions": [5]}, "subscriptions[0]: must be an object"),
        ({"type": "SUBSCRIBE", "packet_id": 1, "subscriptions": 5}, "subscriptions: must be an array"),
        ({"type": "UNSUBSCRIBE", "packet_id": 1, "filters": ["a", 5]}, "filters[1]: must be a string"),
        ({"type": "CONNECT", "will": {"topic": "t", "qos": 1}}, "will.qos: Will has no such field"),
        ({"type": "CONNECT", "will": {"topic": "t", "properties": [[1, "x"]]}}, "will.properties[0][1]: must be a"),
    ],
)  # fmt: skip
def test_a_wrong_record_is_named_by_its_json_path(given: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        packet_of(given)
    assert str(caught.value).startswith(message)


# laws


def plain_form(group: Group, version: Version) -> dict[str, Any]:
    """Return values in the plain form of JSON."""
    spoken = [field for field in group.layout if field.exists_in(version)]
    return {field.key: plain_value(field, getattr(group, field.key), version) for field in spoken}


def plain_value(field: Field, value: Any, version: Version) -> Any:
    if value is not None and field.shape == "properties":
        return [[id, plain(each)] for id, each in value]
    return plain(value, version)


def plain(value: Any, version: Version = Version.V5) -> Any:
    if isinstance(value, Group):
        return plain_form(value, version)
    if isinstance(value, tuple):
        return [plain(each, version) for each in value]
    if isinstance(value, str):
        return {"hex": value.encode("utf-8", "surrogateescape").hex()}
    return {"hex": value.hex()} if isinstance(value, bytes) else value


@laws
@given(st.data(), versions, st.booleans())
def test_the_plain_form_round_trips(data: st.DataObject, version: Version, valid: bool) -> None:
    packet = data.draw(packets(version, valid))
    form = {"type": packet.name, "version": version.label, **plain_form(packet, version)}
    assert packet_of(json.loads(json.dumps(form))) == (packet, version)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "id", "value", "hex", "text", "json", "topic", "filter"]), inner)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@laws
@given(
    st.sampled_from(["CONNECT", "PUBLISH", "SUBSCRIBE", "DISCONNECT", "SUBACK"]),
    st.dictionaries(
        st.sampled_from(
            ["topic", "properties", "will", "payload", "packet_id", "subscriptions", "qos", "hex", "version"]
        ),
        json_values,
    ),
)
def test_any_json_is_a_packet_or_a_fault_with_a_path(name: str, members: dict[str, Any]) -> None:
    kind = next(each for each in PACKETS.values() if each.name == name)
    key = "type"
    try:
        packet_of({"type": name, **members})
    except BadMember as error:
        key = error.key
    assert key.split(".")[0].split("[")[0] in {*members, "type", *kind.fields}
