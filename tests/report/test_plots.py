"""Plots of the page: their axes have readable ticks, and their labels keep what makes them different."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from mqttpub.report.plots import Bar, Cell, Plot, bars, drawn, heat, shortened

START_US = 1_700_000_000_000_000
SECOND_US, MINUTE_US, HOUR_US = 1_000_000, 60_000_000, 3_600_000_000


def labels(plot: Plot) -> list[list[str]]:
    """Return the texts of a plot for screens, and of the one for phones."""
    return [re.findall(r"<text[^>]*>([^<]*)</text>", each) for each in drawn(plot).split("<svg")[1:]]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, ["0"]),
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (900, ["0", "200", "400", "600", "800"]),
        (1600, ["0", "500", "1k", "1.5k"]),
        (2_000_000, ["0", "500k", "1M", "1.5M", "2M"]),
    ],
)
def test_ticks_of_numbers_are_whole_and_0_has_no_unit(most: int, expected: list[str]) -> None:
    wide, narrow = labels(bars("x", [Bar("row", 0, most, "client", "")], [("x", "client")]))
    assert [each for each in wide if each != "row"] == expected
    assert "0" in narrow


@pytest.mark.parametrize(
    ("span_us", "form", "least"),
    [
        (900_000, "%M:%S.%f", 4), (40 * SECOND_US, "%H:%M:%S", 4), (3 * HOUR_US, "%H:%M", 5),
        (60 * HOUR_US, "%b %d, %H:%M", 4), (40 * 24 * HOUR_US, "%Y-%m-%d", 5),
    ],
)  # fmt: skip
def test_the_axis_of_times_is_that_of_the_period(span_us: int, form: str, least: int) -> None:
    # One cell in the middle of it.
    cell = Cell("row", START_US + span_us // 2, START_US + span_us // 2 + span_us // 40, 1, "about")
    wide, narrow = labels(heat("x", [cell], "heat", (START_US, START_US + span_us)))
    ticks = [each for each in wide if each != "row"]
    assert least <= len(ticks) <= 11
    assert len(set(ticks)) == len(ticks)
    # Some of them show no date, and some a day without a year, in which it need not exist.
    if "%Y" not in form:
        ticks, form = [f"2024 {each}" for each in ticks], f"%Y {form}"
    times = [datetime.strptime(each, form).replace(tzinfo=UTC) for each in ticks]
    assert len({(after - before) % timedelta(days=1) for before, after in pairwise(times)}) == 1
    assert 1 <= len(narrow) - 1 <= 4


def test_a_cell_does_not_fill_the_period() -> None:
    text = drawn(
        heat("x", [Cell("row", START_US, START_US + MINUTE_US, 1, "about")], "heat", (START_US, START_US + HOUR_US))
    )
    (path,) = re.findall(r'd="M(?:-?[\d.]+),(?:-?[\d.]+)h([\d.]+)v[^"]*"[^>]*><title>about', text)
    (whole,) = re.findall(r'viewBox="0 0 ([\d.]+) ', text.split("<svg")[1])
    assert 0 < float(path) < float(whole) / 50


def test_labels_that_are_cut_stay_different_where_they_can() -> None:
    labels = [f"{rank}. plant/utrecht/hall-1/boiler/{rank}/temperature/celsius" for rank in range(1, 5)]
    short = shortened(labels, 25)
    assert all(len(each) <= 25 for each in short.values())
    assert len({each.partition(". ")[2] for each in short.values()}) == 4
    assert shortened(["a", "b"], 25) == {}


def test_whole_levels_of_a_topic_are_left_out() -> None:
    topics = [f"{rank}. plant/utrecht/hall-1/boiler-{rank}/temperature/celsius" for rank in range(1, 4)]
    for each in shortened(topics, 40).values():
        assert re.fullmatch(r"\d\. (\w+/)*\u2026(/hall-1)?/boiler-\d/temperature/celsius", each), each
    assert set(shortened([*topics, "4. fleet/north/truck/7/position"], 25).values()) == {
        # With whole levels these three would be the same.
        "1. \u20261/temperature/celsius", "2. \u20262/temperature/celsius", "3. \u20263/temperature/celsius",
        "4. \u2026/truck/7/position",
    }  # fmt: skip
    assert shortened(["1. a-long-name-without-levels"], 12) == {"1. a-long-name-without-levels": "1. a-long\u2026ls"}
