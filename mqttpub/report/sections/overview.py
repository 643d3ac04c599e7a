"""The head of the page and its first section: the period, the sources, and the main numbers."""

from collections import Counter
from collections.abc import Iterator

from ...common.escape import escape
from ...common.words import counted, number, share, size
from ..answers import REQUESTED, Made, dup_rate, total
from ..markup import Markup, join, tag
from ..words import span_text, time_text
from .common import ReportContext, Section


def overview(context: ReportContext) -> Markup:
    """Return the period of the captures, its length, and the sources."""
    return join((tag("p", _when(context)), *(tag("p", each) for each in _made(context.summary.made))))


def _made(made: Made) -> Iterator[str]:
    if not made.sources or not made.runs:
        return
    named = escape(made.sources[0]) if len(made.sources) == 1 else counted(len(made.sources), "source")
    days = list(dict.fromkeys(each[:10] for each in (made.runs[0], made.runs[-1])))
    yield f"{named}, read by {counted(len(made.runs), 'run')} of mqttpub pipeline, {' to '.join(days)}"


def _when(context: ReportContext) -> str:
    span = context.summary.span
    if span.first is None or span.last is None:
        return "No packet of these captures has a time." if span.packets else "There are no packets."
    return f"{time_text(span.first)} to {time_text(span.last)}, {span_text(span.last - span.first)}"


def facts(context: ReportContext) -> Section:
    """Return the main numbers."""
    summary = context.summary
    span, clients, topics = summary.span, total(summary.clients), total(summary.topics)
    messages = [row for row in summary.exchanges if row["kind"] in ("QoS 1", "QoS 2")]
    whole = sum(row[each] for row in messages for each in REQUESTED)
    done = sum(row["complete"] for row in messages)
    rate = dup_rate(clients)
    given = [
        ("packets", number(span.packets), size(span.bytes)),
        ("connections", number(sum(row["connections"] for row in summary.connections)), ""),
        ("clients", number(clients["number"]), ""),
        ("topics", number(topics["number"]), counted(topics["messages"], "PUBLISH packet")),
        ("QoS 1 and 2 complete", share(done, whole), f"of {counted(whole, 'message')}"),
        ("re-delivered (DUP)", "-" if rate is None else share(clients["dups"], clients["publishes"]),
         f"{number(clients['dups'])} of {number(clients['publishes'])}"),
    ]  # fmt: skip
    if summary.faults is not None:
        counts = Counter({each.severity: 0 for each in summary.faults})
        for each in summary.faults:
            counts[each.severity] += each.times
        given.append(("findings", number(counts.total()), ", ".join(counted(counts[each], each) for each in counts)))
    if span.malformed:
        given.append(("malformed packets", number(span.malformed), ""))
    if gaps := sum(row["gaps"] or 0 for row in summary.connections):
        given.append(("gaps in connections", number(gaps), ""))
    shown = (tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in given)
    return [tag("dl", *shown, class_="facts")]
