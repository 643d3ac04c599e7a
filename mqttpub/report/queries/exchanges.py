"""Queries on exchanges: their outcomes, how long they take, and refusals."""

from typing import Any

from ..answers import OUTCOMES, Bins, Row
from .common import ANSWERED, LATENCY, TOP, WHO, asked, bin_sql

ENOUGH = 10
"""Messages needed for a meaningful percentile."""

_NEXT = """
    lead(resumed) OVER (
        PARTITION BY nullif(client_id, ''), if(nullif(client_id, '') IS NULL, connection, NULL), sender, packet_id,
            qos > 0
        ORDER BY begin, capture, first_frame, first_pos
    )
"""
"""SQL: whether the next exchange with the same Packet Identifier continues this one; needs a Client Identifier."""
_CONTINUED = f"coalesce(outcome = 'unfinished' AND {_NEXT}, false) AS continued"
_ENDED = f"(SELECT *, {ANSWERED}, {_CONTINUED} FROM {{exchanges}})"
"""SQL for exchanges with the columns `answered` and `continued`: a later row describes the same message."""


def exchange_rows(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return for each kind of exchange and sender how often each outcome occurred, and percentiles of latency."""
    outcomes = ", ".join(f"count_if(outcome = '{each}' AND NOT continued) AS {each}" for each in OUTCOMES)
    query = f"""
        SELECT kind, sender, {outcomes}, count_if(continued) AS continued, sum(dups) AS dups, {LATENCY} FROM {_ENDED}
        GROUP BY kind, sender ORDER BY kind, sender
    """
    return asked(spark, query, data)


def unended(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the first exchanges that never ended."""
    query = f"""
        SELECT unix_micros(begin) AS time, {WHO} AS who, kind, packet_id,
            coalesce(topic, array_join(filters, ', ')) AS topic, last_type, capture, first_frame AS frame
        FROM {_ENDED} WHERE outcome = 'unfinished' AND NOT continued
        ORDER BY begin, capture, first_frame, first_pos LIMIT {TOP}
    """
    return asked(spark, query, data)


_MESSAGES = f"(SELECT *, {ANSWERED} FROM {{exchanges}} WHERE qos > 0)"


def latencies(spark: Any, data: dict[str, Any], bins: Bins | None) -> list[Row]:
    """Return percentiles of latency of QoS 1 and 2 by bin and sender."""
    if not bins:
        return []
    query = f"""
        SELECT {bin_sql("begin", bins)} AS bin, sender, {LATENCY} FROM {_MESSAGES} WHERE answered
        GROUP BY 1, 2 ORDER BY 1, 2
    """
    # With --since and --until a message can begin inside the period while its packets are outside.
    return [row for row in asked(spark, query, data) if row["bin"] in bins.numbers()]


def slow(spark: Any, data: dict[str, Any], who: str) -> list[Row]:
    """Return the slowest by p90; those with few messages come last."""
    query = f"""
        SELECT {who} AS who, sender, {LATENCY},
            count_if(outcome IN ('unfinished', 'superseded') AND NOT continued) AS unanswered
        FROM {_ENDED} WHERE qos > 0 GROUP BY 1, 2 HAVING count > 0
        ORDER BY least(count, {ENOUGH}) DESC, percentiles[1] DESC, max DESC, who, sender LIMIT {TOP}
    """
    return asked(spark, query, data)


def refused(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return Reason Codes that mean a refusal, by packet type and version."""
    query = f"""
        SELECT type, version, code, count(*) AS count, count(DISTINCT who) AS clients
        FROM (SELECT type, version, {WHO} AS who, explode(coalesce(reason_codes, array(reason_code))) AS code
              FROM {{packets}} WHERE reason_code IS NOT NULL OR reason_codes IS NOT NULL)
        WHERE code >= 128 OR (type = 'CONNACK' AND code > 0)
        GROUP BY type, version, code ORDER BY count DESC, type, version, code LIMIT {TOP * 2}
    """
    return asked(spark, query, data)
