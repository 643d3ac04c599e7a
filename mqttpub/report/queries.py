"""The queries of a report, in SQL: each reads its table once and returns few rows."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ..spark.pipeline.manifest import Manifest
from ..spec.properties import PROPERTIES
from ..traffic.statistics import PERCENTILES
from ..traffic.volume import ALIAS_SIZE
from ..wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE
from .answers import ALL, OUTCOMES, Bins, Details, Example, Made, PacketTotals, Row, StatementFindings, Summary
from .tables import frames, has

Answer = TypeVar("Answer")

TOP = 20
"""Rows in a list of the top clients, topics and so on."""
WORST = 12
"""Clients whose links are shown over time."""
MOST_BINS = 120
MOST_CELLS = 40
"""Bins for links: few, so that a bin has enough messages for a rate."""
MOST_FAULTS = 200
MOST_EXAMPLES = 10_000
"""Findings that are searched for examples: all with the time of the first one of a statement."""
AT_ONCE = 3
"""Queries that run in Spark in parallel; one alone leaves cores idle at its beginning and end."""
ENOUGH = 10
"""Messages needed for a meaningful percentile."""
ACCURACY = 10_000
"""The relative error of the rank of a percentile is 1 / ACCURACY."""
Z = 1.96
"""The quantile of the normal distribution for a confidence of 95 %."""

WHO = "coalesce(nullif(client_id, ''), client, '')"
"""SQL for a client: its Client Identifier, or else its address."""
_SECOND, _MINUTE, _HOUR, _DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
WIDTHS = (
    *(step * 10**power for power in range(6) for step in (1, 2, 5)),
    *(step * _SECOND for step in (1, 2, 5, 10, 15, 30)), *(step * _MINUTE for step in (1, 2, 5, 10, 15, 30)),
    *(step * _HOUR for step in (1, 2, 3, 6, 12)), *(step * _DAY for step in (1, 2, 7, 14, 28)),
)  # fmt: skip
"""Widths of bins in microseconds that are easy to read."""

_RATE = "dups / publishes"
_CENTER = f"({_RATE} + {Z * Z / 2} / publishes)"
_SPREAD = f"{Z} * sqrt(({_RATE} * (1 - {_RATE}) + {Z * Z / 4} / publishes) / publishes)"
SURELY = f"if(dups > 0, ({_CENTER} - {_SPREAD}) / (1 + {Z * Z} / publishes), 0)"
"""The lower bound of the rate of DUP of a client (Wilson's interval), as one DUP of one PUBLISH proves little."""
_PERCENTILES = ", ".join(str(percent / 100) for percent in PERCENTILES)
LATENCY = f"""
    count_if(answered) AS count, max(latency_us) FILTER (WHERE answered) AS max,
    percentile_approx(latency_us, array({_PERCENTILES}), {ACCURACY}) FILTER (WHERE answered) AS percentiles
"""
_ANSWERED = "latency_us IS NOT NULL AND outcome IN ('complete', 'refused') AS answered"
"""SQL for exchanges that were answered; others have a last packet, but no latency."""


def summary(spark: Any, folder: str | Path) -> Summary:
    """Return the summary of the tables in a folder; raises OutputRefused, and Spark's errors."""
    data = frames(spark, folder)
    judged = has(folder, "findings") or _judged(folder)
    return _together(
        Summary, lambda: _connections(spark, data), lambda: _kinds(spark, data), lambda: exchange_rows(spark, data),
        lambda: _clients(spark, data), lambda: _topics(spark, data),
        lambda: _faults(spark, data) if judged else None, lambda: _made(folder),
    )  # fmt: skip


def details(spark: Any, folder: str | Path, known: Summary) -> Details:
    """Return the answers that only the page shows."""
    data, bins, links = frames(spark, folder), bins_of(known.span, MOST_BINS), bins_of(known.span, MOST_CELLS)
    worst = [row["who"] for row in known.clients if row["top"] == "dups"][:WORST]
    return _together(
        Details, lambda: bins, lambda: _traffic(spark, data, bins), lambda: _latencies(spark, data, bins),
        lambda: _slow(spark, data, "coalesce(topic, '')"), lambda: _slow(spark, data, WHO), lambda: links,
        lambda: _worst(spark, data, links, worst), lambda: _refused(spark, data), lambda: _properties(spark, data),
        lambda: _overhead(spark, data), lambda: _unended(spark, data),
    )  # fmt: skip


def _together(made: Callable[..., Answer], *queries: Callable[[], Any]) -> Answer:
    """Run queries in parallel, and return `made` called with their answers in order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pending = [pool.submit(each) for each in queries]
        try:
            return made(*(each.result() for each in pending))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _made(folder: str | Path) -> Made:
    manifest = Manifest.in_folder(folder)
    taken = sorted(manifest.sources, key=lambda each: (each.stamp is None, each.stamp or 0, each.name))
    return Made(tuple(dict.fromkeys(each.name for each in taken)), tuple(run["begun"] for run in manifest.runs))


def _judged(folder: str | Path) -> bool:
    return any(run.get("lint") for run in Manifest.in_folder(folder).runs)


def _rows(spark: Any, query: str, data: dict[str, Any], **given: Any) -> list[Row]:
    """Return the rows of a query, in which names in braces stand for tables."""
    tables = {name: frame for name, frame in data.items() if f"{{{name}}}" in query}
    return [row.asDict(recursive=True) for row in spark.sql(query, args=given, **tables).collect()]


# time


def bins_of(span: PacketTotals, most: int) -> Bins | None:
    """Return the narrowest bins of a width in WIDTHS that cover a span with at most `most` of them."""
    if span.first is None or span.last is None:
        return None
    wide = -(-(span.last - span.first) // (most - 1) // _DAY) * _DAY
    for width in (*WIDTHS, wide):
        first, last = span.first // width, span.last // width
        if last - first < most:
            return Bins(width, first, last - first + 1)
    raise AssertionError("the widest bins cover the span")


def _bin(time: str, bins: Bins | None) -> str:
    return f"unix_micros({time}) div {bins.width}" if bins else "CAST(NULL AS bigint)"


# what there is


def _connections(spark: Any, data: dict[str, Any]) -> list[Row]:
    query = """
        SELECT closed_by, closed_how, count(*) AS connections, sum(gaps) AS gaps FROM {connections}
        GROUP BY closed_by, closed_how ORDER BY connections DESC, closed_by, closed_how
    """
    return _rows(spark, query, data)


_KIND = "type, if(type = 'PUBLISH', qos, NULL) AS qos, direction"
_TALLY = "count(*) AS packets, sum(length) AS bytes"


def _kinds(spark: Any, data: dict[str, Any]) -> list[Row]:
    query = f"""
        SELECT {_KIND}, min(type_code) AS code, {_TALLY}, count_if(error IS NOT NULL) AS unreadable,
            count_if(time IS NULL) AS untimed, unix_micros(min(time)) AS first, unix_micros(max(time)) AS last
        FROM {{packets}} GROUP BY 1, 2, 3 ORDER BY code, qos, direction
    """
    return _rows(spark, query, data)


def _traffic(spark: Any, data: dict[str, Any], bins: Bins | None) -> list[Row]:
    if not bins:
        return []
    query = f"SELECT {_bin('time', bins)} AS bin, {_KIND}, {_TALLY} FROM {{packets}} GROUP BY 1, 2, 3, 4 ORDER BY 1"
    return [row for row in _rows(spark, query, data) if row["bin"] is not None]


# bytes

_HEADER = "CASE WHEN length <= 129 THEN 2 WHEN length <= 16386 THEN 3 WHEN length <= 2097155 THEN 4 ELSE 5 END"
"""SQL for the bytes of a fixed header, whose length takes one to four (5.0: 1.5.5)."""


def _overhead(spark: Any, data: dict[str, Any]) -> dict[str, int]:
    query = f"""
        SELECT sum(length) AS bytes, sum(length) FILTER (WHERE publish) AS publish,
            sum(payload_length) FILTER (WHERE whole) AS payload, sum({_HEADER}) FILTER (WHERE whole) AS headers,
            sum(octet_length(topic) + 2) FILTER (WHERE whole) AS topics,
            sum(if(qos > 0, 2, 0)) FILTER (WHERE whole) AS ids,
            sum(length) FILTER (WHERE whole) AS known,
            sum(length) FILTER (WHERE type IN ('PUBACK', 'PUBREC', 'PUBREL', 'PUBCOMP')) AS acks
        FROM (SELECT *, type = 'PUBLISH' AS publish, type = 'PUBLISH' AND error IS NULL AS whole FROM {{packets}})
    """
    sums = {name: value or 0 for name, value in _rows(spark, query, data)[0].items()}
    own = sums["payload"] + sums["headers"] + sums["topics"] + sums["ids"]
    return {
        "payload": sums["payload"], "fixed headers of PUBLISH": sums["headers"], "Topic Names": sums["topics"],
        "Packet Identifiers of PUBLISH": sums["ids"], "properties of PUBLISH": sums["known"] - own,
        "unreadable PUBLISH": sums["publish"] - sums["known"], "PUBACK, PUBREC, PUBREL, PUBCOMP": sums["acks"],
        "all other packets": sums["bytes"] - sums["publish"] - sums["acks"],
    }  # fmt: skip


_TEXT = "octet_length(each.value)"
_NUMBER = "CAST(each.value AS bigint)"
_SIZES = {
    BYTE: "1", U16: "2", U32: "4", STRING: f"2 + {_TEXT}", PAIR: f"4 + octet_length(each.key) + {_TEXT}",
    BINARY: f"2 + ({_TEXT} - 4) div 2",
    VARIABLE: f"1 + if({_NUMBER} > 127, 1, 0) + if({_NUMBER} > 16383, 1, 0) + if({_NUMBER} > 2097151, 1, 0)",
}  # fmt: skip
"""SQL for the bytes of property values by type; the tables hold binary data as `hex:` and two digits per byte."""


def _properties(spark: Any, data: dict[str, Any]) -> list[Row]:
    sizes = " ".join(f"WHEN {row.id} THEN 1 + {_SIZES[row.type]}" for row in PROPERTIES.values() if not row.secret)
    query = f"""
        SELECT each.id AS id, each.name AS name, count(*) AS count, sum(CASE each.id {sizes} END) AS bytes
        FROM (SELECT explode(concat(coalesce(properties, array()), coalesce(will_properties, array()))) AS each
              FROM {{packets}} WHERE size(properties) > 0 OR size(will_properties) > 0)
        GROUP BY 1, 2 ORDER BY bytes DESC, id LIMIT {TOP * 2}
    """
    return _rows(spark, query, data)


# exchanges


_NEXT = """
    lead(resumed) OVER (
        PARTITION BY nullif(client_id, ''), if(nullif(client_id, '') IS NULL, connection, NULL), sender, packet_id,
            qos > 0
        ORDER BY begin, capture, first_frame, first_pos
    )
"""
"""SQL: whether the next exchange with the same Packet Identifier continues this one; needs a Client Identifier."""
_CONTINUED = f"coalesce(outcome = 'unfinished' AND {_NEXT}, false) AS continued"
_ENDED = f"(SELECT *, {_ANSWERED}, {_CONTINUED} FROM {{exchanges}})"
"""SQL for exchanges with the columns `answered` and `continued`: a later row describes the same message."""


def exchange_rows(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return for each kind of exchange and sender how often each outcome occurred, and percentiles of latency."""
    outcomes = ", ".join(f"count_if(outcome = '{each}' AND NOT continued) AS {each}" for each in OUTCOMES)
    query = f"""
        SELECT kind, sender, {outcomes}, count_if(continued) AS continued, sum(dups) AS dups, {LATENCY} FROM {_ENDED}
        GROUP BY kind, sender ORDER BY kind, sender
    """
    return _rows(spark, query, data)


def _unended(spark: Any, data: dict[str, Any]) -> list[Row]:
    query = f"""
        SELECT unix_micros(begin) AS time, {WHO} AS who, kind, packet_id,
            coalesce(topic, array_join(filters, ', ')) AS topic, last_type, capture, first_frame AS frame
        FROM {_ENDED} WHERE outcome = 'unfinished' AND NOT continued
        ORDER BY begin, capture, first_frame, first_pos LIMIT {TOP}
    """
    return _rows(spark, query, data)


_MESSAGES = f"(SELECT *, {_ANSWERED} FROM {{exchanges}} WHERE qos > 0)"


def _latencies(spark: Any, data: dict[str, Any], bins: Bins | None) -> list[Row]:
    if not bins:
        return []
    query = f"""
        SELECT {_bin("begin", bins)} AS bin, sender, {LATENCY} FROM {_MESSAGES} WHERE answered
        GROUP BY 1, 2 ORDER BY 1, 2
    """
    # With --since and --until a message can begin inside the period while its packets are outside.
    return [row for row in _rows(spark, query, data) if row["bin"] in bins.numbers()]


def _slow(spark: Any, data: dict[str, Any], who: str) -> list[Row]:
    """Return the slowest by p90; those with few messages come last."""
    query = f"""
        SELECT {who} AS who, sender, {LATENCY},
            count_if(outcome IN ('unfinished', 'superseded') AND NOT continued) AS unanswered
        FROM {_ENDED} WHERE qos > 0 GROUP BY 1, 2 HAVING count > 0
        ORDER BY least(count, {ENOUGH}) DESC, percentiles[1] DESC, max DESC, who, sender LIMIT {TOP}
    """
    return _rows(spark, query, data)


def _refused(spark: Any, data: dict[str, Any]) -> list[Row]:
    query = f"""
        SELECT type, version, code, count(*) AS count, count(DISTINCT who) AS clients
        FROM (SELECT type, version, {WHO} AS who, explode(coalesce(reason_codes, array(reason_code))) AS code
              FROM {{packets}} WHERE reason_code IS NOT NULL OR reason_codes IS NOT NULL)
        WHERE code >= 128 OR (type = 'CONNACK' AND code > 0)
        GROUP BY type, version, code ORDER BY count DESC, type, version, code LIMIT {TOP * 2}
    """
    return _rows(spark, query, data)


# clients and topics

_AGAIN = "type = 'PUBLISH' AND qos > 0"


def _by_side(value: str, name: str) -> str:
    return ", ".join(f"{value.format(side)} AS {side}_{name}" for side in ("client", "server"))


def _clients(spark: Any, data: dict[str, Any]) -> list[Row]:
    both = ("messages", "publishes", "dups")
    sides = [f"{side}_{each}" for side in ("client", "server") for each in both]
    sums = ["connections", "packets", "bytes", *both, *sides]
    counted = f"""
        SELECT {WHO} AS who, connection, 1 AS connections, {_TALLY}, count_if(type = 'PUBLISH') AS messages,
            count_if({_AGAIN}) AS publishes, count_if({_AGAIN} AND dup) AS dups,
            {_by_side("count_if(type = 'PUBLISH' AND direction = '{}')", "messages")},
            {_by_side(f"count_if({_AGAIN} AND direction = '{{}}')", "publishes")},
            {_by_side(f"count_if({_AGAIN} AND dup AND direction = '{{}}')", "dups")}
        FROM {{packets}} GROUP BY 1, 2
    """
    orders = {"bytes": "bytes", "messages": "messages", "dups": SURELY}
    return _tops(spark, data, counted, sums, orders)


def _topics(spark: Any, data: dict[str, Any]) -> list[Row]:
    saved = f"""
        CASE WHEN version != '5.0' OR topic_alias IS NULL THEN 0 WHEN topic != '' THEN -{ALIAS_SIZE}
        ELSE coalesce(octet_length(resolved_topic) - {ALIAS_SIZE}, 0) END
    """
    named = "count_if(version = '5.0' AND topic_alias IS NULL AND error IS NULL)"
    savable = f"greatest(0, ({named} - 1) * (max(octet_length(resolved_topic)) - {ALIAS_SIZE}) - {ALIAS_SIZE})"
    counted = f"""
        SELECT resolved_topic AS who, connection, direction, {_TALLY}, count(*) AS messages,
            sum(payload_length) AS payload, sum(octet_length(topic)) AS topic_bytes, sum({saved}) AS saved,
            count_if(topic_alias IS NOT NULL AND topic = '') AS aliased, coalesce({savable}, 0) AS savable,
            {_by_side("count_if(direction = '{}')", "messages")}
        FROM {{packets}} WHERE type = 'PUBLISH' GROUP BY 1, 2, 3
    """
    sums = ("messages", "bytes", "payload", "topic_bytes", "saved", "aliased", "savable", "client_messages",
            "server_messages")  # fmt: skip
    return _tops(spark, data, counted, sums, {"messages": "messages", "bytes": "bytes", "savable": "savable"})


def _tops(spark: Any, data: dict[str, Any], counted: str, sums: Iterable[str], orders: dict[str, str]) -> list[Row]:
    """Return the top rows of each order, as far as they are above 0, and a row of totals.

    All branches select the same columns, so that Spark reuses one shuffle and reads the table once.
    """
    added = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in sums)
    names = ", ".join(sums)
    branches = [f"SELECT '{ALL}' AS top, CAST(NULL AS string) AS who, count(*) AS number, {added} FROM each"]
    branches += [
        f"(SELECT '{name}' AS top, who, 1 AS number, {names} FROM each WHERE {order} > 0 "
        f"ORDER BY {order} DESC, {_first(name)}, who LIMIT {TOP})"
        for name, order in orders.items()
    ]
    query = f"""
        WITH each AS (SELECT who, {added} FROM ({counted}) GROUP BY who) {" UNION ALL ".join(branches)}
    """
    return _rows(spark, query, data)


