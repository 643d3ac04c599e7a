"""Queries that compare the tables with those of another run."""

from pathlib import Path
from typing import Any

from ..answers import Comparison, PacketTotals, Row, Summary
from ..tables import frames
from .common import ACCURACY, ANSWERED, TOP, asked, together

EARLIER = "other_"
"""Begins the names of the tables of the other run in SQL."""
_CLIENTS = ("nullif(client_id, '')", "true")
_TOPICS = ("resolved_topic", "type = 'PUBLISH'")
_TABLES = (("now", ""), ("then", EARLIER))


def comparison(spark: Any, folder: str | Path, against: str | Path, now: Summary, then: Summary) -> Comparison:
    """Compare the tables of `folder` with those of `against`, whose summaries are known."""
    data = frames(spark, folder)
    data |= {f"{EARLIER}{name}": frame for name, frame in frames(spark, against).items()}
    spans = now.span, then.span
    return together(
        Comparison,
        folder=lambda: str(against),
        summary=lambda: then,
        clients=lambda: _differences(spark, data, *_CLIENTS, spans),
        topics=lambda: _differences(spark, data, *_TOPICS, spans),
        latencies=lambda: _latencies(spark, data),
    )


def _differences(
    spark: Any, data: dict[str, Any], name: str, which: str, spans: tuple[PacketTotals, PacketTotals]
) -> list[Row]:
    """Return names that are new or gone, those whose rate changed most, and a row of how many there are of each.

    Without times in both runs numbers of packets are compared, not rates.
    """
    lengths = [span.length_us for span in spans]
    now_us, then_us = lengths if all(lengths) else (1, 1)
    sums = [f"{run}_{what}" for run, _ in _TABLES for what in ("packets", "bytes")]
    counted = " UNION ALL ".join(
        f"SELECT {name} AS who, {_columns(run)} FROM {{{prefix}packets}} WHERE {which} GROUP BY 1"
        for run, prefix in _TABLES
    )
    query = f"""
        WITH counted AS ({counted}), each AS (
            SELECT who, {", ".join(f"sum({each}) AS {each}" for each in sums)} FROM counted
            WHERE who IS NOT NULL GROUP BY who
        ), judged AS (
            SELECT *, now_packets / {now_us} AS now_rate, then_packets / {then_us} AS then_rate,
                CASE WHEN then_packets = 0 THEN 'new' WHEN now_packets = 0 THEN 'gone' ELSE 'both' END AS kind
            FROM each
        ), ranked AS (
            SELECT *, count(*) OVER (PARTITION BY kind) AS number, row_number() OVER (
                PARTITION BY kind ORDER BY abs(now_rate - then_rate) DESC, who) AS place
            FROM judged
        )
        SELECT * FROM ranked WHERE place <= {TOP} ORDER BY kind DESC, place
    """
    return asked(spark, query, data)


def _columns(run: str) -> str:
    """Return SQL for the packets and bytes of one run, and for none of the other."""
    return ", ".join(
        f"{sql if name == run else '0L'} AS {name}_{what}"
        for name, _ in _TABLES
        for what, sql in (("packets", "count(*)"), ("bytes", "sum(length)"))
    )


def _latencies(spark: Any, data: dict[str, Any]) -> list[Row]:
    runs = " UNION ALL ".join(
        f"SELECT '{run}' AS run, kind, sender, latency_us, {ANSWERED} FROM {{{prefix}exchanges}}"
        for run, prefix in _TABLES
    )
    query = f"""
        SELECT run, kind, sender, count(*) AS count,
            percentile_approx(latency_us, array(0.5, 0.95, 0.99), {ACCURACY}) AS percentiles
        FROM ({runs}) WHERE answered GROUP BY run, kind, sender ORDER BY kind, sender, run
    """
    return asked(spark, query, data)
