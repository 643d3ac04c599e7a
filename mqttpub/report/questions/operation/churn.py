"""How connections come and go: how many a client makes, how they end, and which are taken over."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....common.words import counted, number, share
from ....spec.reason_codes import FAILURE
from ....view.terminal.cells import Line
from ...listing import Listing, lines
from ...markup import NAME, NUMBER, TEXT, table
from ...plots import Bar, bars, drawn
from ...question import Answers, Contents, Question, Ranking, ReportTables, Section, Stage, chosen
from ...rows import plain
from ...sections import NOBODY, SHOWN, about, listed, over_time, ranked
from ...sql import HOUR_US, MOST_CELLS, SECOND_US, WHO, Bins, bin_sql, percentile, placed
from ...words import name_text, ranked_label, reason, span_text, step, time_text
from ..traffic import TRAFFIC

SHORT_S = 60
"""A connection that ends sooner is short-lived."""
TAKEN_OVER = 0x8E
"""Reason Code of DISCONNECT: Session taken over (5.0: 3.14.2.1)."""
_HUES = {
    "refused": "refused", "taken over": "again", "DISCONNECT": "good", "FIN": "open", "RST": "connection",
    "open": "ping",
}  # fmt: skip
"""The colours of how a connection ended."""
_NO_END = "no end in the capture"

_CLOSED = "(closed_how IN ('FIN', 'RST') OR disconnected_by IS NOT NULL)"
_NAMED = f"""
    SELECT *, {WHO} AS who, unix_micros(begin_time) div {HOUR_US} AS hour,
        coalesce(closed_time, end_time) AS until,
        unix_micros(coalesce(closed_time, end_time)) - unix_micros(begin_time) AS life_us,
        if(coalesce(connack_reason_code, 0) = 0, nullif(client_id, ''), NULL) AS session
    FROM {{connections}}
"""
FOLLOWED = f"""
    SELECT *, count(*) OVER (PARTITION BY who, hour) AS in_hour,
        lead(begin_time) OVER (PARTITION BY session ORDER BY begin_time, capture, first_frame) AS next_begin
    FROM ({_NAMED})
"""
"""SQL for connections with the time until which they were open, and the begin of the next one of the same client."""
_SAID = f"disconnected_by = 'server' AND disconnect_reason_code = {TAKEN_OVER}"
_TAKEN = f"""
    session IS NOT NULL AND (
        coalesce({_SAID}, false)
        OR next_begin <= CASE WHEN closed_how IN ('FIN', 'RST') THEN until WHEN {_CLOSED} THEN NULL ELSE next_begin END
    )
"""
"""SQL: whether the next connection of the same Client Identifier began while this one was open (5.0: 3.1.4-3).

It was open until FIN or RST; without these and without DISCONNECT, it was open.
"""
_ENDED = f"SELECT *, coalesce({_TAKEN}, false) AS taken FROM ({FOLLOWED})"
_HOW = f"""
    CASE WHEN connack_reason_code > 0 THEN 'refused' WHEN taken THEN 'taken over'
    WHEN disconnected_by IS NOT NULL THEN 'DISCONNECT' WHEN {_CLOSED} THEN closed_how ELSE 'open' END
"""
_SHORT = f"count_if({_CLOSED} AND life_us < {SHORT_S * SECOND_US})"
_SUMS = {
    "connections": "count(*)", "refused": "count_if(connack_reason_code > 0)", "short": _SHORT,
    "taken": "count_if(taken)", "said": f"count_if(taken AND {_SAID})",
    "goodbyes": "count_if(disconnected_by = 'client')", "broken": f"count_if({_CLOSED} AND disconnected_by IS NULL)",
}  # fmt: skip
_LIVES = f"""
    SELECT who, if({_CLOSED}, life_us, NULL) AS life_us, count(if({_CLOSED}, life_us, NULL)) AS times,
        {", ".join(f"{sql} AS {name}" for name, sql in _SUMS.items())},
        max(in_hour) FILTER (WHERE hour IS NOT NULL) AS busiest
    FROM ({_ENDED}) GROUP BY 1, 2
"""
_CLIENTS = f"""
    SELECT who, {", ".join(f"sum({name}) AS {name}" for name in _SUMS)}, coalesce(max(busiest), 0) AS busiest,
        {percentile("life_us", 50)} AS median_us
    FROM ({placed(_LIVES, "who", "life_us")}) GROUP BY who
