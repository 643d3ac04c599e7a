"""Writers of findings, for the screen, as JSON Lines or as SARIF; and the summary at the end."""

import pickle
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, Protocol, TextIO

from ...codec.decode import decode
from ...common.escape import escape
from ...common.words import counted, plural
from ...lint.coverage import StatementResult
from ...reading.grouping import FindingGroups
from ...reading.judged import JudgedEvent
from ...reading.selection import Selection
from ...spec.statements import statement
from ...spec.versions import Version
from ...view.terminal.cells import Line, wrap
from ...view.terminal.style import show
from ...view.terminal.width import screen_width
from ...view.traffic.findings import FindingLines, records
from ...view.traffic.groups import MOST_SHOWN, group_lines, group_records

MOST_NAMED = 5
"""Statements that the summary names with the number of their findings not shown; the others are added up."""
VersionResults = tuple[Version, list[StatementResult]]
"""The results of the statements of one MQTT version."""


class FindingWriter(Protocol):
    """Writes findings as they are found."""

    def begin(self, time: int) -> None:
        """Set the time of the first packet, in nanoseconds since 1970."""

    def write(self, judged: JudgedEvent) -> None:
        """Write the findings of one event."""

    def report(self, results: Iterable[VersionResults]) -> None:
        """Write the result of each statement."""

    def groups(self, groups: FindingGroups) -> None:
        """Write which clients, statements or topics have the most findings."""

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write what follows all findings."""


class OutputOptions(NamedTuple):
    """How findings are shown."""

    json: bool = False
    sarif: bool = False
    secrets: bool = False
    full: bool = False
    absolute: bool = False
    explain: bool = False
    several: bool = False
    """Whether there are several inputs, so that each connection needs the name of its input."""
    limited: bool = True
    """Whether a screen shows only the groups with the most findings."""


def writer_of(options: OutputOptions, stream: TextIO | None = None) -> FindingWriter:
    """Return the writer for the options, to standard output unless a stream is given."""
    out = stream or sys.stdout
    if options.sarif:
        return SarifWriter(options, out)
    return JsonWriter(options, out) if options.json else ScreenWriter(options, out)


class ScreenWriter:
    """Writes findings for people to read."""

    def __init__(self, options: OutputOptions, stream: TextIO) -> None:
        self.options = options
        self.stream = stream
        self.width = screen_width(stream)
        self._lines = FindingLines(
            width=self.width, absolute=options.absolute, secrets=options.secrets, full=options.full,
            explain=options.explain,
        )  # fmt: skip
        self._begun = False
        self._last: tuple[str, int] = ("", 0)

    def begin(self, time: int) -> None:
        """Show times relative to `time`."""
        self._lines.begin(time)

    def write(self, judged: JudgedEvent) -> None:
        """Write the findings of an event, below a heading if its connection is not that of the last event."""
        name, ends = judged.location.name, judged.event.ends
        if (name, ends.number) != self._last:
            self._last = (name, ends.number)
            self.remark(", ".join(self._connection(judged)))
        self._block(self._lines.lines(judged))

    def _connection(self, judged: JudgedEvent) -> Iterator[str]:
        ends = judged.event.ends
        if self.options.several and judged.location.name:
            yield judged.location.name
        if ends.client or ends.server:
            yield f"connection {ends.number}: {ends.client} to {ends.server}"

    def remark(self, text: str) -> None:
        """Write a remark of the program; `text` may contain text from the capture, which is escaped."""
        if text:
            self._block(wrap([("* ", "mark"), (escape(text), "")], self.width))

    def report(self, results: Iterable[VersionResults]) -> None:
        """List every statement, broken ones first."""
        for version, rows in results:
            for word in ("broken", "kept", "not exercised"):
                among = [row for row in rows if row.word == word]
                if among:
                    heading = f"Statements of MQTT {version.label}, {word}{_COUNTED[word]}"
                    self._block([[(heading, "heading")], *self._listed(among)])

    def groups(self, groups: FindingGroups) -> None:
        """List the groups with the most findings."""
        self._block(group_lines(groups, self.width, MOST_SHOWN if self.options.limited else None))

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
        """Write nothing more: failures and remarks go to standard error."""
        self.stream.flush()

    def _block(self, lines: Iterable[Line]) -> None:
        show([*([[]] if self._begun else []), *lines], self.stream)
        self._begun = True


_COUNTED = {"broken": ", with times broken of times tested", "kept": ", with times tested", "not exercised": ""}
"""What the numbers of a list of statements count."""


def _counted(row: StatementResult) -> str:
    if row.broken:
        return f"{row.broken} of {row.exercised}"
    return str(row.exercised) if row.exercised else ""


class JsonWriter:
    """Writes findings as JSON Lines."""

    def __init__(self, options: OutputOptions, stream: TextIO) -> None:
        self.options = options
        self.stream = stream

    def begin(self, time: int) -> None:
        """Do nothing: records have absolute times."""

    def write(self, judged: JudgedEvent) -> None:
        """Write a line for each finding."""
        found = records(judged, secrets=self.options.secrets, full=self.options.full)
        for each, known in zip(judged.findings, found, strict=True):
            entry = {"event": "finding", **known}
            if self.options.explain and each.statement:
                row = statement(each.statement)
                entry |= {"class": row.visibility, "binds": row.who, "text": row.text}
            self._print(entry)

    def report(self, results: Iterable[VersionResults]) -> None:
        """Write a line for each statement."""
        for version, rows in results:
            for row in rows:
                about = row.statement
                self._print({
                    "event": "statement", "statement": about.id, "version": version.label, "status": row.word,
                    "times_exercised": row.exercised, "times_broken": row.broken, "severity": about.severity,
                    "class": about.visibility, "binds": about.who, "text": about.text,
                })  # fmt: skip

    def groups(self, groups: FindingGroups) -> None:
        """Write a line for each group."""
        for each in group_records(groups):
            self._print(each)

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write nothing more: failures and remarks go to standard error."""
        self.stream.flush()

    def _print(self, entry: dict[str, Any]) -> None:
        from ...view.packet.record_json import dumps

        self.stream.write(dumps(entry) + "\n")


