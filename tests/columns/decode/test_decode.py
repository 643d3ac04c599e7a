"""Rows of `packets` are what the scalar codec says of the same bytes."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.reading import events
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.decode.property_reader import _KIND, MOST
from mqttpub.columns.decode.reader import shape_of
from mqttpub.columns.reassemble.frames import of_events
from mqttpub.columns.schema import PACKETS
from mqttpub.lint.packet.judge import PacketJudge
from mqttpub.spec.declare import PACKETS as TYPES
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Auth, Connack, Connect, Publish, Pubrel, Subscribe, Subscription
from mqttpub.spec.properties import PROPERTIES
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import PacketSeen
from mqttpub.wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE, WireType
from tests.build.events import Dialog, aliased
from tests.columns.packet_rows import batches, rows, seen, shuffled, truth
from tests.paths import CAPTURES as SHIPPED_CAPTURES

CAPTURES = sorted((SHIPPED_CAPTURES).glob("*.pcapng"))
NAME = "test.pcap"


def check(found: list[PacketSeen], cuts: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Compare the rows of packets, decoded in batches, with the truth."""
    memory, made = Memory(), []
    for frames in batches(found, cuts):
        batch = decode(shuffled(frames), capture=NAME, memory=memory)
        batch.validate(full=True)
        assert batch.schema == PACKETS
        made += rows(batch)
        memory = pickle.loads(pickle.dumps(memory))
    expected = list(truth(found))
    for one, other in zip(made, expected, strict=True):
        assert one == other
    return made


@given(seen(max_size=10), st.lists(st.integers(0, 10), max_size=3))
@settings(max_examples=25)
def test_rows_are_what_the_scalar_codec_says(found: list[PacketSeen], cuts: list[int]) -> None:
    check(found, cuts)


@pytest.mark.long
@given(seen(max_size=12), st.lists(st.integers(0, 12), max_size=3))
@settings(max_examples=1500)
def test_rows_are_what_the_scalar_codec_says_of_many(found: list[PacketSeen], cuts: list[int]) -> None:
    check(found, cuts)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_real_captures(path: Path) -> None:
    with path.open("rb") as file:
        found = [event for event in events(file) if isinstance(event, PacketSeen)]
    made = check(found, [7, 20])
    assert not any(row["error"] for row in made)
    assert len({row["type"] for row in made}) > 8


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_captures_in_which_one_byte_of_each_packet_is_another(path: Path) -> None:
    drawn = Random(path.stem)
    with path.open("rb") as file:
        found = [event for event in events(file) if isinstance(event, PacketSeen)]
    changed = []
    for event in found:
        at, byte = drawn.randrange(len(event.data)), drawn.choice((0, 0x99, 0xFF, drawn.randrange(256)))
        changed.append(event._replace(data=event.data[:at] + bytes([byte]) + event.data[at + 1 :]))
    made = check(changed, [7, 20])
    assert 0 < sum(row["error"] is not None for row in made) < len(made)
    for row, event in zip(made, changed, strict=True):
        told = [(each.message, each.statement) for each in PacketJudge().alone(event.data, event.version, None)[1]]
        assert row["error"] is None or (row["error"], row["error_statement"]) in told


# by hand


def said(*packets: Packet | bytes, version: Version = Version.V5, direction: Direction = Direction.CLIENT) -> list[Any]:
    """Return packets of one connection."""
    return [*Dialog(version=version).says(direction, *packets).events]


def one(packet: Packet | bytes, version: Version = Version.V5) -> dict[str, Any]:
    """Return the row of one packet, compared with the truth."""
    (row,) = check(said(packet, version=version))
    return row


def test_no_frames() -> None:
    batch = decode(of_events([]))
    assert (len(batch), batch.schema) == (0, PACKETS)


def test_a_publish_with_all_its_properties() -> None:
    properties = tuple(Property(id, SAMPLES[row.type]) for id, row in PROPERTIES.items() if "PUBLISH" in row.packets)
    row = one(Publish(topic="t", qos=2, packet_id=7, properties=properties, payload=b"p"))
    assert [(each["name"], each["key"], each["value"]) for each in row["properties"]] == [
        ("payload_format_indicator", None, "1"),
        ("message_expiry_interval", None, "4000000000"),
        ("content_type", None, "tä"),
        ("response_topic", None, "tä"),
        ("correlation_data", None, "hex:00ff"),
        ("subscription_identifier", None, "300"),
        ("topic_alias", None, "60000"),
        ("user_property", "nä", "v"),
    ]
    assert (row["topic_alias"], row["payload_bytes"], row["qos"], row["packet_id"]) == (60000, 1, 2, 7)


def test_each_property_is_read_by_columns() -> None:
    """What the table has is not left to the scalar codec."""
    assert all(_KIND[id] for id in PROPERTIES)
    assert not _KIND[[id for id in range(256) if id not in PROPERTIES]].any()


def test_all_types_but_a_few_are_read_by_columns() -> None:
    left = {cls.name for code, cls in TYPES.items() if shape_of(code, Version.V5) is None}
    assert left == {"CONNECT", "CONNACK", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "UNSUBACK"}


def test_secrets_are_in_no_table() -> None:
    proof = (Property(0x15, "m"), Property(0x16, b"topsecret"))
    connect = Connect(client_id="c", username="u", password=b"topsecret", properties=proof)
    batch = decode(of_events(said(connect, Auth(reason_code=0x18, properties=proof), Connack(properties=proof))))
    text = str(rows(batch))
    assert "topsecret" not in text
    assert b"topsecret".hex() not in text
    assert batch["password_flag"].to_pylist()[0] is True
    assert [each["value"] for each in rows(batch)[1]["properties"]] == ["m", None]


