"""Columns, and entries within them."""

import pytest

from mqttpub.view.packet.layout import Columns, bit_row, byte_row, detail, padded
from mqttpub.view.packet.outline import ByteRun, OutlineEntry
from mqttpub.view.packet.values import NOTHING, About
from mqttpub.view.terminal.cells import Line, measure

AT_80 = Columns.fitting(80, 100)


def text(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(text for text, _ in line).rstrip()


@pytest.mark.parametrize(
    ("width", "length", "per_row", "digits", "ascii", "left", "detail"),
    [
        (80, 0, 8, 4, True, 41, 39),
        (80, 0x10000, 8, 4, True, 41, 39),
        (80, 0x10001, 8, 5, True, 42, 38),
        (60, 9, 8, 4, False, 31, 29),
        (10, 9, 8, 4, False, 31, 29),
        (71, 9, 8, 4, False, 31, 40),
        (72, 9, 8, 4, True, 41, 31),
        (119, 9, 8, 4, True, 41, 78),
        (120, 9, 16, 4, True, 73, 47),
    ],
)
def test_columns_fit_the_screen(
    width: int, length: int, per_row: int, digits: int, ascii: bool, left: int, detail: int
) -> None:
    columns = Columns.fitting(width, length)
    assert (columns.per_row, columns.digits, columns.ascii) == (per_row, digits, ascii)
    assert (columns.left, columns.detail) == (left, detail)


def test_labels_that_are_too_long_do_not_move_the_others() -> None:
    entries = [
        OutlineEntry("Short", "label", 1),
        OutlineEntry("x" * 20, "label", 0),
        OutlineEntry("y" * 17, "label", 1),
    ]
    assert AT_80.labelled(entries).label == 19
    assert AT_80.labelled(entries[:2]).label == 7
    assert AT_80.labelled([]).label == 0


def laid_out(label: str, about: About, depth: int = 0, width: int = 80) -> list[str]:
    """Return the rows of the field column, with labels of up to 16 cells."""
    columns = Columns.fitting(width, 100)._replace(label=16)
    lines = detail(OutlineEntry(label, "label", depth, about), columns)
    assert all(measure(line) <= columns.detail for line in lines)
    return [text(line) for line in lines]


def about(value: str, aside: str) -> About:
    """Return the words for a value with its meaning."""
    return About([(value, "number"), ("  ", ""), (aside, "")], [(value, "number")], ((0, [(aside, "")]),))


def test_a_value_beside_its_label() -> None:
    assert laid_out("QoS", about("1", "at least once")) == ["QoS               1  at least once"]
    assert laid_out("QoS", about("1", "at least once"), 1) == ["  QoS             1  at least once"]
    assert laid_out("Topic", NOTHING) == ["Topic"]


def test_a_long_label_moves_its_value() -> None:
    assert laid_out("Message Expiry Interval", about("300 s", "")) == ["Message Expiry Interval  300 s"]


def test_a_meaning_without_room_is_shown_below() -> None:
    assert laid_out("Reason Code", about("0x10", "No matching subscribers")) == [
        "Reason Code       0x10", "  No matching subscribers",
    ]  # fmt: skip
    assert laid_out("Flag", about("1", "a meaning of many words that needs more than one row"), 1) == [
        "  Flag            1", "    a meaning of many words that needs", "    more than one row",
    ]  # fmt: skip


def test_a_value_that_needs_the_space_below_the_label_column() -> None:
    assert laid_out("Payload", about("text, 1000000 bytes", "word"), width=60) == [
        "Payload  text, 1000000 bytes", "  word",
    ]  # fmt: skip


def test_everything_below_a_long_label() -> None:
    found = laid_out("Subscription Identifier Available", about("1", "yes"), 1, width=60)
    assert found == ["  Subscription Identifier", "  Available       1  yes"]
    assert laid_out("Authentication Method", about("12345678 bytes", "x"), 1, width=60) == [
        "  Authentication Method", "    12345678 bytes", "    x",
    ]  # fmt: skip


def test_deep_indentation_leaves_half_the_column() -> None:
    found = laid_out("Payload", About([], [("JSON", "")], ((200, [("x" * 30, "")]),)))
    assert found == ["Payload           JSON", " " * 19 + "x" * 20, " " * 19 + "x" * 10]


def test_a_row_of_bytes_has_offset_hex_and_ascii() -> None:
    data = b"\x08\x00\x03\x00ab\xff\x80"
    parts = [ByteRun(0, 1, "property"), ByteRun(1, 3, "length"), ByteRun(3, 8, "text")]
    row = byte_row(data, parts, 0, 8, AT_80)
    assert text(row) == "0000  08 00 03 00 61 62 ff 80  ....ab.."
    assert [style for shown, style in row if shown.strip()] == ["offset", "property", "length", "text", "ascii", "text"]
    assert text(byte_row(data, parts, 2, 5, AT_80)) == "0002  03 00 61                 ..a"
    assert text(byte_row(data, parts, 2, 5, Columns.fitting(60, 8))) == "0002  03 00 61"


def test_masked_bytes_are_asterisks_in_hex_and_ascii() -> None:
    row = byte_row(b"\x00\x02ab", [ByteRun(0, 2, "length"), ByteRun(2, 4, "secret", masked=True)], 0, 4, AT_80)
    assert text(row) == "0000  00 02 ** **              ..**"


@pytest.mark.parametrize(
    ("mask", "bits"), [(0xF0, "0011 ...."), (0x06, ".... .10."), (0x18, "...1 1..."), (1, ".... ...1")]
)
def test_a_row_of_bits_has_dots_outside_the_mask(mask: int, bits: str) -> None:
    assert text(bit_row(0b0011_1101 if mask != 0xF0 | 6 else 0, mask, "flag", AT_80)) == f"      {bits}"


def test_padding_counts_cells_and_never_cuts() -> None:
    assert padded([("ab", "")], 4) == [("ab", ""), ("  ", "")]
    assert padded([("\u4f60\u597d", "")], 4) == [("\u4f60\u597d", "")]
    assert padded([("abcde", "")], 4) == [("abcde", "")]