def _first(name: str) -> str:
    return "dups DESC" if name == "dups" else "messages DESC"


def _worst(spark: Any, data: dict[str, Any], bins: Bins | None, clients: list[str]) -> list[Row]:
    if not bins or not clients:
        return []
    names = ", ".join(f":who{number}" for number in range(len(clients)))
    query = f"""
        SELECT {WHO} AS who, {_bin("time", bins)} AS bin, count(*) AS publishes, count_if(dup) AS dups
        FROM {{packets}} WHERE {_AGAIN} AND {WHO} IN ({names}) AND time IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
    return _rows(spark, query, data, **{f"who{number}": who for number, who in enumerate(clients)})


# findings


def _faults(spark: Any, data: dict[str, Any]) -> list[StatementFindings]:
    query = f"""
        SELECT severity, statement, sum(count) AS count, count(*) AS clients, min(time) AS time, min(frame) AS frame
        FROM (SELECT severity, coalesce(statement, '') AS statement, coalesce(nullif(client_id, ''), connection) AS who,
                count(*) AS count, min(unix_micros(time)) AS time, min(frame) FILTER (WHERE time IS NULL) AS frame
              FROM {{findings}} GROUP BY 1, 2, 3)
        GROUP BY 1, 2
        ORDER BY array_position(array('error', 'warning', 'note'), severity), count DESC, statement LIMIT {MOST_FAULTS}
    """
    rows = _rows(spark, query, data)
    examples = _examples(spark, data, rows)
    packets = _packets(spark, data, list(examples.values()))
    begins = _begins(spark, data, [row for row in examples.values() if row["pos"] is None])
    return [_fault(row, examples, packets, begins) for row in rows]


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
            direction, type, coalesce(path, '') AS path, message, connection
        FROM {{findings}} WHERE {" OR ".join(filter(None, chosen))}
        ORDER BY pos IS NULL, time, capture, frame, pos, direction, path, message LIMIT {MOST_EXAMPLES}
    """
    return {(row["severity"], row["statement"]): row for row in reversed(_rows(spark, query, data))}


def _begins(spark: Any, data: dict[str, Any], examples: list[Row]) -> dict[str, Row]:
    """Return the captures in which the connections of these findings begin, and their clients."""
    names = sorted({row["connection"] for row in examples if row["connection"]})
    if not names:
        return {}
    held = ", ".join(f":name{number}" for number in range(len(names)))
    query = f"SELECT connection, capture AS began, client FROM {{connections}} WHERE connection IN ({held})"
    rows = _rows(spark, query, data, **{f"name{number}": name for number, name in enumerate(names)})
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
    return {_place(row): row for row in _rows(spark, query, data) if _place(row) in places}
