"""What questions share in SQL: names, sums, percentiles, and the bins of time."""

from collections.abc import Mapping
from typing import NamedTuple

from ..traffic.statistics import PERCENTILES

MOST_BINS = 120
MOST_CELLS = 40
"""Bins of a plot with a row for each client: few, so that a bin has enough messages for a rate."""

TALLY = "count(*) AS packets, sum(packet_bytes) AS bytes"
"""SQL for the number of packets and their bytes."""


def end_sql(end: str) -> str:
    """Return SQL for client or server as address and port, `10.0.0.1:50000` or `[fe80::1]:50000`; null if unknown."""
    address = f"if({end}_address LIKE '%:%', concat('[', {end}_address, ']'), {end}_address)"
    return f"if({end}_port IS NULL, {end}_address, concat({address}, ':', cast({end}_port AS STRING)))"


WHO = f"coalesce(nullif(client_id, ''), {end_sql('client')}, '')"
"""SQL for a client: its Client Identifier, or else its address."""
TOPIC = "coalesce(resolved_topic, topic)"
"""SQL for the topic of a PUBLISH: as it is meant, or else as it was sent."""
PLACE = ("time", "capture", "frame", "pos")
"""Columns that order packets."""
NEVER = -(1 << 62)
"""Stands for the time of what has none where structs are ordered, as engines order null in them differently."""
SECOND_US, _MINUTE_US, HOUR_US, _DAY_US = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
WIDTHS = (
    *(step * 10**power for power in range(6) for step in (1, 2, 5)),
    *(step * SECOND_US for step in (1, 2, 5, 10, 15, 30)), *(step * _MINUTE_US for step in (1, 2, 5, 10, 15, 30)),
    *(step * HOUR_US for step in (1, 2, 3, 6, 12)), *(step * _DAY_US for step in (1, 2, 7, 14, 28)),
)  # fmt: skip
"""Widths of bins in microseconds that are easy to read."""


def placed(counted: str, keys: str, value: str) -> str:
    """Return SQL for rows with their places among those of equal keys, from which `percentile` follows.

    `counted` is a query for the keys, a value, and the `times` that it occurs, 0 for null. The percentiles that engines
    have keep all values in memory, or are not exact; what this groups and sorts goes to the disk if it is much.
    """
    over = f"OVER (PARTITION BY {keys} ORDER BY {value} ROWS BETWEEN UNBOUNDED PRECEDING AND"
    return f"""
        SELECT *, sum(times) {over} CURRENT ROW) AS upto, sum(times) {over} UNBOUNDED FOLLOWING) AS whole
        FROM ({counted})
    """


def percentile(value: str, percent: int) -> str:
    """Return SQL for the least value that so many of a hundred do not exceed, from rows of `placed`."""
    return f"min({value}) FILTER (WHERE 100 * upto >= {percent} * whole)"


def percentiles(value: str, percents: tuple[int, ...] = PERCENTILES) -> str:
    """Return SQL for an array of percentiles from rows of `placed`; null if there is no value."""
    return f"if(max({value}) IS NULL, NULL, array({', '.join(percentile(value, each) for each in percents)}))"


def measured(
    rows: str, keys: Mapping[str, str], sums: Mapping[str, str] = {}, percents: tuple[int, ...] = PERCENTILES
) -> str:
    """Return SQL for the number of answers and their latencies in microseconds, with some sums, for each of the keys.

    `rows` is what follows FROM, with the column `answered`. Keys and sums are SQL by name.
    """
    values = {**keys, "latency_us": "if(answered, latency_us, NULL)", "times": "count_if(answered)", **sums}
    counted = f"""
        SELECT {", ".join(f"{sql} AS {name}" for name, sql in values.items())} FROM {rows}
        GROUP BY {", ".join(str(at) for at in range(1, len(keys) + 2))}
    """
    names = ", ".join(keys)
    return f"""
        SELECT {names}, {"".join(f"sum({name}) AS {name}, " for name in sums)}sum(times) AS answers,
            max(latency_us) AS longest, {percentiles("latency_us", percents)} AS percentiles
        FROM ({placed(counted, names, "latency_us")}) GROUP BY {names}
    """


ANSWERED = "latency_us IS NOT NULL AND outcome IN ('complete', 'refused') AS answered"
"""SQL for exchanges that were answered; others have a last packet, but no latency."""


class Bins(NamedTuple):
    """Equal intervals of time, numbered from 1970."""

    width: int
    """In microseconds."""
    first: int
    """The number of the first bin."""
    length: int
    """The number of bins."""

    def begin(self, number: int) -> int:
        """Return the beginning of a bin in microseconds since 1970."""
        return number * self.width

    def numbers(self) -> range:
        """Return the numbers of all bins."""
        return range(self.first, self.first + self.length)

    @property
    def period(self) -> tuple[int, int]:
        """Begin and end of all, in microseconds since 1970."""
        return self.begin(self.first), self.begin(self.first + self.length)


def bins_of(begin: int | None, end: int | None, most: int, least_us: int = 1) -> Bins | None:
    """Return the narrowest bins of a width in WIDTHS that cover a period with at most `most` of them.

    They are not narrower than `least_us`, which is one of WIDTHS.
    """
    if begin is None or end is None:
        return None
    wide = -(-(end - begin) // (most - 1) // _DAY_US) * _DAY_US
    for width in (*WIDTHS, wide):
        first, last = begin // width, end // width
        if last - first < most and width >= least_us:
            return Bins(width, first, last - first + 1)
    raise AssertionError("the widest bins cover the period")


def bin_sql(time: str, bins: Bins) -> str:
    """Return SQL for the number of the bin of a time."""
    return f"unix_micros({time}) div {bins.width}"
