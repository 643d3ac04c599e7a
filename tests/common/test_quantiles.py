"""Percentiles from classes."""

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.common.quantiles import Latencies


def collected(durations: list[int]) -> Latencies:
    """Return durations in classes."""
    latencies = Latencies()
    for each in durations:
        latencies.add(each)
    return latencies


@given(st.lists(st.integers(-5, 10**13), min_size=1), st.sampled_from((1, 50, 90, 99, 100)))
def test_percentiles_are_at_most_two_percent_too_high(durations: list[int], percent: int) -> None:
    exact = sorted(max(each, 0) for each in durations)[ceil(len(durations) * percent / 100) - 1]
    assert exact <= collected(durations).percentile(percent) <= exact * 1.02 + 1


def test_least_and_most_are_exact() -> None:
    latencies = collected([7_000_001, 5, 123_456_789])
    assert (latencies.count, latencies.least, latencies.most) == (3, 5, 123_456_789)
    assert latencies.percentile(100) == 123_456_789


def test_nothing_has_no_percentiles() -> None:
    assert Latencies().percentile(99) == 0


@pytest.mark.parametrize("count", [100, 10_000])
def test_memory_grows_with_the_span_and_not_with_the_count(count: int) -> None:
    latencies = collected([1_000_000 + each for each in range(count)])
    assert len(latencies._classes) <= 2
