"""JSON is read strictly: nothing that is not JSON passes, and nothing is silently changed."""

import json
import re

import pytest
from hypothesis import given

from mqttpub.common.strict_json import NotJson, check_json, parse_json, parse_portable_json
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
