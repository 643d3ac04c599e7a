"""Packets as JSON records."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqttpub.capture.reading import CaptureEvents
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded, Node
from mqttpub.payload.formats import payload_reader
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import PACKETS, Auth, Connack, Puback, Publish
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import PacketSeen
from mqttpub.view.packet.formatted import PayloadFormat
from mqttpub.view.packet.record_json import RecordWriter, dumps, packet_of, packet_record
from mqttpub.view.packet.record_parts import LONGEST_KEPT, MOST_KEPT, StringTexts, words_text
from mqttpub.wire.cursor import Span
from mqttpub.wire.types import BINARY, BYTE, MAX_VARIABLE, PAIR, STRING, U16, U32, VARIABLE, WireType
from tests.paths import CAPTURES
from tests.view.samples import CONNECT, WALKTHROUGH, judged, laws, of, publish, record, wires


def fields(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the fields of a record by their paths."""
    return {each["path"]: each for each in made["fields"]}


def test_the_packet_of_the_walkthrough() -> None:
    made = record(decode(WALKTHROUGH, direction=Direction.CLIENT, offset=7), time=1_700_000_000.25)
    by_path = fields(made)
    assert list(made) == [
        "time", "direction", "type", "version", "offset", "length", "hex", "fields", "properties", "payload",
        "findings",
    ]  # fmt: skip
    assert made["time"] == "2023-11-14T22:13:20.250000Z"
    assert [made[key] for key in ("direction", "type", "version", "offset", "length")] == [
        "client", "PUBLISH", "5.0", 7, 51,
    ]  # fmt: skip
    assert bytes.fromhex(made["hex"]) == WALKTHROUGH
    assert by_path["publish.qos"] == {
        "path": "publish.qos", "offset": 0, "length": 1, "mask": 6, "value": 0, "text": "0  at most once",
    }  # fmt: skip
    assert by_path["publish.topic"] == {
        "path": "publish.topic", "offset": 2, "length": 9, "value": "request", "text": '"request"  7 bytes',
    }  # fmt: skip
    assert by_path["publish.payload"]["text"] == "text, 23 bytes"
    assert made["properties"] == [
        {"id": 2, "name": "message_expiry_interval", "value": 300, "offset": 12, "length": 5},
        {"id": 8, "name": "response_topic", "value": "response", "offset": 17, "length": 11},
    ]
    assert made["payload"] == {"text": "This is a QoS 0 message"}


def test_time_and_direction_may_be_unknown() -> None:
    made = record(decode(WALKTHROUGH))
    assert "time" not in made
    assert made["direction"] is None


def test_will_properties_and_payload() -> None:
    made = record(of(CONNECT))
    assert [each["name"] for each in made["properties"]] == [
        "authentication_method", "authentication_data", "user_property",
    ]  # fmt: skip
    assert made["properties"][2]["value"] == ["region", "eu-west"]
    assert [each["name"] for each in made["will_properties"]] == ["will_delay_interval"]
    assert made["will_payload"] == {"json": {"online": False}}
    assert "payload" not in made


def test_packets_before_version_5_have_no_properties() -> None:
    made = record(of(Publish(topic="t"), Version.V311))
    assert "properties" not in made
    assert "payload" not in made


@pytest.mark.parametrize(
    ("data", "payload"),
    [
        (b"text\n", {"text": "text\n"}),
        (b'{"a": [1, 2.5, null]}', {"json": {"a": [1, 2.5, None]}}),
        (b'{"a":1,"a":2}', {"text": '{"a":1,"a":2}'}),
        (b"[1e999]", {"text": "[1e999]"}),
        (b'["\\ud800"]', {"text": '["\\ud800"]'}),
        (b"\x00\xff", {"base64": "AP8="}),
    ],
)
def test_a_payload_is_json_text_or_base64(data: bytes, payload: dict[str, Any]) -> None:
    assert record(publish(data))["payload"] == payload


def test_secrets_are_masked_at_their_length() -> None:
    made = record(of(CONNECT))
    data = encode(CONNECT, Version.V5).hex()
    secret = b"s3cret!".hex()
    assert made["hex"] == data.replace(secret, "**" * 7).replace("160003010203", "160003******")
    assert fields(made)["connect.password"]["value"] == {"hex": "**" * 7}
    assert fields(made)["connect.password"]["text"] == "7 bytes"
    assert made["properties"][1]["value"] == {"hex": "******"}
    assert secret not in dumps(made)
    assert "s3cret" not in dumps(made)


