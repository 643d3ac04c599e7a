"""Which messages of `sub` count."""

import random
from collections import deque

import pytest

from mqttpub.cli.sub.flags import Selected
from mqttpub.cli.sub.wanted import Wanted
from mqttpub.live.receive import ReceivedMessage


def messages(count: int, topic: str) -> list[ReceivedMessage]:
    return [ReceivedMessage(topic, b"%d" % number, 0, False, False, None, (), 0) for number in range(count)]


def test_a_random_part_counts_in_order_and_filtered_topics_never_do() -> None:
    random.seed(13)
    wanted = Wanted(Selected(filter_out=("b/#",), random_percent=25))
    arrived = deque(messages(10_000, "a") + messages(1_000, "b/c"))
    picked = [int(each.payload) for each in wanted.pick(arrived) if each.topic == "a"]
    assert not arrived
    assert wanted.count == len(picked)
    assert 2_250 < len(picked) < 2_750
    assert picked == sorted(picked)


@pytest.mark.parametrize(("percent", "most"), [(100, None), (100, 7), (50, 7)])
def test_the_count_is_of_messages_that_are_shown(percent: float, most: int | None) -> None:
    wanted = Wanted(Selected(most=most, random_percent=percent))
    assert len(wanted.pick(deque(messages(1_000, "a")))) == (most or 1_000)
    assert wanted.enough == (most is not None)
