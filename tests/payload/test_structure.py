"""What looks like CBOR and MessagePack, compared with the libraries that write them."""

from contextlib import suppress
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.payload.library import library
from mqttpub.payload.structure import CHECKED_BYTES, is_cbor, is_msgpack

MSGPACK = library("msgpack", "msgpack")
LEAVES = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | st.text() | st.binary()
LONG = st.sampled_from(
    [of * size for of in ("x", b"x", [0]) for size in (16, 32, 300)] + [dict.fromkeys(map(str, range(20)), 0)]
)
"""Values whose lengths are written in other ways than those of short ones."""
VALUES = st.recursive(
    LEAVES | LONG, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
MAPS = st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4)


@given(MAPS | st.lists(MAPS, min_size=1, max_size=4))
def test_what_the_libraries_write_is_recognized(value: Any) -> None:
    assert is_cbor(cbor2.dumps(value))
    assert is_msgpack(MSGPACK.packb(value))


@given(MAPS, st.data())
def test_a_part_and_more_than_the_whole_are_not(value: Any, data: st.DataObject) -> None:
    for written, recognized in ((cbor2.dumps(value), is_cbor), (MSGPACK.packb(value), is_msgpack)):
        kept = data.draw(st.integers(0, len(written) - 1))
        assert not recognized(written[:kept])
        assert not recognized(written + b"\0")


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer_and_what_is_recognized_is_read_by_the_library(data: bytes) -> None:
    is_cbor(data)
    if is_msgpack(data):
        # Only the library checks the values of timestamps.
        with suppress(ValueError):
            assert isinstance(MSGPACK.unpackb(data, strict_map_key=False, object_pairs_hook=list), list)


@pytest.mark.parametrize(
    "hexadecimal",
    [
        "bf6346756ef563416d7421ff",  # RFC 8949, appendix A: {_ "Fun": true, "Amt": -2}
        "d9d9f701",  # tagged as CBOR
        "a201020304a0616100",
        "9f018202039f0405ffff",
    ],
)  # fmt: skip
def test_examples_of_cbor(hexadecimal: str) -> None:
    expected = hexadecimal.startswith(("bf", "d9"))
    assert is_cbor(bytes.fromhex(hexadecimal)) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x80", b"\xa0", b"\x01", b"\x81\x01", b"\x82\x01\x02", b"\xa1\x61", b"\x9f", b"\xff", b"\x82\xff\x61a",
        b"\x81\xc1", b"\xdc\0", b"\x9b" + b"\xff" * 8, b"\xa1\x62\xff\xff\x01", b"\x81" * 5000 + b"\x61a",
    ],
)  # fmt: skip
def test_these_are_neither(data: bytes) -> None:
    assert not is_cbor(data)
    assert not is_msgpack(data)


def test_of_long_payloads_the_beginning_decides() -> None:
    value = [{"name": "x" * 50, "at": number} for number in range(CHECKED_BYTES // 20)]
    for written, recognized in ((cbor2.dumps(value), is_cbor), (MSGPACK.packb(value), is_msgpack)):
        assert recognized(written)
        assert recognized(written[: CHECKED_BYTES + 1])
        broken = bytearray(written)
        broken[100:200] = b"\xc1\xff" * 50
        assert not recognized(bytes(broken))