def test_a_record_has_secrets_only_if_asked_for() -> None:
    made = record(of(CONNECT), secrets=True)
    assert made["hex"] == encode(CONNECT, Version.V5).hex()
    assert fields(made)["connect.password"]["value"] == {"hex": b"s3cret!".hex()}


def test_a_cut_secret_is_masked() -> None:
    data = encode(CONNECT, Version.V5)[:-2]
    made = record(decode(data))
    assert made["hex"].endswith("0007" + "**" * 5)
    assert fields(made)["connect.password"]["value"] == {"hex": "0007" + "**" * 5}


def test_strings_that_are_not_utf_8_are_hex() -> None:
    made = record(of(Publish(topic="a\udcff", properties=(Property(0x26, ("k", "\udc80")),))))
    assert fields(made)["publish.topic"]["value"] == {"hex": "61ff"}
    assert fields(made)["publish.topic"]["text"] == '"a\\xff"  2 bytes'
    assert made["properties"][0]["value"] == ["k", {"hex": "80"}]


def test_text_of_several_lines() -> None:
    assert fields(record(of(Publish(topic="a\nb"))))["publish.topic"]["text"] == '"a\\nb"'


def test_unknown_and_broken_properties() -> None:
    made = record(of(Publish(topic="t", properties=(Property(0x7F, b"\1\2"),))))
    assert made["properties"] == [
        {"id": 127, "name": "property_127", "value": {"hex": "0102"}, "offset": 6, "length": 3}
    ]
    for text in ("30050001610123", "3006000161022300", "300500016101ff", "3005000161017f"):
        made = record(decode(bytes.fromhex(text)))
        assert made["properties"] == []
        assert made["findings"]


def test_a_record_has_the_findings_of_the_packet() -> None:
    (made,) = record(decode(b"\xc0\x01\xff"))["findings"]
    assert made == {
        "severity": "error", "path": "pingreq.trailing", "offset": 2, "length": 1, "mask": 0,
        "message": "1 byte is left over after the last field", "statement": "MQTT5-2.1.4/trailing",
        "at_fault": None,
    }  # fmt: skip


def test_the_record_of_no_bytes_has_no_fields() -> None:
    made = record(decode(b""))
    assert (made["type"], made["length"], made["hex"], made["fields"]) == ("NOTHING", 0, "", [])


# laws


@laws
@given(judged())
def test_a_record_is_one_line_of_ascii_that_json_reads(decoded: Decoded) -> None:
    for secrets in (True, False):
        text = packet_record(decoded, time=0, secrets=secrets)
        assert text.isascii()
        assert text.isprintable()
        made = json.loads(text, parse_constant=lambda _: 1 / 0)
        assert dumps(made) == text
        assert len(made["hex"]) == 2 * len(decoded.data)
        json.dumps(made, ensure_ascii=False).encode()


def both_ways(data: bytes, version: Version, *, writer: RecordWriter, direction: Direction | None = None) -> str:
    """Return the record of a packet, which is the same from its bytes and from its tree."""
    decoded = decode(data, version, direction=direction, offset=3)
    text = writer.packet(data, version, decoded.findings, direction=direction, offset=3, time=1.5, more=',"more":1')
    tree = packet_record(decoded, time=1.5, secrets=writer.secrets, payloads=writer.payloads, more=',"more":1')
    assert text == tree
    return text


HEX = PayloadFormat("hex", "hex", payload_reader("hex"))
WRITERS = [RecordWriter(secrets=secrets, payloads=payloads) for secrets in (False, True) for payloads in (None, HEX)]


@settings(laws, max_examples=200)
@given(wires(), st.sampled_from([None, *Direction]), st.sampled_from(WRITERS))
def test_records_from_bytes_are_those_of_the_tree(
    wire: tuple[bytes, Version], direction: Direction | None, writer: RecordWriter
) -> None:
    both_ways(*wire, writer=writer, direction=direction)


