"""The main numbers of all answers: the headline of a terminal, and the head of the page with its first section."""

from collections import Counter
from collections.abc import Iterator

from ..common.escape import escape
from ..common.words import counted, number, share, size
from .markup import Markup, tag
from .question import Answers
from .questions.clients import CLIENTS
from .questions.exchanges import EXCHANGES
from .questions.findings import FINDINGS
from .questions.topics import TOPICS
from .questions.traffic import TRAFFIC, PacketTotals
from .words import span_text, time_text


def headline(answers: Answers) -> str:
    """Return the numbers of connections, clients, topics and bytes, and the period."""
    traffic = answers[TRAFFIC]
    line = ", ".join((
        counted(traffic.connections, "connection"), counted(answers[CLIENTS].ranking.number, "client"),
        counted(answers[TOPICS].number, "topic"), size(traffic.totals.bytes),
    ))  # fmt: skip
    period = _period(traffic.totals)
    return f"{line}\n{period}" if period else line


def _period(totals: PacketTotals) -> str:
    """Return the period of the captures and its length; empty without times."""
    if totals.first is None or totals.last is None:
        return ""
    return f"{time_text(totals.first)} to {time_text(totals.last)}, {span_text(totals.last - totals.first)}"


def head(answers: Answers) -> Iterator[Markup]:
    """Yield the period of the captures, its length, and the sources."""
    traffic = answers[TRAFFIC]
    no_times = "No packet of these captures has a time." if traffic.totals.packets else "There are no packets."
    yield tag("p", _period(traffic.totals) or no_times)
    sources, runs = traffic.sources, traffic.runs
    if sources and runs:
        named = escape(sources[0]) if len(sources) == 1 else counted(len(sources), "source")
        days = dict.fromkeys(each[:10] for each in (runs[0], runs[-1]))
        yield tag("p", f"{named}, read by {counted(len(runs), 'run')} of mqttpub pipeline, {' to '.join(days)}")


def main_numbers(answers: Answers) -> Markup:
    """Return the main numbers."""
    traffic, clients, topics = answers[TRAFFIC], answers[CLIENTS].ranking, answers[TOPICS]
    totals = traffic.totals
    messages = [row for row in answers[EXCHANGES] if row.kind in ("QoS 1", "QoS 2")]
    whole, done = sum(row.requested for row in messages), sum(row.complete for row in messages)
    given = [
        ("packets", number(totals.packets), size(totals.bytes)),
        ("connections", number(traffic.connections), ""),
        ("clients", number(clients.number), ""),
        ("topics", number(topics.number), counted(topics.total.messages, "PUBLISH packet")),
        ("QoS 1 and 2 complete", share(done, whole), f"of {counted(whole, 'message')}"),
        ("re-delivered (DUP)", share(clients.total.dups, clients.total.publishes),
         f"{number(clients.total.dups)} of {number(clients.total.publishes)}"),
    ]  # fmt: skip
    if found := answers.get(FINDINGS):
        counts = Counter[str]()
        for each in found.statements:
            counts[each.severity] += each.times
        given.append(("findings", number(counts.total()), ", ".join(counted(counts[each], each) for each in counts)))
    if totals.malformed:
        given.append(("malformed packets", number(totals.malformed), ""))
    if gaps := sum(row.gaps or 0 for row in traffic.closed):
        given.append(("gaps in connections", number(gaps), ""))
    shown = (tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in given)
    return tag("dl", *shown, class_="facts")
