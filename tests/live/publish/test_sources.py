"""Where messages come from: what a descriptor gives is there at once, counted, and never piles up."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli.pub.messages import LineFormat, Lines
from mqttpub.common.errors import UserError
from mqttpub.live.publish.sender import Publication
from mqttpub.live.publish.sources import Batched, Limited, Listed, Rate, Streamed
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from mqttpub.wire.types import MAX_VARIABLE


def lines(longest_bytes: int = MAX_VARIABLE) -> Lines:
    """Return what makes a message of each line, and raises what it complains of."""

    def complain(text: str) -> None:
        raise AssertionError(text)

    return Lines(LineFormat(Publish(topic="a"), Version.V5, longest_bytes=longest_bytes), complain)


def test_asking_for_more_messages_takes_only_one_ahead() -> None:
    every = [Publication.of(Publish(topic="a", payload=b"%d" % number), Version.V5, number) for number in range(5)]
    taken: list[Any] = []
    ahead = Listed(each for each in every if not taken.append(each))  # type: ignore[func-returns-value]
    assert not taken
    assert not any(ahead.ended for _ in range(1_000_000))
    assert len(taken) == 1
    assert ahead.take(2, 0.0) == every[:2]
    assert ahead.take(0, 0.0) == []
    assert [ahead.ended, ahead.take(9, 0.0), ahead.ended] == [False, every[2:], True]
    assert ahead.take(1, 0.0) == []


def test_a_line_is_there_as_soon_as_it_is_written() -> None:
    inlet, outlet = os.pipe()
    source = Streamed(inlet, lines())
    for written, payloads in ((b"one\ntwo\nthr", [b"one", b"two"]), (b"ee\n", [b"three"]), (b"end", [])):
        os.write(outlet, written)
        source.read()
        assert [message.payload for message in source.take(10, 0.0)] == payloads
        assert source.descriptor == inlet
        assert not source.ended
    os.close(outlet)
    source.read()
    assert [(message.payload, message.token) for message in source.take(10, 0.0)] == [(b"end", 4)]
    assert source.ended
    os.close(inlet)


def test_a_rate_does_not_hide_how_much_of_a_file_was_read(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"one\ntwo\n")
    inlet = os.open(tmp_path / "input", os.O_RDONLY)
    source = Limited(Streamed(inlet, lines()), Rate(1))
    assert (source.position_bytes, source.size_bytes) == (0, 8)
    source.take(1, 0.0)
    assert (source.position_bytes, source.size_bytes) == (8, 8)
    os.close(inlet)


def test_an_empty_file_gives_nothing() -> None:
    inlet = os.open(os.devnull, os.O_RDONLY)
    source = Streamed(inlet, lines())
    assert source.descriptor is None
    assert source.take(10, 0.0) == []
    assert source.ended
    os.close(inlet)


def test_an_input_that_cannot_be_read_is_said() -> None:
    inlet = os.open("/proc/self/mem", os.O_RDONLY)
    with pytest.raises(UserError, match=r"^the input cannot be read: Input/output error$"):
        Streamed(inlet, lines()).read()
    os.close(inlet)


@pytest.mark.parametrize("in_batches", [False, True])
def test_a_line_that_is_too_long_is_named_by_its_number(in_batches: bool) -> None:
    parse = lines(longest_bytes=3)
    inlet, outlet = os.pipe()
    source = Batched(inlet, parse.batch) if in_batches else Streamed(inlet, parse)
    for _ in range(3):
        os.write(outlet, b"a\nbc\n")
        source.read()
    os.write(outlet, b"x\nabcd\n")
    os.close(outlet)
    source.read()
    with pytest.raises(click.UsageError, match=r"^standard input: message 8 has more than 3 bytes, but no packet can$"):
        source.read()
    os.close(inlet)


MEASURE = """
import re
from mqttpub.live.publish.sources import Streamed
from tests.live.publish.test_sources import lines

def most() -> int:
    # Not getrusage: its maximum is at least what the process had in memory that started this one.
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1])

source, count = Streamed(0, lines()), 0
before = most()
while not source.ended:
    source.read()
    count += len(source.take(1 << 20, 0.0))
print(count, most() - before < 8_000)
"""


@pytest.mark.slow
def test_memory_stays_small() -> None:
    given = b"x" * 63 + b"\n" + b"1234567\n" * 100_000
    done = subprocess.run([sys.executable, "-c", MEASURE], input=given, capture_output=True, check=True)
    assert done.stdout == b"100001 True\n"


# the rate


def test_a_slow_rate_lets_the_first_go_at_once_and_then_one_by_one() -> None:
    rate = Rate(2)
    assert (rate.ready(10.0), rate.wait_s(10.0)) == (1, 0.0)
    rate.spend(1)
    assert (rate.ready(10.0), rate.wait_s(10.0)) == (0, 0.5)
    assert rate.wait_s(10.4) == pytest.approx(0.1)
    assert (rate.ready(10.5), rate.wait_s(10.5)) == (1, 0.0)
    assert rate.ready(99.0) == 1


def test_a_pause_is_not_made_up_for_at_once() -> None:
    rate = Rate(1000)
    assert rate.ready(0.0) == 1
    assert rate.ready(0.05) == 51
    assert rate.ready(60.0) == 100


def test_a_clock_that_goes_back_gives_nothing() -> None:
    rate = Rate(10)
    rate.ready(5.0)
    rate.spend(1)
    assert rate.ready(4.0) == 0


@given(st.floats(0.1, 1e6), st.lists(st.floats(0, 0.5), min_size=1, max_size=60))
def test_never_more_than_the_rate_and_waiting_is_enough(per_second: float, pauses: list[float]) -> None:
    rate, now, sent = Rate(per_second), 1e6, 0
    for pause in pauses:
        now += pause
        ready = rate.ready(now)
        rate.spend(ready)
        sent += ready
        assert sent <= per_second * (now - 1e6) + 1.001 + per_second * 1e-8
        now += rate.wait_s(now)
        assert rate.ready(now) >= 1


@pytest.mark.parametrize("per_second", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_is_above_0(per_second: float) -> None:
    with pytest.raises(ValueError, match="the rate must be above 0"):
        Rate(per_second)