@pytest.mark.parametrize("writer", WRITERS)
def test_so_are_those_of_captures_with_any_one_byte_damaged(writer: RecordWriter) -> None:
    seen = set()
    for path in CAPTURES.glob("*.pcapng"):
        with path.open("rb") as file:
            events = CaptureEvents(file).events()
            seen |= {(event.data, event.version) for event in events if isinstance(event, PacketSeen)}
    assert len(seen) > 30
    for number, (data, version) in enumerate(sorted(seen)):
        both_ways(data, version, writer=writer)
        for at in range(number % 3, len(data), 3):
            for octet in (data[at] ^ 1, data[at] ^ 0x30):
                both_ways(data[:at] + bytes((octet,)) + data[at + 1 :], version, writer=writer)


@pytest.mark.parametrize("writer", WRITERS[::3])
def test_so_are_those_of_every_property_and_octet(writer: RecordWriter) -> None:
    for row in PROPERTIES.values():
        for packet in (Connack(), Publish(topic="t", payload=b"{}"), Puback(packet_id=1, reason_code=0)):
            for value in SAMPLES[row.type]:
                data = encode(packet.replace(properties=(Property(row.id, value),)), Version.V5)
                assert '"findings":[]' in both_ways(data, Version.V5, writer=writer)
    for version in Version:
        for octet in range(0, 256, 5):
            for cls in PACKETS.values():
                both_ways(bytes((cls.code << 4 | octet & 15, 3, 0, 1, octet)), version, writer=writer)


@laws
@given(st.binary(max_size=20) | st.text(max_size=20).map(str.encode))
@example(b'"')
@example(b"\\")
@example("caf\u00e9 \U0001f600".encode())
@example(b"a\nb\x7f")
def test_a_string_has_the_words_of_the_dump(content: bytes) -> None:
    text = content.decode("utf-8", "surrogateescape")
    node = Node("", Span(0, len(content)), text, kind="text")
    assert StringTexts()[content][1] == words_text(node, Decoded(content, node, Version.V5, type=None))


SAMPLES: dict[WireType, tuple[Any, ...]] = {
    BYTE: (0, 1, 2, 255),
    U16: (0, 0xFFFF),
    U32: (0, 1, 0xFFFFFFFF),
    VARIABLE: (0, 128, MAX_VARIABLE),
    BINARY: (b"", b"{}", b"\0\xff", bytes(300)),
    STRING: ("", "a", '"', "\u20ac", "\udcff"),
    PAIR: (("", ""), ("name", "v" * 300)),
}


def test_few_and_short_texts_are_kept() -> None:
    writer = RecordWriter()
    for number in range(2 * MOST_KEPT):
        topic = f"{number:x}" if number % 2 else f"{number:x}".rjust(LONGEST_KEPT + 1)
        writer.packet(encode(Publish(topic=topic, payload=bytes(number)), Version.V311), Version.V311, ())
    kept = [*writer.strings, *(header for header, _ in writer._headers)]
    assert len(writer.strings) <= MOST_KEPT
    assert len(writer._headers) <= MOST_KEPT
    assert max(map(len, kept)) <= LONGEST_KEPT


@laws
@given(judged())
def test_fields_tile_the_packet(decoded: Decoded) -> None:
    covered = bytearray(len(decoded.data))
    for field in record(decoded)["fields"]:
        for at in range(field["offset"], field["offset"] + field["length"]):
            assert not covered[at] & field.get("mask", 0xFF)
            covered[at] |= field.get("mask", 0xFF)
    assert set(covered) <= {0xFF}


@laws
@given(wires())
def test_a_record_is_read_back_as_the_same_packet(wire: tuple[bytes, Version]) -> None:
    decoded = decode(*wire)
    made = record(decoded, secrets=True)
    if decoded.packet is None:
        with pytest.raises(ValueError, match=r"^hex: "):
            packet_of(made)
        return
    packet, version = packet_of(made)
    assert packet == decoded.packet
    if not decoded.findings:
        assert encode(packet, version) == decoded.data


def test_a_masked_record_does_not_become_a_packet() -> None:
    made = record(of(Auth(reason_code=0x18, properties=(Property(0x16, b"\1\2"),))))
    with pytest.raises(ValueError, match=r"^hex: 2 bytes are masked"):
        packet_of(made)
