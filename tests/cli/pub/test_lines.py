"""Records from streams, messages from JSON Lines, and the pace."""

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli.pub.json_messages import BadLine, message_of
from mqttpub.cli.pub.lines import InputRecord, LineReader, RecordTooLong
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Version

DELIMITERS = (b"\n", b"\r\n", b"\0", b"aa", b"aba", b"--\n--")


def read(chunks: list[bytes], delimiter: bytes = b"\n", **more: Any) -> list[InputRecord]:
    """Return the records of chunks."""
    reader = LineReader(delimiter, **more)
    return [record for chunk in chunks for record in reader.feed(chunk)] + reader.finish()


# records


@pytest.mark.parametrize(
    ("data", "delimiter", "expected"),
    [
        (b"", b"\n", []),
        (b"a", b"\n", [(b"a", 1, 1)]),
        (b"a\n", b"\n", [(b"a", 1, 2)]),
        (b"\n\n", b"\n", [(b"", 1, 1), (b"", 2, 2)]),
        (b"a\n\nbc", b"\n", [(b"a", 1, 2), (b"", 2, 3), (b"bc", 3, 5)]),
        (b"a\r\nb\r\n", b"\n", [(b"a\r", 1, 3), (b"b\r", 2, 6)]),
        (b"a\r\nb\rc\nd\r", b"\r\n", [(b"a", 1, 3), (b"b\rc\nd\r", 2, 9)]),
        (b"a\nb\0\0c", b"\0", [(b"a\nb", 1, 4), (b"", 2, 5), (b"c", 3, 6)]),
        (b"aaa", b"aa", [(b"", 1, 2), (b"a", 2, 3)]),
    ],
)
def test_records_of_a_stream(data: bytes, delimiter: bytes, expected: list[tuple[bytes, int, int]]) -> None:
    assert read([data], delimiter) == expected
    assert all(isinstance(record, InputRecord) for record in read([data], delimiter))


@given(st.data(), st.sampled_from(DELIMITERS))
def test_any_chunking_gives_the_same_records(draw: st.DataObject, delimiter: bytes) -> None:
    pieces = st.sampled_from([delimiter, delimiter[:1], delimiter[1:], b"x", b"a", b"\r", b"\n", b""])
    data = b"".join(draw.draw(st.lists(pieces, max_size=30)))
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=12)))
    chunks = [data[start:stop] for start, stop in pairwise([0, *cuts, len(data)])]
    assert read(chunks, delimiter) == read([data], delimiter)


@given(st.data(), st.sampled_from(DELIMITERS))
def test_records_and_delimiters_are_the_stream(draw: st.DataObject, delimiter: bytes) -> None:
    data = b"".join(draw.draw(st.lists(st.sampled_from([delimiter, b"x", b"a", b"\r"]), max_size=30)))
    records = read([data], delimiter)
    assert [record.number for record in records] == list(range(1, len(records) + 1))
    start = 0
    for record in records:
        whole = data[start : record.end] == record.data + delimiter
        assert whole or (record is records[-1] and data[start:] == record.data != b"")
        start = record.end
    assert start == len(data)


