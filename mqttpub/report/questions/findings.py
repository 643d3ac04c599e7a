"""What breaks the specification: findings by the end that is at fault, and by statement with the first example."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.escape import escape
from ...common.times import iso
from ...common.words import counted, number
from ...spec.statements import statement
from ...traffic.query import SEVERITIES
from ...view.terminal.cells import Line, wrap
from ..examples import Example, ExamplePacket, by_connection, decoding
from ..listing import Listing, count_cell, lines, titled_table
from ..markup import NAME, NUMBER, TEXT, Markup, tag
from ..plots import Bar, bars, drawn
from ..question import Answers, Contents, Question, Ranking, ReportTables, Section, Stage, Unasked, chosen
from ..sections import NAMED, NOBODY, about, listed
from ..sql import WHO, end_sql
from ..words import name_text, time_text
from .traffic import TRAFFIC

MOST_STATEMENTS = 200
MOST_NAMED = 5
"""Statements that are named for an end."""
MOST_EXAMPLES = 10_000
"""Findings that are searched for examples: all with the time of the first one of a statement."""
MOST_LINES = 12
"""Statements on the terminal, at most."""
NO_STATEMENT = "no statement"
_STATEMENTS = f"""
    SELECT severity, statement, sum(times) AS times, count(*) AS clients, min(time) AS time, min(frame) AS frame
    FROM (SELECT severity, coalesce(statement, '') AS statement, coalesce(nullif(client_id, ''), connection) AS who,
            count(*) AS times, min(unix_micros(time)) AS time, min(frame) FILTER (WHERE time IS NULL) AS frame
          FROM {{findings}} GROUP BY 1, 2, 3)
    GROUP BY 1, 2
    ORDER BY array_position(array({", ".join(f"'{each}'" for each in SEVERITIES)}), severity), times DESC, statement
    LIMIT {MOST_STATEMENTS}
"""
# Client Identifiers may be any text, so the end comes first.
_CULPRIT = f"""
    if(at_fault = 'server', concat('server ', coalesce({end_sql("server")}, '')),
        concat('client ', coalesce(nullif(named, ''), {WHO})))
"""
_BROKEN = f"""
    SELECT {_CULPRIT} AS who, statement, sum(times) AS findings,
        {", ".join(f"sum(if(severity = '{word}', times, 0)) AS {word}s" for word in SEVERITIES)}
    FROM (SELECT connection, coalesce(at_fault, direction) AS at_fault, client_id AS named, severity,
            coalesce(statement, '') AS statement, count(*) AS times
          FROM {{findings}} GROUP BY 1, 2, 3, 4, 5)
        LEFT JOIN (SELECT connection, client_id, client_address, client_port, server_address, server_port
                   FROM {{connections}}) USING (connection)
    GROUP BY 1, 2
"""
"""SQL for the findings by the end at fault and by statement; of an unknown end, the client is at fault.

Tables of an earlier version have only the sender of the packet.
"""
_SUMS = ("findings", *(f"{word}s" for word in SEVERITIES))
_CULPRITS = f"""
    SELECT who, {", ".join(f"sum({name}) AS {name}" for name in _SUMS)}, count(*) AS broken
    FROM ({_BROKEN}) GROUP BY who
