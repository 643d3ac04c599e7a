"""Times and durations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.common.times import Clock, duration, iso, iso_of, seconds
from tests.build.events import START


def test_times_count_from_the_first() -> None:
    clock = Clock()
    shown = [clock.show(time) for time in (START, START + 1_500_000_999, START - 2_000, None)]
    assert shown == ["   0.000000", "   1.500000", "  -0.000002", "          -"]


@pytest.mark.parametrize(
    ("later", "shown"), [(10**14, "100000.0000"), (10**18, " 1000000000"), (10**22, "10000000000000")]
)
def test_long_times_lose_decimals(later: int, shown: str) -> None:
    clock = Clock()
    assert clock.show(START).strip() == "0.000000"
    assert clock.show(START + later) == shown


def test_absolute_times_are_utc() -> None:
    assert Clock(absolute=True).show(START) == "2023-09-07T08:12:33.123456Z"
    assert iso(START + 7) == "2023-09-07T08:12:33.123456007Z"
    assert iso(-1) == "1969-12-31T23:59:59.999999999Z"


def test_the_number_of_decimals_can_be_fixed() -> None:
    assert iso(START, digits=9) == "2023-09-07T08:12:33.123456000Z"
    assert iso(START + 999, digits=6) == "2023-09-07T08:12:33.123456Z"
    assert seconds(START, digits=9) == f"{START // 10**9}.123456000"


def test_seconds_as_a_float_are_rounded_to_microseconds() -> None:
    assert iso_of(1_694_074_353.123456) == "2023-09-07T08:12:33.123456Z"
    assert iso_of(0.9999999) == "1970-01-01T00:00:01.000000Z"


def test_a_time_that_no_calendar_has_stays_a_number() -> None:
    assert iso(10**27) == "1000000000000000000.000000Z"


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (0, "0.000 ms"), (12_000, "0.012 ms"), (821_000, "0.821 ms"), (1_000_000, "1.00 ms"), (12_340_000, "12.3 ms"),
        (999_900_000, "999 ms"), (999, "0.000 ms"), (999_999, "0.999 ms"), (12_399_999, "12.3 ms"),
        (1_999_999_999, "1.99 s"), (1_500_000_000, "1.50 s"), (3_600 * 10**9, "3,600 s"), (-2_000_000, "-2.00 ms"),
    ],
)  # fmt: skip
def test_durations_have_three_digits(nanoseconds: int, shown: str) -> None:
    assert duration(nanoseconds) == shown


@given(st.integers(-(10**18), 10**18))
def test_seconds_are_exact_to_the_microsecond(nanoseconds: int) -> None:
    whole, fraction = seconds(abs(nanoseconds)).split(".")
    assert int(whole) * 10**6 + int(fraction) == abs(nanoseconds) // 1000
