"""Where findings go: to the screen, to JSON Lines or to SARIF; and the words at the end."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TextIO

from ...common.escape import escape
from ...common.words import counted, plural
from ...lint.coverage import StatementResult
from ...reading.judged import JudgedEvent
from ...reading.selection import Selection
from ...spec.statements import statement
from ...spec.versions import Version
from ...view.terminal.cells import Line, wrap
from ...view.terminal.style import show
from ...view.terminal.width import screen_width
from ...view.traffic.findings import FindingLines, records

MOST_NAMED = 5
"""Statements of which it is said how many findings were not shown; the others are summed up."""
Rows = tuple[Version, list[StatementResult]]


class Writer(Protocol):
    """Takes cases as they come."""

    def begin(self, time: int) -> None:
        """Take the time of the first packet, in nanoseconds since 1970."""

    def take(self, case: JudgedEvent) -> None:
        """Show what is wrong at one place."""

    def report(self, fared: Iterable[Rows]) -> None:
        """Show how each statement fared."""

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write what has to stand behind all cases."""


class OutputOptions(NamedTuple):
    """How findings are shown."""

    json: bool = False
    sarif: bool = False
    secrets: bool = False
    full: bool = False
    absolute: bool = False
    explain: bool = False
    several: bool = False
    """Whether there are several inputs, so that their names tell where a connection is."""


def writer_of(manner: OutputOptions, stream: TextIO | None = None) -> Writer:
    """Return the writer for a manner, to standard output unless another stream is given."""
    out = stream or sys.stdout
    if manner.sarif:
        return SarifOut(manner, out)
    return JsonOut(manner, out) if manner.json else Screen(manner, out)


class Screen:
    """Judged events as people read them."""

    def __init__(self, manner: OutputOptions, stream: TextIO) -> None:
        self.manner = manner
        self.stream = stream
        self.width = screen_width(stream)
        self._lines = FindingLines(
            width=self.width, absolute=manner.absolute, secrets=manner.secrets, full=manner.full,
            explain=manner.explain,
        )  # fmt: skip
        self._begun = False
        self._last: tuple[str, int] = ("", 0)

    def begin(self, time: int) -> None:
        """Count times from here."""
        self._lines.begin(time)

    def take(self, case: JudgedEvent) -> None:
        """Show a case, with a blank line to what came before."""
        name, ends = case.location.name, case.event.ends
        if (name, ends.number) != self._last:
            self._last = (name, ends.number)
            self.remark(", ".join(self._connection(case)))
        self._block(self._lines.lines(case))

    def _connection(self, case: JudgedEvent) -> Iterator[str]:
        ends = case.event.ends
        if self.manner.several and case.location.name:
            yield case.location.name
        if ends.client or ends.server:
            yield f"connection {ends.number}: {ends.client} to {ends.server}"

    def remark(self, text: str) -> None:
        """Show a remark of the program's own; `text` may hold foreign text."""
        if text:
            self._block(wrap([("* ", "mark"), (escape(text), "")], self.width))

    def report(self, fared: Iterable[Rows]) -> None:
        """List every statement, those that are broken first."""
        for version, rows in fared:
            for word in ("broken", "kept", "not exercised"):
                among = [row for row in rows if row.word == word]
                if among:
                    self._block([[(f"MQTT {version.label}, {word}", "heading")], *self._listed(among)])

    def _listed(self, rows: list[StatementResult]) -> Iterator[Line]:
        ids = max(len(row.statement.id) for row in rows)
        counts = [_counted(row) for row in rows]
        digits = max(map(len, counts))
        for row, count in zip(rows, counts, strict=True):
            at = ids + digits + 4
            first, *rest = wrap([(row.statement.text, "")], self.width - at)
            style = row.statement.severity if row.broken else "dim" if not row.exercised else ""
            yield [(row.statement.id.ljust(ids), style), (f"  {count:>{digits}}  ", ""), *first]
            yield from ([(" " * at, ""), *line] for line in rest)

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write nothing more: others tell about failures and remarks."""
        self.stream.flush()

    def _block(self, lines: Iterable[Line]) -> None:
        show([*([[]] if self._begun else []), *lines], self.stream)
        self._begun = True


def _counted(row: StatementResult) -> str:
    if row.broken:
        return f"{row.broken} of {row.exercised}"
    return str(row.exercised) if row.exercised else ""


class JsonOut:
    """Judged events as JSON Lines."""

    def __init__(self, manner: OutputOptions, stream: TextIO) -> None:
        self.manner = manner
        self.stream = stream

    def begin(self, time: int) -> None:
        """Do nothing, as records have times of day."""

    def take(self, case: JudgedEvent) -> None:
        """Write a line for each finding."""
        found = records(case, secrets=self.manner.secrets, full=self.manner.full)
        for each, known in zip(case.findings, found, strict=True):
            entry = {"event": "finding", **known}
            if self.manner.explain and each.statement:
                row = statement(each.statement)
                entry |= {"class": row.visibility, "binds": row.who, "text": row.text}
            self._print(entry)

    def report(self, fared: Iterable[Rows]) -> None:
        """Write a line for each statement."""
        for version, rows in fared:
            for row in rows:
                about = row.statement
                self._print({
                    "event": "statement", "statement": about.id, "version": version.label, "status": row.word,
                    "exercised": row.exercised, "broken": row.broken, "severity": about.severity,
                    "class": about.visibility, "binds": about.who, "text": about.text,
                })  # fmt: skip

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write nothing more."""
        self.stream.flush()

    def _print(self, entry: dict[str, Any]) -> None:
        from ...view.packet.record_json import dumps

        self.stream.write(dumps(entry) + "\n")