def test_a_secret_after_an_unknown_property_is_in_no_table() -> None:
    data = bytes.fromhex("f00c 18 0a 7e 16 0006") + b"secret"
    row = one(data)
    assert row["error"] is not None
    assert row["properties"] == [{"id": 0x7E, "name": "property_126", "key": None, "value": None, "number": None}]


def test_a_text_that_is_not_utf8_is_null_and_its_like_is_not() -> None:
    bytes_of_latin, escaped = "S\udc99", "S\\x99"
    for text, kept in ((bytes_of_latin, None), (escaped, escaped), ("\x1b[31m\u202e", "\x1b[31m\u202e")):
        own = (Property(0x03, text), Property(0x08, text), Property(0x26, (text, "b")), Property(0x26, ("a", text)))
        row = one(Publish(topic=text, properties=own, payload=b"1"))
        pairs = [(each["key"], each["value"]) for each in row["properties"]]
        assert (row["topic"], row["resolved_topic"], row["payload"]) == (kept, kept, b"1")
        assert pairs == [(None, kept), (None, kept), (kept, "b"), ("a", kept)]
        assert row["error_statement"] == (None if kept else "MQTT5-3.3.2-1")
        assert (row["error"] is None) == (kept is not None)
        for version in (Version.V31, Version.V311):
            assert one(Publish(topic=text, payload=b"1"), version)["topic"] == kept
        subscribed = one(Subscribe(packet_id=1, subscriptions=(Subscription(filter=text), Subscription(filter="b"))))
        assert subscribed["filters"] == [kept, "b"]


def test_a_client_identifier_that_is_not_utf8_is_null_from_there_on() -> None:
    made = check(
        said(*(Connect(client_id=name, username=name) for name in ("a", "b\udcff", "")), Connect(client_id="d"))
    )
    assert [row["client_id"] for row in made] == ["a", None, None, "d"]
    assert [row["username"] for row in made[:2]] == ["a", None]
    assert made[1]["error_statement"] == "MQTT5-3.1.3-4"


MALFORMED = (
    "3607 0001 61 0001 00 62", "3005 0002 6100 00", "300a 0001 61 06 08 0003 620063 00", "3007 0001 61 03 21000a",
    "300c 0001 61 08 26 0002 6100 0001 62", "6002 0001", "4102 0001", "c100", "d008", "e100", "8000",
    "8206 0001 00 0001 61 c0",
)  # fmt: skip
"""Packets whose lengths are right."""
WRONG = (
    "3080", "30ffffffff7f", "30820000 0174", "3086 00 0001 74 00 3132", "3006 0001 74 8000 31", "3003 000574",
    "3005 0001 74 05ff", "300b 0001 74 03 0b8100 3132 3334", "4004 0001 00 8000", "00 00", "3c",
)  # fmt: skip


@pytest.mark.parametrize("data", [*WRONG, *MALFORMED])
def test_what_cannot_be_read_says_why(data: str) -> None:
    assert one(bytes.fromhex(data))["error"]
    for version in (Version.V31, Version.V311):
        one(bytes.fromhex(data), version)


def test_very_many_properties() -> None:
    many = tuple(Property(0x26, (str(number), "v")) for number in range(MOST + 2))
    for count in (MOST, MOST + 1, MOST + 2):
        assert len(one(Publish(topic="t", properties=many[:count], payload=b""))["properties"]) == count


def test_aliases_have_the_meaning_that_they_were_given() -> None:
    events = aliased().events
    for cut in range(len(events)):
        made = check([event for event in events if isinstance(event, PacketSeen)], [cut])
    assert [row["resolved_topic"] for row in made[2:]] == [
        "client/topic", "server/topic", "client/topic", "server/topic", "client/other", "client/other", None,
    ]  # fmt: skip


def test_an_alias_of_0_means_nothing() -> None:
    zero = (Property(0x23, 0),)
    made = check(
        said(Publish(topic="t", properties=zero, payload=b""), Publish(topic="", properties=zero, payload=b""))
    )
    assert [(row["topic_alias"], row["resolved_topic"]) for row in made] == [(0, "t"), (0, None)]


def test_irregular_packets_take_their_place_among_aliases() -> None:
    def sent(topic: str, kind: str) -> Publish:
        return Publish(topic=topic, properties=(Property(0x23, 1), Property(0x03, kind)), payload=b"")

    made = check(
        said(
            sent("a", "x"),
            sent("b", "\udcff"),
            sent("", "x"),
            sent("c", "x"),
            sent("", "\udcff"),
            sent("d\udcff", "x"),
            sent("", "y"),
        )
    )
    assert [row["resolved_topic"] for row in made] == ["a", "b", "b", "c", "c", None, None]


def test_old_versions_have_their_own_fields() -> None:
    row = one(Pubrel(packet_id=1, qos=1, dup=True), Version.V31)
    assert (row["dup"], row["qos"], row["properties"], row["version"]) == (True, 1, None, "3.1")
    assert one(Pubrel(packet_id=1), Version.V311)["dup"] is None


def test_a_buffer_that_is_too_large() -> None:
    frames = of_events(said(Publish(topic="t", payload=b"")))
    frames.buffer = memoryview(np.broadcast_to(np.uint8(0), 2**31))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a batch has 2147483648 bytes, but must have fewer than 2 GiB"):
        decode(frames)


SAMPLES: dict[WireType, Any] = {
    BYTE: 1, U16: 60000, U32: 4_000_000_000, VARIABLE: 300, STRING: "tä", BINARY: b"\0\xff", PAIR: ("nä", "v"),
}  # fmt: skip
