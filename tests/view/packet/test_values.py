"""The words for values."""

from typing import Any

import pytest

from mqttpub.codec.decode import decode
from mqttpub.codec.tree import Decoded
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connack, Connect, Puback, Publish, Suback
from mqttpub.spec.versions import Version
from mqttpub.view.packet.values import About, describe, pair
from mqttpub.view.terminal.cells import Line
from tests.view.samples import CONNECT, of, publish


def text(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(text for text, _ in line)


def about(decoded: Decoded, path: str, **options: Any) -> About:
    """Return the words for the value at a path."""
    node = decoded.at(path)
    assert node
    return describe(node, decoded, **options)


def inline(decoded: Decoded, path: str, **options: Any) -> str:
    """Return the words for the value at a path, as they stand on one row."""
    return text(about(decoded, path, **options).inline)


def rows(found: About) -> list[str]:
    """Return the words as they stand on several rows."""
    return [text(found.head), *(" " * indent + text(line) for indent, line in found.below)]


def prop(id: int, value: Any, packet: str = "publish") -> tuple[Decoded, str]:
    """Return a packet with one property, and the path of that property's value."""
    made: dict[str, Packet] = {
        "publish": Publish(topic="t", properties=(Property(id, value),)),
        "connack": Connack(properties=(Property(id, value),)),
    }
    decoded = of(made[packet])
    name = next(node.name for _, node in decoded.root.walk() if node.kind == "property")
    return decoded, f"{packet}.properties.{name}.value"


@pytest.mark.parametrize(
    ("packet", "path", "words"),
    [
        (Publish(topic="t", qos=1, packet_id=25674), "publish.packet_id", "25674 (0x644a)"),
        (Publish(topic="t", qos=1, packet_id=1), "publish.qos", "1  at least once"),
        (Publish(topic="t", qos=1, packet_id=1), "publish.type", "3  PUBLISH"),
        (Publish(topic="t", retain=True), "publish.retain", "1  keep as the topic's last value"),
        (Publish(topic="t"), "publish.retain", "0"),
        (Publish(topic="t"), "publish.remaining_length", "4 bytes"),
        (Publish(topic=""), "publish.topic", '""  0 bytes'),
        (Publish(topic="x"), "publish.topic", '"x"  1 byte'),
        (Publish(topic='say "\\"\x1b'), "publish.topic", '"say \\"\\\\\\"\\x1b"  8 bytes'),
        (Publish(topic="\udcff"), "publish.topic", '"\\xff"  1 byte'),
        (Puback(packet_id=1, reason_code=0x10), "puback.reason_code", "0x10  No matching subscribers"),
        (Puback(packet_id=1, reason_code=0x7F), "puback.reason_code", "0x7f  unknown"),
        (Suback(packet_id=1, reason_codes=(2,)), "suback.reason_codes.0", "0x02  Granted QoS 2"),
        (CONNECT, "connect.username_flag", "1  User Name follows"),
        (CONNECT, "connect.keep_alive", "60 s"),
        (CONNECT, "connect.protocol_level", "5  MQTT 5.0"),
        (CONNECT, "connect.password", "*******  7 bytes"),
        (CONNECT, "connect.properties.authentication_data.value", "***  3 bytes"),
        (CONNECT, "connect.properties.authentication_data.identifier", "0x16  Authentication Data"),
        (CONNECT, "connect.will.properties.will_delay_interval.value", "30 s"),
        (Connect(keep_alive=0), "connect.keep_alive", "0 s  off"),
        (Connect(username="u", password=b""), "connect.password", "0 bytes"),
    ],
)
def test_a_value_has_its_meaning_beside_it(packet: Packet, path: str, words: str) -> None:
    assert inline(of(packet), path) == words


@pytest.mark.parametrize(
    ("id", "value", "packet", "words"),
    [
        (0x01, 1, "publish", "1  UTF-8 text"),
        (0x01, 2, "publish", "2"),
        (0x02, 300, "publish", "300 s"),
        (0x11, 0xFFFFFFFF, "connack", "4294967295 s  never expires"),
        (0x25, 0, "connack", "0  no"),
        (0x27, 1, "connack", "1 byte"),
        (0x27, 1000, "connack", "1000 bytes"),
        (0x09, b"ab", "publish", '"ab"  text, 2 bytes'),
        (0x09, b'{"a":1}', "publish", '"{\\"a\\":1}"  JSON, 7 bytes'),
        (0x09, b"\x00\x01", "publish", "binary, 2 bytes"),
        (0x09, b"", "publish", "empty"),
        (0x7F, b"\x01", "publish", "unreadable, 1 byte"),
    ],
)
def test_words_for_properties(id: int, value: Any, packet: str, words: str) -> None:
    decoded, path = prop(id, value, packet)
    assert inline(decoded, path) == words


def test_versions_have_their_own_meanings() -> None:
    decoded = of(Connack(reason_code=5), Version.V311)
    assert inline(decoded, "connack.reason_code") == "0x05  not authorized"
    assert inline(decode(b"\xf0\x00", Version.V311), "type_15.type") == "15  reserved"


def test_secrets_are_shown_only_if_asked_for() -> None:
    assert inline(of(CONNECT), "connect.password", secrets=True) == '"s3cret!"  text, 7 bytes'
    assert inline(of(CONNECT), "connect.properties.authentication_data.value", secrets=True) == "binary, 3 bytes"


def test_long_secrets_are_cut_with_a_count() -> None:
    decoded = of(CONNECT.replace(password=b"x" * 100))
    assert rows(about(decoded, "connect.password", limit=10)) == ["100 bytes", "*" * 10, "... 90 more bytes"]


def test_bytes_without_a_field() -> None:
    assert inline(decode(b"\xc0\x01\xff"), "pingreq.trailing") == "1 byte"


def test_text_breaks_after_each_newline() -> None:
    found = about(publish(b'one\ntwo "2"\n'), "publish.payload")
    assert rows(found) == ["text, 12 bytes", '"one\\n', 'two \\"2\\"\\n"']
    assert found.inline == []


def test_json_that_does_not_fit_is_indented() -> None:
    data = b'{"t":21.5,"list":[1,2]}'
    short = about(publish(data), "publish.payload")
    assert text(short.inline) == '{"t": 21.5, "list": [1, 2]}  JSON, 23 bytes'
    assert rows(about(publish(data), "publish.payload", room=20)) == [
        "JSON, 23 bytes", "{", '  "t": 21.5,', '  "list": [1, 2]', "}",
    ]  # fmt: skip


def test_json_keeps_its_own_escapes() -> None:
    data = '["\\u202e\\n","\u202e"]'.encode()
    assert text(about(publish(data), "publish.payload").inline) == '["\\u202e\\n", "\\u202e"]  JSON, 18 bytes'


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, ['"abc\u4f60\u597d"']),
        (9, ['"abc\u4f60\u597d"']),
        (8, ['"abc\u4f60', "... 3 more bytes"]),
        (6, ['"abc\u4f60', "... 3 more bytes"]),
        (5, ['"abc', "... 6 more bytes"]),
        (0, ['"', "... 9 more bytes"]),
    ],
)
def test_text_is_cut_between_characters(limit: int | None, expected: list[str]) -> None:
    found = about(publish("abc\u4f60\u597d".encode()), "publish.payload", limit=limit)
    assert rows(found) == ["text, 9 bytes", *expected]


