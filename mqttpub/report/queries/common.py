"""What queries share: how they run, the bins of time, and names that several of them use in SQL."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ...traffic.statistics import PERCENTILES
from ..answers import ALL, Bins, Row

Answer = TypeVar("Answer")

TOP = 20
"""Rows in a list of the top clients, topics and so on."""
MOST_BINS = 120
MOST_CELLS = 40
"""Bins for links: few, so that a bin has enough messages for a rate."""
AT_ONCE = 3
"""Queries that run in Spark in parallel; one alone leaves cores idle at its beginning and end."""
ACCURACY = 10_000
"""The relative error of the rank of a percentile is 1 / ACCURACY."""

TALLY = "count(*) AS packets, sum(length) AS bytes"
"""SQL for the number of packets and their bytes."""
WHO = "coalesce(nullif(client_id, ''), client, '')"
"""SQL for a client: its Client Identifier, or else its address."""
TOPIC = "coalesce(resolved_topic, topic)"
"""SQL for the topic of a PUBLISH: as it is meant, or else as it was sent."""
PLACE = ("time", "capture", "frame", "pos")
"""Columns that order packets."""
_SECOND, _MINUTE, HOUR_US, _DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
WIDTHS = (
    *(step * 10**power for power in range(6) for step in (1, 2, 5)),
    *(step * _SECOND for step in (1, 2, 5, 10, 15, 30)), *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * HOUR_US for step in (1, 2, 3, 6, 12)), *(step * _DAY for step in (1, 2, 7, 14, 28)),
)  # fmt: skip
"""Widths of bins in microseconds that are easy to read."""
_PERCENTILES = ", ".join(str(percent / 100) for percent in PERCENTILES)
LATENCY = f"""
    count_if(answered) AS count, max(latency_us) FILTER (WHERE answered) AS max,
    percentile_approx(latency_us, array({_PERCENTILES}), {ACCURACY}) FILTER (WHERE answered) AS percentiles
"""
ANSWERED = "latency_us IS NOT NULL AND outcome IN ('complete', 'refused') AS answered"
"""SQL for exchanges that were answered; others have a last packet, but no latency."""


def together(made: Callable[..., Answer], /, **queries: Callable[[], Any]) -> Answer:
    """Run queries in parallel, and return `made` called with their answers by name."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pending = {name: pool.submit(query) for name, query in queries.items()}
        try:
            return made(**{name: each.result() for name, each in pending.items()})
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def asked(spark: Any, query: str, data: dict[str, Any], **given: Any) -> list[Row]:
    """Return the rows of a query, in which names in braces stand for tables."""
    tables = {name: frame for name, frame in data.items() if f"{{{name}}}" in query}
    return [row.asDict(recursive=True) for row in spark.sql(query, args=given, **tables).collect()]


def bins_of(begin: int | None, end: int | None, most: int, least_us: int = 1) -> Bins | None:
    """Return the narrowest bins of a width in WIDTHS that cover a period with at most `most` of them.

    They are not narrower than `least_us`, which is one of WIDTHS.
    """
    if begin is None or end is None:
        return None
    wide = -(-(end - begin) // (most - 1) // _DAY) * _DAY
    for width in (*WIDTHS, wide):
        first, last = begin // width, end // width
        if last - first < most and width >= least_us:
            return Bins(width, first, last - first + 1)
    raise AssertionError("the widest bins cover the period")


def bin_sql(time: str, bins: Bins | None) -> str:
    """Return SQL for the number of the bin of a time; of none without bins."""
    return f"unix_micros({time}) div {bins.width}" if bins else "CAST(NULL AS bigint)"


def tops(spark: Any, data: dict[str, Any], counted: str, sums: Iterable[str], orders: dict[str, str]) -> list[Row]:
    """Return the top rows of each order, as far as they are above 0, and a row of totals."""
    added = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in sums)
    each = f"SELECT who, {added} FROM ({counted}) GROUP BY who"
    second = {name: "dups" if name == "dups" else "messages" for name in orders}
    return asked(spark, ranking(each, dict.fromkeys(sums, "sum"), orders, second), data)


def ranking(each: str, totals: dict[str, str], orders: dict[str, str], second: dict[str, str] | str) -> str:
    """Return the query for the top rows of each order, as far as they are above 0, and for a row of totals.

    `each` is a query for rows of `who` and the columns of `totals`, which names the function that makes the total of a
    column, or none. Rows that are equal in an order are ranked by the `second` column. All branches select the same
    columns, so that Spark reuses one shuffle and reads the table once.
    """
    whole = ", ".join(
        f"coalesce({function}({name}), 0) AS {name}" if function else f"NULL AS {name}"
        for name, function in totals.items()
    )
    names = ", ".join(totals)
    branches = [f"SELECT '{ALL}' AS top, CAST(NULL AS string) AS who, count(*) AS number, {whole} FROM each"]
    branches += [
        f"(SELECT '{name}' AS top, who, 1 AS number, {names} FROM each WHERE {order} > 0 "
        f"ORDER BY {order} DESC, {second if isinstance(second, str) else second[name]} DESC, who LIMIT {TOP})"
        for name, order in orders.items()
    ]
    return f"WITH each AS ({each}) {' UNION ALL '.join(branches)}"


def chosen(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the SQL for a list of names, and the arguments that it stands for."""
    return ", ".join(f":name{number}" for number in range(len(names))), {
        f"name{number}": name for number, name in enumerate(names)
    }
