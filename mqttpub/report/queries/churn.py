"""Queries on how connections come and go: how many a client makes, how they end, and which are taken over."""

from typing import Any

from ..answers import Bins, Churn, Row
from .common import HOUR_US, WHO, asked, bin_sql, chosen, ranking

SHORT_S = 60
"""A connection that ends sooner is short-lived."""
TAKEN_OVER = 0x8E
"""Reason Code of DISCONNECT: Session taken over (5.0: 3.14.2.1)."""
_CLOSED = "(closed_how IN ('FIN', 'RST') OR disconnected_by IS NOT NULL)"
_NAMED = f"""
    SELECT *, {WHO} AS who, unix_micros(begin) div {HOUR_US} AS hour,
        coalesce(closed_time, end) AS until, unix_micros(coalesce(closed_time, end)) - unix_micros(begin) AS life_us,
        if(coalesce(connack_reason_code, 0) = 0, nullif(client_id, ''), NULL) AS session
    FROM {{connections}}
"""
FOLLOWED = f"""
    SELECT *, count(*) OVER (PARTITION BY who, hour) AS in_hour,
        lead(begin) OVER (PARTITION BY session ORDER BY begin, capture, first_frame) AS next_begin
    FROM ({_NAMED})
"""
"""SQL for connections with the time until which they were open, and the begin of the next one of the same client."""
_TAKEN = f"""
    session IS NOT NULL AND (
        coalesce(disconnected_by = 'server' AND disconnect_reason_code = {TAKEN_OVER}, false)
        OR next_begin <= CASE WHEN closed_how IN ('FIN', 'RST') THEN until WHEN {_CLOSED} THEN NULL ELSE next_begin END
    )
"""
"""SQL: whether the next connection of the same Client Identifier began while this one was open (5.0: 3.1.4-3).

It was open until FIN or RST; without these and without DISCONNECT, it was open.
"""
_ENDED = f"SELECT *, coalesce({_TAKEN}, false) AS taken FROM ({FOLLOWED})"
_HOW = f"""
    CASE WHEN connack_reason_code > 0 THEN 'refused' WHEN taken THEN 'taken over'
    WHEN disconnected_by IS NOT NULL THEN 'DISCONNECT' WHEN {_CLOSED} THEN closed_how ELSE 'open' END
"""
_SUMS = {
    "connections": "count(*)",
    "refused": "count_if(connack_reason_code > 0)",
    "short": f"count_if({_CLOSED} AND life_us < {SHORT_S * 1_000_000})",
    "taken": "count_if(taken)",
    "said": f"count_if(taken AND disconnected_by = 'server' AND disconnect_reason_code = {TAKEN_OVER})",
    "goodbyes": "count_if(disconnected_by = 'client')",
    "broken": f"count_if({_CLOSED} AND disconnected_by IS NULL)",
}


def churn(spark: Any, data: dict[str, Any]) -> Churn:
    """Return the clients that connect or are taken over most often, totals, and how connections ended."""
    sums = ", ".join(f"{sql} AS {name}" for name, sql in _SUMS.items())
    each = f"""
        SELECT who, {sums}, coalesce(max(in_hour) FILTER (WHERE hour IS NOT NULL), 0) AS busiest,
            percentile_approx(life_us, 0.5) FILTER (WHERE {_CLOSED}) AS median_us
        FROM ({_ENDED}) GROUP BY who
    """
    totals = {**dict.fromkeys(_SUMS, "sum"), "busiest": "max", "median_us": ""}
    orders = {"connections": "connections", "taken": "taken"}
    return Churn(asked(spark, ranking(each, totals, orders, "connections"), data), _ends(spark, data))


def _ends(spark: Any, data: dict[str, Any]) -> list[Row]:
    query = f"""
        SELECT how, by, code, count(*) AS connections, count(DISTINCT who) AS clients,
            count_if({_CLOSED} AND life_us < {SHORT_S * 1_000_000}) AS short
        FROM (
            SELECT *, {_HOW} AS how,
                if(taken OR connack_reason_code > 0, NULL, coalesce(disconnected_by, closed_by)) AS by,
                if(connack_reason_code > 0, connack_reason_code, disconnect_reason_code) AS code
            FROM ({_ENDED})
        )
        GROUP BY how, by, code ORDER BY connections DESC, how, by, code
    """
    return asked(spark, query, data)


def connects(spark: Any, data: dict[str, Any], bins: Bins | None, clients: list[str]) -> list[Row]:
    """Return the number of connections by client and bin."""
    if not bins or not clients:
        return []
    names, given = chosen(clients)
    query = f"""
        SELECT {WHO} AS who, {bin_sql("begin", bins)} AS bin, count(*) AS connections
        FROM {{connections}} WHERE {WHO} IN ({names}) AND begin IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
    # With --since and --until a connection can begin inside the period while its packets are outside.
    return [row for row in asked(spark, query, data, **given) if row["bin"] in bins.numbers()]