"""


class BrokenStatement(NamedTuple):
    """How often an end broke a statement."""

    statement: str
    findings: int


class Culprit(NamedTuple):
    """The findings that are the fault of an end."""

    who: str | None
    """The Client Identifier of a client, or else its address; the address of a server."""
    findings: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    broken: int | None = None
    """The number of statements that it broke; None in totals."""
    statements: Sequence[BrokenStatement] = ()
    """Those that it broke most often."""
    end: str | None = None
    """client or server; None in totals."""

    @property
    def name(self) -> str:
        """Its name, escaped."""
        name = name_text(self.who, NOBODY)
        return f"server {name}" if self.end == "server" else name


class StatementFindings(NamedTuple):
    """The findings of one statement."""

    severity: str
    statement: str
    """Its id; empty for findings without a statement."""
    times: int
    clients: int
    example: Example | None

    @property
    def name(self) -> str:
        """Its id, or a word for none."""
        return self.statement or NO_STATEMENT


class Findings(NamedTuple):
    """All findings."""

    culprits: Ranking[Culprit]
    statements: Sequence[StatementFindings]
    """The worst severity first."""


def _ask(tables: ReportTables) -> Findings:
    return Findings(_culprits(tables), _statements(tables))


def _culprits(tables: ReportTables) -> Ranking[Culprit]:
    """Return the clients and servers with the most findings that are their fault."""
    totals = {**dict.fromkeys(_SUMS, "sum"), "broken": ""}
    found = tables.ranking(Culprit, _CULPRITS, totals, {"findings": "findings"}, "errors")
    broken = _broken(tables, [row.who for row in found.top("findings") if row.who])
    rows = []
    for row in found.top("findings"):
        end, _, who = (row.who or "").partition(" ")
        rows.append(row._replace(statements=broken.get(row.who or "", ()), end=end, who=who))
    return found._replace(first={"findings": rows})


class _BrokenBy(NamedTuple):
    """How often an end broke a statement, with its name."""

    who: str
    statement: str
    findings: int


def _broken(tables: ReportTables, names: list[str]) -> Mapping[str, Sequence[BrokenStatement]]:
    """Return the statements that each of some culprits broke most often."""
    if not names:
        return {}
    held, given = chosen(names)
    query = f"""
        SELECT who, statement, findings FROM (
            SELECT *, row_number() OVER (PARTITION BY who ORDER BY findings DESC, statement) AS place
            FROM ({_BROKEN}) WHERE who IN ({held})
        ) WHERE place <= {MOST_NAMED} ORDER BY who, place
    """
    found: dict[str, list[BrokenStatement]] = {}
    for row in tables.rows(_BrokenBy, query, given):
        found.setdefault(row.who, []).append(BrokenStatement(row.statement, row.findings))
    return found


# statements and their examples


class _FirstOfStatement(NamedTuple):
    """A statement with the time and the record of its first finding."""

    severity: str
    statement: str
    times: int
    clients: int
    time: int | None
    frame: int | None
    """Only for findings without a time."""


class _First(NamedTuple):
    """A finding that may be the first of its statement."""

    severity: str
    statement: str
    connection: str
    example: Example


class _Begin(NamedTuple):
    """Where a connection begins."""

    connection: str
    began: str
    client: str | None


class _PacketOfRecord(NamedTuple):
    """A packet and its place."""

    capture: str
    frame: int | None
    pos: int | None
    direction: str | None
    packet: ExamplePacket


def _statements(tables: ReportTables) -> list[StatementFindings]:
    rows = tables.rows(_FirstOfStatement, _STATEMENTS)
    firsts = _firsts(tables, rows)
    packets = _packets(tables, [first.example for first in firsts.values()])
    begins = _begins(tables, [first for first in firsts.values() if first.example.pos is None])
    found = []
    for row in rows:
        example = None
        if first := firsts.get((row.severity, row.statement)):
            example = first.example._replace(packet=packets.get(first.example.place))
            if example.pos is None and (begin := begins.get(first.connection)):
                example = example._replace(began=begin.began, client=begin.client)
        found.append(StatementFindings(row.severity, row.statement, row.times, row.clients, example))
    return found


def _firsts(tables: ReportTables, rows: Sequence[_FirstOfStatement]) -> dict[tuple[str, str], _First]:
    """Return the first finding of each statement, by time, capture and record."""
    times = sorted({row.time for row in rows if row.time is not None})
    frames = sorted({row.frame for row in rows if row.time is None and row.frame is not None})
    which = [f"time IN ({', '.join(f'timestamp_micros({time})' for time in times)})" if times else "",
             f"time IS NULL AND frame IN ({', '.join(map(str, frames))})" if frames else ""]  # fmt: skip
    if not any(which):
        return {}
    query = f"""
        SELECT severity, coalesce(statement, '') AS statement, connection,
            struct(capture, frame, pos, unix_micros(time) AS time, direction, type, coalesce(path, '') AS path, message,
                at_fault) AS example
        FROM {{findings}} WHERE {" OR ".join(filter(None, which))}
        ORDER BY pos IS NULL, time, capture, frame, pos, direction, path, message LIMIT {MOST_EXAMPLES}
    """
    return {(row.severity, row.statement): row for row in reversed(tables.rows(_First, query))}


def _begins(tables: ReportTables, firsts: Sequence[_First]) -> dict[str, _Begin]:
    """Return the captures in which the connections of these findings begin, and their clients."""
    names = sorted({first.connection for first in firsts if first.connection})
    if not names:
        return {}
    held, given = chosen(names)
    query = f"""
        SELECT connection, capture AS began, {end_sql("client")} AS client
        FROM {{connections}} WHERE connection IN ({held})
    """
    return {row.connection: row for row in tables.rows(_Begin, query, given)}


def _packets(tables: ReportTables, examples: Sequence[Example]) -> dict[tuple[Any, ...], ExamplePacket]:
    """Return the packets of these findings by their places."""
    frames = sorted({each.frame for each in examples if each.pos is not None and each.frame is not None})
    if not frames:
        return {}
    query = f"""
        SELECT capture, frame, pos, direction, struct({", ".join(ExamplePacket._fields)}) AS packet
        FROM {{packets}} WHERE frame IN ({", ".join(map(str, frames))})
    """
    places = {each.place for each in examples}
    found = ((tuple(row[:4]), row.packet) for row in tables.rows(_PacketOfRecord, query))
    return {place: packet for place, packet in found if place in places}


# the page


def _by_culprit(found: Findings, answers: Answers) -> Contents:
    ranking = found.culprits
    if not ranking.number:
        return []
    explained = about(
        "Each finding counts for the end that breaks the statement. A client is named by its Client Identifier, or by "
        "its address where no CONNECT was captured; a server by its address."
    )
    more = ranking.number - len(ranking.top("findings"))
    said = [about(f"{_more(more)} had findings.")] if more else []
    return [explained, *listed(_culprit_listing(ranking)), *said]


def _more(count: int) -> str:
    return counted(count, "more client or server", "more clients and servers")


def _culprit_listing(found: Ranking[Culprit]) -> Listing:
    columns = [("client or server", NAME), ("findings", NUMBER), ("errors", NUMBER), ("warnings", NUMBER),
               ("notes", NUMBER), ("statements", NUMBER), ("most often", TEXT)]  # fmt: skip
    cells = [
        [row.name, *map(number, (row.findings, row.errors, row.warnings, row.notes, row.broken or 0)),
         ", ".join(f"{each.statement or NO_STATEMENT} ({number(each.findings)})" for each in row.statements)]
        for row in found.top("findings")
    ]  # fmt: skip
    return Listing("Clients and servers with most findings", columns, cells, (0, 1, 2, 3, 4, 5))


def _by_statement(found: Findings, answers: Answers) -> Contents:
    if not found.statements:
        return [about("Every packet was checked, and nothing was found.")]
    plotted = found.statements[: 2 * NAMED]
    values = [
        Bar(each.name, 0, each.times, each.severity, f"{each.name}: {counted(each.times, each.severity)}")
        for each in plotted
    ]
    severities = dict.fromkeys(each.severity for each in plotted)
    plot = bars("Findings by statement", values, [(f"{each}s", each) for each in severities])
    return [drawn(plot), *(_article(each, answers[TRAFFIC].sources) for each in found.statements)]


def _article(found: StatementFindings, sources: Sequence[str]) -> Markup:
    """Return a statement with its text, its first example, and the command that shows that."""
    head = f"{counted(found.times, 'time')}, {counted(found.clients, 'client')}"
    content: Contents = [tag("h3", tag("b", found.severity), found.name, tag("span", head))]
    if said := _said(found.statement):
        content.append(tag("p", said))
    if example := found.example:
        place = f"{escape(example.capture)}, record {number(example.frame or 0)}, {time_text(example.time)}"
        whose = f"; the {example.at_fault} is at fault" if example.at_fault and not example.direction else ""
        content.append(tag("p", f"First: {escape(example.message)} ({place}{whose}).", class_="example"))
        line = decoding(example, found.statement, sources)
        if by_connection(example, sources):
            why = (
                "The connection spans several files, and mqttpub lint checks each file by itself; "
                "this shows the packets of the connection:"
            )
            content.append(tag("p", why, class_="example"))
        if "://" in example.capture:
            content.append(tag("p", "Once the capture is fetched into this folder:", class_="example"))
        content.append(tag("code", escape(line) if not line.isprintable() else line, class_="line"))
    return tag("article", *content, class_=f"fault {found.severity}")


def _said(id: str) -> str:
    try:
        row = statement(id)
    except KeyError:
        return ""
    return f"{row.text} (section {row.section})"


# the terminal


def _culprit_lines(found: Findings, answers: Answers, width: int) -> Iterator[Line]:
    """Yield the clients and servers with the most findings, each followed by its statements."""
    listing = _culprit_listing(found.culprits)
    if not listing.rows:
        return
    caption, heading, *rows = lines(listing, width)
    yield from (caption, heading)
    for line, cells in zip(rows, listing.rows, strict=False):
        yield line
        yield from ([("    ", ""), *each] for each in wrap([(cells[-1], "dim")], width - 4))
    if (left := found.culprits.number - len(rows)) > 0:
        yield [(f"  {_more(left)}", "dim")]


def _statement_lines(found: Findings, answers: Answers, width: int) -> Iterator[Line]:
    if not found.statements:
        yield [("Findings: none", "heading")]
        return
    rows = ([(each.name, each.severity), (each.severity, each.severity), count_cell(each.times),
             count_cell(each.clients)] for each in found.statements[:MOST_LINES])  # fmt: skip
    yield from titled_table("Findings", ("", "", "times", "clients"), rows, width, 2)
    if (left := len(found.statements) - MOST_LINES) > 0:
        yield [(f"  {counted(left, 'more statement')}; mqttpub explain shows their text", "dim")]


# JSON


def _record(found: Findings, answers: Answers) -> Mapping[str, Any]:
    sources = answers[TRAFFIC].sources
    return {
        "findings": [_statement_record(each, sources) for each in found.statements],
        "findings_by_client": found.culprits.record(),
    }


def _statement_record(found: StatementFindings, sources: Sequence[str]) -> dict[str, Any]:
    values, example = found._asdict(), found.example
    if example:
        shown = {**example._asdict(), "decode": decoding(example, found.statement, sources)}
        del shown["packet"]
        if example.time is not None:
            shown["time"] = iso(example.time * 1000)
        values["example"] = shown
    return values


FINDINGS = Question(
    Stage.CHECKED, _ask,
    sections=(
        Section("culprits", "Findings by client", _by_culprit),
        Section("findings", "Findings by statement", _by_statement),
    ),
    blocks=(_culprit_lines, _statement_lines), record=_record,
    unasked=Unasked("Nothing was checked: --lint checks every packet.", {"findings": None, "findings_by_client": None}),
)  # fmt: skip
