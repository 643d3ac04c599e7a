"""What is different from another run: numbers, clients, topics, latencies and findings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.escape import escape
from ...common.words import counted, number, plural
from ...view.terminal.cells import Line
from ..listing import Listing, lines
from ..markup import NAME, NUMBER, TEXT
from ..question import OTHER, TOP, Answers, Contents, Question, ReportTables, Section, Stage, record, together
from ..rows import plain
from ..sections import ENDS, about, listed
from ..sql import ANSWERED, HOUR_US, measured
from ..words import latency_text, name_text, span_text, time_text
from .clients import CLIENTS
from .exchanges import EXCHANGES
from .findings import FINDINGS, NO_STATEMENT
from .operation.anomalies import ANOMALIES
from .operation.churn import CHURN
from .operation.silences import SILENCES
from .topics import TOPICS
from .traffic import TRAFFIC, PacketTotals

PERCENTS = (50, 95, 99)
"""The percentiles of latencies that are compared."""
RATED = 1000
"""Findings are compared by their number for so many packets."""
_NEW, _GONE, _BOTH = "new", "gone", "both"
_NOW, _THEN = "now", "then"
_RUNS = ((_NOW, ""), (_THEN, OTHER))
"""The runs, and the prefixes of their tables."""
_CLIENTS = ("nullif(client_id, '')", "true")
_TOPICS = ("resolved_topic", "type = 'PUBLISH'")
"""SQL for a name, and for the packets that have it."""
_EXCHANGES = " UNION ALL ".join(
    f"SELECT '{run}' AS run, kind, sender, latency_us, {ANSWERED} FROM {{{prefix}exchanges}}" for run, prefix in _RUNS
)
_KEYS = {name: name for name in ("run", "kind", "sender")}
_LATENCIES = f"""
    SELECT run, kind, sender, answers, percentiles
    FROM ({measured(f"({_EXCHANGES}) WHERE answered", _KEYS, percents=PERCENTS)}) ORDER BY kind, sender, run
