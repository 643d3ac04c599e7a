"""The section on violations of the specification."""

from collections.abc import Sequence

from ...common.escape import escape
from ...common.words import counted, number
from ...spec.statements import statement
from ..answers import StatementFindings
from ..examples import by_connection, decoding
from ..markup import Markup, tag
from ..plots import bars, drawn
from ..words import time_text
from .common import NAMED, ReportContext, Section, about


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
