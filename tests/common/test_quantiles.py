"""Percentiles from classes."""

import sys
import threading
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


@given(st.lists(st.lists(st.integers(-5, 10**13), min_size=1)))
def test_many_at_once_are_counted_as_one_by_one(parts: list[list[int]]) -> None:
    together, alone = Latencies(), collected([each for part in parts for each in part])
    for part in parts:
        together.extend(part)
    assert all(getattr(together, name) == getattr(alone, name) for name in Latencies.__slots__)


def test_least_and_most_are_exact() -> None:
    latencies = collected([7_000_001, 5, 123_456_789])
    assert (latencies.count, latencies.least, latencies.most) == (3, 5, 123_456_789)
    assert latencies.percentile(100) == 123_456_789


def test_nothing_has_no_percentiles() -> None:
    assert Latencies().percentile(99) == 0


@pytest.mark.parametrize("count", [100, 10_000])
def test_memory_grows_with_the_span_and_not_with_the_count(count: int) -> None:
    latencies = collected([1_000_000 + each for each in range(count)])
    assert len(latencies.classes) <= 2


def test_merged_latencies_are_those_of_both() -> None:
    whole, one, two = Latencies(), Latencies(), Latencies()
    for duration_ns, part in ((1, one), (2, two), (3, one)):
        part.add(duration_ns)
        whole.add(duration_ns)
    one.merge(two)
    one.merge(Latencies())
    assert (one.classes, one.count, one.least, one.most) == (whole.classes, whole.count, whole.least, whole.most)


def test_latencies_can_be_merged_while_another_thread_adds_some() -> None:
    before, part = sys.getswitchinterval(), Latencies()

    def add() -> None:
        for number in range(20_000):
            part.add(int(1.02 ** (number % 1500)))

    adding = threading.Thread(target=add)
    sys.setswitchinterval(1e-6)
    try:
        adding.start()
        while adding.is_alive():
            Latencies().merge(part)
    finally:
        sys.setswitchinterval(before)
        adding.join()
    whole = Latencies()
    whole.merge(part)
    assert whole.classes == part.classes


def test_a_histogram_counts_every_duration_once() -> None:
    latencies = collected([1_000_000 + each * 1000 for each in range(500)])
    rows = latencies.histogram(12)
    assert [len(rows), sum(count for _, count in rows)] == [12, 500]
    assert rows == sorted(rows)
    assert rows[-1][0] == pytest.approx(latencies.most, rel=0.02)
