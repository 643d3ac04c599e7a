"""CBOR and MessagePack as JSON: what the libraries read, what they lose, and where bytes stop being a value."""

from base64 import b64encode
from math import isfinite
from typing import Any

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.common.strict_json import PORTABLE_DEPTH
from mqttpub.payload.items import cbor_items, msgpack_items, read_cbor, read_msgpack
from mqttpub.payload.library import library
from mqttpub.payload.values import MOST_VALUES
from tests.payload.test_structure import LEAVES

MSGPACK = library("msgpack", "msgpack")
CBOR, MESSAGEPACK = (read_cbor, cbor_items), (read_msgpack, msgpack_items)
"""Both ways to read: by the library as far as it can, and always item by item."""
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)


def as_json(value: Any) -> Any:
    """Return what the JSON of a tree has to be."""
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    if isinstance(value, float) and not isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, list) else value


def refusal(read: Any, data: bytes) -> str:
    """Return why a reader refuses bytes; empty if it reads them."""
    return outcome(read, data).partition("refused: ")[2]


def outcome(read: Any, data: bytes) -> str:
    try:
        return repr(tuple(read(data)))
    except ValueError as error:
        return f"refused: {error}"


@given(TREES)
def test_what_the_libraries_write_is_read(tree: Any) -> None:
    expected = repr((as_json(tree), ()))
    for readers, written in ((CBOR, cbor2.dumps(tree)), (MESSAGEPACK, MSGPACK.packb(tree))):
        assert {outcome(read, written) for read in readers} == {expected}


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused_in_a_sentence(data: bytes) -> None:
    for readers in (CBOR, MESSAGEPACK):
        found = {outcome(read, data) for read in readers}
        assert len(found) == 1
        assert "refused" not in str(found) or "offset" in str(found)


@given(TREES, st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=2)), min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_payload_in_which_some_bytes_are_others_has_one_meaning(tree: Any, changes: list[tuple[int, bytes]]) -> None:
    for readers, written in ((CBOR, cbor2.dumps(tree)), (MESSAGEPACK, MSGPACK.packb(tree))):
        data = bytearray(written)
        for at, other in changes:
            data[at : at + len(other)] = other
        assert len({outcome(read, bytes(data)) for read in readers}) == 1


@pytest.mark.parametrize(
    ("hexadecimal", "value", "remarks"),
    [
        ("a2 6161 01 6161 02", {"map": [["a", 1], ["a", 2]]}, ['the map at offset 0 has the key "a" 2 times']),
        ("bf 01 02 1801 03 ff", {"map": [[1, 2], [1, 3]]}, ["the map at offset 0 has the key 1 2 times"]),
        ("81 a2 f5 01 f5 02", [{"map": [[True, 1], [True, 2]]}], ["the map at offset 1 has the key true 2 times"]),
        # One key for Python, three for CBOR:
        ("a3 01 01 f5 02 f93c00 03", {"1": 1, "true": 2, "1.0": 3}, []),
        # One name in JSON, two keys for CBOR:
        ("a2 01 01 6131 02", {"map": [[1, 1], ["1", 2]]}, []),
        # RFC 8949, appendix A and section 8
        ("a4 f4 00 f6 00 f7 00 f8ff 00", {"false": 0, "null": 0, "undefined": 0, "simple(255)": 0}, []),
        ("a4 80 00 a0 00 4201ff 00 820161 61 00", {"[]": 0, "{}": 0, "h'01ff'": 0, '[1, "a"]': 0}, []),
        ("a2 d9 2710 6161 00 a1 01 02 00", {'10000("a")': 0, "{1: 2}": 0}, []),
        ("a3 f97e00 00 f97c00 00 f98000 00", {"NaN": 0, "Infinity": 0, "-0.0": 0}, []),
        ("84 f0 f7 f98000 f9fc00", [{"simple": 16}, {"simple": "undefined"}, -0.0, "-Infinity"], []),
        ("5f 4101 42 0203 ff", {"base64": "AQID"}, []),
        ("7f 6161 6162 ff", "ab", []),
        ("d9d9f7 01", 1, []),
        ("c2 49 ffffffffffffffffff", (1 << 72) - 1, []),
        ("c4 82 21 19 6ab3", "273.15", []),
        ("c0 613a", {"tag": 0, "value": ":"}, []),
        ("d81c 81 d81d 00", {"tag": 28, "value": [{"tag": 29, "value": 0}]}, []),
    ],
)  # fmt: skip
def test_cbor(hexadecimal: str, value: Any, remarks: list[str]) -> None:
    found = read_cbor(bytes.fromhex(hexadecimal))
    assert (repr(found.value), list(found.remarks)) == (repr(value), remarks)


