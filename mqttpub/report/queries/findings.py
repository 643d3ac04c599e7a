"""Queries on findings: how often each statement was broken, and the first example of each."""

from typing import Any

from ...traffic.query import SEVERITIES
from ..answers import Example, Row, StatementFindings
from .common import WHO, asked, chosen, ranking

MOST_FAULTS = 200
MOST_NAMED = 5
"""Statements that are named for an end."""
MOST_EXAMPLES = 10_000
"""Findings that are searched for examples: all with the time of the first one of a statement."""


def faults(spark: Any, data: dict[str, Any]) -> list[StatementFindings]:
    """Return findings by statement, worst severity first, each with its first example."""
    query = f"""
        SELECT severity, statement, sum(count) AS count, count(*) AS clients, min(time) AS time, min(frame) AS frame
        FROM (SELECT severity, coalesce(statement, '') AS statement, coalesce(nullif(client_id, ''), connection) AS who,
                count(*) AS count, min(unix_micros(time)) AS time, min(frame) FILTER (WHERE time IS NULL) AS frame
              FROM {{findings}} GROUP BY 1, 2, 3)
        GROUP BY 1, 2
        ORDER BY array_position(array('error', 'warning', 'note'), severity), count DESC, statement LIMIT {MOST_FAULTS}
    """
    rows = asked(spark, query, data)
    examples = _examples(spark, data, rows)
    packets = _packets(spark, data, list(examples.values()))
    begins = _begins(spark, data, [row for row in examples.values() if row["pos"] is None])
    return [_fault(row, examples, packets, begins) for row in rows]


# Client Identifiers may be any text, so the end comes first.
_CULPRIT = f"""
    if(at_fault = 'server', concat('server ', coalesce(server, '')),
        concat('client ', coalesce(nullif(named, ''), {WHO})))
"""
_SEVERE = [f"{word}s" for word in SEVERITIES]
_BROKEN = f"""
    SELECT {_CULPRIT} AS who, statement, sum(times) AS findings,
        {", ".join(f"sum(if(severity = '{word}', times, 0)) AS {word}s" for word in SEVERITIES)}
    FROM (SELECT connection, coalesce(at_fault, direction) AS at_fault, client_id AS named, severity,
            coalesce(statement, '') AS statement, count(*) AS times
          FROM {{findings}} GROUP BY 1, 2, 3, 4, 5)
        LEFT JOIN (SELECT connection, client_id, client, server FROM {{connections}}) USING (connection)
    GROUP BY 1, 2
"""
"""SQL for the findings by the end at fault and by statement; of an unknown end, the client is at fault.

Tables of an earlier version have only the sender of the packet.
"""


def culprits(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the clients and servers with the most findings that are their fault, and totals.

    A client is named by its Client Identifier, or else its address, a server by its address. `statements` are those
    that it broke most often, `broken` is how many there are.
    """
    added = ", ".join(f"sum({name}) AS {name}" for name in ("findings", *_SEVERE))
    each = f"SELECT who, {added}, count(*) AS broken FROM ({_BROKEN}) GROUP BY who"
    sums = {**dict.fromkeys(("findings", *_SEVERE), "sum"), "broken": ""}
    rows = asked(spark, ranking(each, sums, {"findings": "findings"}, "errors"), data)
    broken = _broken(spark, data, [row["who"] for row in rows if row["who"]])
    for row in rows:
        row["statements"] = broken.get(row["who"], [])
        row["end"], _, row["who"] = (row["who"] or "").partition(" ")
    return [row if row["end"] else {**row, "end": None, "who": None} for row in rows]


def _broken(spark: Any, data: dict[str, Any], names: list[str]) -> dict[str, list[Row]]:
    """Return the statements that each of some culprits broke most often."""
    if not names:
        return {}
    held, given = chosen(names)
    query = f"""
        SELECT who, statement, findings FROM (
            SELECT *, row_number() OVER (PARTITION BY who ORDER BY findings DESC, statement) AS place
            FROM ({_BROKEN}) WHERE who IN ({held})
        ) WHERE place <= {MOST_NAMED} ORDER BY who, place
    """
    found: dict[str, list[Row]] = {}
    for row in asked(spark, query, data, **given):
        found.setdefault(row.pop("who"), []).append(row)
    return found


def _fault(
    row: Row, examples: dict[tuple[str, str], Row], packets: dict[tuple[Any, ...], Row], begins: dict[str, Row]
) -> StatementFindings:
    found = examples.get((row["severity"], row["statement"]))
    example = None
    if found:
        values = {name: found[name] for name in Example._fields if name in found}
        begin = begins.get(found["connection"], {}) if found["pos"] is None else {}
        example = Example(**values, packet=packets.get(_place(found)), **begin)
    return StatementFindings(row["severity"], row["statement"], row["count"], row["clients"], example)


def _examples(spark: Any, data: dict[str, Any], rows: list[Row]) -> dict[tuple[str, str], Row]:
    """Return the first finding of each statement, by time, capture and record."""
    times = sorted({row["time"] for row in rows if row["time"] is not None})
    frames = sorted({row["frame"] for row in rows if row["time"] is None and row["frame"] is not None})
    chosen = [f"time IN ({', '.join(f'timestamp_micros({time})' for time in times)})" if times else "",
              f"time IS NULL AND frame IN ({', '.join(map(str, frames))})" if frames else ""]  # fmt: skip
    if not any(chosen):
        return {}
    query = f"""
        SELECT severity, coalesce(statement, '') AS statement, unix_micros(time) AS time, capture, frame, pos,
            direction, type, coalesce(path, '') AS path, message, connection, at_fault
        FROM {{findings}} WHERE {" OR ".join(filter(None, chosen))}
        ORDER BY pos IS NULL, time, capture, frame, pos, direction, path, message LIMIT {MOST_EXAMPLES}
    """
    return {(row["severity"], row["statement"]): row for row in reversed(asked(spark, query, data))}


def _begins(spark: Any, data: dict[str, Any], examples: list[Row]) -> dict[str, Row]:
    """Return the captures in which the connections of these findings begin, and their clients."""
    names = sorted({row["connection"] for row in examples if row["connection"]})
    if not names:
        return {}
    held, given = chosen(names)
    query = f"SELECT connection, capture AS began, client FROM {{connections}} WHERE connection IN ({held})"
    rows = asked(spark, query, data, **given)
    return {row.pop("connection"): row for row in rows}


def _place(row: Row) -> tuple[Any, ...]:
    return row["capture"], row["frame"], row["pos"], row["direction"]


def _packets(spark: Any, data: dict[str, Any], examples: list[Row]) -> dict[tuple[Any, ...], Row]:
    """Return the packets of these findings."""
    frames = sorted({row["frame"] for row in examples if row["pos"] is not None and row["frame"] is not None})
    if not frames:
        return {}
    query = f"""
        SELECT capture, frame, pos, direction, type, client, client_id, packet_id, qos, topic_alias, reason_code
        FROM {{packets}} WHERE frame IN ({", ".join(map(str, frames))})
    """
    places = {_place(row) for row in examples}
    return {_place(row): row for row in asked(spark, query, data) if _place(row) in places}