def test_invalid_text_is_cut_at_the_limit() -> None:
    decoded = decode(b"\x30\x0c\x00\x0a" + b"\x80" * 10, Version.V311)
    assert rows(about(decoded, "publish.topic", limit=5)) == ["10 bytes", '"' + "\\x80" * 5, "... 5 more bytes"]


def test_a_long_json_payload_is_cut_as_text() -> None:
    found = about(publish(b"[1,2,3]"), "publish.payload", limit=3)
    assert rows(found) == ["JSON, 7 bytes", '"[1,', "... 4 more bytes"]


def pairs(name: str, value: str, limit: int | None = None) -> About:
    """Return the words for a User Property."""
    decoded = of(Publish(topic="t", properties=(Property(0x26, (name, value)),)))
    nodes = [decoded.at(f"publish.properties.user_property.{part}") for part in ("name", "value")]
    assert nodes[0]
    assert nodes[1]
    return pair(nodes[0], nodes[1], decoded, limit)


def test_a_pair_is_name_and_value_with_both_sizes() -> None:
    assert text(pairs("region", "eu").inline) == '"region" = "eu"  6 + 2 bytes'
    assert rows(pairs("region", "eu")) == ["6 + 2 bytes", '"region" = "eu"']
    assert rows(pairs("a\nb", "c\nd")) == ["3 + 3 bytes", '"a\\n', 'b"', '= "c\\n', 'd"']
    assert rows(pairs("abc", "d", 2)) == ["3 + 1 bytes", '"ab', "... 1 more byte", '= "d"']
