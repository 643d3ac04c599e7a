"""The section on clients that differ from their own past."""

from ...common.words import counted, number
from ..answers import Anomalies
from ..listing import Listing
from ..markup import NAME, NUMBER, TEXT
from ..words import name_text, step, time_text
from .common import NOBODY, ReportContext, Section, about, listed

_MEASURES = {"packets": "packets sent", "size": "bytes of a PUBLISH", "errors": "errors", "connects": "CONNECTs"}


def anomalies(context: ReportContext) -> Section:
    """Return the clients that differ most from their own past."""
    found = context.summary.anomalies
    if not found.bins:
        return [about("No packet has a time, so clients have no past.")]
    explained = about(
        f"Each interval of {step(found.bins.width)} of a client is compared with all its earlier ones, of which there "
        "must be 10; the first of the client and those at both ends of the captures are left out. Usual is the median. "
        "The spread is 1.4826 times the median deviation from it (MAD), at least the square root of the median for "
        "counts and a tenth of it for sizes. At 6 spreads or more it is an anomaly. Errors are Reason Codes that mean "
        "a refusal, and malformed packets."
    )
    return [explained, about(sentence(found)), *listed(farthest(found))]


def sentence(found: Anomalies) -> str:
    """Return how many clients were compared, and how many differed."""
    if not found.judged:
        return f"None of {counted(found.clients, 'client')} has enough earlier intervals to be compared."
    which = f"{number(found.judged)} of {counted(found.clients, 'client')} had enough earlier intervals"
    if not found.rows:
        return f"{which}, and none of them differed from its own past."
    series = found.series
    shown = "" if series <= len(found.rows) else f", of which the first {len(found.rows)} are shown"
    return f"{which}; {counted(series, 'measure of a client', 'measures of clients')} had anomalies{shown}."


def farthest(found: Anomalies) -> Listing:
    """Return the greatest anomaly of each client and measure."""
    columns = [("client", NAME), ("measure", TEXT), ("interval from", TEXT), ("value", NUMBER), ("usual", NUMBER),
               ("MAD", NUMBER), ("spreads", NUMBER), ("earlier intervals", NUMBER), ("anomalies", NUMBER),
               ("first", TEXT)]  # fmt: skip
    cells: list[list[str]] = []
    for row in found.rows:
        assert found.bins
        worst, begin = row["worst"], found.bins.begin
        cells.append([
            name_text(row["who"], NOBODY), _MEASURES[row["measure"]], time_text(begin(worst["bin"])),
            *(_amount(worst[each]) for each in ("value", "median", "mad")), f"{worst['score']:+,.1f}",
            number(worst["past"]), number(row["intervals"]), time_text(begin(row["first"])),
        ])  # fmt: skip
    return Listing("Clients that differ most from their own past", columns, cells, (0, 1, 2, 3, 4, 6))


def _amount(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")
