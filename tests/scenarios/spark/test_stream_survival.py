"""The short form of the run with Spark; `python -m tests.benchmarks survival --stream --rate 5` is the long one."""

from pathlib import Path

import pytest

from tests.scenarios.spark.kills import PARTS, StreamKills

pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.timeout(3600)]


def test_whatever_is_killed_nothing_is_lost_and_each_double_has_a_cause(tmp_path: Path) -> None:
    outcome = StreamKills(tmp_path, seed=1, rate=5, say=print).run(len(PARTS))
    said = "\n".join(outcome.lines())
    assert set(outcome.kills) == set(PARTS), said
    assert outcome.lost == {}, said
    assert outcome.unexplained == [], said
    # mosquitto does not keep a message of QoS 2 that it answered with PUBREC, so what is lost is not ours to tell.
    assert [each for topics in outcome.forgotten.values() for each in topics if "/1/" in each] == [], said
