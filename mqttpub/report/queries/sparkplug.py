"""The query on Sparkplug B: births, deaths and faults of edge nodes, and the states of hosts."""

from typing import Any

from ...spark.formats.schema import spark_schema
from ..payloads.answers import SparkplugAnswers
from ..payloads.events import EVENT, events
from ..payloads.sessions import NODE, sessions
from .common import PLACE, TOP, TOPIC, WHO, asked

_MENTIONED = f"""
    SELECT if(type = 'CONNECT', will_topic, {TOPIC}) AS topic, direction, {WHO} AS who,
        if(type = 'CONNECT', will_payload, payload) AS payload, type = 'CONNECT' AS connects,
        coalesce(dup, false) AS dup, unix_micros(time) AS time, capture, frame, pos
    FROM {{packets}}
    WHERE (type = 'PUBLISH' AND payload IS NOT NULL AND ({TOPIC} LIKE 'spBv1.0/%' OR {TOPIC} LIKE 'STATE/%'))
        OR (type = 'CONNECT' AND will_payload IS NOT NULL AND will_topic LIKE 'spBv1.0/%/NDEATH/%')
"""
_KEYS = ("group", "node", "host", "stream")
_NAMES = ("messages", "births", "deaths", "missing", "faults")
_SUMS = ", ".join(f"sum(if(host, 0, {name})) OVER () AS all_{name}" for name in _NAMES)
_NODES = f"""
    SELECT * FROM (
        SELECT *, count_if(NOT host AND node != '') OVER () AS nodes, count_if(host) OVER () AS hosts, {_SUMS},
            row_number() OVER (PARTITION BY host ORDER BY faults DESC, messages DESC, `group`, node) AS place
        FROM (SELECT *, row_number() OVER (
                  PARTITION BY `group`, node, host ORDER BY published DESC, stream = '', messages DESC, stream) AS rank
              FROM {{nodes}})
        WHERE rank = 1)
    WHERE place <= {TOP} ORDER BY place
"""
"""SQL for the nodes with most faults, each in the stream that shows it best: first what publishers sent, then the
receiver with most of it."""


def sparkplug(spark: Any, packets: Any) -> SparkplugAnswers:
    """Return what messages of Sparkplug B in a table of packets with payloads show."""

    # Spark sends these functions to its workers.
    def read(batches: Any) -> Any:
        return events(batches)

    def followed(batches: Any) -> Any:
        return sessions(batches)

    mentioned = spark.sql(_MENTIONED, packets=packets).mapInArrow(read, spark_schema(EVENT))
    ordered = mentioned.repartition(*_KEYS).sortWithinPartitions(*_KEYS, *PLACE)
    rows = asked(spark, _NODES, {"nodes": ordered.mapInArrow(followed, spark_schema(NODE))})
    totals = {name: rows[0][f"all_{name}"] for name in _NAMES} if rows else {}
    numbers = {name: rows[0][name] if rows else 0 for name in ("nodes", "hosts")}
    return SparkplugAnswers(
        {**totals, **numbers}, [row for row in rows if not row["host"]], [row for row in rows if row["host"]]
    )
