"""What is due when."""

import pytest

from mqttpub.lab.serving.timers import Timers


def test_actions_are_done_in_order_and_once() -> None:
    done: list[str] = []
    timers = Timers()
    timers.set("b", 2.0, lambda: done.append("b"))
    timers.set("a", 1.0, lambda: done.append("a"))
    assert timers.next() == 1.0
    timers.run(0.9)
    assert done == []
    timers.run(2.0)
    timers.run(3.0)
    assert done == ["a", "b"]
    assert timers.next() is None


def test_a_key_has_one_action() -> None:
    done: list[str] = []
    timers = Timers()
    timers.set("a", 1.0, lambda: done.append("first"))
    timers.set("a", 5.0, lambda: done.append("second"))
    timers.run(4.0)
    assert done == []
    timers.run(5.0)
    assert done == ["second"]


def test_a_cancelled_timer_does_not_run() -> None:
    timers = Timers()
    timers.set("a", 1.0, lambda: pytest.fail("was cancelled"))
    assert timers.cancel("a")
    assert not timers.cancel("a")
    timers.run(2.0)
    assert timers.next() is None


def test_an_action_may_set_itself_again() -> None:
    times: list[float] = []
    timers = Timers()

    def again() -> None:
        times.append(len(times) + 1.0)
        timers.set("a", times[-1] + 1, again)

    timers.set("a", 1.0, again)
    timers.run(3.0)
    assert times == [1.0, 2.0, 3.0]
    assert timers.next() == 4.0


def test_moving_a_timer_for_ever_takes_no_memory() -> None:
    timers = Timers()
    for when in range(10_000):
        timers.set("a", when, lambda: None)
        timers.set(("b", when), 1e9, lambda: None)
        timers.cancel(("b", when))
    assert len(timers._heap) < 100
    assert timers.next() == 9999
