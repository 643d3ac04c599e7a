"""`mqttpub lint`: inputs to packets, packets to findings, findings to the screen or to files."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..flags.base import Command, flag, together
from ..flags.reading import InputRequest, filter_flag, filter_of, input_request, jobs_flag, reading_flags
from ..flags.types import MOST, NumberType
from ..notes import note

if TYPE_CHECKING:
    from collections import Counter

    from ...codec.tree import Finding
    from ...columns.runs.read import AllRuns
    from ...reading.grouping import FindingGroups
    from ...reading.input import AllEvents, AnyInput, Input
    from ...reading.judged import EventJudge, JudgedEvent
    from ...reading.located import LocatedInput
    from ...reading.selection import Selection
    from ...spec.declare import Packet
    from ...traffic.aliases import Topic
    from ...traffic.context import PacketInContext
    from ...traffic.events import Event, PacketSeen
    from ...traffic.query import PacketFilter
    from ...traffic.runs import PacketRun
    from ...view.terminal.cells import Line
    from ..inspect.files import FileBegin
    from ..inspect.findings import FindingWriter, VersionResults

MOST_REMARKS = 10
"""Remarks about connections that are shown; the rest are only counted."""

selection_flags = together(
    flag(
        "--select", common=True, metavar="IDS", multiple=True,
        help="Only these statements: ids with or without version (MQTT5-3.3.1-2, 3.3.1-2), prefixes of ids "
        "(MQTT5, 3.3), patterns (*alias*); separate several with commas.",
    ),
    flag("--ignore", metavar="IDS", multiple=True, help="All statements but these."),
    flag(
        "--severity", common=True, type=click.Choice(["error", "warning", "note"]), default="note", show_default=True,
        help="Minimum severity to report.",
    ),
    filter_flag("Only findings that match, by themselves and by their packets; see decode --help."),
    group="Which findings",
)  # fmt: skip

output_flags = together(
    flag("--explain", common=True, is_flag=True, help="Show below each finding what its statement demands."),
    flag("--report", common=True, is_flag=True, help="List every statement: broken, kept, or not exercised."),
    flag(
        "--by", common=True, metavar="NOUN", type=click.Choice(["client", "statement", "topic"]),
        help="End with each client, statement or topic that has findings, most first. [default: client, if there are "
        "several connections]",
    ),
    flag(
        "--limit", type=NumberType(0, MOST), metavar="N",
        help="Show N findings of each statement and count the others; 0 shows all. [default: 10, with --json and "
        "--sarif all]",
    ),
    flag(
        "--json", "as_json", common=True, is_flag=True,
        help="Print one JSON record per finding, with --report per statement too.",
    ),
    flag("--sarif", common=True, is_flag=True, help="Print SARIF 2.1.0, for annotations in CI and editors."),
    flag("--absolute-time", is_flag=True, help="Show times of day in UTC, not seconds since the first packet."),
    flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data."),
    flag("--full", is_flag=True, help="Show every byte of a long field."),
    jobs_flag("Check up to N files at the same time; what is shown stays the same."),
    group="Output",
)  # fmt: skip


class LintRequest(NamedTuple):
    """What `lint` is to do."""

    input: InputRequest
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    severity: str
    filter: "PacketFilter | None"
    limit: int | None
    """Findings of one statement to show; None shows all."""
    by: str | None
    """What findings are counted by; None stands for clients, if there are several connections."""
    explain: bool
    report: bool
    json: bool
    sarif: bool
    absolute: bool
    secrets: bool
    full: bool
    jobs: int = 1
    """Files that are checked at the same time."""

    @property
    def selects(self) -> bool:
        """Whether flags leave findings out."""
        return bool(self.select or self.ignore or self.filter)


@click.command(
    name="lint",
    cls=Command,
    examples=(
        "mqttpub lint capture.pcapng",
        "mqttpub lint capture.pcapng --severity error --explain",
        "mqttpub lint captures/*.pcap --sarif > mqtt.sarif",
    ),
)
@click.argument("text", nargs=-1)
@reading_flags(without_connect="the version that fits better")
@selection_flags
@output_flags
def command(**given: Any) -> int:
    """Check captured packets against every statement of the specification that they exercise.

    TEXT is hex in any common notation, escaped strings, C arrays or base64, several packets in a
    row; or the names of files: pcap and pcapng, plain or compressed, transcripts, text. Without
    TEXT and -f, standard input is read. Packets are checked one by one and together with the
    others of their connection. The last lines count statements: broken at least once, kept, or
    not exercised, because no packet put them to the test. `mqttpub help lint` says which
    statements are checked.

    Exit status: 0 no finding of severity error, 1 at least one, 2 an input cannot be read.
    """
    if given["sarif"] and (given["as_json"] or given["report"]):
        raise click.UsageError(f"--sarif and {'--json' if given['as_json'] else '--report'} do not go together")
    from ...reading.selection import USUAL_LIMIT

    limit = given["limit"]
    if limit is None:
        limit = 0 if given["as_json"] or given["sarif"] else USUAL_LIMIT
    request = LintRequest(
        input=input_request(given), select=given["select"], ignore=given["ignore"], severity=given["severity"],
        filter=filter_of(given["filter"]), limit=limit or None, by=given["by"], explain=given["explain"],
        report=given["report"], json=given["as_json"], sarif=given["sarif"], absolute=given["absolute_time"],
        secrets=given["show_secrets"], full=given["full"], jobs=given["jobs"] or 1,
    )  # fmt: skip
    return lint(request)


def lint(request: LintRequest) -> int:
    """Check the inputs and return the exit status; raises UsageError."""
    from ...reading.located import LocatedInput
    from ...view.terminal.progress import ReadingProgress
    from ..inspect.files import may_be_apart
    from ..inspect.inputs import inputs_of, suggest_columns, use_pager

    with ExitStack() as stack:
        inputs = inputs_of(request.input, stack, "lint")
        use_pager(request.input, stack)
        suggest_columns(inputs, request.input.options)
        run = LintRun(request, list(map(LocatedInput, inputs)))
        if may_be_apart(inputs, request.jobs):
            return run.apart(inputs)
        run.progress = ReadingProgress(run.inputs)
        stack.callback(run.progress.close)
        return run.run()


class CheckedFile(NamedTuple):
    """What is known of a file after it was checked in a process of its own."""

    judge: "EventJudge"
    groups: "FindingGroups"
    selection: "Selection"
    shown: "Counter[str]"
    """Findings that were recorded, by severity."""
    own_remarks: list[str]
    unshown_remarks: int
    faults: list[str]
    remarks: list[str]


class LintRun:
    """One pass over inputs that are already open."""

    def __init__(
        self, request: LintRequest, inputs: "Sequence[LocatedInput]", writer: "FindingWriter | None" = None
    ) -> None:
        from ...reading.grouping import FindingGroups
        from ...reading.judged import EventJudge
        from ...reading.selection import Selection
        from ...view.terminal.progress import ReadingProgress
        from ..inspect.findings import OutputOptions, writer_of

        self.request = request
        self.inputs = inputs
        self.judge = EventJudge()
        self.selection = Selection(request.select, request.ignore, severity=request.severity, limit=request.limit)
        self.groups = FindingGroups(request.by or "client")
        self.writer = writer or writer_of(OutputOptions(
            json=request.json, sarif=request.sarif, secrets=request.secrets, full=request.full,
            absolute=request.absolute, explain=request.explain, several=len(inputs) > 1,
            limited=request.limit is not None,
        ))  # fmt: skip
        self.remarks: list[str] = []
        self.unshown_remarks = 0
        self.now = inputs[0]
        """The input that is being read."""
        self.progress = ReadingProgress(())
        """None is drawn until `run` is about to read."""

    def run(self) -> int:
        """Check all packets and return the exit status; raises UsageError for what cannot be read."""
        events = self._read(0)
        self.progress.close()
        return self._end(events.faults, events.remarks)

    def _read(self, before: int) -> "AllEvents | AllRuns":
        """Check all packets; `before` is the number of connections in inputs before these."""
        from ...traffic.events import PacketSeen
        from ...traffic.runs import PacketRun

        events = self._events(before)
        for event in events:
            if isinstance(event, PacketRun):
                self._run(event)
            elif isinstance(event, PacketSeen):
                self._packet(event)
            else:
                self._other(event)
        return events

    def _events(self, before: int) -> "AllEvents | AllRuns":
        """Return what the inputs hold, in runs if that is quicker."""
        from ...reading.input import AllEvents
        from ..inspect.inputs import worth_columns

        options, progress = self.request.input.options, self.progress
        if worth_columns([each.given for each in self.inputs], options, drawn=False):
            from ...columns.runs.read import AllRuns

            files = (each.given for each in self._reading())
            return AllRuns(files, options, (lambda file: progress.at(self.now)) if progress else None, before=before)
        return AllEvents(self._reading(), options, progress.at if progress else None, before=before)

    # files in processes of their own

    def apart(self, inputs: "Sequence[AnyInput]") -> int:
        """Check each file in a process of its own and return the exit status; raises UsageError."""
        from ..inspect.files import results_of

        faults: list[str] = []
        remarks: list[str] = []
        for file, path in results_of(inputs, self.request.input.options, self._checked, self.request.jobs):
            self._write_recorded(path)
            self.judge.add(file.judge)
            self.groups.join(file.groups)
            self.selection.add_left_out(file.selection, file.shown)
            for remark in file.own_remarks:
                self._add_remark(remark)
            self.unshown_remarks += file.unshown_remarks
            faults += file.faults
            remarks += file.remarks
        return self._end(faults, remarks)

    def _checked(self, file: "Input", begin: "FileBegin", path: str) -> CheckedFile:
        """Check a file, and record its findings in another."""
        from ...reading.located import LocatedInput
        from ..inspect.findings import FindingRecorder

        with open(path, "wb") as out:
            writer = FindingRecorder(out)
            run = LintRun(self.request, [LocatedInput(file)], writer)
            events = run._read(begin.connections)
        run.judge.finish()
        return CheckedFile(
            run.judge, run.groups, run.selection, writer.shown, run.remarks, run.unshown_remarks, events.faults,
            events.remarks,
        )  # fmt: skip

    def _write_recorded(self, path: str) -> None:
        from ..inspect.findings import recorded

        with open(path, "rb") as file:
            for found in recorded(file):
                if not isinstance(found, int):
                    self._show(found, self.selection.picked(found.findings))
                elif not self.judge.packets:
                    self.writer.begin(found)

    def _reading(self) -> "Iterator[LocatedInput]":
        for each in self.inputs:
            self.now = each
            yield each

    # events

    def _run(self, run: "PacketRun") -> None:
        self._begin(run.columns.time_ns[run.start])
        for known in self.judge.run(run):
            self._write(known)

    def _packet(self, event: "PacketSeen") -> None:
        self._begin(event.time)
        self._write(self.judge.packet(event))

    def _begin(self, time_ns: int | None) -> None:
        if not self.judge.packets and time_ns is not None:
            self.writer.begin(time_ns)

    def _write(self, known: "PacketInContext") -> None:
        if not known.findings:
            return
        picked = self.selection.picked(self._wanted(known.findings, *known[:-1]))
        self.groups.add(picked, known.event.ends, known.client, known)
        if shown := self.selection.limited(picked):
            self.writer.write(self.judge.judged(known, shown, self.now.location))

    def _other(self, event: "Event") -> None:
        from ...traffic.events import Closed

        judged = self.judge.other(event, self.now.whole)
        if judged is None:
            self._remark(event)
            return
        if isinstance(event, Closed):
            # What was left undone hangs on no packet, so no end sent it.
            event = event._replace(direction=None)
        picked = self.selection.picked(self._wanted(judged.findings, event, client=judged.client))
        self.groups.add(picked, event.ends, judged.client)
        self._show(judged, picked)

    def _wanted(
        self, findings: "Sequence[Finding]", event: "Event", packet: "Packet | None" = None,
        topic: "Topic | None" = None, client: str = "",
    ) -> "Sequence[Finding]":  # fmt: skip
        """Return the findings of an event that the filter chooses, each as if it were the only one."""
        picked = self.request.filter
        if picked is None:
            return findings
        return [each for each in findings if picked.matches(event, packet, topic, client, (each,))]

    def _show(self, judged: "JudgedEvent", picked: "Sequence[Finding]") -> None:
        if shown := self.selection.limited(picked):
            self.writer.write(judged._replace(findings=shown))

    def _remark(self, event: "Event") -> None:
        """Keep what a reader must know about a connection to judge its findings."""
        from ...traffic.events import GapSeen, Remark

        if isinstance(event, GapSeen | Remark):
            self._add_remark(f"{self.now.name}: connection {event.ends.number}: {event.message}")

    def _add_remark(self, remark: str) -> None:
        if len(self.remarks) < MOST_REMARKS:
            self.remarks.append(remark)
        else:
            self.unshown_remarks += 1

    # the end

    def _end(self, faults: list[str], read_remarks: list[str]) -> int:
        rows = self._rows()
        if self.request.report:
            self.writer.report(rows)
        if self.groups.findings and (self.request.by or self.judge.connections > 1):
            self.writer.groups(self.groups)
        remarks = [*self.remarks, *read_remarks]
        if self.unshown_remarks:
            remarks.insert(len(self.remarks), f"{self.unshown_remarks:,} more remarks about connections")
        self.writer.end(faults, remarks)
        for remark in remarks:
            note(remark)
        if self.judge.packets or any(self.selection.counts.values()):
            self._sum_up(rows)
        elif not faults:
            raise click.UsageError("no MQTT packet was found")
        if faults:
            for fault in faults[:-1]:
                note(fault)
            raise click.UsageError(faults[-1])
        return 1 if self.selection.counts["error"] else 0

    def _sum_up(self, rows: "list[VersionResults]") -> None:
        from ...view.terminal.style import show
        from ...view.terminal.width import screen_width
        from ..inspect.findings import summary
        from ..screen import on_one_screen

        lines = summary(
            self.judge.packets, self.judge.connections, self.selection, rows, screen_width(sys.stderr),
            picked=self.request.selects,
        )  # fmt: skip
        blank: list[Line] = [[]] if on_one_screen() and any(self.selection.counts.values()) else []
        show([*blank, *lines], sys.stderr)

    def _rows(self) -> "list[VersionResults]":
        return [
            (version, [row for row in rows if self.selection.covers(row.statement)])
            for version, rows in self.judge.end()
        ]
