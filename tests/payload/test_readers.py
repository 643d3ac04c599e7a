"""Payloads that arrive, read as JSON values: what the converters write, and what nobody would write."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli.flags.payload import READ_ALONE
from mqttpub.payload.formats import converter, payload_reader
from tests.strategies import json_values

BYTE = {"base64": "/w=="}
PROTO = """
syntax = "proto3";
message Reading { string name = 1; double value = 2; repeated int64 history = 3; bytes raw = 4; }
"""
AVSC = """{"type": "record", "name": "Reading", "fields": [
  {"name": "name", "type": "string"}, {"name": "value", "type": ["null", "double"]},
  {"name": "raw", "type": "bytes"}]}"""


def read(name: str, data: bytes) -> tuple[Any, str]:
    """Return the value of a payload, or None and the error."""
    try:
        return payload_reader(name)(data).value, ""
    except ValueError as error:
        return None, str(error)


@given(json_values)
def test_what_the_converters_write_is_read_back(value: Any) -> None:
    text = json.dumps(value).encode()
    for name in ("json", "cbor", "msgpack"):
        assert payload_reader(name)(converter(name)(text)) == (value, ())


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_the_name_of_the_format(data: bytes) -> None:
    for name in (each.name for each in READ_ALONE):
        value, said = read(name, data)
        json.dumps(value)
        assert not said or said.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("name", "hexadecimal", "value"),
    [
        ("hex", "00ff", "00ff"),
        ("base64", "00ff", "AP8="),
        ("text", "c3a9", "é"),
        ("cbor", "a2 01 41ff 61 78 f97e00", {"1": BYTE, "x": "NaN"}),
        ("cbor", "c1 00", "1970-01-01T00:00:00+00:00"),
        ("cbor", "d9 2710 01", {"tag": 10000, "value": 1}),
        (
            "msgpack",
            "82 01 c4 01 ff a1 78 d4 05 07",
            {"1": {"base64": "/w=="}, "x": {"extension": 5, "base64": "Bw=="}},
        ),
        ("msgpack", "d6 ff 00 00 00 01", "1970-01-01T00:00:01+00:00"),
        ("sparkplug", "08 01 18 02", {"timestamp_ms": 1, "seq": 2, "metrics": []}),
    ],
)
def test_what_json_cannot_say(name: str, hexadecimal: str, value: Any) -> None:
    assert payload_reader(name)(bytes.fromhex(hexadecimal)) == (value, ())


@pytest.mark.parametrize(
    ("name", "hexadecimal", "message"),
    [
        ("text", "41 ff", "text: byte 0xff at offset 1 is not UTF-8"),
        ("json", "7b", "json: "),
        ("cbor", "01 02", "cbor: 1 byte follows the value"),
        (
            "sparkplug",
            "12 05 0a",
            "sparkplug: it is not a payload of Sparkplug B: the field at offset 0 goes beyond the end",
        ),
        ("msgpack", "01 02", "msgpack: "),
        ("cbor", "81" * 3000, "cbor: "),
        ("sparkplug", "ff", "sparkplug: it is not a payload of Sparkplug B"),
    ],
)
def test_what_is_wrong_is_named(name: str, hexadecimal: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        payload_reader(name)(bytes.fromhex(hexadecimal))
    assert str(caught.value).startswith(message)


def test_schemas_read_what_they_write(tmp_path: Path) -> None:
    (tmp_path / "r.proto").write_text(PROTO)
    (tmp_path / "r.avsc").write_text(AVSC)
    value = {"name": "é", "value": 21.5, "history": [1, -2], "raw": "AP8="}
    data = converter("protobuf", str(tmp_path / "r.proto"))(json.dumps(value).encode())
    assert payload_reader("protobuf", str(tmp_path / "r.proto"))(data) == ({**value, "history": ["1", "-2"]}, ())
    made = converter("avro", str(tmp_path / "r.avsc"))(b'{"name": "x", "value": {"double": 1.5}, "raw": "\\u00ff"}')
    read = payload_reader("avro", str(tmp_path / "r.avsc"))
    assert read(made) == ({"name": "x", "value": 1.5, "raw": {"base64": "/w=="}}, ())
    with pytest.raises(ValueError, match="avro: 1 byte follows the value"):
        read(made + b"\0")
    with pytest.raises(ValueError, match="avro: "):
        read(b"\xff")
    with pytest.raises(ValueError, match="protobuf: "):
        payload_reader("protobuf", str(tmp_path / "r.proto"))(b"\xff")