class SarifWriter:
    """Writes findings as one SARIF log."""

    def __init__(self, options: OutputOptions, stream: TextIO) -> None:
        from ... import __version__
        from ...view.export.sarif import Sarif

        self.stream = stream
        self._sarif = Sarif(__version__, secrets=options.secrets)
        self._text = self._sarif.begin()

    def begin(self, time: int) -> None:
        """Do nothing: records have absolute times."""

    def write(self, judged: JudgedEvent) -> None:
        """Write the results of an event."""
        self.stream.write(self._text)
        self._text = ""
        self.stream.writelines(self._sarif.results(judged))

    def report(self, results: Iterable[VersionResults]) -> None:
        """Do nothing: SARIF has no place for statements without findings."""

    def groups(self, groups: FindingGroups) -> None:
        """Do nothing: SARIF has no place for sums of findings."""

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Write the rest of the log."""
        self.stream.write(self._text + self._sarif.end(failures, remarks) + "\n")
        self.stream.flush()


class FindingRecorder:
    """Writes events with their findings to a file, from which `recorded` gives them to another writer."""

    def __init__(self, file: BinaryIO) -> None:
        self.shown: Counter[str] = Counter()
        """Findings that were written, by severity."""
        self._file = file

    def begin(self, time: int) -> None:
        """Record the time of the first packet."""
        pickle.dump(time, self._file)

    def write(self, judged: JudgedEvent) -> None:
        """Record an event and its findings, without the tree of its bytes, which is far larger than they are."""
        self.shown.update(each.severity for each in judged.findings)
        pickle.dump((judged._replace(decoded=None), judged.decoded is not None), self._file)

    def report(self, results: Iterable[VersionResults]) -> None:
        """Record nothing: results are those of all inputs."""

    def groups(self, groups: FindingGroups) -> None:
        """Record nothing: groups are those of all inputs."""

    def end(self, failures: list[str], remarks: list[str]) -> None:
        """Record nothing more."""


def recorded(file: BinaryIO) -> Iterator[int | JudgedEvent]:
    """Yield what a FindingRecorder wrote: the time of the first packet, and events."""
    while file.peek(1):  # type: ignore[attr-defined]
        found = pickle.load(file)
        if isinstance(found, int):
            yield found
            continue
        judged, decoded = found
        event = judged.event
        if decoded:
            tree = decode(event.data, judged.version, direction=event.direction, offset=event.offset)
            judged = judged._replace(decoded=tree)
        yield judged


# words


def summary(
    packets: int, connections: int, selection: Selection, results: Iterable[VersionResults], width: int, *,
    picked: bool = False,
) -> Iterator[Line]:  # fmt: skip
    """Yield the summary of a run: how many packets were checked, their findings, the results of the statements.

    `picked` says that only some findings were asked for.
    """
    checked = counted(packets, "packet")
    if connections > 1:
        checked += f" of {connections:,} connections"
    counts = [(counted(count, word), word) for word, count in selection.counts.items() if count]
    found = counted(sum(selection.counts.values()), "finding") if counts else "no findings"
    line: Line = [(f"{checked}: {found}{' in the selection' if picked and not counts else ''}", "")]
    for at, segment in enumerate(counts):
        line += [(", " if at else " (", ""), segment]
    yield from wrap([*line, (")", "")] if counts else line, width)
    for version, rows in results:
        words = [row.word for row in rows]
        broken, kept, untested = (words.count(word) for word in ("broken", "kept", "not exercised"))
        among = f"{counted(len(rows), 'statement')} of MQTT {version.label}"
        said = f"{counted(broken, 'statement')} broken, {kept:,} kept, {untested:,} not exercised"
        yield from wrap([(f"{among}: {said}", "")], width)
    if selection.left_out:
        yield from wrap([(_left_out(selection), "dim")], width)


def _left_out(selection: Selection) -> str:
    most = selection.left_out.most_common()
    named = [f"{count:,} of {id}" for id, count in most[:MOST_NAMED]]
    if rest := most[MOST_NAMED:]:
        named.append(f"{sum(count for _, count in rest):,} of {len(rest)} {plural(len(rest), 'other statement')}")
    return f"not shown: {', '.join(named)} (--limit 0 shows all)"
