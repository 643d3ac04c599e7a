"""The short form of the survival run; `python -m tests.benchmarks survival` is the long one."""

import signal
from pathlib import Path

import pytest

from tests.scenarios.survival import survive

pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.timeout(600)]


@pytest.mark.parametrize("qos", [pytest.param(1, marks=pytest.mark.long), 2])
def test_nothing_is_lost_when_the_publisher_is_killed_and_the_broker_restarts(qos: int, tmp_path: Path) -> None:
    outcome = survive(
        tmp_path, qos=qos, lines=4000, kills=8, broker_share=0.25, seed=qos, broker_signal=signal.SIGTERM
    )  # fmt: skip
    assert outcome.publisher_kills
    assert outcome.publisher_kills + outcome.broker_kills == 8
    assert outcome.arrived.lost == []
    if qos == 2:
        assert outcome.arrived.doubled == []


@pytest.mark.parametrize("qos", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_broker_may_be_killed_as_well(qos: int, tmp_path: Path) -> None:
    outcome = survive(
        tmp_path, qos=qos, lines=1500, kills=10, broker_share=0.5, seed=qos, broker_signal=signal.SIGKILL,
        late=True, rate=400,
    )  # fmt: skip
    assert outcome.publisher_kills
    assert outcome.broker_kills
    if qos == 1:
        assert outcome.arrived.lost == []
    else:
        # mosquitto does not keep a message that it answered with PUBREC, so what is lost is not ours to tell.
        assert outcome.arrived.doubled == []
