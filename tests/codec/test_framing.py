"""Where a packet ends."""

import pytest

from mqttpub.codec.framing import frame_length
from mqttpub.wire.cursor import Overlong
from tests.checks import for_each
from tests.vectors import Value, Vector, packets, values

LENGTHS = [one for one in values() if one.type.name == "Variable Byte Integer"]


@for_each(LENGTHS, lambda vector: vector.name)
def test_the_length_is_that_of_header_and_rest(vector: Value) -> None:
    data = b"\x30" + vector.data
    assert frame_length(data) == len(data) + vector.value
    assert frame_length(bytearray(b"..") + data, 2) == len(data) + vector.value


@for_each(LENGTHS, lambda vector: vector.name)
def test_a_header_that_goes_on_has_no_length_yet(vector: Value) -> None:
    for size in range(len(vector.data)):
        assert frame_length(b"\x30" + vector.data[:size]) is None
        assert frame_length(b"..\x30" + vector.data[:size], 2) is None


def test_nothing_has_no_length_yet() -> None:
    assert frame_length(b"") is None
    assert frame_length(b"ab", 2) is None


@pytest.mark.parametrize("data", [b"\x30\x80\x80\x80\x80", b"\x30\xff\xff\xff\xff\x7f"])
def test_a_fifth_byte_is_overlong(data: bytes) -> None:
    with pytest.raises(Overlong) as caught:
        frame_length(b".." + data, 2)
    assert caught.value.start == 3


@for_each([one for one in packets() if one.packet and not one.findings], lambda vector: vector.name)
def test_a_vector_ends_where_its_bytes_end(vector: Vector) -> None:
    assert frame_length(vector.data) == len(vector.data)
