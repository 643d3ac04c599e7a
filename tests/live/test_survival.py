"""The short form of the survival run; tests/benchmarks/survival.py is the long one."""

import signal
from pathlib import Path

import pytest

from tests.survival import survive


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("qos", [1, 2])
def test_nothing_is_lost_when_the_publisher_is_killed(qos: int, tmp_path: Path) -> None:
    outcome = survive(
        tmp_path, qos=qos, lines=4000, kills=8, broker_share=0.25, seed=qos, broker_signal=signal.SIGTERM
    )  # fmt: skip
    assert outcome.publisher_kills
    assert outcome.lost == []
    if qos == 2:
        assert outcome.doubled == []
