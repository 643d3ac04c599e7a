"""Widths and wrapping."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.view.terminal.cells import cells, clip_middle, measure, wrap
from tests.view.samples import laws

segments = st.lists(st.tuples(st.text(st.characters(min_codepoint=32, codec="utf-8")), st.sampled_from(["", "a", "b"])))


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("\u4f60\u597d", 4), ("e\u0301", 1), ("\U0001f44b", 2), ("\uff21", 2), ("\u2764\ufe0f", 2)],
)
def test_wide_characters_take_two_cells_and_combining_ones_none(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("temperature", 11, "temperature"), ("temperature", 10, "temp..ture"), ("temperature", 7, "tem..re"),
        ("temperature", 3, "t.."), ("temperature", 2, ".."), ("temperature", 1, "."), ("temperature", 0, ""),
        ("漢字漢字", 7, "漢..字"), ("漢字漢字", 6, "漢..字"), ("a" * 9, 8, "aaa..aaa"),
    ],
)  # fmt: skip
def test_a_text_is_cut_in_its_middle(text: str, room: int, cut: str) -> None:
    assert clip_middle(text, room) == cut


def words(text: str, width: int) -> list[str]:
    """Return the lines of a text."""
    return ["".join(part for part, _ in line) for line in wrap([(text, "")], width)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("one two three", ["one two ", "three"]),
        ("one twothree four", ["one ", "twothree", "four"]),
        ("abcdefghijklmnopqrst", ["abcdefgh", "ijklmnop", "qrst"]),
        ("ab cdefghijklm", ["ab cdefg", "hijklm"]),
        ("12345678 9", ["12345678", "9"]),
        ("a  b", ["a  b"]),
        ("\u4f60\u597d\u4f60\u597d\u4f60", ["\u4f60\u597d\u4f60\u597d", "\u4f60"]),
        ("1234567\u4f60\u597d", ["1234567", "\u4f60\u597d"]),
        ("1234567 \u4f60\u597d\u4f60\u597d\u4f60", ["1234567 ", "\u4f60\u597d\u4f60\u597d", "\u4f60"]),
    ],
)
def test_a_line_is_broken_at_spaces_where_possible(text: str, lines: list[str]) -> None:
    assert words(text, 8) == lines


def test_styles_stay_with_their_text() -> None:
    assert wrap([("one ", "a"), ("two", "b"), (" three", "b")], 8) == [[("one ", "a"), ("two ", "b")], [("three", "b")]]


@laws
@given(segments, st.integers(2, 30))
def test_no_line_is_too_wide_and_nothing_is_lost(line: list[tuple[str, str]], width: int) -> None:
    wrapped = wrap(line, width)
    assert all(measure(each) <= width for each in wrapped)
    kept = "".join(text for each in wrapped for text, _ in each)
    assert kept.replace(" ", "") == "".join(text for text, _ in line).replace(" ", "")


@given(st.text("a  \u00e9%-", max_size=40), st.integers(1, 12))
def test_one_text_is_broken_as_several_are(text: str, width: int) -> None:
    assert wrap([(text, "a")], width) == wrap([(text, "a"), ("", "b")], width)


def test_wrapping_one_long_word_needs_linear_time() -> None:
    assert len(wrap([("\u4f60" * 300_000, "")], 20)) == 30_000
