"""What questions share in SQL: names, sums, percentiles, and the bins of time."""

from typing import NamedTuple

from ..traffic.statistics import PERCENTILES

MOST_BINS = 120
MOST_CELLS = 40
"""Bins of a plot with a row for each client: few, so that a bin has enough messages for a rate."""
ACCURACY = 10_000
"""The relative error of the rank of a percentile is 1 / ACCURACY."""

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


def percentiles(value: str, percents: tuple[int, ...] = PERCENTILES) -> str:
    """Return SQL for an array of percentiles of a value."""
    shares = ", ".join(str(percent / 100) for percent in percents)
    return f"percentile_approx({value}, array({shares}), {ACCURACY})"


MEASURED = f"""
    count_if(answered) AS answers, max(latency_us) FILTER (WHERE answered) AS longest,
    {percentiles("latency_us")} FILTER (WHERE answered) AS percentiles
"""
"""SQL for the number of answers, and their latencies in microseconds."""
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
