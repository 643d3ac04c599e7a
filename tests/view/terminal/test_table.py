"""Tables for a terminal."""

from mqttpub.view.packet.dump import plain
from mqttpub.view.terminal.table import table

ROWS = [[("PUBLISH", "type"), ("1,234", "")], [("\u4f60\u597d", ""), ("9", "")]]


def test_text_is_left_aligned_and_numbers_right() -> None:
    shown = plain(table(("", "count"), ROWS, width=80))
    assert shown == "           count\n  PUBLISH  1,234\n  \u4f60\u597d         9"


def test_the_first_column_gives_way() -> None:
    rows = [[("a" * 30, ""), ("10.0.0.1:50000", ""), ("1", "")]]
    lines = list(table(("", "address", "n"), rows, width=40, left=2))
    assert plain(lines[1:]) == "  aaaaaaaaaaaaa...+17  10.0.0.1:50000  1".replace("a" * 13 + "...+17", lines[1][2][0])
    assert all(len(plain([line])) <= 40 for line in lines)


def test_a_table_without_rows_is_its_heading() -> None:
    assert plain(table(("a", "b"), [], width=80)) == "  a  b"
