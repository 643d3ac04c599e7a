"""The query on fan-out: how many deliveries to subscribers follow a message of a publisher.

MQTT has no identifier of a message from end to end, so this is an estimate: a delivery belongs to the last PUBLISH of a
client with the same topic and the same payload that was captured at most `WITHIN_S` before. It is wrong where a client
repeats a message within that time, where a delivery waited longer, and where the capture has only one of the two.
"""

from itertools import pairwise
from typing import Any

from ..answers import Row
from .common import ACCURACY, TOP, asked

WITHIN_S = 10
"""Seconds between a message and its deliveries, at most."""
CLASSES = (*range(5), *(step * 10**power for power in range(6) for step in (5, 10, 20)))
"""The least fan-out of each class."""
_KEY = "PARTITION BY resolved_topic, payload_length, content ORDER BY at, published DESC, capture, frame, pos"
_ROWS = "ROWS BETWEEN UNBOUNDED PRECEDING AND"
_SENT = """
    SELECT resolved_topic, payload_length, xxhash64(payload) AS content, capture, frame, pos, retain,
        unix_micros(time) AS at, direction = 'client' AS published
    FROM {packets}
    WHERE type = 'PUBLISH' AND time IS NOT NULL AND resolved_topic IS NOT NULL AND direction IS NOT NULL
        AND error IS NULL AND NOT coalesce(dup, false)
"""
_FOLLOWING = f"""
    SELECT *, count_if(published) OVER ({_KEY} {_ROWS} CURRENT ROW) AS number,
        at - max(if(published, at, NULL)) OVER ({_KEY} {_ROWS} CURRENT ROW) <= {WITHIN_S * 1_000_000} AS near,
        at - max(if(published, at, NULL)) OVER ({_KEY} {_ROWS} 1 PRECEDING) <= {WITHIN_S * 1_000_000} AS again
    FROM ({_SENT})
"""
_DELIVERED = "NOT published AND coalesce(near, false)"
_LOST = "NOT published AND NOT coalesce(near, false)"
_SUMS = ", ".join(
    f"coalesce(sum({each}), 0) AS {each}" for each in ("messages", "deliveries", "retained", "unmatched", "repeated")
)
_MESSAGES = f"""
    SELECT resolved_topic AS topic, count_if(published) AS messages, count_if({_DELIVERED}) AS deliveries,
        count_if({_LOST} AND retain) AS retained, count_if({_LOST} AND NOT retain) AS unmatched,
        count_if(published AND coalesce(again, false)) AS repeated,
        max(at) FILTER (WHERE {_DELIVERED}) - min(at) FILTER (WHERE published) AS last_us
    FROM ({_FOLLOWING}) GROUP BY resolved_topic, payload_length, content, number
"""
"""SQL for messages with their deliveries; a row without a message has deliveries before the first one."""


def fan_out(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return messages and deliveries by class of fan-out, of the topics with the most deliveries, and in total."""
    least = " ".join(f"WHEN deliveries < {above} THEN {least}" for least, above in pairwise(CLASSES))
    query = f"""
        WITH grouped AS (
            SELECT grouping_id(class, topic) AS grouping, class, topic, {_SUMS},
                max(deliveries) FILTER (WHERE messages > 0) AS most,
                count_if(messages > 0 AND deliveries = 0) AS undelivered,
                percentile_approx(deliveries, array(0.5, 0.9, 0.99), {ACCURACY}) FILTER (WHERE messages > 0) AS fans,
                percentile_approx(last_us, array(0.5, 0.9, 0.99), {ACCURACY}) AS delays_us
            FROM (SELECT *, if(messages > 0, CASE {least} ELSE {CLASSES[-1]} END, NULL) AS class FROM ({_MESSAGES}))
            GROUP BY GROUPING SETS ((), (class), (topic))
        )
        SELECT * FROM (
            SELECT *, row_number() OVER (PARTITION BY grouping ORDER BY deliveries DESC, messages DESC, topic) AS place
            FROM grouped
        ) WHERE grouping != 2 OR place <= {TOP} ORDER BY grouping, class, place
    """
    kinds = {3: "all", 1: "class", 2: "topic"}
    return [{"top": kinds[row.pop("grouping")], **row} for row in asked(spark, query, data)]
