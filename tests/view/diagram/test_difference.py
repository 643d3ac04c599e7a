"""Two packets one above the other."""

from mqttpub.view.diagram.difference import difference
from mqttpub.view.terminal.cells import text_of


def drawn(awaited: bytes, came: bytes) -> list[str]:
    """Return the lines as they stand on a screen without colour."""
    return [text_of(line).rstrip() for line in difference(awaited, came)]


def test_each_byte_that_differs_has_a_mark() -> None:
    assert drawn(bytes.fromhex("320a0003612f6200076869"), bytes.fromhex("340a0003612f62000768")) == [
        "0000  awaited  32 0a 00 03 61 2f 62 00 07 68 69                 2...a/b..hi",
        "      came     34 0a 00 03 61 2f 62 00 07 68                    4...a/b..h",
        "               ^^                            ^^",
    ]


def test_rows_without_a_difference_are_counted() -> None:
    one = bytes(100)
    other = one[:40] + b"\x01" + one[41:]
    lines = drawn(one, other)
    assert (lines[0], lines[-1], len(lines)) == ("        2 equal rows", "        4 equal rows", 5)
    assert lines[3] == "               " + "   " * 8 + "^^"


def test_packets_with_nothing_in_common_are_cut() -> None:
    lines = drawn(bytes(1000), b"\x01" * 1000)
    assert len(lines) == 16 * 3 + 1
    assert lines[-1] == "        47 more rows"


def test_a_packet_may_be_missing() -> None:
    assert drawn(b"", b"\xd0\x00")[:2] == [
        "0000  awaited",
        "      came     d0 00                                            ..",
    ]
