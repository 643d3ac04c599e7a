"""Topic Filters, subscriptions and retained messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.lab.broker.message import Message
from mqttpub.lab.broker.subscriptions import Grant, Retained, Subscriptions
from tests.lab.peer import props
from tests.traffic.test_topics import FILTERS, MATCHES, NAMES, by_expression


@pytest.mark.parametrize(("pattern", "topic", "expected"), MATCHES)
def test_a_filter_matches(pattern: str, topic: str, expected: bool) -> None:
    subscriptions = Subscriptions()
    subscriptions.add(pattern, Grant("c", 0))
    assert bool(list(subscriptions.matching(topic))) is expected
    kept = Retained(1000)
    kept.keep(Message(topic, b"x"))
    assert bool(kept.matching(pattern, 0)) is expected


@given(st.lists(FILTERS, max_size=8), NAMES)
def test_matching_agrees_with_a_regular_expression(patterns: list[str], topic: str) -> None:
    subscriptions = Subscriptions()
    for index, pattern in enumerate(patterns):
        subscriptions.add(pattern, Grant(str(index), 0))
    found = {client for _, grants in subscriptions.matching(topic) for client in grants}
    assert found == {str(index) for index, pattern in enumerate(patterns) if by_expression(pattern, topic)}
    for index, pattern in enumerate(patterns):
        assert subscriptions.remove(pattern, str(index))
    assert not subscriptions._exact
    assert not subscriptions._wild


def test_a_subscription_replaces_the_one_with_the_same_filter() -> None:
    subscriptions = Subscriptions()
    assert subscriptions.add("a", Grant("c", 0))
    assert not subscriptions.add("a", Grant("c", 2))
    assert subscriptions.add("$share/g/a", Grant("c", 1))
    assert list(subscriptions.matching("a")) == [("", {"c": Grant("c", 2)}), ("g", {"c": Grant("c", 1)})]
    assert not subscriptions.remove("$share/h/a", "c")
    assert not subscriptions.remove("b", "c")
    assert not subscriptions.remove("a", "d")
    assert subscriptions.remove("a", "c")
    assert not subscriptions.remove("a", "c")
    assert [name for name, _ in subscriptions.matching("a")] == ["g"]


def test_the_last_retained_message_is_kept() -> None:
    kept = Retained(10_000)
    kept.keep(Message("a", b"1"))
    kept.keep(Message("b", b"2"))
    kept.keep(Message("a", b"3"))
    assert [each.payload for each in kept.matching("#", 0)] == [b"2", b"3"]
    kept.keep(Message("a", b""))
    kept.keep(Message("c", b""))
    assert [each.payload for each in kept.matching("#", 0)] == [b"2"]
    kept.keep(Message("b", b""))
    assert (len(kept), kept.size) == (0, 0)


def test_retained_messages_have_a_limit() -> None:
    kept = Retained(500)
    assert kept.keep(Message("a", bytes(400)))
    assert not kept.keep(Message("b", bytes(400)))
    assert not kept.keep(Message("a", bytes(600)))
    assert kept.keep(Message("a", bytes(300)))
    assert [(each.topic, len(each.payload)) for each in kept.matching("#", 0)] == [("a", 300)]
    assert kept.keep(Message("b", b""))


def test_a_retained_message_expires() -> None:
    kept = Retained(1000)
    kept.keep(Message("a", b"x", properties=props(message_expiry_interval=10), arrived=100))
    assert kept.matching("a", 110)
    assert not kept.matching("a", 110.5)
    assert (len(kept), kept.size) == (0, 0)