"""
_TOTALS = {**dict.fromkeys(_SUMS, "sum"), "busiest": "max", "median_us": ""}
_ENDS = f"""
    SELECT how, by, code, count(*) AS connections, count(DISTINCT who) AS clients, {_SHORT} AS short
    FROM (
        SELECT *, {_HOW} AS how,
            if(taken OR connack_reason_code > 0, NULL, coalesce(disconnected_by, closed_by)) AS by,
            if(connack_reason_code > 0, connack_reason_code, disconnect_reason_code) AS code
        FROM ({_ENDED})
    )
    GROUP BY how, by, code ORDER BY connections DESC, how, by, code
"""


class ClientConnections(NamedTuple):
    """The connections of a client."""

    who: str | None
    connections: int = 0
    refused: int = 0
    short: int = 0
    """Connections that were short-lived."""
    taken: int = 0
    """Connections that were taken over."""
    said: int = 0
    """Connections that were taken over, as the server said."""
    goodbyes: int = 0
    """Connections that the client ended with DISCONNECT."""
    broken: int = 0
    """Connections that ended without DISCONNECT."""
    busiest: int = 0
    """The most that began in one hour."""
    median_us: int | None = None
    """How long they lasted; None in totals, and if the end of none is known."""


class ConnectionEnds(NamedTuple):
    """Connections that ended in the same way."""

    how: str
    by: str | None
    """The end that ended them."""
    code: int | None
    """The Reason Code of CONNACK or DISCONNECT."""
    connections: int
    clients: int
    short: int

    @property
    def label(self) -> str:
        """How they ended: by what, by whom, and with which Reason Code."""
        by = f" of the {self.by}" if self.by else ""
        if self.how in ("FIN", "RST"):
            return f"{self.how}{by}, no DISCONNECT"
        if self.how == "refused" and self.code is not None:
            version = "5.0" if self.code >= FAILURE else "3.1.1"
            return f"refused by CONNACK, {reason('CONNACK', self.code, version)}"
        code = "" if self.code is None else f", {reason('DISCONNECT', self.code, '5.0')}"
        if self.how == "DISCONNECT":
            return f"DISCONNECT{by}{code}"
        return f"taken over{code}" if self.how == "taken over" else _NO_END


class ConnectsOfBin(NamedTuple):
    """Connections of a client that began in an interval."""

    who: str
    bin: int
    connections: int


class Churn(NamedTuple):
    """How connections come and go."""

    clients: Ranking[ClientConnections]
    ends: Sequence[ConnectionEnds]
    bins: Bins | None = None
    """The intervals of `course`, of an hour or more; None if no packet has a time."""
    course: Sequence[ConnectsOfBin] = ()
    """Of the clients that connect most often."""


def _ask(tables: ReportTables) -> Churn:
    orders = {"connections": "connections", "taken": "taken"}
    clients = tables.ranking(ClientConnections, _CLIENTS, _TOTALS, orders, "connections")
    return Churn(clients, tables.rows(ConnectionEnds, _ENDS))


def _complete(tables: ReportTables, found: Churn) -> Churn:
    bins = tables.answers[TRAFFIC].bins_of(MOST_CELLS, HOUR_US)
    often = [row.who or "" for row in found.clients.top("connections")[:SHOWN]]
    if not bins or not often:
        return found._replace(bins=bins)
    names, given = chosen(often)
    query = f"""
        SELECT {WHO} AS who, {bin_sql("begin_time", bins)} AS bin, count(*) AS connections
        FROM {{connections}} WHERE {WHO} IN ({names}) AND begin_time IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    """
    # With --since and --until a connection can begin inside the period while its packets are outside.
    course = [row for row in tables.rows(ConnectsOfBin, query, given) if row.bin in bins.numbers()]
    return found._replace(bins=bins, course=course)


# the page


def _contents(found: Churn, answers: Answers) -> Contents:
    if not found.ends:
        return [about("There are no connections.")]
    content: Contents = [about(
        "A connection is taken over if another one with the same Client Identifier begins while it is open, as the "
        "server must then end it (MQTT5-3.1.4-3); one that was never seen to end counts as open. The server said so "
        f"where it sent DISCONNECT with 0x{TAKEN_OVER:02x}. "
        f"Short-lived connections ended within {SHORT_S} s; a connection is broken off if it ended without DISCONNECT."
    )]  # fmt: skip
    if not _repeated(found):
        content.append(about("No client connected more than once."))
    return [*content, *_ends(found.ends), *_over_time(found), *listed(_most_connected(found)), *_taken(found)]


def _repeated(found: Churn) -> bool:
    """Return whether a client connected more than once."""
    return any(row.connections > 1 for rows in found.clients.first.values() for row in rows if row.who is not None)


def _most_connected(found: Churn) -> Listing:
    heads = ("connections", "most in an hour", "short-lived", "with DISCONNECT", "broken off", "refused", "taken over")
    columns = [("client", NAME), *((each, NUMBER) for each in heads), ("median life", NUMBER)]
    cells = [
        [name_text(row.who, NOBODY),
         *map(number, (row.connections, row.busiest, row.short, row.goodbyes, row.broken, row.refused, row.taken)),
         "-" if row.median_us is None else span_text(row.median_us)]
        for row in found.clients.top("connections")
    ]  # fmt: skip
    caption = f"Clients with the most of {counted(found.clients.total.connections, 'connection')}"
    return Listing(caption, columns, cells, (0, 1, 2, 3, 5, 7))


def _taken(found: Churn) -> Contents:
    rows = found.clients.top("taken")
    if not rows:
        return [about("No connection was taken over.")]
    columns = [("client", NAME), ("connections", NUMBER), ("taken over", NUMBER), ("said by the server", NUMBER)]
    cells = [[name_text(row.who, NOBODY), *map(number, (row.connections, row.taken, row.said))] for row in rows]
    return ranked(f"Clients with the most of {counted(found.clients.total.taken, 'takeover')}", columns, cells)


def _ends(rows: Sequence[ConnectionEnds]) -> Contents:
    whole = sum(row.connections for row in rows)
    values = [
        Bar(row.label, 0, row.connections, _HUES[row.how],
            f"{row.label}: {counted(row.connections, 'connection')}, {share(row.connections, whole)}")
        for row in rows
    ]  # fmt: skip
    columns = [("end", TEXT), ("connections", NUMBER), ("of all", NUMBER), ("clients", NUMBER), ("short-lived", NUMBER)]
    cells = [
        [row.label, number(row.connections), share(row.connections, whole), number(row.clients), number(row.short)]
        for row in rows
    ]
    hows = {row.how for row in rows}
    colors = [(_NO_END if how == "open" else how, hue) for how, hue in _HUES.items() if how in hows]
    plot = bars("How connections ended", values, colors)
    return [drawn(plot), *ranked("Ends of connections", columns, cells)]


def _over_time(found: Churn) -> Contents:
    bins, rows = found.bins, found.course
    if not bins or not rows:
        return [about("No connection has a time, so there is nothing to show over time.")]
    if bins.length == 1:
        # The table of clients has the numbers of this one interval.
        return []
    names = dict.fromkeys(row.who or "" for row in found.clients.top("connections"))
    labels = {who: ranked_label(rank, name_text(who, NOBODY)) for rank, who in enumerate(names, 1)}
    most = max(row.connections for row in rows)
    ordered = sorted(rows, key=lambda row: (list(labels).index(row.who), row.bin))
    shown = (
        (labels[row.who], row.bin, row.connections / most, counted(row.connections, "connection")) for row in ordered
    )
    title = f"Connections per client and {step(bins.width)}: the darkest is {number(most)}, and empty means none"
    cells = [[labels[row.who], time_text(bins.begin(row.bin)), number(row.connections)] for row in ordered]
    columns = [("client", NAME), ("from", TEXT), ("connections", NUMBER)]
    numbers = table(f"Connections per client and {step(bins.width)}", columns, cells)
    return over_time(title, "client", bins, shown, numbers)


# the terminal


def _lines(found: Churn, answers: Answers, width: int) -> Iterator[Line]:
    if _repeated(found):
        yield from lines(_most_connected(found), width)


def _record(found: Churn, answers: Answers) -> Mapping[str, Any]:
    return {"churn": {**found.clients.record(), "ends": plain(found.ends)}}


CHURN = Question(
    Stage.THOROUGH, _ask, _complete, sections=(Section("connections", "Connections", _contents),), blocks=(_lines,),
    record=_record,
)  # fmt: skip