@given(st.lists(st.sampled_from([b"\n", b"x", b"yz"]), max_size=20))
def test_reading_can_continue_at_the_end_of_any_record(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    records = read([data])
    for at, record in enumerate(records):
        assert read([data[record.end :]], number=record.number, offset=record.end) == records[at + 1 :]


def test_a_long_record_is_refused_after_those_before_it() -> None:
    reader = LineReader(limit=3)
    assert [record.data for record in reader.feed(b"abc\nab\nabcd\nx\n")] == [b"abc", b"ab"]
    for again in (reader.finish, lambda: reader.feed(b"y\n")):
        with pytest.raises(RecordTooLong, match=r"^message 3 has more than 3 bytes, but no packet can$"):
            again()


@pytest.mark.parametrize("chunks", [[b"abcd"], [b"ab", b"cd"], [b"ab", b"cd\n"], [b"a\n", b"abcd", b"\n"]])
@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n"])
def test_a_long_record_is_refused_however_it_comes(chunks: list[bytes], delimiter: bytes) -> None:
    chunks = [chunk.replace(b"\n", delimiter) for chunk in chunks]
    with pytest.raises(RecordTooLong, match="has more than 3 bytes"):
        read(chunks, delimiter, limit=3)
    assert read(chunks, delimiter, limit=4)[-1].data == b"abcd"


def test_a_long_record_is_counted_after_those_that_came_with_it() -> None:
    reader = LineReader(limit=3)
    assert [record.number for record in reader.feed(b"a\nb\nabcd")] == [1, 2]
    with pytest.raises(RecordTooLong, match=r"^message 3 has"):
        reader.finish()


def test_a_long_record_is_not_collected_first() -> None:
    reader = LineReader(limit=1000)
    for _ in range(10):
        assert reader.feed(b"x" * 100) == []
    with pytest.raises(RecordTooLong):
        reader.feed(b"x")
    assert reader.number == reader.offset == 0


def test_a_delimiter_is_not_empty() -> None:
    with pytest.raises(ValueError, match="a delimiter has at least one byte"):
        LineReader(b"")


# JSON Lines

CONTENT_TYPE, USER_PROPERTY, TOPIC_ALIAS = (
    BY_KEY[key].id for key in ("content_type", "user_property", "topic_alias")
)  # fmt: skip
DEFAULTS = Publish(
    topic="d", payload=b"p", qos=1, retain=True,
    properties=(Property(CONTENT_TYPE, "text/plain"), Property(USER_PROPERTY, ("a", "b"))),
)  # fmt: skip
TYPE, PAIR = DEFAULTS.properties


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("{}", {}),
        (' {"topic": "x/y"}\r', {"topic": "x/y"}),
        ('{"payload": "grün"}', {"payload": "grün".encode()}),
        ('{"payload": {"text": "t"}}', {"payload": b"t"}),
        ('{"payload": {"hex": "00 ff"}}', {"payload": b"\x00\xff"}),
        ('{"payload": {"base64": "AP8="}}', {"payload": b"\x00\xff"}),
        ('{"payload": {"json": {"a": [1, null]}}}', {"payload": b'{"a":[1,null]}'}),
        ('{"payload": ""}', {"payload": b""}),
        ('{"payload": {"t": 21.5, "on": true}}', {"payload": b'{"t":21.5,"on":true}'}),
        ('{"payload": {"hex": "00", "text": "x"}}', {"payload": b'{"hex":"00","text":"x"}'}),
        ('{"payload": {"json": {"hex": "00"}}}', {"payload": b'{"hex":"00"}'}),
        ('{"payload": {}}', {"payload": b"{}"}),
        ('{"payload": [1, "ä"]}', {"payload": '[1,"ä"]'.encode()}),
        ('{"payload": 5}', {"payload": b"5"}),
        ('{"payload": false}', {"payload": b"false"}),
        ('{"packet-id": 7}', {"packet_id": 7}),
        ('{"properties": {"content-type": "x"}}', {"properties": (PAIR, Property(CONTENT_TYPE, "x"))}),
        ('{"properties": {"Topic Alias": 5}}', {"properties": (TYPE, PAIR, (TOPIC_ALIAS, 5))}),
        ('{"properties": [["content-type", "x"]]}', {"properties": (PAIR, Property(CONTENT_TYPE, "x"))}),
        (
            '{"properties": {"user-property": {"k": "v", "l": "w"}}}',
            {"properties": (TYPE, (USER_PROPERTY, ("k", "v")), (USER_PROPERTY, ("l", "w")))},
        ),
        ('{"qos": 2, "retain": false, "dup": true}', {"qos": 2, "retain": False, "dup": True}),
        ('{"qos": 3}', {"qos": 3}),
        ('{"packet_id": 7}', {"packet_id": 7}),
        ('{"properties": {}}', {}),
        ('{"properties": {"content_type": "x"}}', {"properties": (PAIR, Property(CONTENT_TYPE, "x"))}),
        ('{"properties": {"content_type": null}}', {"properties": (PAIR,)}),
        ('{"properties": {"content_type": null, "user_property": []}}', {"properties": ()}),
        (
            '{"properties": {"topic_alias": 5, "user_property": [["k", "v"], ["k", "w"]]}}',
            {"properties": (TYPE, (TOPIC_ALIAS, 5), (USER_PROPERTY, ("k", "v")), (USER_PROPERTY, ("k", "w")))},
        ),
        (
            '{"properties": [["user_property", ["k", "v"]], {"id": 255, "value": {"hex": "01"}}]}',
            {"properties": (TYPE, (USER_PROPERTY, ("k", "v")), (255, b"\x01"))},
        ),
        (
            '{"topic": "", "properties": {"topic_alias": 5}}',
            {"topic": "", "properties": (TYPE, PAIR, (TOPIC_ALIAS, 5))},
        ),
    ],
)
def test_a_line_changes_what_it_names(line: str, changes: dict[str, Any]) -> None:
    assert message_of(line.encode(), DEFAULTS, 1) == DEFAULTS.replace(**changes)


