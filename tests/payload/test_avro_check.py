"""Bodies of Avro that the library misreads, or reads for ever."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.payload.formats import PayloadReader, converter, payload_reader

MANY = "80808080808001"
"""2,199,023,255,552 as a number of Avro."""
NULLS = {"type": "array", "items": "null"}
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}


def reader(schema: Any, folder: Path) -> PayloadReader:
    (folder / "s.avsc").write_text(json.dumps(schema))
    return payload_reader("avro", str(folder / "s.avsc"))


@pytest.mark.parametrize(
    ("schema", "body", "sentence"),
    [
        (["null", "int"], "01 02", "the index of the union at offset 0 is -1, but it has 2 branches"),
        (["null", "int"], "04", "the index of the union at offset 0 is 2, but it has 2 branches"),
        (ENUM, "01", "the index of the enum E at offset 0 is -1, but it has 2 symbols"),
        (ENUM, "08", "the index of the enum E at offset 0 is 4, but it has 2 symbols"),
        ("bytes", "01", "the bytes at offset 0 has the length -1"),
        ("string", MANY, "the string at offset 0 goes beyond the end of the payload"),
        ("string", "02 ff", "the string at offset 0 is not UTF-8"),
        ("string", "", "the number at offset 0 goes beyond the end of the payload"),
        ("boolean", "02", "the boolean at offset 0 is 2, but must be 0 or 1"),
        ("int", "808080808001", "the int at offset 0 has more than 32 bits"),
        ("long", "ff" * 11, "the long at offset 0 has more than 64 bits"),
        ("double", "00", "the double at offset 0 goes beyond the end of the payload"),
        ({"type": "fixed", "name": "F", "size": 4}, "0001", "the fixed at offset 0 goes beyond the end of the payload"),
        ({"type": "array", "items": "int"}, "01 01 02 00", "the block of the array at offset 0 has the length -1"),
        ({"type": "array", "items": "int"}, "01 04 02 00", "the block of the array at offset 0 has 1 byte, not 2"),
        (NULLS, MANY, "the block of the array at offset 0 has 2199023255552 items, more than 1000000"),
        (NULLS, "80897a 00", "it has more than 1000000 values, up to offset 3"),
        (LIST, "02" * 100_000, "the value is nested too deeply: that at offset 63 is in 64 others"),
        ({"type": "int", "logicalType": "date"}, "feffffff0f", "a date, time or decimal number is out of range"),
        ("int", "02 02", "1 byte follows the value, from offset 1 on"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(schema: Any, body: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        reader(schema, tmp_path)(bytes.fromhex(body))
    assert str(caught.value) == f"avro: {sentence}"


@pytest.mark.parametrize(
    ("schema", "body", "value", "remarks"),
    [
        (["null", "int"], "02 02", 1, ()),
        (ENUM, "02", "B", ()),
        ({"type": "array", "items": "int"}, "01 02 02 00", [1], ()),
        ("double", "0000000000000080", -0.0, ()),
        ("float", "0000c07f", "NaN", ()),
        ({"type": "map", "values": "int"}, "04 0261 02 0262 04 00", {"a": 1, "b": 2}, ()),
        (
            {"type": "map", "values": "int"}, "02 0261 02 02 0261 04 00", {"a": 2},
            ('the map at offset 0 has the key "a" 2 times; the last is shown',),
        ),
    ],
)  # fmt: skip
def test_what_is_right(schema: Any, body: str, value: Any, remarks: tuple[str, ...], tmp_path: Path) -> None:
    found = reader(schema, tmp_path)(bytes.fromhex(body))
    assert (repr(found.value), found.remarks) == (repr(value), remarks)


ALL = {
    "type": "record", "name": "R", "fields": [
        {"name": "a", "type": "string"}, {"name": "b", "type": ["null", "long", "R"], "default": None},
        {"name": "c", "type": {"type": "map", "values": {"type": "array", "items": "double"}}},
        {"name": "e", "type": ENUM}, {"name": "f", "type": "bytes"},
        {"name": "g", "type": "boolean"}, {"name": "h", "type": "int"},
    ],
}  # fmt: skip


@given(
    st.text(), st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
    st.dictionaries(st.text(), st.lists(st.floats(allow_nan=False, allow_infinity=False))), st.sampled_from("AB"),
    st.booleans(), st.integers(-(1 << 31), (1 << 31) - 1),
)  # fmt: skip
def test_what_the_library_writes_is_accepted(
    tmp_path_factory: Any, a: str, b: int | None, c: dict[str, list[float]], e: str, g: bool, h: int
) -> None:
    folder = tmp_path_factory.mktemp("avro")
    (folder / "s.avsc").write_text(json.dumps(ALL))
    value = {"a": a, "b": b, "c": c, "e": e, "f": "", "g": g, "h": h}
    made = converter("avro", str(folder / "s.avsc"))(json.dumps(value).encode())
    read = reader(ALL, folder)
    assert read(made) == ({**value, "f": {"base64": ""}}, ())
    for size in range(len(made)):
        with pytest.raises(ValueError, match=r"avro: .* offset"):
            read(made[:size])


def test_a_negative_zero_is_a_whole_number_too(tmp_path: Path) -> None:
    for schema, body in (("int", "00"), ("double", "0000000000000080")):
        (tmp_path / "s.avsc").write_text(json.dumps(schema))
        assert converter("avro", str(tmp_path / "s.avsc"))(b"-0") == bytes.fromhex(body)
