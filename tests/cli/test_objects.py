"""Messages as JSON objects."""

import json
from typing import Any

import pytest

from mqttpub.cli.objects import BadLine, message_of
from mqttpub.spec.fields import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.terms import Version

DEFAULTS = Publish(topic="default", qos=1, retain=True, payload=b"p", properties=(Property(0x02, 5),))


def read(value: Any, defaults: Publish = DEFAULTS) -> Publish:
    return message_of(json.dumps(value).encode(), defaults, Version.V5, 7)


GOOD: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"topic": "t"}, {"topic": "t"}),
    ({"payload": "text", "qos": 0}, {"payload": b"text", "qos": 0}),
    ({"payload": {"hex": "00ff"}, "retain": False}, {"payload": b"\0\xff", "retain": False}),
    ({"payload": {"json": {"a": 1}}}, {"payload": b'{"a":1}'}),
    ({"payload": {"base64": "AAE="}, "dup": True}, {"payload": b"\0\1", "dup": True}),
    ({"packet_id": 9}, {"packet_id": 9}),
    ({"properties": {}}, {"properties": ()}),
    ({"properties": {"topic_alias": 5, "content_type": "x"}}, {"properties": (Property(0x23, 5), Property(3, "x"))}),
    ({"properties": {"user_property": ["k", "v"]}}, {"properties": (Property(0x26, ("k", "v")),)}),
    (
        {"properties": {"user_property": [["k", "v"], ["k", "w"]]}},
        {"properties": (Property(0x26, ("k", "v")), Property(0x26, ("k", "w")))},
    ),
    ({"properties": [{"name": "topic_alias", "value": 5}]}, {"properties": (Property(0x23, 5),)}),
]


@pytest.mark.parametrize(("given", "expected"), GOOD, ids=str)
def test_what_is_not_named_is_as_in_the_defaults(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read(given) == DEFAULTS.replace(**expected)


BAD = [
    (b"{", "line 7, column 2: Expecting property name enclosed in double quotes"),
    (b"[1]", "line 7: must be an object"),
    (b"\xff", "line 7: not JSON"),
    (b'{"topics": "a"}', r"line 7: \$\.topics: a message has no such member"),
    (b'{"qos": 4}', r"line 7: \$\.qos: 4 does not fit QoS \(0 to 3\)"),
    (b'{"payload": {"hex": "0"}}', r"line 7: \$\.payload\.hex"),
    (b'{"properties": {"nosuch": 1}}', r"line 7: \$\.properties\[0\]\[0\]: 'nosuch' is not a property"),
    (b'{"topic": 5}', r"line 7: \$\.topic"),
    (b"[" * 100_000, "line 7: not JSON"),
]


@pytest.mark.parametrize(("line", "said"), BAD, ids=lambda value: str(value)[:20])
def test_a_bad_line_is_named_with_the_place(line: bytes, said: str) -> None:
    with pytest.raises(BadLine, match=said):
        message_of(line, DEFAULTS, Version.V5, 7)


def test_a_topic_is_needed_from_somewhere() -> None:
    with pytest.raises(BadLine, match=r"\$\.topic: there is none, and no --topic"):
        read({"payload": "x"}, Publish(topic=""))
