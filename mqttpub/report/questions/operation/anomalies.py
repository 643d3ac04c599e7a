"""Anomalies: intervals in which a client differs from its own past.

A measure of an interval is compared with the same measure of all earlier intervals of that client. Their median is what
is usual, and their spread is the median of the absolute deviations from it (MAD), times NORMAL, which makes it the
standard deviation for normally distributed values. The spread is at least the square root of the median for counts,
since counts of independent events scatter so much anyway, and a share of the median for sizes. A deviation of
`FAR` spreads or more is an anomaly. The first interval of a client, and the first and the last of the captures, are
left out, because they may be cut off.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....common.times import iso
from ....common.words import counted, number
from ....spec.reason_codes import FAILURE
from ....view.terminal.cells import Line
from ...listing import Listing, lines
from ...markup import NAME, NUMBER, TEXT
from ...question import TOP, Answers, Contents, Question, ReportTables, Section, Stage
from ...sections import NOBODY, about, listed
from ...sql import SECOND_US, WHO, Bins, bin_sql, bins_of
from ...words import name_text, step, time_text

MOST_INTERVALS = 60
LEAST_INTERVAL_US = SECOND_US
LEAST_PAST = 10
"""Earlier intervals that a comparison needs."""
FAR = 6
"""Spreads that make an anomaly."""
NORMAL = 1.4826
"""The ratio of standard deviation and MAD of the normal distribution."""
SIZE_SPREAD, SIZE_SPREAD_NAME = 10, "a tenth"
"""The spread of sizes is at least their median divided by this."""
_OWN = "direction IS DISTINCT FROM 'server'"
_ERROR = f"""
    error IS NOT NULL OR reason_code >= {FAILURE} OR (type = 'CONNACK' AND reason_code > 0)
    OR array_max(reason_codes) >= {FAILURE}
"""
SIZE = "size"
MEASURES = {
    "packets": ("packets sent", f"CAST(count_if({_OWN}) AS double)"),
    SIZE: ("bytes of a PUBLISH", f"avg(packet_bytes) FILTER (WHERE type = 'PUBLISH' AND {_OWN})"),
    "errors": ("errors", f"CAST(count_if({_ERROR}) AS double)"),
    "connects": ("CONNECTs", "CAST(count_if(type = 'CONNECT') AS double)"),
}
"""What is measured of a client, with its name for people, and its SQL.