class SarifOut:
    """Judged events as one SARIF log."""

    def __init__(self, manner: OutputOptions, stream: TextIO) -> None:
        from ... import __version__
        from ...view.export.sarif import Sarif

        self.stream = stream
        self._sarif = Sarif(__version__, secrets=manner.secrets)
        self._text = self._sarif.begin()

    def begin(self, time: int) -> None:
        """Do nothing, as records have times of day."""

    def take(self, case: JudgedEvent) -> None:
        """Write the results of a case."""
        self.stream.write(self._text)
        self._text = ""
        self.stream.writelines(self._sarif.results(case))

    def report(self, fared: Iterable[Rows]) -> None:
        """Do nothing, as SARIF has no place for what was kept."""

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write the rest of the log."""
        self.stream.write(self._text + self._sarif.end(failures, remarks) + "\n")
        self.stream.flush()


# words


def summary(
    packets: int, connections: int, selection: Selection, fared: Iterable[Rows], width: int, *, picked: bool = False
) -> Iterator[Line]:  # fmt: skip
    """Yield what is said at the end: what was judged and how it ended."""
    judged = counted(packets, "packet")
    if connections > 1:
        judged += f" of {connections:,} connections"
    counts = [(f"{count} {plural(count, word)}", word) for word, count in selection.counts.items() if count]
    line: Line = [(f"{judged}: ", "")]
    for at, segment in enumerate(counts):
        line += [(", ", "")] if at else []
        line.append(segment)
    yield from wrap(
        line if counts else [*line, ("nothing that was picked is wrong" if picked else "nothing is wrong", "")], width
    )
    for version, rows in fared:
        words = [row.word for row in rows]
        told = (f"{words.count(word):,} {word}" for word in ("broken", "kept", "not exercised"))
        yield from wrap([(f"statements of MQTT {version.label}: {', '.join(told)}", "")], width)
    if selection.left_out:
        yield from wrap([(_left_out(selection), "dim")], width)


def _left_out(selection: Selection) -> str:
    most = selection.left_out.most_common()
    named = [f"{count:,} of {id}" for id, count in most[:MOST_NAMED]]
    if rest := most[MOST_NAMED:]:
        named.append(f"{sum(count for _, count in rest):,} of {len(rest)} {plural(len(rest), 'other statement')}")
    return f"counted, but not shown: {', '.join(named)}; --limit 0 shows all"
