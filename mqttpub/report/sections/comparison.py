"""The section on what is different from another run."""

from collections.abc import Callable, Sequence

from ...common.escape import escape
from ...common.words import counted, number, plural
from ..answers import REQUESTED, Comparison, PacketTotals, Row, Summary, total
from ..listing import Listing
from ..markup import NAME, NUMBER, TEXT
from ..words import latency_text, name_text, span_text, time_text
from .common import ENDS, ReportContext, Section, about, listed, ranked

_PERCENTILES = ("p50", "p95", "p99")
HOUR_US = 3_600_000_000


def _requests(summary: Summary) -> int:
    return sum(row[each] for row in summary.exchanges for each in REQUESTED)


def _ranked_total(rows: Sequence[Row], name: str) -> float:
    return total(rows)[name] or 0 if rows else 0


_MEASURES: tuple[tuple[str, Callable[[Summary], float], bool], ...] = (
    ("packets", lambda summary: summary.span.packets, True),
    ("bytes", lambda summary: summary.span.bytes, True),
    ("clients", lambda summary: total(summary.clients)["number"], False),
    ("topics", lambda summary: total(summary.topics)["number"], False),
    ("PUBLISH packets", lambda summary: total(summary.topics)["messages"], True),
    ("re-deliveries (DUP)", lambda summary: total(summary.clients)["dups"], True),
    ("exchanges", _requests, True),
    ("refused exchanges", lambda summary: sum(row["refused"] for row in summary.exchanges), True),
    ("unfinished exchanges", lambda summary: sum(row["unfinished"] for row in summary.exchanges), True),
    ("connections", lambda summary: sum(row["connections"] for row in summary.connections), True),
    ("connections taken over", lambda summary: _ranked_total(summary.churn.clients, "taken"), True),
    ("short-lived connections", lambda summary: _ranked_total(summary.churn.clients, "short"), True),
    ("silences above Keep Alive", lambda summary: _ranked_total(summary.silences, "late"), True),
    ("measures with anomalies", lambda summary: summary.anomalies.series, False),
    ("malformed packets", lambda summary: summary.span.malformed, True),
)
"""Numbers of a run, and whether they grow with its length."""


def comparison(context: ReportContext) -> Section:
    """Return the differences in numbers, clients, topics, latencies and findings."""
    found, now = context.summary.comparison, context.summary
    if found is None:
        return []
    spans = f"That was {_when(found.summary.span)}; this one is {_when(now.span)}."
    content: Section = [
        about(
            f"The other run is {escape(found.folder)}. {spans} Rates are per hour of each run, so that runs of "
            "different lengths compare. Clients are compared by their Client Identifier."
        ),
        *ranked(*numbers_listing(now, found)[:3]),
    ]
    for noun, rows in (("client", found.clients), ("topic", found.topics)):
        content.append(about(changes(noun, rows)))
        for listing in (names_listing(noun, rows, kind) for kind in ("new", "gone", "both")):
            content += listed(listing)
    content += listed(latencies_listing(found.latencies)) or [about("No exchange was answered in either run.")]
    if now.faults is None or found.summary.faults is None:
        return [*content, about("Findings are not compared: not both runs were checked with --lint.")]
    findings = listed(findings_listing(now, found.summary))
    return [*content, *(findings or [about("Neither run has findings.")])]


def _when(span: PacketTotals) -> str:
    return "without times" if span.length_us is None else f"{span_text(span.length_us)} from {time_text(span.first)}"


def numbers_listing(now: Summary, found: Comparison) -> Listing:
    """Return the main numbers of both runs."""
    lengths = now.span.length_us, found.summary.span.length_us
    cells = []
    for name, measure, rated in _MEASURES:
        counts = measure(now), measure(found.summary)
        rates = [count * HOUR_US / length for count, length in zip(counts, lengths, strict=True) if rated and length]
        both = len(rates) == len(counts)
        shown = [f"{rate:,.1f}" for rate in rates] if both else ["-", "-"]
        cells.append([name, *map(number, counts), *shown, _change(*rates) if both else _change(*counts)])
    columns = [("number", NAME), ("this run", NUMBER), ("other run", NUMBER), ("per hour", NUMBER),
               ("other per hour", NUMBER), ("change", NUMBER)]  # fmt: skip
    return Listing("Both runs", columns, cells, (0, 1, 2, 5))


