"""Recognising payloads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.view.packet.payload import MAX_JSON, classify, pretty
from tests.strategies import json_values as values
from tests.view.samples import laws

DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"hello", "text"),
        ("line one\nline\ttwo\r\n \u4f60".encode(), "text"),
        (b"21.5", "text"),
        (b"true", "text"),
        (b'{"t": 21.5}', "json"),
        (b" [1, 2] ", "json"),
        (b'"word"', "json"),
        (b"{not json}", "text"),
        (b"[NaN]", "text"),
        (b"[Infinity]", "text"),
        (b"[" + b"9" * 9000 + b"]", "json"),
        (b"\xff", "binary"),
        (b"a\x00b", "binary"),
        (b"\x1b[31m", "binary"),
        ("\x9b".encode(), "binary"),
        (b"\xed\xa0\x80", "binary"),
    ],
)
def test_a_payload_is_recognised_by_its_bytes(data: bytes, kind: str) -> None:
    recognised = classify(data)
    assert recognised.kind == kind
    assert recognised.text == ("" if kind == "binary" else data.decode())


def test_deep_nesting_is_text() -> None:
    assert classify(DEEP).kind == "text"


def test_json_is_tried_up_to_a_size() -> None:
    padding = b" " * (MAX_JSON - 2)
    assert classify(b"[" + padding + b"]").kind == "json"
    assert classify(b"[" + padding + b" ]").kind == "text"


@laws
@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_recognised(data: bytes) -> None:
    kind, text = classify(data)
    assert kind in ("empty", "text", "json", "binary")
    assert kind == "binary" or text.encode() == data


def laid_out(text: str, width: int) -> list[str]:
    """Return the lines of JSON with their indentation."""
    return ["  " * depth + line for depth, line in pretty(text, width)]


def test_json_that_fits_stays_on_one_line() -> None:
    text = '{"online":false,"since":[2024,11,21],"empty":{},"none":[]}'
    assert laid_out(text, 80) == ['{"online": false, "since": [2024, 11, 21], "empty": {}, "none": []}']
    assert laid_out(text, 30) == [
        "{", '  "online": false,', '  "since": [2024, 11, 21],', '  "empty": {},', '  "none": []', "}",
    ]  # fmt: skip
    assert laid_out("[[[1]]]", 3) == ["[", "  [", "    [", "      1", "    ]", "  ]", "]"]


def test_numbers_strings_and_repeats_are_kept() -> None:
    text = '{"a":1.00,"a":1e5,"b":"\\u0041 [,]\\"{"}'
    assert laid_out(text, 10) == ["{", '  "a": 1.00,', '  "a": 1e5,', '  "b": "\\u0041 [,]\\"{"', "}"]


def test_a_string_is_a_line() -> None:
    assert laid_out(' "word" ', 10) == ['"word"']


@pytest.mark.slow
@laws
@given(values, st.integers(1, 60))
def test_pretty_json_has_the_same_value(value: object, width: int) -> None:
    text = json.dumps(value)
    assert json.loads("".join(laid_out(text, width))) == json.loads(text)


@laws
@given(values.filter(lambda value: isinstance(value, dict | list | str)))
def test_json_without_room_has_the_lines_of_another_writer(value: object) -> None:
    assert laid_out(json.dumps(value), 1) == json.dumps(value, indent=2).split("\n")


def test_large_json_needs_linear_time() -> None:
    text = json.dumps([{"name": "x" * 50, "value": [1, 2, [3]]}] * 8000)
    assert sum(1 for _ in pretty(text, 40)) > 8000
