"""Clients: who sends the most, and whose link needs the most re-deliveries, over time too."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.words import number, share
from ...view.terminal.cells import Line, Segment
from ..listing import ROWS, count_cell, titled_table
from ..markup import NAME, NUMBER, TEXT, table
from ..question import Answers, Contents, Question, Ranking, ReportTables, Section, Stage, chosen
from ..sections import NOBODY, SHOWN, about, over_time, ranked
from ..sql import MOST_CELLS, TALLY, WHO, Bins, bin_sql
from ..words import name_text, ranked_label, step, time_text
from .traffic import TRAFFIC

Z = 1.96
"""The quantile of the normal distribution for a confidence of 95 %."""
BAD_RATE = 0.01
"""Rates of re-deliveries above this are highlighted on the terminal."""
BRIEF_NOBODY = "(not known)"

_RATE = "dups / publishes"
_CENTER = f"({_RATE} + {Z * Z / 2} / publishes)"
_SPREAD = f"{Z} * sqrt(({_RATE} * (1 - {_RATE}) + {Z * Z / 4} / publishes) / publishes)"
_SURELY = f"if(dups > 0, ({_CENTER} - {_SPREAD}) / (1 + {Z * Z} / publishes), 0)"
"""The lower bound of the rate of DUP of a client (Wilson's interval), as one DUP of one PUBLISH proves little."""
_AGAIN = "type = 'PUBLISH' AND qos > 0"
_ORDERS = {"messages": "messages", "bytes": "bytes", "dups": _SURELY}
_SECOND = {"messages": "messages", "bytes": "messages", "dups": "dups"}


class DupCounts(NamedTuple):
    """PUBLISH of QoS 1 and 2 and how many of them were re-deliveries."""

    publishes: int
    dups: int

    @property
    def rate(self) -> float | None:
        """The share of re-deliveries; None without any PUBLISH."""
        return self.dups / self.publishes if self.publishes else None


class ClientCounts(NamedTuple):
    """What a client sent and received; `publishes` and `dups` are of QoS 1 and 2."""

    who: str | None
    connections: int = 0
    packets: int = 0
    bytes: int = 0
    messages: int = 0
    publishes: int = 0
    dups: int = 0
    client_messages: int = 0
    client_publishes: int = 0
    client_dups: int = 0
    server_messages: int = 0
    server_publishes: int = 0
    server_dups: int = 0

    @property
    def both(self) -> DupCounts:
        """Re-deliveries in both directions."""
        return DupCounts(self.publishes, self.dups)

    @property
    def by_client(self) -> DupCounts:
        """Re-deliveries that the client sent."""
        return DupCounts(self.client_publishes, self.client_dups)

    @property
    def by_server(self) -> DupCounts:
        """Re-deliveries that the server sent."""
        return DupCounts(self.server_publishes, self.server_dups)


class DupsOfBin(NamedTuple):
    """Re-deliveries to and from a client in an interval."""

    who: str
    bin: int
    publishes: int
    dups: int


class RankedClients(NamedTuple):
    """Clients by messages, bytes and re-deliveries."""

    ranking: Ranking[ClientCounts]
    bins: Bins | None = None
    """The intervals of `course`; None if no packet has a time."""
    course: Sequence[DupsOfBin] = ()
    """Of the clients with the worst links."""


def by_side(value: str, name: str) -> str:
    """Return SQL for a value of each sender, which stands for braces in it."""
    return ", ".join(f"{value.format(side)} AS {side}_{name}" for side in ("client", "server"))


def _ask(tables: ReportTables) -> RankedClients:
    sums = ClientCounts._fields[1:]
    counted = f"""
        SELECT {WHO} AS who, connection, 1 AS connections, {TALLY}, count_if(type = 'PUBLISH') AS messages,
            count_if({_AGAIN}) AS publishes, count_if({_AGAIN} AND dup) AS dups,
            {by_side("count_if(type = 'PUBLISH' AND direction = '{}')", "messages")},
            {by_side(f"count_if({_AGAIN} AND direction = '{{}}')", "publishes")},
            {by_side(f"count_if({_AGAIN} AND dup AND direction = '{{}}')", "dups")}
        FROM {{packets}} GROUP BY 1, 2
    """
    return RankedClients(
        tables.ranking(ClientCounts, summed(counted, sums), dict.fromkeys(sums, "sum"), _ORDERS, _SECOND)
    )


def summed(counted: str, sums: Sequence[str]) -> str:
    """Return the query that adds up the rows of each name."""
    added = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in sums)
    return f"SELECT who, {added} FROM ({counted}) GROUP BY who"


