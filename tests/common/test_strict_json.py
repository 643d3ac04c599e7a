"""JSON is read strictly: nothing that is not JSON passes, and nothing is silently changed."""

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mqttpub.common.strict_json import (
    LONGEST_PLAIN,
    NotJson,
    check_json,
    dumps,
    parse_json,
    parse_portable_json,
    plain_object,
    plain_objects,
)
from tests.strategies import json_values

DEEP = "[" * 100_000 + "]" * 100_000
LOSSY = ['{"a":1,"a":2}', "[1e999]", "[-1e999]", "[NaN]", DEEP, "[" + "9" * 5000 + "]", "["]


@given(json_values)
def test_portable_json_keeps_its_value(value: object) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False).encode().decode()
    except UnicodeEncodeError:
        return
    if json.dumps(value).count("[") + json.dumps(value).count("{") < 50:
        assert parse_json(text) == parse_json(text.encode()) == parse_portable_json(text) == value


@pytest.mark.parametrize("text", [*LOSSY, '["\\ud800"]', '{"\\udfff":1}', "[" * 65 + "]" * 65])
def test_portable_json_refuses_what_another_reader_may_change(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_portable_json(text)


@pytest.mark.parametrize("text", LOSSY)
def test_json_that_python_would_change_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json(text)


def test_lone_surrogates_and_deep_nesting_are_json() -> None:
    assert parse_json('["\\ud800"]') == ["\ud800"]
    assert parse_json("[" * 65 + "]" * 65)


def test_checking_accepts_numbers_of_any_length() -> None:
    check_json("[" + "9" * 5000 + ", 1e999]")
    with pytest.raises(NotJson, match=re.escape("line 1, column 2: NaN is not JSON")):
        check_json("[NaN]")


def test_the_place_of_an_error_counts_from_one() -> None:
    with pytest.raises(NotJson) as caught:
        parse_json(b'{"a": 1,\n b}')
    assert (caught.value.line, caught.value.column) == (2, 2)
    with pytest.raises(ValueError, match="byte 0xff at offset 1 is not UTF-8"):
        parse_json(b"1\xff")


PLAIN = (
    "{}", '{"a":1}', '{"value": 1572, "unit": "C"}', '{"a":0, "b":"a"}', '{"":"","b":true,"c":false,"d":null}',
    '{"a":-0.0,"b":0.0001,"c":-12.5,"d":123456789012345, "e":12345678901234.5}', '{"x":":","y":",", "z": " "}',
    '{"at":"2024-11-21T08:00:00Z, a b"}',
)  # fmt: skip
NUMBERS = (
    "-0", "00", "01", "1.", ".5", "1.10", "1.0", "10.00", "1e5", "1E5", "0.00001", "0.000099", "-0.0", "0.1", "-7",
    "+1", "1234567890123456", "123456789012345.6", "0.123456789012345", "3.141592653589793", "9007199254740993.0",
    "NaN", "Infinity", "1_0", "\u0661",
)  # fmt: skip
PIECES = (
    *("{", "}", '"', "[", "]", ":", ": ", " :", ",", ", ", " ", "  ", "\n", "\t", "\\", '\\"', "\\u00e9", "\u00e9"),
    *('"a":', '"b": ', '": ', ', "', '"a"', '""', "true", "null", "[1]", "{}", "\x7f", "\ud800", "\0"),
    *NUMBERS,
)  # fmt: skip
TEXTS = st.sampled_from(
    ("a", "b", "", ": ", ", ", ":", ",", ": a", "a, ", "a: b", "\u00e9", '\\"', "\\/", "\x7f", "\n", " ")
)
DIGITS = st.from_regex("[0-9]{1,16}", fullmatch=True)
VALUES = st.one_of(
    st.sampled_from((*NUMBERS, "true", "false", "null", "nul", "[1]", '{"a":1}')), TEXTS.map('"{}"'.format),
    st.integers(-(10**17), 10**17).map(str), st.integers(-99, 99).map(str), st.floats().map(repr),
    st.builds("{}{}.{}".format, st.sampled_from(("", "-")), st.integers(0, 10**15), DIGITS),
)  # fmt: skip


@st.composite
def objects(draw: st.DrawFn) -> str:
    """Return objects, most of plain values, of which some have a piece put in or taken out."""
    members = st.builds('"{}"{}{}'.format, TEXTS, st.sampled_from((":", ": ", " :")), VALUES)
    text = "{" + draw(st.sampled_from((",", ", "))).join(draw(st.lists(members, max_size=4))) + "}"
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + draw(st.integers(0, 2)) :]
    return text


@settings(max_examples=150)
@given(st.lists(objects() | st.lists(st.sampled_from(PIECES)).map("".join), max_size=4))
@example([*PLAIN, *(f'{{"a":{number}}}' for number in NUMBERS)])
@example(['{"a":1}\n{"b":2}', "{}", "", '{"a":1,"b":2,"a": 3}', '{"a":"' + "b" * LONGEST_PLAIN + '"}', "{}"])
def test_plain_objects_are_written_as_they_would_be_after_parsing(texts: list[str]) -> None:
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    written = plain_objects(data)
    assert written == list(map(plain_object, data))
    for text, line in zip(texts, written, strict=True):
        assert not line or line == dumps(parse_portable_json(text))


def test_most_objects_are_plain() -> None:
    data = [text.encode() for text in PLAIN]
    assert all(plain_objects(data))
    assert plain_objects([b"1", data[1], b'{"a":1,"a":2}', data[0], b""]) == ["", PLAIN[1], "", PLAIN[0], ""]
    assert [bool(plain_object(b'{"a":"%s"}' % (b"b" * (LONGEST_PLAIN + more)))) for more in (-8, -7)] == [True, False]


def test_a_negative_zero_keeps_its_sign() -> None:
    for read in (parse_json, parse_portable_json):
        assert dumps(read('[-0, 0, -0.0, -0e0, "-0"]')) == '[-0.0,0,-0.0,-0.0,"-0"]'
        assert dumps(read("[-1, 10]")) == "[-1,10]"


def test_a_lone_surrogate_is_named() -> None:
    for text in ('"a\\ud800"', '{"\\ud800": 1}'):
        with pytest.raises(ValueError, match=r"^a string has the lone surrogate \\ud800$"):
            parse_portable_json(text)
