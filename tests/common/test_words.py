"""Numbers, counts and sizes in words."""

import pytest

from mqttpub.common.words import counted, number, plural, share, size


def test_the_noun_agrees_with_the_count() -> None:
    assert [plural(count, "byte") for count in (0, 1, 2)] == ["bytes", "byte", "bytes"]
    assert [plural(count, "byte is", "bytes are") for count in (0, 1, 2)] == ["bytes are", "byte is", "bytes are"]


def test_counts_have_thousands_separators_and_a_noun() -> None:
    assert [counted(count, "packet") for count in (0, 1, 12_345)] == ["0 packets", "1 packet", "12,345 packets"]
    assert counted(1, "byte is", "bytes are") == "1 byte is"
    assert (number(12_345), number(999)) == ("12,345", "999")


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (1, 3, "33.3 %"), (1, 1, "100.0 %"), (0, 5, "0.0 %"), (1, 0, "-"), (1, 300, "0.33 %"), (1, 100, "1.0 %"),
        (1, 100_000, "0.00 %"),
    ],
)  # fmt: skip
def test_shares_below_one_percent_have_two_decimals(part: int, whole: int, expected: str) -> None:
    assert share(part, whole) == expected


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (1500, "1.5 kB"), (123_456, "123 kB"),
        (10 << 20, "10.5 MB"), (5_000_000_000, "5 GB"), (2_500_000_000_000_000, "2,500.0 TB"),
    ],
)  # fmt: skip
def test_sizes_have_three_significant_digits(size_bytes: int, expected: str) -> None:
    assert size(size_bytes) == expected