def _complete(tables: ReportTables, found: RankedClients) -> RankedClients:
    bins, worst = tables.answers[TRAFFIC].bins_of(MOST_CELLS), found.ranking.top("dups")[:SHOWN]
    if not bins or not worst:
        return found._replace(bins=bins)
    names, given = chosen([row.who or "" for row in worst])
    query = f"""
        SELECT {WHO} AS who, {bin_sql("time", bins)} AS bin, count(*) AS publishes, count_if(dup) AS dups
        FROM {{packets}} WHERE {_AGAIN} AND {WHO} IN ({names}) AND time IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
    return found._replace(bins=bins, course=tables.rows(DupsOfBin, query, given))


# the page


def _contents(found: RankedClients, answers: Answers) -> Contents:
    rows, whole = found.ranking.top("dups"), found.ranking.total
    if not whole.publishes:
        return [about("No PUBLISH of QoS 1 or 2 was seen, and only these are re-delivered.")]
    if not rows:
        return [about(f"None of {number(whole.publishes)} PUBLISH of QoS 1 and 2 was re-delivered.")]
    explained = about(
        "A PUBLISH with DUP is a re-delivery: an ack did not arrive, so the rate of DUP shows the quality of a link. "
        "The order allows for small numbers: one re-delivery in one message does not count as the worst link."
    )
    names = [name_text(row.who, NOBODY) for row in rows]
    labels = {row.who or "": ranked_label(at, name) for at, (row, name) in enumerate(zip(rows, names, strict=True), 1)}
    counts = ("rate of DUP", "connections", "client sent", "DUP of them", "server sent", "DUP of those")
    columns = [("", NUMBER), ("client", NAME), *((each, NUMBER) for each in counts)]
    numbers = [
        [str(rank), name, share(row.dups, row.publishes),
         *map(number, (row.connections, *row.by_client, *row.by_server))]
        for rank, (row, name) in enumerate(zip(rows, names, strict=True), 1)
    ]  # fmt: skip
    ranking = ranked("Clients with the worst links, PUBLISH of QoS 1 and 2", columns, numbers)
    return [explained, *_over_time(found, labels), *ranking]


def _over_time(found: RankedClients, labels: Mapping[str, str]) -> Contents:
    bins, rows = found.bins, found.course
    if not bins or not rows or bins.length == 1:
        # The table of clients has the numbers of one interval.
        return []
    worst = max(row.dups / row.publishes for row in rows)
    order = [row for who in labels for row in rows if row.who == who]
    cells = (
        (labels[row.who], row.bin, row.dups / row.publishes / (worst or 1),
         f"{number(row.dups)} of {number(row.publishes)} with DUP, {share(row.dups, row.publishes)}")
        for row in order
    )  # fmt: skip
    scale = f"the lightest is 0, the darkest {100 * worst:.1f} %, and empty means no PUBLISH"
    title = f"Rate of DUP per {step(bins.width)}: {scale}"
    columns = [("client", NAME), ("from", TEXT), ("PUBLISH", NUMBER), ("with DUP", NUMBER), ("rate", NUMBER)]
    numbers = [
        [labels[row.who], time_text(bins.begin(row.bin)), number(row.publishes), number(row.dups),
         share(row.dups, row.publishes)]
        for row in order if row.dups
    ]  # fmt: skip
    course = table("Rate of DUP over time, where above 0", columns, numbers)
    return over_time(title, "heat", bins, cells, course)


# the terminal


def _worst_links(found: RankedClients, answers: Answers, width: int) -> Iterator[Line]:
    if rows := found.ranking.top("dups")[:ROWS]:
        yield from titled_table(
            "Worst links: share of re-deliveries (DUP) in PUBLISH of QoS 1 and 2",
            ("client", "client sent", "DUP", "server sent", "DUP", "all DUP"), map(_link, rows), width,
        )  # fmt: skip


def _link(row: ClientCounts) -> list[Segment]:
    return [
        (name_text(row.who, BRIEF_NOBODY), "text"), count_cell(row.client_publishes), _rate(row.by_client),
        count_cell(row.server_publishes), _rate(row.by_server), _rate(row.both),
    ]  # fmt: skip


def _rate(counts: DupCounts) -> Segment:
    if counts.rate is None:
        return "-", "dim"
    return share(counts.dups, counts.publishes), "warning" if counts.rate > BAD_RATE else ""


def _record(found: RankedClients, answers: Answers) -> Mapping[str, Any]:
    return {"clients": found.ranking.record()}


CLIENTS = Question(
    Stage.ALWAYS, _ask, _complete, sections=(Section("links", "Quality of links", _contents),), blocks=(_worst_links,),
    record=_record,
)  # fmt: skip
