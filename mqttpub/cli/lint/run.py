"""What `lint` does with its request: inputs to packets, packets to findings, findings to the screen or to files."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import click

from ..notes import FirstNotes, note
from .request import LintRequest

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
    from ...traffic.runs import PacketRun
    from ...view.terminal.cells import Line
    from ..inputs.files import FileBegin
    from .findings import FindingWriter, VersionResults


def lint(request: LintRequest) -> int:
    """Check the inputs and return the exit status; raises UsageError."""
    from ...reading.located import LocatedInput
    from ...view.terminal.progress import ReadingProgress
    from ..inputs.files import may_be_apart
    from ..inputs.opened import inputs_of, suggest_columns, use_pager

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
    """The first remarks about connections."""
    own_count: int
    """How many there were."""
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
        from .findings import writer_of

        self.request = request
        self.inputs = inputs
        self.judge = EventJudge()
        self.selection = Selection(request.select, request.ignore, severity=request.severity, limit=request.limit)
        self.groups = FindingGroups(request.by or "client")
        self.writer = writer or writer_of(request.output._replace(several=len(inputs) > 1))
        self.remarks: list[str] = []
        """The first remarks about connections."""
        self.remark = FirstNotes(self.remarks.append, "{:,} more remarks about connections".format)
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
        from ..inputs.opened import worth_columns

        options, progress = self.request.input.options, self.progress
        if worth_columns([each.given for each in self.inputs], options, drawn=False):
            from ...columns.runs.read import AllRuns

            files = (each.given for each in self._reading())
            return AllRuns(files, options, (lambda file: progress.at(self.now)) if progress else None, before=before)
        return AllEvents(self._reading(), options, progress.at if progress else None, before=before)

    # files in processes of their own

    def apart(self, inputs: "Sequence[AnyInput]") -> int:
        """Check each file in a process of its own and return the exit status; raises UsageError."""
        from ..inputs.files import results_of

        faults: list[str] = []
        remarks: list[str] = []
        for file, path in results_of(inputs, self.request.input.options, self._checked, self.request.jobs):
            self._write_recorded(path)
            self.judge.add(file.judge)
            self.groups.join(file.groups)
            self.selection.add_left_out(file.selection, file.shown)
            for remark in file.own_remarks:
                self.remark(remark)
            self.remark.count += file.own_count - len(file.own_remarks)
            faults += file.faults
            remarks += file.remarks
        return self._end(faults, remarks)

    def _checked(self, file: "Input", begin: "FileBegin", path: str) -> CheckedFile:
        """Check a file, and record its findings in another."""
        from ...reading.located import LocatedInput
        from .findings import FindingRecorder

        with open(path, "wb") as out:
            writer = FindingRecorder(out)
            run = LintRun(self.request, [LocatedInput(file)], writer)
            events = run._read(begin.connections)
        run.judge.finish()
        return CheckedFile(
            run.judge, run.groups, run.selection, writer.shown, run.remarks, run.remark.count, events.faults,
            events.remarks,
        )  # fmt: skip

    def _write_recorded(self, path: str) -> None:
        from .findings import recorded

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
            self.remark(f"{self.now.name}: connection {event.ends.number}: {event.message}")

    # the end

    def _end(self, faults: list[str], read_remarks: list[str]) -> int:
        rows = self._rows()
        if self.request.report:
            self.writer.report(rows)
        if self.groups.findings and (self.request.by or self.judge.connections > 1):
            self.writer.groups(self.groups)
        self.remark.end()
        remarks = [*self.remarks, *read_remarks]
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
        from ..screen import on_one_screen
        from .findings import summary

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
