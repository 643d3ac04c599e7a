"""The schema of JSON, compared with a description that is written from the values."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.payload.json_schema import LONGEST_KEY, MOST_CHARACTERS, MOST_LEVELS, MOST_PATHS, JsonSchemas, NotJsonText

TYPES = {
    dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null", int: "number", float: "number",
}  # fmt: skip
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
NAMES = st.sampled_from(["a", "b", "temp", "a.b", "[]", "\n", "\ud800", '"', "\u00fc", "x y", "1"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=15
)


def step(name: str) -> str:
    """Return a key as it stands in a path."""
    word = name.replace("-", "_").isidentifier() and name.isprintable()
    return name if word else json.dumps(name)


def described(value: Any, path: str = "", depth: int = 0) -> set[tuple[str, str]]:
    """Return paths and types of a value, found from its outside to its inside."""
    found = {(path, TYPES[type(value)])}
    inner = {}
    if isinstance(value, dict):
        inner = {f"{path}.{step(name)}" if path else step(name): each for name, each in value.items()}
        for name, each in inner.items():
            found |= described(each, name, depth + 1)
    if isinstance(value, list):
        for each in value:
            found |= described(each, f"{path}[]", depth + 1)
    return found


def nested(value: Any) -> int:
    """Return how many levels of containers a value has."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(nested, inner), default=0)


@given(st.lists(VALUES.filter(lambda value: nested(value) < MOST_LEVELS), min_size=1, max_size=5))
def test_the_schema_is_that_of_the_values(values: list[Any]) -> None:
    schemas = JsonSchemas()
    # Twice, as the second time all is remembered.
    for value in values * 2:
        found = schemas.of(json.dumps(value))
        assert set(found.paths) == described(value)
        assert found.type == TYPES[type(value)]
        assert not found.repeated
        assert not found.cut


def test_the_order_of_members_and_the_lengths_of_arrays_make_no_difference() -> None:
    schemas = JsonSchemas()
    texts = ['{"a": 1, "b": [1, "x"]}', '{"b": ["y", 2, 3.5, "z"], "a": 1e9}']
    assert {schemas.of(text).text() for text in texts} == {"a\tnumber\nb\tarray\nb[]\tnumber|string"}
    assert schemas.of('{"a": 1, "b": []}').text() == "a\tnumber\nb\tarray"


def test_a_name_that_occurs_twice_is_noted_and_both_types_are_there() -> None:
    found = JsonSchemas().of('[{"x": {"a": 1, "a": "b"}}]')
    assert found.repeated
    assert ("[].x.a", "number") in found.paths
    assert ("[].x.a", "string") in found.paths


@pytest.mark.parametrize("text", ["", "NaN", "-Infinity", "[1,", "{1: 2}", "nul", '{"a": Infinity}', "\ufeff1", "1 2"])
def test_this_is_not_json(text: str) -> None:
    with pytest.raises(NotJsonText):
        JsonSchemas().of(text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 50_000 + "]" * 50_000])
def test_deep_nesting_is_an_error_of_its_own(text: str) -> None:
    with pytest.raises(RecursionError):
        JsonSchemas().of(text)


def test_numbers_of_any_length_are_numbers() -> None:
    schemas = JsonSchemas()
    for text in ("9" * 10_000, "-1e999", "[1" + "0" * 5000 + "]"):
        assert "number" in {type for _, type in schemas.of(text).paths}


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 50 + "1" + "}" * 50,
        "[" * 50 + "]" * 50,
        json.dumps({f"key{number}": number for number in range(3 * MOST_PATHS)}),
        json.dumps([{f"key{number}": {f"{other}" * 20: 1 for other in range(50)}} for number in range(100)]),
    ],
)
def test_what_is_too_much_is_left_out(text: str) -> None:
    schemas = JsonSchemas()
    found = schemas.of(text)
    assert found.cut
    assert len(found.paths) <= MOST_PATHS + 1
    assert sum(len(path) for path, _ in found.paths) <= MOST_CHARACTERS
    assert schemas.of(text) == found


def test_a_key_of_a_megabyte_is_cut_and_not_remembered() -> None:
    schemas = JsonSchemas()
    found = schemas.of(json.dumps({"k" * (1 << 20): 1}))
    assert len(found.paths[1][0]) < 2 * LONGEST_KEY
    assert not schemas._known


def test_memory_is_bounded() -> None:
    schemas = JsonSchemas()
    for number in range(3000):
        schemas.of(json.dumps({f"{number}{'x' * 9000}": 1}))
    assert len(schemas._known) < 2500
