"""Spans, and reading within a window."""

import pytest

from mqttpub.wire.cursor import Cursor, Overlong, Short, Span


def test_taking_bytes_moves_the_cursor() -> None:
    cursor = Cursor(b"abcd")
    assert (cursor.take(1), cursor.take(2), cursor.pos) == (b"a", b"bc", 3)
    assert cursor.take(0) == b""


def test_a_cursor_keeps_to_its_bounds() -> None:
    cursor = Cursor(b"abcd", 1, 3)
    assert cursor.take(2) == b"bc"
    with pytest.raises(Short):
        cursor.take(1)


def test_a_read_past_the_end_reports_the_missing_bytes_and_does_not_move() -> None:
    cursor = Cursor(b"abcd", 1)
    with pytest.raises(Short) as caught:
        cursor.take(4)
    short = caught.value
    assert (short.start, short.needed, short.left, short.declared) == (1, 4, 3, False)
    assert cursor.pos == 1


def test_a_read_past_the_end_reports_where_the_value_began() -> None:
    cursor = Cursor(b"abcd", 2)
    with pytest.raises(Short) as caught:
        cursor.take(9, 0)
    short = caught.value
    assert (short.start, short.needed, short.left, short.declared) == (0, 9, 2, True)


@pytest.mark.parametrize(("size", "value"), [(1, 0x01), (2, 0x0102), (3, 0x010203), (4, 0x01020304)])
def test_integers_have_the_highest_byte_first(size: int, value: int) -> None:
    assert Cursor(b"\x01\x02\x03\x04").integer(size) == value


def test_an_integer_cut_short_moves_nothing() -> None:
    cursor = Cursor(b"\x01")
    with pytest.raises(Short):
        cursor.integer(2)
    assert cursor.pos == 0


@pytest.mark.parametrize(
    ("data", "value", "size"),
    [
        (b"\x00", 0, 1),
        (b"\x7f", 127, 1),
        (b"\x80\x01", 128, 2),
        (b"\xc1\x02", 321, 2),
        (b"\xff\x7f", 16_383, 2),
        (b"\x80\x80\x01", 16_384, 3),
        (b"\xff\xff\x7f", 2_097_151, 3),
        (b"\x80\x80\x80\x01", 2_097_152, 4),
        (b"\xff\xff\xff\x7f", 268_435_455, 4),
        (b"\x80\x00", 0, 2),
        (b"\x05\xff", 5, 1),
    ],
)
def test_a_variable_byte_integer_is_read(data: bytes, value: int, size: int) -> None:
    cursor = Cursor(data)
    assert cursor.variable() == value
    assert cursor.pos == size


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff", b"\x80\x80\x80"])
def test_variable_without_an_end_needs_one_byte_more(data: bytes) -> None:
    cursor = Cursor(data)
    with pytest.raises(Short) as caught:
        cursor.variable()
    short = caught.value
    assert (short.start, short.needed, short.left, short.declared) == (0, 1, 0, False)
    assert cursor.pos == 0


@pytest.mark.parametrize("data", [b"\x80\x80\x80\x80", b"\xff\xff\xff\xff\x7f"])
def test_variable_ends_at_its_fourth_byte(data: bytes) -> None:
    cursor = Cursor(b"." + data, 1)
    with pytest.raises(Overlong) as caught:
        cursor.variable()
    assert caught.value.start == 1
    assert cursor.pos == 1


def test_after_a_window_the_cursor_is_at_its_end() -> None:
    cursor = Cursor(b"abcdef", 1)
    with cursor.window(3) as inner:
        assert inner is cursor
        assert inner.take(1) == b"b"
        with pytest.raises(Short) as caught:
            inner.take(3)
        assert caught.value.left == 2
    assert cursor.pos == 4
    assert cursor.take(2) == b"ef"


def test_windows_lie_within_windows() -> None:
    cursor = Cursor(b"abcdef")
    with cursor.window(4), cursor.window(2):
        assert cursor.end == 2
    assert (cursor.pos, cursor.end) == (4, 6)


def test_a_window_never_passes_the_end() -> None:
    cursor = Cursor(b"abcdef", 0, 3)
    with cursor.window(268_435_455):
        assert cursor.end == 3
    assert (cursor.pos, cursor.end) == (3, 3)


def test_a_window_closes_when_something_is_raised_in_it() -> None:
    cursor = Cursor(b"abcdef")
    with pytest.raises(Short), cursor.window(2):
        cursor.take(3)
    assert (cursor.pos, cursor.end) == (2, 6)


def test_the_length_of_a_span_is_the_number_of_its_bytes() -> None:
    assert Span(2, 11).length == 9
    assert Span(4, 4).length == 0


def test_a_shifted_span_keeps_its_length() -> None:
    assert Span(2, 11).shifted(3) == Span(5, 14)
    assert Span(2, 11).shifted(-2) == Span(0, 9)


def test_a_span_is_its_two_offsets() -> None:
    start, stop = Span(2, 11)
    assert (start, stop) == (2, 11) == Span(2, 11)
