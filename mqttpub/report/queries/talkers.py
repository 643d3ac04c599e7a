"""Queries on clients and topics: who sends the most, and whose link is the worst."""

from typing import Any

from ...traffic.volume import ALIAS_SIZE
from ..answers import Bins, Row
from .common import TALLY, WHO, asked, bin_sql, chosen, tops

Z = 1.96
"""The quantile of the normal distribution for a confidence of 95 %."""

_RATE = "dups / publishes"
_CENTER = f"({_RATE} + {Z * Z / 2} / publishes)"
_SPREAD = f"{Z} * sqrt(({_RATE} * (1 - {_RATE}) + {Z * Z / 4} / publishes) / publishes)"
SURELY = f"if(dups > 0, ({_CENTER} - {_SPREAD}) / (1 + {Z * Z} / publishes), 0)"
"""The lower bound of the rate of DUP of a client (Wilson's interval), as one DUP of one PUBLISH proves little."""

_AGAIN = "type = 'PUBLISH' AND qos > 0"


def _by_side(value: str, name: str) -> str:
    return ", ".join(f"{value.format(side)} AS {side}_{name}" for side in ("client", "server"))


def clients(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the clients with the most messages, the most bytes and the worst links, and totals."""
    both = ("messages", "publishes", "dups")
    sides = [f"{side}_{each}" for side in ("client", "server") for each in both]
    sums = ["connections", "packets", "bytes", *both, *sides]
    counted = f"""
        SELECT {WHO} AS who, connection, 1 AS connections, {TALLY}, count_if(type = 'PUBLISH') AS messages,
            count_if({_AGAIN}) AS publishes, count_if({_AGAIN} AND dup) AS dups,
            {_by_side("count_if(type = 'PUBLISH' AND direction = '{}')", "messages")},
            {_by_side(f"count_if({_AGAIN} AND direction = '{{}}')", "publishes")},
            {_by_side(f"count_if({_AGAIN} AND dup AND direction = '{{}}')", "dups")}
        FROM {{packets}} GROUP BY 1, 2
    """
    orders = {"bytes": "bytes", "messages": "messages", "dups": SURELY}
    return tops(spark, data, counted, sums, orders)


def topics(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the topics with the most messages, the most bytes and the most savable ones, and totals."""
    saved = f"""
        CASE WHEN version != '5.0' OR topic_alias IS NULL THEN 0 WHEN topic != '' THEN -{ALIAS_SIZE}
        ELSE coalesce(octet_length(resolved_topic) - {ALIAS_SIZE}, 0) END
    """
    named = "count_if(version = '5.0' AND topic_alias IS NULL AND error IS NULL)"
    savable = f"greatest(0, ({named} - 1) * (max(octet_length(resolved_topic)) - {ALIAS_SIZE}) - {ALIAS_SIZE})"
    counted = f"""
        SELECT resolved_topic AS who, connection, direction, {TALLY}, count(*) AS messages,
            sum(payload_length) AS payload, sum(octet_length(topic)) AS topic_bytes, sum({saved}) AS saved,
            count_if(topic_alias IS NOT NULL AND topic = '') AS aliased, coalesce({savable}, 0) AS savable,
            {_by_side("count_if(direction = '{}')", "messages")}
        FROM {{packets}} WHERE type = 'PUBLISH' GROUP BY 1, 2, 3
    """
    sums = ("messages", "bytes", "payload", "topic_bytes", "saved", "aliased", "savable", "client_messages",
            "server_messages")  # fmt: skip
    return tops(spark, data, counted, sums, {"messages": "messages", "bytes": "bytes", "savable": "savable"})


def worst(spark: Any, data: dict[str, Any], bins: Bins | None, clients: list[str]) -> list[Row]:
    """Return PUBLISH of QoS 1 and 2 and re-deliveries by client and bin."""
    if not bins or not clients:
        return []
    names, given = chosen(clients)
    query = f"""
        SELECT {WHO} AS who, {bin_sql("time", bins)} AS bin, count(*) AS publishes, count_if(dup) AS dups
        FROM {{packets}} WHERE {_AGAIN} AND {WHO} IN ({names}) AND time IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
    return asked(spark, query, data, **given)
