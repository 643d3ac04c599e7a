"""Findings in the dump: carets below the bytes, and the sentence below the carets."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from ...codec.tree import Finding
from ...common.escape import remark
from ..terminal.cells import Line, cells, measure, wrap
from .layout import Columns

Row = tuple[Line, bool]
"""A line, and whether the field column may continue beside it."""


class Marks:
    """The findings of a packet; each is shown once, at the row with its first byte."""

    def __init__(self, findings: Iterable[Finding], length: int) -> None:
        self.places: dict[int, list[Finding]] = {}
        for finding in findings:
            self.places.setdefault(_anchor(finding, length), []).append(finding)
        self.anchors = sorted(self.places)

    def take(self, start: int, stop: int, wanted: Callable[[Finding], object] = bool) -> list[Finding]:
        """Return the findings of a row of bytes that are not shown yet, and mark them as shown."""
        taken = []
        for anchor in self.within(start, stop):
            here = self.places[anchor]
            taken += [finding for finding in here if wanted(finding)]
            self.places[anchor] = [finding for finding in here if not wanted(finding)]
        return taken

    def within(self, start: int, stop: int) -> list[int]:
        """Return the bytes of a range that have findings."""
        return self.anchors[bisect_left(self.anchors, start) : bisect_left(self.anchors, stop)]

    def rest(self) -> list[Finding]:
        """Return the findings that no row has shown."""
        return [finding for anchor in self.anchors for finding in self.places.pop(anchor)]


def _anchor(finding: Finding, length: int) -> int:
    """Return the byte below which a finding is shown: its first; the one before it if the span is empty."""
    start, stop = finding.span
    return max(min(start if stop > start else start - 1, length - 1), 0)


def under_bytes(findings: Iterable[Finding], start: int, stop: int, columns: Columns) -> Iterator[Row]:
    """Yield carets under the bytes of a row, each set followed by its findings."""

    def places(finding: Finding) -> tuple[int, int]:
        first, last = finding.span
        if first >= last or first >= stop:
            return min(first, stop) - start, min(first, stop) - start + 1
        return max(first, start) - start, min(last, stop) - start

    for (first, last), group in groupby(findings, key=places):
        carets = " ".join(["^^"] * (last - first))
        yield from _marked(columns.hex + 3 * first, carets, list(group), columns.width)


def under_bits(findings: Iterable[Finding], mask: int, columns: Columns) -> Iterator[Row]:
    """Yield carets under the bits of a row, each set followed by its findings."""
    for bits, group in groupby(findings, key=lambda finding: finding.mask & mask):
        row = "".join("^" if bits >> place & 1 else " " for place in range(7, -1, -1))
        yield from _marked(columns.hex, f"{row[:4]} {row[4:]}".rstrip(), list(group), columns.width)


def _marked(at: int, carets: str, findings: list[Finding], width: int) -> Iterator[Row]:
    yield [(" " * at, ""), (carets, findings[0].severity)], True
    for finding in findings:
        for line in sentence(finding, width):
            yield line, False


def sentence(finding: Finding, width: int, *, whose: bool = False) -> Iterator[Line]:
    """Yield the lines of a finding: severity and message, then the statement at the right edge.

    `whose` adds the end at fault, where no packet shows its sender.
    """
    severity, statement = remark(finding.severity), remark(finding.statement)
    indent = cells(severity) + 2
    message = f"{finding.message} ({finding.whose})" if whose and finding.whose else finding.message
    rows = wrap([(remark(message), "")], width - indent)
    rows = [[(" " * indent, ""), *row] for row in rows]
    rows[0][0] = (severity, finding.severity)
    rows[0].insert(1, ("  ", ""))
    if statement and measure(rows[-1]) + 2 + cells(statement) > width:
        rows.append([])
    if statement:
        rows[-1] += [(" " * (width - measure(rows[-1]) - cells(statement)), ""), (statement, "dim")]
    yield from rows
