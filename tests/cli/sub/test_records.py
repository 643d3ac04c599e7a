"""What `sub --json` writes, `pub --jsonl` reads as the same message."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli.pub.json_messages import message_of
from mqttpub.cli.sub.records import OF_DELIVERY, line, member
from mqttpub.live.receive import ReceivedMessage
from mqttpub.payload.formats import converter, payload_reader
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from tests.strategies import json_values, packets

V5 = Version.V5
NOON_NS = 1_800_000_000_000_000_000


@given(packets(V5, code=Publish.code, direction=Direction.SERVER), st.binary(max_size=20))
def test_a_message_is_published_again_as_it_came(packet: Any, payload: bytes) -> None:
    topic = packet.topic or "a"
    flags = packet.qos, packet.retain, packet.dup
    came = ReceivedMessage(topic, payload, *flags, packet.packet_id, packet.properties, NOON_NS)
    text = line(came)
    assert b"\n" not in text
    assert text.isascii()
    again = message_of(text, Publish(topic=""), 1)
    own = [each for each in packet.properties if each.id not in OF_DELIVERY]
    assert (again.topic, again.payload, again.qos, again.retain) == (topic, payload, packet.qos, packet.retain)
    assert (again.dup, again.packet_id) == (False, None)
    assert sorted(again.properties, key=key) == sorted(own, key=key)
    received = json.loads(text)["received"]
    assert received["time"] == "2027-01-15T08:00:00.000000Z"
    assert received.get("packet_id") == packet.packet_id


def key(given: Property) -> int:
    """Order properties by kind only: the order within a kind has to stay."""
    return given.id


@given(json_values, st.sampled_from(["json", "cbor", "msgpack"]))
def test_a_payload_that_was_read_in_a_format_is_published_as_json(value: Any, name: str) -> None:
    data = converter(name)(json.dumps(value).encode())
    came = ReceivedMessage("a", data, 0, False, False, None, (), 0)
    again = message_of(line(came, member(payload_reader(name)(data).value, name)), Publish(topic=""), 1)
    assert json.loads(again.payload) == value


@given(st.binary(max_size=20), st.sampled_from(["hex", "base64"]))
def test_a_payload_in_digits_is_published_as_its_bytes(payload: bytes, name: str) -> None:
    came = ReceivedMessage("a", payload, 0, False, False, None, (), 0)
    assert (
        message_of(line(came, member(payload_reader(name)(payload).value, name)), Publish(topic=""), 1).payload
        == payload
    )
