"""The section on violations of the specification."""

from collections.abc import Sequence

from ...common.escape import escape
from ...common.words import counted, number
from ...spec.statements import statement
from ..answers import ALL, Row, StatementFindings, top, total
from ..examples import by_connection, decoding
from ..listing import Listing
from ..markup import NAME, NUMBER, TEXT, Markup, tag
from ..plots import bars, drawn
from ..words import name_text, time_text
from .common import NAMED, NOBODY, ReportContext, Section, about, listed


def findings(context: ReportContext) -> Section:
    """Return findings by statement, each with its first example and the command that shows it."""
    faults = context.summary.faults
    if faults is None:
        return [about("Nothing was checked: --lint checks every packet.")]
    if not faults:
        return [about("Every packet was checked, and nothing was found.")]
    values = [
        {"row": each.statement or "no statement", "low": 0, "high": each.times, "hue": each.severity,
         "about": f"{each.statement or 'no statement'}: {counted(each.times, each.severity)}"}
        for each in faults[: 2 * NAMED]
    ]  # fmt: skip
    severities = dict.fromkeys(each.severity for each in faults[: 2 * NAMED])
    plot = bars("Findings by statement", values, [(f"{each}s", each) for each in severities])
    return [drawn(plot), *(_fault(each, context.summary.made.sources) for each in faults)]


def culprits(context: ReportContext) -> Section:
    """Return the clients and servers with the most findings."""
    rows = context.summary.culprits
    if not rows or not total(rows)["number"]:
        return []
    explained = about(
        "Each finding counts for the end that breaks the statement. A client is named by its Client Identifier, or by "
        "its address where no CONNECT was captured; a server by its address."
    )
    more = total(rows)["number"] - sum(row["top"] != ALL for row in rows)
    said = (
        [about(f"{counted(more, 'more client or server', 'more clients and servers')} had findings.")] if more else []
    )
    return [explained, *listed(culprits_listing(rows)), *said]


def culprits_listing(rows: Sequence[Row]) -> Listing:
    """Return the clients and servers with the most findings, each with its statements."""
    columns = [("client or server", NAME), ("findings", NUMBER), ("errors", NUMBER), ("warnings", NUMBER),
               ("notes", NUMBER), ("statements", NUMBER), ("most often", TEXT)]  # fmt: skip
    cells = [
        [culprit_name(row), *(number(row[each]) for each in ("findings", "errors", "warnings", "notes", "broken")),
         ", ".join(f"{each['statement'] or 'no statement'} ({number(each['findings'])})" for each in row["statements"])]
        for row in top(rows, "findings")
    ]  # fmt: skip
    return Listing("Clients and servers with most findings", columns, cells, (0, 1, 2, 3, 4, 5))


def culprit_name(row: Row) -> str:
    """Return the name of an end with findings, escaped."""
    name = name_text(row["who"], NOBODY)
    return f"server {name}" if row["end"] == "server" else name


def _fault(fault: StatementFindings, sources: Sequence[str]) -> Markup:
    head = f"{counted(fault.times, 'time')}, {counted(fault.clients, 'client')}"
    content: Section = [tag("h3", tag("b", fault.severity), fault.statement or "no statement", tag("span", head))]
    if said := _said(fault.statement):
        content.append(tag("p", said))
    if example := fault.example:
        place = f"{escape(example.capture)}, record {number(example.frame or 0)}, {time_text(example.time)}"
        whose = f"; the {example.at_fault} is at fault" if example.at_fault and not example.direction else ""
        content.append(tag("p", f"First: {escape(example.message)} ({place}{whose}).", class_="example"))
        line = decoding(example, fault.statement, sources)
        if by_connection(example, sources):
            why = (
                "The connection spans several files, and mqttpub lint checks each file by itself; "
                "this shows the packets of the connection:"
            )
            content.append(tag("p", why, class_="example"))
        if "://" in example.capture:
            content.append(tag("p", "Once the capture is fetched into this folder:", class_="example"))
        content.append(tag("code", escape(line) if not line.isprintable() else line, class_="line"))
    return tag("article", *content, class_=f"fault {fault.severity}")


def _said(id: str) -> str:
    try:
        row = statement(id)
    except KeyError:
        return ""
    return f"{row.text} (section {row.section})"
