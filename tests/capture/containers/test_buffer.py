"""The bytes of a file as they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.containers.buffer import PIECE, Buffer


def pieces(*given: bytes) -> Buffer:
    """Return a buffer that gets these pieces, one at each read."""
    rest = [*given]
    return Buffer(lambda size: rest.pop(0) if rest else b"")


def test_bytes_come_when_they_are_needed() -> None:
    asked: list[int] = []
    buffer = Buffer(lambda size: asked.append(size) or b"abc")  # type: ignore[func-returns-value]
    assert buffer.need(2)
    assert asked == [PIECE]
    assert buffer.need(3)
    assert asked == [PIECE]
    buffer.at += 1
    assert buffer.need(3)
    assert buffer.data == b"bcabc"
    assert (buffer.offset, buffer.left) == (1, 5)


def test_a_file_may_end_before() -> None:
    buffer = pieces(b"ab", b"c")
    assert not buffer.need(4)
    assert buffer.left == 3
    assert buffer.need(3)


def test_passing_over_takes_the_pieces_as_they_come() -> None:
    buffer = pieces(b"abc", b"def", b"gh")
    assert buffer.need(1)
    buffer.at += 1
    assert [*buffer.skip(4)] == [b"bc", b"de"]
    assert buffer.offset == 5
    assert [*buffer.skip(0)] == []
    assert [*buffer.skip(9)] == [b"f", b"gh"]
    assert buffer.offset == 8


def test_reading_returns_available_bytes_first() -> None:
    buffer = pieces(b"abc", b"de")
    assert buffer.need(1)
    assert [buffer.read(2) for _ in range(4)] == [b"ab", b"c", b"de", b""]


@pytest.mark.slow
@given(st.lists(st.binary(min_size=1, max_size=6)), st.lists(st.tuples(st.sampled_from("nsr"), st.integers(0, 12))))
def test_every_way_of_reading_continues_where_the_last_one_ended(
    given: list[bytes], steps: list[tuple[str, int]]
) -> None:
    whole, buffer = b"".join(given), pieces(*given)
    for step, count in steps:
        at = buffer.offset
        if step == "n":
            assert buffer.need(count) == (len(whole) - at >= count)
            taken = buffer.data[buffer.at : buffer.at + count]
            buffer.at += len(taken)
        elif step == "s":
            taken = b"".join(buffer.skip(count))
        else:
            taken = buffer.read(count)
            count = len(taken)
        assert taken == whole[at : at + count]
        assert buffer.offset == at + len(taken)
