"""How long acks take: by kind of exchange, over time, and of the slowest topics and clients."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ...common.words import number
from ...traffic.statistics import PERCENTILES
from ..markup import NAME, NUMBER, TEXT, folded, table
from ..plots import Point, Range, drawn, lines, ranges
from ..question import TOP, Answers, Contents, Question, ReportTables, Section, Stage
from ..sections import ASKED, ENDS, NAMED, NO_TOPIC, NOBODY, about, ranked, side
from ..sql import ANSWERED, MOST_BINS, WHO, Bins, bin_sql, measured
from ..words import latency_text, name_text, ranked_label, step, time_text
from .exchanges import ENDED, EXCHANGES
from .traffic import TRAFFIC

ENOUGH = 10
"""Answers needed for a meaningful percentile."""
RANKED_BY = 1
"""The percentile, by its index in PERCENTILES, that orders the slowest."""
_NAMES = tuple(f"p{percent}" for percent in PERCENTILES)
_ALL_NAMES = f"{', '.join(_NAMES[:-1])} and {_NAMES[-1]}"
_COLUMNS = [(name, NUMBER) for name in ("answered", *_NAMES, "max")]


class AnsweredRequests(Protocol):
    """Answers to the requests of one end, with their latencies in microseconds."""

    @property
    def sender(self) -> str | None:
        """The end that sent the requests."""

    @property
    def answers(self) -> int:
        """How many there are."""

    @property
    def longest(self) -> int | None:
        """The longest latency."""

    @property
    def percentiles(self) -> Sequence[int] | None:
        """In the order of PERCENTILES."""


class LatencyOfBin(NamedTuple):
    """The latencies of QoS 1 and 2 in an interval."""

    bin: int
    sender: str | None
    answers: int
    longest: int | None
    percentiles: Sequence[int] | None


class SlowName(NamedTuple):
    """The latencies of a topic or a client, QoS 1 and 2."""

    who: str
    sender: str | None
    answers: int
    longest: int | None
    percentiles: Sequence[int] | None
    unanswered: int


class LatencyAnswers(NamedTuple):
    """Latencies over time, and what is slowest."""

    bins: Bins | None
    """None if no packet has a time."""
    course: Sequence[LatencyOfBin]
    topics: Sequence[SlowName]
    clients: Sequence[SlowName]


def _ask(tables: ReportTables) -> LatencyAnswers:
    bins = tables.answers[TRAFFIC].bins_of(MOST_BINS)
    return LatencyAnswers(bins, _course(tables, bins), _slow(tables, "coalesce(topic, '')"), _slow(tables, WHO))


def _course(tables: ReportTables, bins: Bins | None) -> list[LatencyOfBin]:
    if not bins:
        return []
    answered = f"(SELECT *, {ANSWERED} FROM {{exchanges}} WHERE qos > 0) WHERE answered"
    query = f"{measured(answered, {'bin': bin_sql('begin_time', bins), 'sender': 'sender'})} ORDER BY bin, sender"
    # With --since and --until a message can begin inside the period while its packets are outside.
    return [row for row in tables.rows(LatencyOfBin, query) if row.bin in bins.numbers()]


def _slow(tables: ReportTables, who: str) -> list[SlowName]:
    """Return the slowest names; those with few messages come last."""
    unanswered = "count_if(outcome IN ('unfinished', 'superseded') AND NOT continued)"
    names = measured(f"{ENDED} WHERE qos > 0", {"who": who, "sender": "sender"}, {"unanswered": unanswered})
    query = f"""
        SELECT * FROM ({names}) WHERE answers > 0
        ORDER BY least(answers, {ENOUGH}) DESC, percentiles[{RANKED_BY}] DESC, longest DESC, who, sender LIMIT {TOP}
    """
    return tables.rows(SlowName, query)


# the page


def _contents(found: LatencyAnswers, answers: Answers) -> Contents:
    rows = [row for row in answers[EXCHANGES] if row.answers]
    if not rows:
        return [about("No exchange was answered, so there are no latencies (QoS 0 has no acks).")]
    explained = about(
        "From the PUBLISH, SUBSCRIBE or UNSUBSCRIBE to the last packet that answers it, as seen at the point of "
        "capture; for a message that continued on another connection, from its re-delivery there. Servers answer "
        "clients, and clients answer servers. Messages are unanswered if their last ack never came, or if their "
        "Packet Identifier was used again before it came."
    )
    labels = [f"{row.kind}, {ENDS[row.sender]}" for row in rows]
    plot = ranges(f"{_ALL_NAMES} by kind and by who asked", _spread(rows, labels), _asked(rows))
    columns = [("kind", TEXT), ("asked by", TEXT), *_COLUMNS]
    numbers = table("By kind", columns, [[row.kind, ENDS[row.sender], *_cells(row)] for row in rows])
    return [
        explained, drawn(plot), numbers, *_over_time(found), *_slowest("topic", found.topics, NO_TOPIC),
        *_slowest("client", found.clients, NOBODY),
    ]  # fmt: skip


def _cells(row: AnsweredRequests) -> list[str]:
    values = [*(row.percentiles or (None,) * len(PERCENTILES)), row.longest]
    return [number(row.answers), *map(latency_text, values)]


def _asked(rows: Sequence[AnsweredRequests]) -> list[tuple[str, str]]:
    """Return the colours of the sides that sent the requests."""
    return [ASKED[at] for at in sorted({side(row.sender) for row in rows})]


def _spread(rows: Sequence[AnsweredRequests], labels: Sequence[str]) -> Iterator[Range]:
    for row, label in zip(rows, labels, strict=True):
        low, middle, high = measured = row.percentiles or (0, 0, 0)
        said = ", ".join(f"{name} {latency_text(us)}" for name, us in zip(_NAMES, measured, strict=True))
        yield Range(label, low, middle, high, ASKED[side(row.sender)][1], f"{label}: {said}")


def _over_time(found: LatencyAnswers) -> Contents:
    bins, rows = found.bins, found.course
    if not bins or not rows:
        return []
    ends = (0, "strong", 1.0), (len(PERCENTILES) - 1, "faint", 0.5)
    values = []
    for row in rows:
        begin, hue = bins.begin(row.bin), ASKED[side(row.sender)][1]
        for at, _, strong in ends:
            us, name = (row.percentiles or ())[at], _NAMES[at]
            text = f"{name} {latency_text(us)} of {number(row.answers)} asked by {ENDS[row.sender]}"
            values.append(Point(f"{row.sender} {name}", begin, us, hue, strong, f"{time_text(begin)}: {text}"))
    title = " and ".join(f"{_NAMES[at]} ({look})" for at, look, _ in ends)
    columns = [("from", TEXT), ("asked by", TEXT), *_COLUMNS]
    numbers = [[time_text(bins.begin(row.bin)), ENDS[row.sender], *_cells(row)] for row in rows]
    folded_table = folded("The numbers of this plot", table("Latency of QoS 1 and 2 over time", columns, numbers))
    plot = lines(f"{title} of QoS 1 and 2 per {step(bins.width)}", _asked(rows), values, bins.period)
    return [drawn(plot), folded_table]


def _slowest(noun: str, rows: Sequence[SlowName], unknown: str) -> Contents:
    if not rows:
        return []
    names = [name_text(row.who, unknown) for row in rows]
    labels = [ranked_label(rank, each) for rank, each in enumerate(names, 1)]
    first = rows[:NAMED]
    plot = ranges(f"{_ALL_NAMES} of QoS 1 and 2, slowest {noun}s", _spread(first, labels[:NAMED]), _asked(first))
    columns = [("", NUMBER), (noun, NAME), ("asked by", TEXT), *_COLUMNS, ("unanswered", NUMBER)]
    numbers = [
        [str(rank), each, ENDS[row.sender], *_cells(row), number(row.unanswered)]
        for rank, (row, each) in enumerate(zip(rows, names, strict=True), 1)
    ]
    title = f"Slowest {noun}s by {_NAMES[RANKED_BY]}, those with {ENOUGH} answers or more first"
    return [drawn(plot), *ranked(title, columns, numbers)]


LATENCY = Question(Stage.PAGE, _ask, sections=(Section("latency", "Ack latency", _contents),))
