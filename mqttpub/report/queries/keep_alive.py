"""Queries on the silences of clients, compared with their Keep Alive."""

from typing import Any

from ...spec.properties import SERVER_KEEP_ALIVE
from ..answers import Row
from .churn import FOLLOWED
from .common import WHO, asked, ranking

TIMED_OUT = 0x8D
"""Reason Code of DISCONNECT: Keep Alive timeout (5.0: 3.14.2.1)."""
_GIVEN = f"CAST(get(filter(properties, each -> each.id = {SERVER_KEEP_ALIVE.id}), 0).value AS int)"
_SPOKEN = f"""
    SELECT connection, direction, type, unix_micros(time) AS at,
        unix_micros(lag(time) OVER (PARTITION BY connection, direction ORDER BY time, frame, pos)) AS before,
        if(type = 'CONNACK', {_GIVEN}, NULL) AS server_keep_alive
    FROM {{packets}} WHERE time IS NOT NULL AND (direction = 'client' OR type = 'CONNACK')
"""
_BY_CLIENT = "FILTER (WHERE direction = 'client')"
_HEARD = f"""
    SELECT connection, count(*) {_BY_CLIENT} AS timed, max(at) {_BY_CLIENT} AS last_at,
        max(struct(at - before AS silence_us, before AS since)) {_BY_CLIENT} AS longest,
        min_by(server_keep_alive, at) FILTER (WHERE type = 'CONNACK') AS server_keep_alive
    FROM ({_SPOKEN}) GROUP BY connection
"""
_JUDGED = f"""
    SELECT who, chosen.allowed_s AS allowed_s, chosen.by_server AS by_server, timed_out, whole,
        if(whole AND chosen.allowed_s > 0, silence.silence_us, NULL) AS silence_us, silence.since AS since
    FROM (
        SELECT {WHO} AS who, timed = client_packets AS whole,
            struct(coalesce(server_keep_alive, keep_alive) AS allowed_s, server_keep_alive IS NOT NULL AS by_server)
                AS chosen,
            disconnected_by = 'server' AND disconnect_reason_code = {TIMED_OUT} AS timed_out,
            if(disconnected_by = 'client', longest,
               greatest(longest, struct(left_at - last_at AS silence_us, last_at AS since))) AS silence
        FROM (SELECT *, unix_micros(least(until, next_begin)) AS left_at FROM ({FOLLOWED}))
            LEFT JOIN ({_HEARD}) USING (connection)
        WHERE keep_alive IS NOT NULL
    )
"""
"""SQL for connections with CONNECT: the longest silence of the client, up to its end or the next one of the client.

One is whole if the table has all packets of its client with their times; without them there is no silence to measure.
"""
_RATIO = "silence_us / 1000000 / allowed_s"


def silences(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the clients whose silence was the longest compared with their Keep Alive, and totals."""
    each = f"""
        SELECT who, count(*) AS connections, count_if(allowed_s = 0) AS off, count_if(by_server) AS by_server,
            count_if(allowed_s > 0 AND NOT coalesce(whole, false)) AS unmeasured,
            count_if({_RATIO} > 1) AS late, count_if({_RATIO} > 1.5) AS missed,
            count_if(coalesce(timed_out, false)) AS timed_out,
            max({_RATIO}) AS ratio, max_by(silence_us, {_RATIO}) AS silence_us,
            max_by(allowed_s, {_RATIO}) AS allowed_s, max_by(since, {_RATIO}) AS since
        FROM ({_JUDGED}) GROUP BY who
    """
    sums = ("connections", "off", "by_server", "unmeasured", "late", "missed", "timed_out")
    totals = {**dict.fromkeys(sums, "sum"), "ratio": "max", **dict.fromkeys(("silence_us", "allowed_s", "since"), "")}
    return asked(spark, ranking(each, totals, {"ratio": "ratio"}, "connections"), data)
