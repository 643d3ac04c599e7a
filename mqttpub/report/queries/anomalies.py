"""The query on anomalies: intervals in which a client differs from its own past.

A measure of an interval is compared with the same measure of all earlier intervals of that client. Their median is what
is usual, and their spread is the median of the absolute deviations from it (MAD), times 1.4826, which makes it the
standard deviation for normally distributed values. The spread is at least the square root of the median for counts,
since counts of independent events scatter so much anyway, and a tenth of the median for sizes. A deviation of
`FAR` spreads or more is an anomaly. The first interval of a client, and the first and the last of the captures, are
left out, because they may be cut off.
"""

from typing import Any

from ..answers import Anomalies
from .common import TOP, WHO, asked, bin_sql, bins_of

_SPAN = "SELECT unix_micros(min(time)) AS first, unix_micros(max(time)) AS last FROM {packets}"
MOST_INTERVALS = 60
LEAST_INTERVAL_US = 1_000_000
LEAST_PAST = 10
"""Earlier intervals that a comparison needs."""
FAR = 6
"""Spreads that make an anomaly."""
NORMAL = 1.4826
"""The ratio of standard deviation and MAD of the normal distribution."""
_OWN = "direction IS DISTINCT FROM 'server'"
_ERROR = """
    error IS NOT NULL OR reason_code >= 128 OR (type = 'CONNACK' AND reason_code > 0)
    OR exists(reason_codes, code -> code >= 128)
"""
MEASURES = {
    "packets": f"CAST(count_if({_OWN}) AS double)",
    "size": f"avg(length) FILTER (WHERE type = 'PUBLISH' AND {_OWN})",
    "errors": f"CAST(count_if({_ERROR}) AS double)",
    "connects": "CAST(count_if(type = 'CONNECT') AS double)",
}
"""SQL for the measures: packets of the client, mean size of its PUBLISH, errors in both directions, CONNECTs."""


_LEAST = "if(measure = 'size', greatest({0} / 10, 1), sqrt(greatest({0}, 1)))"
"""SQL for the least spread; it grows with the median, so most values are settled before anything is sorted."""


def _median(values: str) -> str:
    """Return SQL for the median of an array that is sorted and not empty."""
    return f"(get({values}, (size({values}) - 1) div 2) + get({values}, size({values}) div 2)) / 2"


def anomalies(spark: Any, data: dict[str, Any]) -> Anomalies:
    """Return for each client and measure with anomalies their number and the greatest, and how many were judged."""
    (span,) = asked(spark, _SPAN, data)
    bins = bins_of(span["first"], span["last"], MOST_INTERVALS, LEAST_INTERVAL_US)
    if not bins:
        return Anomalies()
    last = bins.first + bins.length - 2
    seen = ", ".join(f"{sql} AS {name}" for name, sql in MEASURES.items())
    # Without a PUBLISH there is no size, but no packets are 0 packets.
    series = ", ".join(
        f"struct('{name}' AS measure, transform(numbers, number -> "
        + (f"seen[number].{name}" if name == "size" else f"coalesce(seen[number].{name}, 0D)")
        + ") AS course)"
        for name in MEASURES
    )
    query = f"""
        WITH counted AS (
            SELECT {WHO} AS who, {bin_sql("time", bins)} AS bin, {seen}
            FROM {{packets}} WHERE time IS NOT NULL GROUP BY 1, 2
        ), lived AS (
            SELECT who, map_from_entries(collect_list(struct(bin, struct({", ".join(MEASURES)})))) AS seen,
                greatest(min(bin), {bins.first}) + 1 AS begin, {last} AS end
            FROM counted GROUP BY who
        ), numbered AS (
            SELECT who, seen, begin, if(begin <= end, sequence(begin, end), array()) AS numbers FROM lived
        ), course AS (
            SELECT who, begin, each.measure AS measure, each.course AS course, size(numbers) AS intervals
            FROM numbered LATERAL VIEW explode(array({series})) AS each
        ), compared AS (
            SELECT who, measure, begin + at AS bin, get(course, at) AS value,
                sort_array(filter(slice(course, 1, at), each -> each IS NOT NULL)) AS past
            FROM (SELECT * FROM course
                  WHERE array_max(course) - array_min(course) >= {FAR} * {_LEAST.format("array_min(course)")})
                LATERAL VIEW explode(sequence({LEAST_PAST}, greatest(intervals - 1, {LEAST_PAST}))) AS at
            WHERE at < intervals
        ), usual AS (
            SELECT *, {_median("past")} AS median FROM compared WHERE value IS NOT NULL AND size(past) >= {LEAST_PAST}
        ), spread AS (
            SELECT *, {_median("deviations")} AS mad
            FROM (SELECT *, sort_array(transform(past, each -> abs(each - median))) AS deviations FROM usual
                  WHERE abs(value - median) >= {FAR} * {_LEAST.format("median")})
        ), scored AS (
            SELECT who, measure, bin, value, median, mad, size(past) AS past,
                (value - median) / greatest({NORMAL} * mad, {_LEAST.format("median")}) AS score
            FROM spread
        )
        SELECT who, measure, count(*) AS intervals, min(bin) AS first, count(*) OVER () AS series,
            max_by(struct(bin, value, median, mad, past, score), struct(abs(score), -bin)) AS worst
        FROM scored WHERE abs(score) >= {FAR} GROUP BY who, measure
        ORDER BY abs(worst.score) DESC, who, measure LIMIT {TOP}
    """
    judged = f"""
        SELECT count(*) AS clients, count_if({last} - begin >= {LEAST_PAST}) AS judged
        FROM (SELECT greatest(min({bin_sql("time", bins)}), {bins.first}) + 1 AS begin
              FROM {{packets}} WHERE time IS NOT NULL GROUP BY {WHO})
    """
    (counts,) = asked(spark, judged, data)
    return Anomalies(bins, counts["clients"], counts["judged"], asked(spark, query, data))
