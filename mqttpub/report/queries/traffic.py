"""Queries on packets and bytes: by kind, over time, and by purpose."""

from typing import Any

from ...spec.properties import PROPERTIES
from ...wire.types import BINARY, BYTE, PAIR, STRING, U16, U32, VARIABLE
from ..answers import Bins, Row
from .common import TALLY, TOP, asked, bin_sql


def connections(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the number of connections and their gaps, by which end closed first and how."""
    query = """
        SELECT closed_by, closed_how, count(*) AS connections, sum(gaps) AS gaps FROM {connections}
        GROUP BY closed_by, closed_how ORDER BY connections DESC, closed_by, closed_how
    """
    return asked(spark, query, data)


_KIND = "type, if(type = 'PUBLISH', qos, NULL) AS qos, direction"


def kinds(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return packets and bytes by type, QoS and direction, with their first and last times."""
    query = f"""
        SELECT {_KIND}, min(type_code) AS code, {TALLY}, count_if(error IS NOT NULL) AS malformed,
            count_if(time IS NULL) AS untimed, unix_micros(min(time)) AS first, unix_micros(max(time)) AS last
        FROM {{packets}} GROUP BY 1, 2, 3 ORDER BY code, qos, direction
    """
    return asked(spark, query, data)


def traffic(spark: Any, data: dict[str, Any], bins: Bins | None) -> list[Row]:
    """Return packets and bytes by bin, type, QoS and direction."""
    if not bins:
        return []
    query = f"""
        SELECT {bin_sql("time", bins)} AS bin, {_KIND}, {TALLY} FROM {{packets}}
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    """
    return [row for row in asked(spark, query, data) if row["bin"] is not None]


# bytes

_HEADER = "CASE WHEN length <= 129 THEN 2 WHEN length <= 16386 THEN 3 WHEN length <= 2097155 THEN 4 ELSE 5 END"
"""SQL for the bytes of a fixed header, whose length takes one to four (5.0: 1.5.5)."""


def overhead(spark: Any, data: dict[str, Any]) -> dict[str, int]:
    """Return bytes by purpose; their sum is all bytes."""
    query = f"""
        SELECT sum(length) AS bytes, sum(length) FILTER (WHERE publish) AS publish,
            sum(payload_length) FILTER (WHERE whole) AS payload, sum({_HEADER}) FILTER (WHERE whole) AS headers,
            sum(octet_length(topic) + 2) FILTER (WHERE whole) AS topics,
            sum(if(qos > 0, 2, 0)) FILTER (WHERE whole) AS ids,
            sum(length) FILTER (WHERE whole) AS known,
            sum(length) FILTER (WHERE type IN ('PUBACK', 'PUBREC', 'PUBREL', 'PUBCOMP')) AS acks
        FROM (SELECT *, type = 'PUBLISH' AS publish, type = 'PUBLISH' AND error IS NULL AS whole FROM {{packets}})
    """
    sums = {name: value or 0 for name, value in asked(spark, query, data)[0].items()}
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


def properties(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return how often each property was sent, and its bytes."""
    sizes = " ".join(f"WHEN {row.id} THEN 1 + {_SIZES[row.type]}" for row in PROPERTIES.values() if not row.secret)
    query = f"""
        SELECT each.id AS id, each.name AS name, count(*) AS count, sum(CASE each.id {sizes} END) AS bytes
        FROM (SELECT explode(concat(coalesce(properties, array()), coalesce(will_properties, array()))) AS each
              FROM {{packets}} WHERE size(properties) > 0 OR size(will_properties) > 0)
        GROUP BY 1, 2 ORDER BY bytes DESC, id LIMIT {TOP * 2}
    """
    return asked(spark, query, data)
