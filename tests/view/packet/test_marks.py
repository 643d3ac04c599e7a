"""Carets and findings."""

from collections.abc import Iterable

import pytest

from mqttpub.codec.tree import Finding
from mqttpub.view.packet.layout import Columns
from mqttpub.view.packet.marks import Marks, Row, sentence, under_bits, under_bytes
from mqttpub.view.terminal.cells import Line, measure
from tests.view.samples import found

AT_80 = Columns.fitting(80, 100)


def text(lines: Iterable[Line]) -> list[str]:
    """Return lines without their styles."""
    return ["".join(shown for shown, _ in line) for line in lines]


def carets(rows: Iterable[Row]) -> list[str]:
    """Return the lines that the field column may stand beside, from the hex column on."""
    lines = [line for line, beside in rows if beside]
    assert all(line[0][0].isspace() for line in lines)
    return [shown[AT_80.hex :] for shown in text(lines)]


@pytest.mark.parametrize(
    ("start", "stop", "anchor"), [(3, 5, 3), (3, 3, 2), (0, 0, 0), (9, 9, 8), (10, 10, 9), (12, 15, 9), (99, 99, 9)]
)
def test_a_finding_is_shown_at_its_first_byte(start: int, stop: int, anchor: int) -> None:
    marks = Marks([found(start, stop, "")], 10)
    assert marks.within(0, 10) == [anchor]
    assert marks.take(0, anchor) == []
    assert len(marks.take(anchor, anchor + 1)) == 1
    assert marks.take(0, 10) == marks.rest() == []


def test_findings_that_nothing_shows_are_the_rest() -> None:
    one, other = found(0, 0, "a"), found(4, 9, "b")
    assert Marks([other, one], 0).rest() == [other, one]


def test_only_some_are_wanted() -> None:
    plain, masked = found(0, 1, "a"), found(0, 1, "b", mask=8)
    marks = Marks([plain, masked], 4)
    assert marks.take(0, 1, lambda finding: finding.mask) == [masked]
    assert marks.take(0, 1) == [plain]


@pytest.mark.parametrize(
    ("start", "stop", "shown"),
    [
        (8, 9, "^^"),
        (9, 11, "   ^^ ^^"),
        (14, 30, "                  ^^ ^^"),
        (11, 11, "         ^^"),
        (16, 16, "                        ^^"),
        (16, 20, "                        ^^"),
    ],
)
def test_carets_are_under_the_bytes_of_the_finding(start: int, stop: int, shown: str) -> None:
    assert carets(under_bytes([found(start, stop, "")], 8, 16, AT_80)) == [shown]


@pytest.mark.parametrize(
    ("mask", "shown"), [(0x06, ".... .^^."), (0x80, "^... ...."), (0xFF, "^^^^ ^^^^"), (0x18, "...^ ^...")]
)
def test_carets_are_under_the_bits_of_the_finding(mask: int, shown: str) -> None:
    assert carets(under_bits([found(0, 1, "", mask=mask)], mask, AT_80)) == [shown.replace(".", " ").rstrip()]


def test_the_same_place_has_one_row_of_carets() -> None:
    findings = [found(0, 1, "one."), found(0, 1, "two."), found(0, 2, "three.")]
    lines = text(line for line, _ in under_bytes(findings, 0, 8, AT_80))
    assert [line.split()[0] for line in lines] == ["^^", "error", "error", "^^", "error"]


def shown(finding: Finding, width: int = 80) -> list[str]:
    """Return the lines of a finding."""
    lines = list(sentence(finding, width))
    assert all(measure(line) <= width for line in lines)
    return text(lines)


def test_the_statement_is_at_the_right_edge() -> None:
    (line,) = shown(found(0, 1, "DUP is 1, but QoS is 0"))
    assert line == "error  DUP is 1, but QoS is 0" + " " * 38 + "MQTT5-3.3.1-2"
    assert len(line) == 80


def test_a_statement_without_room_has_its_own_line() -> None:
    assert shown(found(0, 1, "x" * 60)) == ["error  " + "x" * 60, " " * 67 + "MQTT5-3.3.1-2"]
    assert len(shown(found(0, 1, "x" * 58))) == 1


def test_a_long_message_is_wrapped() -> None:
    first, second = shown(found(0, 1, "a message that is longer than one row of " * 2), 60)
    assert first.startswith("error  a message that is longer than one row of a message ")
    assert second.startswith("       that is longer than one row of ")
    assert second.endswith("  MQTT5-3.3.1-2")
    assert len(second) == 60


def test_foreign_text_in_a_message_is_escaped() -> None:
    assert shown(found(0, 1, "is '\\x00' \x1b[31m\n"))[0].startswith("error  is '\\x00' \\x1b[31m\\n ")