"""


class ComparedName(NamedTuple):
    """A client or a topic in both runs."""

    who: str
    now_packets: int
    now_bytes: int
    then_packets: int
    then_bytes: int
    now_rate: float
    then_rate: float
    kind: str
    """new, gone or both."""
    number: int
    """How many names there are of that kind, of which an answer has the first."""
    place: int


class ComparedLatency(NamedTuple):
    """The latencies of a run, of one kind of exchange and one sender of the request."""

    run: str
    """now or then."""
    kind: str
    sender: str | None
    answers: int
    percentiles: Sequence[int]
    """In microseconds, in the order of PERCENTS."""


class Comparison(NamedTuple):
    """What is different in another run."""

    folder: str
    """Of its tables."""
    then: Answers
    clients: Sequence[ComparedName]
    """New ones, those that are gone, and those whose rate changed most."""
    topics: Sequence[ComparedName]
    latencies: Sequence[ComparedLatency]


def _ask(tables: ReportTables) -> Comparison:
    other = tables.other
    assert other, "this is asked where there is another run"
    spans = tables.answers[TRAFFIC].totals, other.answers[TRAFFIC].totals
    found = together(
        lambda: tables.rows(ComparedName, _differences(*_CLIENTS, spans)),
        lambda: tables.rows(ComparedName, _differences(*_TOPICS, spans)),
        lambda: tables.rows(ComparedLatency, _LATENCIES),
    )
    return Comparison(str(other.folder), other.answers, *found)


def _differences(name: str, which: str, spans: tuple[PacketTotals, PacketTotals]) -> str:
    """Return the query for names that are new or gone, and those whose rate changed most.

    Without times in both runs numbers of packets are compared, not rates.
    """
    lengths = [span.length_us for span in spans]
    now_us, then_us = lengths if all(lengths) else (1, 1)
    sums = [f"{run}_{what}" for run, _ in _RUNS for what in ("packets", "bytes")]
    counted = " UNION ALL ".join(
        f"SELECT {name} AS who, {_sums(run)} FROM {{{prefix}packets}} WHERE {which} GROUP BY 1" for run, prefix in _RUNS
    )
    return f"""
        WITH counted AS ({counted}), each AS (
            SELECT who, {", ".join(f"sum({each}) AS {each}" for each in sums)} FROM counted
            WHERE who IS NOT NULL GROUP BY who
        ), judged AS (
            SELECT *, now_packets / {now_us} AS now_rate, then_packets / {then_us} AS then_rate,
                CASE WHEN then_packets = 0 THEN '{_NEW}' WHEN now_packets = 0 THEN '{_GONE}' ELSE '{_BOTH}' END AS kind
            FROM each
        ), ranked AS (
            SELECT *, count(*) OVER (PARTITION BY kind) AS number, row_number() OVER (
                PARTITION BY kind ORDER BY abs(now_rate - then_rate) DESC, who) AS place
            FROM judged
        )
        SELECT * FROM ranked WHERE place <= {TOP} ORDER BY kind DESC, place
    """


def _sums(run: str) -> str:
    """Return SQL for the packets and bytes of one run, and for none of the other."""
    return ", ".join(
        f"{sql if name == run else '0L'} AS {name}_{what}"
        for name, _ in _RUNS
        for what, sql in (("packets", "count(*)"), ("bytes", "sum(packet_bytes)"))
    )


# lists of the page and the terminal


class _ComparedNumber(NamedTuple):
    """A number of a run, from the answer to a question; 0 if that was not asked."""

    name: str
    question: Question[Any]
    of: Callable[[Any], float]
    grows: bool = True
    """Whether it grows with the length of the run, so that rates are compared."""

    def measured(self, answers: Answers) -> float:
        """Return the number."""
        answer = answers.get(self.question)
        return 0 if answer is None else self.of(answer)


_MEASURES = (
    _ComparedNumber("packets", TRAFFIC, lambda found: found.totals.packets),
    _ComparedNumber("bytes", TRAFFIC, lambda found: found.totals.bytes),
    _ComparedNumber("clients", CLIENTS, lambda found: found.ranking.number, grows=False),
    _ComparedNumber("topics", TOPICS, lambda found: found.number, grows=False),
    _ComparedNumber("PUBLISH packets", TOPICS, lambda found: found.total.messages),
    _ComparedNumber("re-deliveries (DUP)", CLIENTS, lambda found: found.ranking.total.dups),
    _ComparedNumber("exchanges", EXCHANGES, lambda found: sum(row.requested for row in found)),
    _ComparedNumber("refused exchanges", EXCHANGES, lambda found: sum(row.refused for row in found)),
    _ComparedNumber("unfinished exchanges", EXCHANGES, lambda found: sum(row.unfinished for row in found)),
    _ComparedNumber("connections", TRAFFIC, lambda found: found.connections),
    _ComparedNumber("connections taken over", CHURN, lambda found: found.clients.total.taken),
    _ComparedNumber("short-lived connections", CHURN, lambda found: found.clients.total.short),
    _ComparedNumber("silences above Keep Alive", SILENCES, lambda found: found.total.late),
    _ComparedNumber("measures with anomalies", ANOMALIES, lambda found: found.series, grows=False),
    _ComparedNumber("malformed packets", TRAFFIC, lambda found: found.totals.malformed),
)


def _numbers(now: Answers, then: Answers) -> Listing:
    """Return the main numbers of both runs."""
    lengths = now[TRAFFIC].totals.length_us, then[TRAFFIC].totals.length_us
    cells = []
    for measure in _MEASURES:
        counts = measure.measured(now), measure.measured(then)
        rates = [
            count * HOUR_US / length
            for count, length in zip(counts, lengths, strict=True)
            if measure.grows and length
        ]  # fmt: skip
        both = len(rates) == len(counts)
        shown = [f"{rate:,.1f}" for rate in rates] if both else ["-", "-"]
        cells.append([measure.name, *map(number, counts), *shown, _change(*rates) if both else _change(*counts)])
    columns = [("number", NAME), ("this run", NUMBER), ("other run", NUMBER), ("per hour", NUMBER),
               ("other per hour", NUMBER), ("change", NUMBER)]  # fmt: skip
    return Listing("Both runs", columns, cells, (0, 1, 2, 5))


def _change(now: float, then: float) -> str:
    """Return by how much a number changed, in percent; a dash from nothing."""
    return f"{100 * (now - then) / then:+,.1f} %" if then else "-"


def _new_names(noun: str, rows: Sequence[ComparedName]) -> Listing:
    """Return the names that only this run has."""
    columns = [(noun, NAME), ("packets", NUMBER), ("bytes", NUMBER)]
    cells = [[_name(row), number(row.now_packets), number(row.now_bytes)] for row in rows if row.kind == _NEW]
    return Listing(f"New {noun}s", columns, cells, (0, 1, 2))


def _gone_names(noun: str, rows: Sequence[ComparedName]) -> Listing:
    """Return the names that only the other run has."""
    columns = [(noun, NAME), ("packets", NUMBER), ("bytes", NUMBER)]
    cells = [[_name(row), number(row.then_packets), number(row.then_bytes)] for row in rows if row.kind == _GONE]
    return Listing(f"{noun.capitalize()}s that are gone", columns, cells, (0, 1, 2))


def _changed_names(noun: str, rows: Sequence[ComparedName]) -> Listing:
    """Return the names of both runs, those with the greatest change of rate first."""
    columns = [(noun, NAME), ("packets", NUMBER), ("other run", NUMBER), ("bytes", NUMBER), ("other bytes", NUMBER),
               ("change of rate", NUMBER)]  # fmt: skip
    cells = [
        [_name(row), *map(number, (row.now_packets, row.then_packets, row.now_bytes, row.then_bytes)),
         _change(row.now_rate, row.then_rate)]
        for row in rows if row.kind == _BOTH and row.now_rate != row.then_rate
    ]  # fmt: skip
    return Listing(f"{noun.capitalize()}s with the greatest change in rate", columns, cells, (0, 1, 2))


def _name(row: ComparedName) -> str:
    return name_text(row.who, "(empty)")


def _latencies(rows: Sequence[ComparedLatency]) -> Listing:
    """Return percentiles of latency in both runs."""
    kinds: dict[tuple[str, str | None], dict[str, ComparedLatency]] = {}
    for row in rows:
        kinds.setdefault((row.kind, row.sender), {})[row.run] = row
    columns = [("kind", TEXT), ("asked by", TEXT), ("answered", NUMBER), ("other run", NUMBER)]
    for percent in PERCENTS:
        columns += [(f"p{percent}", NUMBER), (f"other p{percent}", NUMBER)]
    cells = []
    for (kind, sender), runs in kinds.items():
        both = [runs.get(run) for run, _ in _RUNS]
        measured = [latency_text(row.percentiles[at] if row else None) for at in range(len(PERCENTS)) for row in both]
        cells.append([kind, ENDS[sender], *(number(row.answers if row else 0) for row in both), *measured])
    return Listing("Latencies", columns, cells, (0, 1, 4, 5, 8, 9))


def _findings(now: Answers, then: Answers) -> Listing:
    """Return findings by statement: new, more often, less often or gone, by their rate.

    There are no rows if one of the runs was not checked.
    """
    found = [answers.get(FINDINGS) for answers in (now, then)]
    checked = all(found)
    sides = [
        {(row.severity, row.statement): row.times for row in each.statements} if each and checked else {}
        for each in found
    ]
    packets = max(now[TRAFFIC].totals.packets, 1), max(then[TRAFFIC].totals.packets, 1)
    cells = []
    for severity, id in sorted({*sides[0], *sides[1]}):
        times = [side.get((severity, id), 0) for side in sides]
        rates = [RATED * count / whole for count, whole in zip(times, packets, strict=True)]
        is_now = _difference(*rates)
        cells.append(
            [id or NO_STATEMENT, severity, is_now, *map(number, times), *(f"{rate:,.2f}" for rate in rates)]
        )  # fmt: skip
    columns = [("statement", NAME), ("severity", TEXT), ("is", TEXT), ("times", NUMBER), ("other run", NUMBER),
               (f"per {RATED:,} packets", NUMBER), (f"other per {RATED:,}", NUMBER)]  # fmt: skip
    order = (_NEW, "more", "less", _GONE, "same")
    return Listing("Findings", columns, sorted(cells, key=lambda cell: order.index(cell[2])), (0, 1, 2, 3, 4))


def _difference(now: float, then: float) -> str:
    if not now or not then:
        return _NEW if now else _GONE
    return "same" if now == then else "more" if now > then else "less"


# the page


def _contents(found: Comparison, answers: Answers) -> Contents:
    spans = f"That was {_when(found.then)}; this one is {_when(answers)}."
    content: Contents = [
        about(
            f"The other run is {escape(found.folder)}. {spans} Rates are per hour of each run, so that runs of "
            "different lengths compare. Clients are compared by their Client Identifier."
        ),
        *listed(_numbers(answers, found.then)),
    ]
    for noun, rows in (("client", found.clients), ("topic", found.topics)):
        content.append(about(_sentence(noun, rows)))
        for list_names in (_new_names, _gone_names, _changed_names):
            content += listed(list_names(noun, rows))
    content += listed(_latencies(found.latencies)) or [about("No exchange was answered in either run.")]
    if answers.get(FINDINGS) is None or found.then.get(FINDINGS) is None:
        return [*content, about("Findings are not compared: not both runs were checked with --lint.")]
    return [*content, *(listed(_findings(answers, found.then)) or [about("Neither run has findings.")])]


def _when(answers: Answers) -> str:
    span = answers[TRAFFIC].totals
    return "without times" if span.length_us is None else f"{span_text(span.length_us)} from {time_text(span.first)}"


def _sentence(noun: str, rows: Sequence[ComparedName]) -> str:
    """Return how many names are new, gone and in both runs."""
    counts = {row.kind: row.number for row in rows}
    new, gone, both = (counts.get(kind, 0) for kind in (_NEW, _GONE, _BOTH))
    return (
        f"{counted(new, f'{noun} is', f'{noun}s are')} new, {number(gone)} {plural(gone, 'is', 'are')} gone, and "
        f"{number(both)} {plural(both, 'is', 'are')} in both runs."
    )


# the terminal


def _lines(found: Comparison, answers: Answers, width: int) -> Iterator[Line]:
    numbers = _numbers(answers, found.then)
    caption = f"This run, and the other one: {escape(found.folder)}"
    yield from lines(numbers._replace(caption=caption), width, len(numbers.rows))
    names = (
        list_names(noun, rows)
        for noun, rows in (("client", found.clients), ("topic", found.topics))
        for list_names in (_new_names, _gone_names)
    )
    for listing in (*names, _latencies(found.latencies), _findings(answers, found.then)):
        if listing.rows:
            yield from lines(listing, width)


def _record(found: Comparison, answers: Answers) -> Mapping[str, Any]:
    latencies = []
    for row in found.latencies:
        values = {"run": row.run, "kind": row.kind, "sender": row.sender, "count": row.answers}
        latencies.append({**values, "percentiles": row.percentiles})
    then = record(found.then)
    lists = {"clients": plain(found.clients), "topics": plain(found.topics), "latencies": latencies}
    return {"comparison": {"folder": found.folder, "summary": then, **lists}}


COMPARISON = Question(
    Stage.COMPARED, _ask, sections=(Section("comparison", "Compared with another run", _contents),), blocks=(_lines,),
    record=_record,
)  # fmt: skip
