"""Long topics in a narrow column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli.sub.short_topics import shared_levels, short_topics
from mqttpub.view.terminal.cells import cells

PLANT = [
    f"machine-{number:02}/sensors/{kind}"
    for number in range(7, 13) for kind in ("pressure", "temperature", "vibration")
]  # fmt: skip
LEVELS = st.text("abü漢-", min_size=0, max_size=8)
TOPICS = st.lists(st.lists(LEVELS, min_size=1, max_size=6).map("/".join).filter(bool), min_size=1, unique=True)


@pytest.mark.parametrize(
    ("topics", "shared"),
    [
        (["a/b/c", "a/b/d"], "a/b/"), (["a/bc", "a/bd"], "a/"), (["a/b"], "a/"), (["ab", "ac"], ""),
        (["a/b/", "a/b/c"], "a/"), (["a", "a/b"], ""), (["/a", "/b"], "/"),
    ],
)  # fmt: skip
def test_levels_that_all_topics_begin_with(topics: list[str], shared: str) -> None:
    assert shared_levels(topics) == shared


def test_a_topic_that_fits_stays_as_it_is() -> None:
    assert short_topics(["a/b", "a/c"], 3, 10) == ["a/b", "a/c"]


@pytest.mark.parametrize("room", [20, 26])
def test_each_topic_of_a_plant_shows_its_machine_and_what_is_measured(room: int) -> None:
    shown = short_topics(PLANT, room, 40)
    assert len(set(shown)) == len(PLANT)
    for topic, name in zip(PLANT, shown, strict=True):
        assert cells(name) <= 40
        assert topic[8:10] in name.split("/")[0]
        assert name[-2:] == topic[-2:]


def test_the_longest_levels_are_cut_in_their_middles() -> None:
    assert short_topics(["machine-07/sensors/temperature"], 26, 26) == ["mac..-07/sensors/tem..ure"]
    assert short_topics(["site-of-the-north/t/1"], 12, 12) == ["sit..rth/t/1"]


def test_what_no_width_tells_apart_is_shown_from_the_difference_on() -> None:
    long = "x" * 30
    assert short_topics([f"{long}1{long}", f"{long}2{long}"], 10, 12) == ["..1xxx..xxxx", "..2xxx..xxxx"]


@given(TOPICS)
def test_none_is_wider_than_the_most_and_one_that_fits_stays(topics: list[str]) -> None:
    shown = short_topics(topics, 10, 24)
    assert all(cells(name) <= 24 for name in shown)
    assert all(name == topic for name, topic in zip(shown, topics, strict=True) if cells(topic) <= 10)