These are packets of the client, the mean size of its PUBLISH, errors in both directions, and CONNECTs.
"""
_SPAN = "SELECT unix_micros(min(time)) AS first, unix_micros(max(time)) AS last FROM {packets}"


class Period(NamedTuple):
    """The first and last times, in microseconds since 1970."""

    first: int | None
    last: int | None


class JudgedClients(NamedTuple):
    """How many clients there are, and how many have enough earlier intervals."""

    clients: int
    judged: int


class AnomalousValue(NamedTuple):
    """A measure in an interval, and what was usual before."""

    bin: int
    value: float
    median: float
    mad: float
    past: int
    """Earlier intervals."""
    score: float
    """The deviation in spreads."""


class ClientAnomalies(NamedTuple):
    """The anomalies of a measure of a client."""

    who: str
    measure: str
    intervals: int
    """How many anomalies."""
    first: int
    """The interval of the first."""
    series: int
    """The number of measures of clients with anomalies, of which an answer has the first."""
    worst: AnomalousValue


class Anomalies(NamedTuple):
    """Intervals in which clients differ from their own past, the greatest deviation first."""

    bins: Bins | None = None
    """The intervals; None if no packet has a time."""
    clients: int = 0
    judged: int = 0
    """Clients with enough earlier intervals."""
    rows: Sequence[ClientAnomalies] = ()

    @property
    def series(self) -> int:
        """The number of measures of clients with anomalies, of which `rows` has the first."""
        return self.rows[0].series if self.rows else 0


def _ask(tables: ReportTables) -> Anomalies:
    (span,) = tables.rows(Period, _SPAN)
    bins = bins_of(span.first, span.last, MOST_INTERVALS, LEAST_INTERVAL_US)
    if not bins:
        return Anomalies()
    (counts,) = tables.rows(JudgedClients, _judged(bins))
    return Anomalies(bins, *counts, tables.rows(ClientAnomalies, _anomalous(bins)))


def _last(bins: Bins) -> int:
    return bins.first + bins.length - 2


def _judged(bins: Bins) -> str:
    return f"""
        SELECT count(*) AS clients, count_if({_last(bins)} - begin >= {LEAST_PAST}) AS judged
        FROM (SELECT greatest(min({bin_sql("time", bins)}), {bins.first}) + 1 AS begin
              FROM {{packets}} WHERE time IS NOT NULL GROUP BY {WHO})
    """


def _least(usual: str) -> str:
    """Return SQL for the least spread; it grows with the median, so most values are settled before any is sorted."""
    return f"if(measure = '{SIZE}', greatest({usual} / {SIZE_SPREAD}, 1), sqrt(greatest({usual}, 1)))"


def _far(deviation: str, usual: str) -> str:
    """Return SQL: whether a deviation from what is usual may be an anomaly."""
    return f"{deviation} >= {FAR} * {_least(usual)}"


def _usual(rows: str, value: str, name: str) -> str:
    """Return SQL for the median `name` of a value over the earlier intervals of each row, and how many there are.

    The two values in the middle are found by their places, so that each engine computes the same.
    """
    return f"""
        SELECT who, measure, bin, value, max(usual) AS usual, max(past) AS past,
            avg(before) FILTER (WHERE place IN ((past + 1) div 2, past div 2 + 1)) AS {name}
        FROM (SELECT *, count(*) OVER (PARTITION BY who, measure, bin) AS past,
                  row_number() OVER (PARTITION BY who, measure, bin ORDER BY before) AS place
              FROM (SELECT now.who AS who, now.measure AS measure, now.bin AS bin, now.value AS value,
                        now.usual AS usual, {value} AS before
                    FROM {rows} AS now JOIN course AS earlier
                        ON now.who = earlier.who AND now.measure = earlier.measure AND earlier.bin < now.bin))
        GROUP BY who, measure, bin, value HAVING max(past) >= {LEAST_PAST}
    """


def _course(name: str) -> str:
    """Return SQL for the values of a measure in all intervals: without a PUBLISH no size, but 0 packets without any."""
    value = name if name == SIZE else f"coalesce({name}, 0D)"
    return f"SELECT who, '{name}' AS measure, bin, {value} AS value FROM measured"


def _anomalous(bins: Bins) -> str:
    return f"""
        WITH counted AS (
            SELECT {WHO} AS who, {bin_sql("time", bins)} AS bin,
                {", ".join(f"{sql} AS {name}" for name, (_, sql) in MEASURES.items())}
            FROM {{packets}} WHERE time IS NOT NULL GROUP BY 1, 2
        ), lived AS (
            SELECT who, greatest(min(bin), {bins.first}) + 1 AS begin FROM counted GROUP BY who
            HAVING greatest(min(bin), {bins.first}) + 1 + {LEAST_PAST} <= {_last(bins)}
        ), numbered AS (
            SELECT who, explode(sequence(begin, {_last(bins)})) AS bin FROM lived
        ), measured AS (
            SELECT who, bin, {", ".join(MEASURES)} FROM numbered LEFT JOIN counted USING (who, bin)
        ), course AS (
            SELECT who, measure, bin, value, CAST(NULL AS double) AS usual FROM (
                SELECT *, min(value) OVER (PARTITION BY who, measure) AS least,
                    max(value) OVER (PARTITION BY who, measure) AS most
                FROM ({" UNION ALL ".join(map(_course, MEASURES))}) WHERE value IS NOT NULL)
            WHERE {_far("most - least", "least")}
        ), judged AS (
            SELECT who, measure, bin, value, median AS usual FROM ({_usual("course", "earlier.value", "median")})
            WHERE {_far("abs(value - median)", "median")}
        ), scored AS (
            SELECT who, measure, bin, value, usual AS median, mad, past,
                (value - usual) / greatest({NORMAL} * mad, {_least("usual")}) AS score
            FROM ({_usual("judged", "abs(earlier.value - now.usual)", "mad")})
        ), placed AS (
            SELECT *, row_number() OVER (PARTITION BY who, measure ORDER BY abs(score) DESC, bin) AS place,
                count(*) OVER (PARTITION BY who, measure) AS intervals,
                min(bin) OVER (PARTITION BY who, measure) AS first
            FROM scored WHERE abs(score) >= {FAR}
        )
        SELECT who, measure, intervals, first, count(*) OVER () AS series,
            struct(bin, value, median, mad, past, score) AS worst
        FROM placed WHERE place = 1 ORDER BY abs(score) DESC, who, measure LIMIT {TOP}
    """


# the page


def _contents(found: Anomalies, answers: Answers) -> Contents:
    if not found.bins:
        return [about("No packet has a time, so clients have no past.")]
    explained = about(
        f"Each interval of {step(found.bins.width)} of a client is compared with all its earlier ones, of which there "
        f"must be {LEAST_PAST}; the first of the client and those at both ends of the captures are left out. Usual is "
        f"the median. The spread is {NORMAL} times the median deviation from it (MAD), at least the square root of the "
        f"median for counts and {SIZE_SPREAD_NAME} of it for sizes. At {FAR} spreads or more it is an anomaly. Errors "
        "are Reason Codes that mean a refusal, and malformed packets."
    )
    return [explained, about(_sentence(found)), *listed(_farthest(found))]


def _sentence(found: Anomalies) -> str:
    """Return how many clients were compared, and how many differed."""
    if not found.judged:
        return f"None of {counted(found.clients, 'client')} has enough earlier intervals to be compared."
    which = f"{number(found.judged)} of {counted(found.clients, 'client')} had enough earlier intervals"
    if not found.rows:
        return f"{which}, and none of them differed from its own past."
    series = found.series
    shown = "" if series <= len(found.rows) else f", of which the first {len(found.rows)} are shown"
    return f"{which}; {counted(series, 'measure of a client', 'measures of clients')} had anomalies{shown}."


def _farthest(found: Anomalies) -> Listing:
    """Return the greatest anomaly of each client and measure."""
    columns = [("client", NAME), ("measure", TEXT), ("interval from", TEXT), ("value", NUMBER), ("usual", NUMBER),
               ("MAD", NUMBER), ("spreads", NUMBER), ("earlier intervals", NUMBER), ("anomalies", NUMBER),
               ("first", TEXT)]  # fmt: skip
    cells: list[list[str]] = []
    for row in found.rows:
        assert found.bins, "intervals have times"
        worst, begin = row.worst, found.bins.begin
        cells.append([
            name_text(row.who, NOBODY), MEASURES[row.measure][0], time_text(begin(worst.bin)),
            *map(_amount, (worst.value, worst.median, worst.mad)), f"{worst.score:+,.1f}", number(worst.past),
            number(row.intervals), time_text(begin(row.first)),
        ])  # fmt: skip
    return Listing("Clients that differ most from their own past", columns, cells, (0, 1, 2, 3, 4, 6))


def _amount(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


# the terminal


def _lines(found: Anomalies, answers: Answers, width: int) -> Iterator[Line]:
    if found.rows:
        yield from lines(_farthest(found), width)
    elif found.judged:
        yield [(f"Anomalies of {counted(found.judged, 'client')} against their own past: none", "heading")]


def _record(found: Anomalies, answers: Answers) -> Mapping[str, Any]:
    bins = found.bins
    if not bins:
        return {"anomalies": None}
    rows = []
    for row in found.rows:
        worst = {**row.worst._asdict(), "bin": iso(bins.begin(row.worst.bin) * 1000)}
        rows.append({**row._asdict(), "first": iso(bins.begin(row.first) * 1000), "worst": worst})
    return {
        "anomalies": {"interval_us": bins.width, "clients": found.clients, "judged": found.judged, "rows": rows}
    }  # fmt: skip


ANOMALIES = Question(
    Stage.THOROUGH, _ask, sections=(Section("anomalies", "Anomalies", _contents),), blocks=(_lines,), record=_record
)