def _change(now: float, then: float) -> str:
    """Return by how much a number changed, in percent; a dash from nothing."""
    return f"{100 * (now - then) / then:+,.1f} %" if then else "-"


def changes(noun: str, rows: Sequence[Row]) -> str:
    """Return how many names are new, gone and in both runs."""
    new, gone, both = (next((row["number"] for row in rows if row["kind"] == kind), 0) for kind in _KINDS)
    return (
        f"{counted(new, f'{noun} is', f'{noun}s are')} new, {number(gone)} {plural(gone, 'is', 'are')} gone, and "
        f"{number(both)} {plural(both, 'is', 'are')} in both runs."
    )


_KINDS = {"new": "New {}s", "gone": "{}s that are gone", "both": "{}s with the greatest change in rate"}
_NOW = (("packets", "now_packets"), ("bytes", "now_bytes"))
_THEN = (("packets", "then_packets"), ("bytes", "then_bytes"))
_BOTH = (
    ("packets", "now_packets"),
    ("other run", "then_packets"),
    ("bytes", "now_bytes"),
    ("other bytes", "then_bytes"),
)


def names_listing(noun: str, rows: Sequence[Row], kind: str) -> Listing:
    """Return the names of a kind: new, gone, or in both runs, those with the greatest change of rate first."""
    caption = _KINDS[kind].format(noun)
    counts = {"new": _NOW, "gone": _THEN, "both": _BOTH}[kind]
    columns = [(noun, NAME), *((heading, NUMBER) for heading, _ in counts)]
    which = [row for row in rows if row["kind"] == kind and row["now_rate"] != row["then_rate"]]
    cells = [[name_text(row["who"], "(empty)"), *(number(row[each]) for _, each in counts)] for row in which]
    if kind == "both":
        columns.append(("change of rate", NUMBER))
        cells = [[*cell, _change(row["now_rate"], row["then_rate"])] for cell, row in zip(cells, which, strict=True)]
    return Listing(caption[0].upper() + caption[1:], columns, cells, (0, 1, 2))


def latencies_listing(rows: Sequence[Row]) -> Listing:
    """Return percentiles of latency in both runs."""
    kinds: dict[tuple[str, str | None], dict[str, Row]] = {}
    for row in rows:
        kinds.setdefault((row["kind"], row["sender"]), {})[row["run"]] = row
    columns = [("kind", TEXT), ("asked by", TEXT), ("answered", NUMBER), ("other run", NUMBER)]
    for name in _PERCENTILES:
        columns += [(name, NUMBER), (f"other {name}", NUMBER)]
    cells = []
    for (kind, sender), runs in kinds.items():
        both = [runs.get(run, {}) for run in ("now", "then")]
        measured = [latency_text(row["percentiles"][at] if row else None) for at in range(3) for row in both]
        cells.append([kind, ENDS[sender], *(number(row.get("count", 0)) for row in both), *measured])
    return Listing("Latencies", columns, cells, (0, 1, 4, 5, 8, 9))


def findings_listing(now: Summary, then: Summary) -> Listing:
    """Return findings by statement: new, more often, less often or gone, by their rate per 1,000 packets.

    There are no rows if one of the runs was not checked.
    """
    sides = [{(each.severity, each.statement): each.times for each in summary.faults or ()} for summary in (now, then)]
    packets = max(now.span.packets, 1), max(then.span.packets, 1)
    cells = []
    checked = now.faults is not None and then.faults is not None
    for severity, id in sorted({*sides[0], *sides[1]}) if checked else ():
        times = [side.get((severity, id), 0) for side in sides]
        rates = [1000 * count / whole for count, whole in zip(times, packets, strict=True)]
        cells.append((_kind(*rates), [
            id or "no statement", severity, _kind(*rates), *map(number, times), *(f"{rate:,.2f}" for rate in rates)
        ]))  # fmt: skip
    columns = [("statement", NAME), ("severity", TEXT), ("is", TEXT), ("times", NUMBER), ("other run", NUMBER),
               ("per 1,000 packets", NUMBER), ("other per 1,000", NUMBER)]  # fmt: skip
    order = ("new", "more", "less", "gone", "same")
    rows = [row for _, row in sorted(cells, key=lambda each: order.index(each[0]))]
    return Listing("Findings", columns, rows, (0, 1, 2, 3, 4))


def _kind(now: float, then: float) -> str:
    if not now or not then:
        return "new" if now else "gone"
    return "same" if now == then else "more" if now > then else "less"