@pytest.mark.parametrize(
    ("hexadecimal", "value", "remarks"),
    [
        ("82 a161 01 a161 02", {"map": [["a", 1], ["a", 2]]}, ['the map at offset 0 has the key "a" 2 times']),
        ("83 01 01 c3 02 cb3ff0000000000000 03", {"1": 1, "true": 2, "1.0": 3}, []),
        ("83 c0 00 90 00 c40101 00", {"null": 0, "[]": 0, "h'01'": 0}, []),
        ("81 d40507 ca80000000", {"extension(5, h'07')": -0.0}, []),
    ],
)
def test_msgpack(hexadecimal: str, value: Any, remarks: list[str]) -> None:
    found = read_msgpack(bytes.fromhex(hexadecimal))
    assert (repr(found.value), list(found.remarks)) == (repr(value), remarks)


DEEP = f"the value is nested too deeply: the array at offset {PORTABLE_DEPTH} is in {PORTABLE_DEPTH} others"


@pytest.mark.parametrize(
    ("read", "hexadecimal", "sentence"),
    [
        (read_cbor, "", "the payload ends at offset 0, where a value is missing"),
        (read_cbor, "a1", "the payload ends at offset 1, where a value is missing"),
        (read_cbor, "9b" + "ff" * 8, "the payload ends at offset 9, where a value is missing"),
        (read_cbor, "81 5b" + "ff" * 8, "the value at offset 1 goes beyond the end of the payload"),
        (read_cbor, "8200 1c", "no value begins with the byte 0x1c, at offset 2"),
        (read_cbor, "bf 01 ff", "the break at offset 2 ends nothing"),
        (read_cbor, "61 ff", "the text at offset 1 is not UTF-8"),
        (read_cbor, "f81f", "the bytes at offset 0 are not a value of this format"),
        (read_cbor, "5f 81 00 ff", "the value at offset 1 is not a part of a string"),
        (read_cbor, "00 0102", "2 bytes follow the value, from offset 1 on"),
        (read_cbor, "81" * 100_000, DEEP),
        (read_msgpack, "", "the payload ends at offset 0, where a value is missing"),
        (read_msgpack, "c1", "no value begins with the byte 0xc1, at offset 0"),
        (read_msgpack, "df ffffffff", "the payload ends at offset 5, where a value is missing"),
        (read_msgpack, "c6 ffffffff", "the value at offset 0 goes beyond the end of the payload"),
        (read_msgpack, "81 92 01 02", "the payload ends at offset 4, where a value is missing"),
        (read_msgpack, "a1 ff", "the text at offset 1 is not UTF-8"),
        (read_msgpack, "c7 0c ff ffffffff 0000000000000000", "the bytes at offset 0 are not a value of this format"),
        (read_msgpack, "91" * 100_000, DEEP),
    ],
)
def test_what_is_wrong_is_said_with_its_place(read: Any, hexadecimal: str, sentence: str) -> None:
    assert refusal(read, bytes.fromhex(hexadecimal)) == sentence


def test_plain_values_are_left_to_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cbor_items", "msgpack_items"):
        monkeypatch.setattr(f"mqttpub.payload.items.{name}", lambda data: pytest.fail("read item by item"))
    value = {"name": "x", "at": 1.5, "all": [None, True, -1, "\u00fc"], "more": {"raw": {"base64": "AA=="}}}
    written = {**value, "more": {"raw": b"\0"}}
    assert read_cbor(cbor2.dumps(written)) == read_msgpack(MSGPACK.packb(written)) == (value, ())


def test_values_are_counted() -> None:
    with pytest.raises(ValueError, match=f"it has more than {MOST_VALUES} values"):
        read_msgpack(b"\xdd\xff\xff\xff\xff" + bytes(MOST_VALUES))
