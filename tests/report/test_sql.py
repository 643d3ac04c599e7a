"""SQL that questions share."""

from typing import Any, NamedTuple

import pytest

from mqttpub.report.engines import duck
from mqttpub.report.engines.spark import SparkQueries
from mqttpub.report.rows import structured
from mqttpub.report.sql import measured
from tests.report.test_report import nearest

COUNT = 60_000
"""More values than the engines' own percentiles are exact for."""


class Measured(NamedTuple):
    """A row of a query."""

    sender: str | None
    even: int
    answers: int
    longest: int | None
    percentiles: list[int] | None


@pytest.mark.slow
def test_percentiles_are_measured_values_on_both_engines(spark: Any) -> None:
    rows = f"""
        (SELECT CASE id % 3 WHEN 0 THEN 'client' WHEN 1 THEN 'server' END AS sender, id,
            id % 991 * id % 99991 AS latency_us, id % 3 < 2 AND id % 7 > 0 AS answered
         FROM (SELECT explode(sequence(1, {COUNT})) AS id))
    """
    query = f"{measured(rows, {'sender': 'sender'}, {'even': 'count_if(id % 2 = 0)'})} ORDER BY sender IS NULL, sender"
    values = [[id for id in range(1, COUNT + 1) if id % 3 == which] for which in range(3)]
    times = [[id % 991 * id % 99991 for id in ids if id % 7] for ids in values[:2]]
    even = [sum(id % 2 == 0 for id in ids) for ids in values]
    expected = [Measured(sender, even[at], len(times[at]), max(times[at]), nearest(times[at]))
                for at, sender in enumerate(("client", "server"))]  # fmt: skip
    with duck.connected() as here:
        for engine in (here, SparkQueries(spark)):
            found = [structured(Measured, row) for row in engine.rows(query, {}, {})]
            assert found == [*expected, Measured(None, even[2], 0, None, None)]
