"""Where a packet ends, and where the head of a PUBLISH does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.fast_decode import Irregular
from mqttpub.codec.framing import frame_length, publish_head
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from mqttpub.wire.cursor import Overlong
from tests.checks import for_each
from tests.strategies import packets_of, versions
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


@given(st.data(), versions, st.integers(0, 3))
def test_places_are_those_of_the_decoder(drawn: st.DataObject, version: Version, at: int) -> None:
    data = encode(drawn.draw(packets_of(Publish, version)), version)
    found = decode(data, version)
    names = ("topic", "packet_id", "properties")
    nodes = {name: node.span for name in names if (node := found.at(f"publish.{name}"))}
    begin, topic_end, id_end, payload_begin = publish_head(b"\xff" * at + data, version, at)
    assert (begin - at, topic_end - at) == (nodes["topic"].start, nodes["topic"].stop)
    assert id_end == (nodes["packet_id"].stop + at if "packet_id" in nodes else topic_end)
    assert payload_begin == (nodes["properties"].stop + at if "properties" in nodes else id_end)


@pytest.mark.parametrize("cut", ["30", "3000", "300100", "3004000161", "30808000", "300500016180"])
def test_what_is_cut_short_or_wrong_raises(cut: str) -> None:
    with pytest.raises((IndexError, Irregular)):
        publish_head(bytes.fromhex(cut), Version.V5)
