"""The data types of MQTT."""

from typing import Any

import pytest

from mqttpub.wire.cursor import Cursor, Overlong, Short
from mqttpub.wire.types import (
    BINARY,
    BYTE,
    MAX_VARIABLE,
    PAIR,
    REST,
    STRING,
    U16,
    U32,
    VARIABLE,
    Integer,
    WireType,
    readable,
)
from tests.vectors import Value, values

TYPES = (BYTE, U16, U32, VARIABLE, BINARY, STRING, PAIR, REST)
each_value = pytest.mark.parametrize("vector", values(), ids=lambda vector: vector.name)


@each_value
def test_a_vector_is_read_as_its_value(vector: Value) -> None:
    cursor = Cursor(b"<" + vector.data + b">", 1)
    assert vector.type.read(cursor) == vector.value
    assert cursor.pos == 1 + len(vector.data)


@each_value
def test_a_value_is_written_as_its_vector(vector: Value) -> None:
    assert (vector.type.write(vector.value) == vector.data) is vector.canonical


@pytest.mark.parametrize("vector", [one for one in values() if len(one.data) < 100], ids=lambda one: one.name)
def test_a_vector_that_is_cut_is_short(vector: Value) -> None:
    for size in range(len(vector.data)):
        cursor = Cursor(vector.data, 0, size)
        with pytest.raises(Short):
            vector.type.read(cursor)


@pytest.mark.parametrize(
    ("type", "name", "section", "prefix"),
    [
        (BYTE, "Byte", "1.5.1", 0),
        (U16, "Two Byte Integer", "1.5.2", 0),
        (U32, "Four Byte Integer", "1.5.3", 0),
        (STRING, "UTF-8 Encoded String", "1.5.4", 2),
        (VARIABLE, "Variable Byte Integer", "1.5.5", 0),
        (BINARY, "Binary Data", "1.5.6", 2),
        (PAIR, "UTF-8 String Pair", "1.5.7", 0),
        (REST, "the rest of the packet", "3.3.3", 0),
    ],
)
def test_types_are_called_as_in_the_specification(type: WireType, name: str, section: str, prefix: int) -> None:
    assert (type.name, type.section, type.prefix, repr(type)) == (name, section, prefix, name)


@pytest.mark.parametrize(("type", "most"), [(BYTE, 255), (U16, 65_535), (U32, 4_294_967_295)])
def test_integers_that_do_not_fit_are_refused(type: Integer, most: int) -> None:
    assert type.write(most) == b"\xff" * type.size
    assert type.write(0) == bytes(type.size)
    for value in (most + 1, -1):
        with pytest.raises(ValueError, match=rf"^{value} does not fit a {type.name} \(0 to {most}\)$"):
            type.write(value)


def test_a_flag_is_written_as_a_number() -> None:
    assert BYTE.write(True) == b"\x01"


@pytest.mark.parametrize("value", [-1, MAX_VARIABLE + 1])
def test_variable_integers_that_do_not_fit_are_refused(value: int) -> None:
    with pytest.raises(ValueError, match=rf"^{value} does not fit a Variable Byte Integer \(0 to 268435455\)$"):
        VARIABLE.write(value)


def test_a_variable_integer_of_five_bytes() -> None:
    with pytest.raises(Overlong):
        VARIABLE.read(Cursor(b"\x80\x80\x80\x80\x01"))


@pytest.mark.parametrize(("type", "value"), [(BINARY, bytes(65_536)), (STRING, "x" * 65_536), (STRING, "ü" * 32_768)])
def test_values_too_long_for_two_bytes_of_length_are_refused(type: WireType, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^65536 bytes do not fit Binary Data \(0 to 65535 bytes\)$"):
        type.write(value)


def test_a_declared_length_reports_where_the_value_began() -> None:
    for type in (BINARY, STRING):
        with pytest.raises(Short) as caught:
            type.read(Cursor(b"..\x00\x09ab", 2))
        assert (caught.value.start, caught.value.needed, caught.value.left, caught.value.declared) == (2, 9, 2, True)


def test_a_string_keeps_bytes_that_are_no_utf8() -> None:
    for data in (b"\xc0\x80", b"\xff", b"\xed\xa0\x80", b"a\xf5b", b"\xe4\xb8"):
        text = STRING.read(Cursor(bytes([0, len(data)]) + data))
        assert text.isprintable() is False
        assert STRING.write(text) == bytes([0, len(data)]) + data


def test_a_surrogate_that_stands_for_no_byte_cannot_be_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        STRING.write("\ud800")


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x01", b"\x00\x01k", b"\x00\x01k\x00", b"\x00\x01k\x00\x01"])
def test_a_pair_cut_short_moves_nothing(data: bytes) -> None:
    cursor = Cursor(data)
    with pytest.raises(Short):
        PAIR.read(cursor)
    assert cursor.pos == 0


def test_the_rest_goes_to_the_end_of_the_window() -> None:
    cursor = Cursor(b"abcdef", 1)
    with cursor.window(3):
        assert REST.read(cursor) == b"bcd"
        assert REST.read(cursor) == b""
    assert REST.write(b"bcd") == b"bcd"


def test_bytes_that_are_not_utf_8_are_readable_as_escapes() -> None:
    assert readable("caf\u00e9 \udcff") == "caf\u00e9 \\xff"
    assert readable("a/b") == "a/b"