def test_qos_0_drops_the_packet_identifier_of_the_command_line() -> None:
    assert message_of(b'{"qos": 0}', DEFAULTS.replace(packet_id=9), 1).packet_id is None
    assert message_of(b"{}", DEFAULTS.replace(packet_id=9), 1).packet_id == 9


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "column 1: it is empty, which is not JSON"),
        ('{"topic": }', "column 11: no JSON value begins here"),
        ('{"topic":', "column 10: the text ends before the JSON is complete"),
        ("{topic: 1}", "column 2: the name of a member must be in double quotes"),
        ('{"topic": "a" "qos": 1}', "column 15: a comma or a closing bracket is missing here"),
        ('{"a": NaN}', "column 7: NaN is not JSON"),
        ('{"topic": "a", "topic": "b"}', "'topic' occurs twice in one object"),
        ('["a"]', "must be an object"),
        (
            '{"topc": "a"}',
            "a message has no member 'topc' (dup, qos, retain, topic, packet_id, properties, payload)",
        ),
        ('{"type": "CONNECT"}', "a message has no member 'type' ("),
        ('{"hex": "3003"}', "a message has no member 'hex' ("),
        ('{"topic": null}', "topic: must be a string or an object with one of text, hex, base64, json"),
        ('{"topic": ""}', "topic: it is missing, and a message needs it"),
        ('{"topic": "\\ud800"}', "topic: a lone surrogate cannot be encoded as UTF-8"),
        ('{"qos": 4}', "qos: 4 does not fit QoS (0, 1 or 2)"),
        ('{"qos": "1"}', "qos: must be a number or a boolean"),
        ('{"qos": 0, "packet_id": 7}', "packet_id: only QoS 1 and 2 have a Packet Identifier"),
        ('{"packet_id": 65536}', "packet_id: 65536 does not fit a Two Byte Integer (0 to 65535)"),
        ('{"payload": null}', "payload: must be a string or an object with one of text, hex, base64, json"),
        ('{"packet-id": 1, "packet_id": 1}', "'packet_id' occurs twice, in two spellings"),
        ('{"properties": {"topic-alias": 1, "topic_alias": 1}}', "properties: 'topic_alias' occurs twice, in two"),
        ('{"properties": {"user-property": {"k": 1}}}', "properties.user_property.k[1]: must be a string or"),
        ('{"payload": {"hex": "0g"}}', "payload.hex: "),
        ('{"properties": 5}', "properties: must be an object or an array"),
        ('{"properties": {"zz: y": 1}}', "properties: a message has no property 'zz: y' (payload_format_indicator, "),
        ('{"properties": {"receive_maximum": 1}}', "properties: a message has no property 'receive_maximum' ("),
        ('{"properties": {"topic_alias": "x"}}', "properties.topic_alias: must be a number"),
        ('{"properties": {"topic_alias": [1]}}', "properties.topic_alias: must be a number"),
        (
            '{"properties": {"user_property": [["k", "v"], ["k", 5]]}}',
            "properties.user_property[1][1]: must be a str",
        ),
        (
            '{"properties": {"user_property": ["k", "v"]}}',
            "properties.user_property[0]: must be an array of name and",
        ),
        ('{"properties": {"correlation_data": {"hex": "0g"}}}', "properties.correlation_data.hex: "),
        ('{"properties": [["topic_alias", "x"]]}', "properties[0][1]: must be a number"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_the_path(line: str, said: str) -> None:
    with pytest.raises(BadLine) as caught:
        message_of(line.encode(), DEFAULTS, 12)
    place = f"line 12, {caught.value.place}" if caught.value.place else "line 12"
    assert str(caught.value) == f"{place}: {caught.value.message}"
    assert str(caught.value).removeprefix("line 12").lstrip(",: ").startswith(said)
    assert caught.value.number == 12


def test_a_line_that_is_not_utf_8_is_bad() -> None:
    with pytest.raises(BadLine, match=r"^line 1: byte 0xff at offset 0 is not UTF-8$"):
        message_of(b"\xff", DEFAULTS, 1)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (b'{"properties": {"content_type": "x"}}', "properties.content_type"),
        (b'{"properties": [["content_type", "x"]]}', "properties"),
    ],
)
def test_properties_need_mqtt_5(line: bytes, place: str) -> None:
    with pytest.raises(BadLine) as caught:
        message_of(line, DEFAULTS, 1, version=Version.V311)
    assert str(caught.value) == f"line 1, {place}: MQTT 3.1.1 does not have it"


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9), st.binary(max_size=9),
    st.integers(0, 2), st.booleans(), st.integers(0, 0xFFFF),
)  # fmt: skip
def test_lines_carry_any_message(topic: str, payload: bytes, qos: int, retain: bool, alias: int) -> None:
    line = {
        "topic": topic, "payload": {"hex": payload.hex()}, "qos": qos, "retain": retain,
        "properties": {"topic_alias": alias},
    }  # fmt: skip
    assert message_of(json.dumps(line).encode(), Publish(topic=""), 1) == Publish(
        topic=topic, payload=payload, qos=qos, retain=retain, properties=(Property(TOPIC_ALIAS, alias),)
    )


@given(st.binary(max_size=40) | st.sampled_from([b"[" * 100_000, b'{"qos": ' + b"9" * 5000 + b"}"]))
def test_any_line_is_a_message_or_bad(line: bytes) -> None:
    try:
        assert isinstance(message_of(line, DEFAULTS, 3), Publish)
    except BadLine as bad:
        assert bad.number == 3  # noqa: PT017


def test_reading_json_lines_leaves_rich_alone() -> None:
    code = (
        "from mqttpub.cli.pub.json_messages import *; import sys;"
        'message_of(b\'{"topic":"a","payload":"x"}\', Publish(topic=\'\'), 1); print(\'rich\' in sys.modules)'
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"
