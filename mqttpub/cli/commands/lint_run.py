"""What `lint` does: inputs to packets, packets to findings, findings to the screen."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import click

from ...common.files import check_standard_output
from ...reading.input import AllEvents
from ...reading.judged import EventJudge, JudgedEvent
from ...reading.located import LocatedInput
from ...reading.selection import USUAL_LIMIT, Selection
from ...traffic.events import Event, GapSeen, PacketSeen, Remark
from ...view.terminal.cells import Line
from ...view.terminal.reading_bar import ReadingBar
from ...view.terminal.style import show
from ..flags.types import DIRECTIONS
from ..inspect.decode import inputs
from ..inspect.findings import Manner, Rows, summary, width_of, writer_of
from ..inspect.output import filter_of, input_options
from ..notes import note
from ..screen import on_one_screen, show_through_pager

MOST_REMARKS = 10
"""Remarks about connections that are shown; the others are counted."""


def lint(given: dict[str, Any]) -> int:
    """Judge the inputs and return the exit status; raises UsageError."""
    if given["sarif"] and (given["as_json"] or given["report"]):
        raise click.UsageError(f"--sarif and {'--json' if given['as_json'] else '--report'} do not go together")
    with ExitStack() as stack:
        named = list(inputs(given, stack, "lint"))
        check_standard_output(each.id for each in named)
        show_through_pager(given, stack)
        linting = Linting(given, list(map(LocatedInput, named)))
        stack.callback(linting.close)
        return linting.run()


def selection_of(given: dict[str, Any]) -> Selection:
    """Return the selection that the flags ask for; raises UserError for a term that matches no statement."""
    limit = given["limit"]
    if limit is None:
        limit = 0 if given["as_json"] or given["sarif"] else USUAL_LIMIT
    return Selection(given["select"], given["ignore"], severity=given["severity"], limit=limit or None)


def manner_of(given: dict[str, Any], *, several: bool) -> Manner:
    """Return how findings are shown."""
    return Manner(
        given["as_json"], given["sarif"], given["show_secrets"], given["full"], given["absolute_time"],
        given["explain"], several,
    )  # fmt: skip


class Linting:
    """One run over inputs that are opened already."""

    def __init__(self, given: dict[str, Any], inputs: list[LocatedInput]) -> None:
        self.given = given
        self.inputs = inputs
        self.judge = EventJudge()
        self.selection = selection_of(given)
        self.picked = filter_of({**given, "follow": None})
        self.writer = writer_of(manner_of(given, several=len(inputs) > 1))
        self.remarks: list[str] = []
        self.unshown = 0
        self.now = inputs[0]
        self.progress = ReadingBar(self.inputs)

    def run(self) -> int:
        """Judge all and return the exit status; raises UsageError for what cannot be read."""
        given = self.given
        options = input_options(
            {**given, "direction": given["direction"] if given["direction"] in DIRECTIONS else None}
        )
        events = AllEvents(self._reading(), options, self.progress.at if self.progress else None)
        for event in events:
            if isinstance(event, PacketSeen):
                self._packet(event)
            else:
                self._other(event)
        self.close()
        return self._end(events)

    def close(self) -> None:
        """Leave the screen as a program should."""
        self.progress.close()

    def _reading(self) -> Iterator[Any]:
        for each in self.inputs:
            self.now = each
            yield each

    # events

    def _packet(self, event: PacketSeen) -> None:
        if not self.judge.packets and event.time is not None:
            self.writer.begin(event.time)
        known = self.judge.packet(event)
        if not known.findings or (self.picked and not self.picked.matches(*known)):
            return
        if shown := self.selection.pick(known.findings):
            self.writer.take(self.judge.judged(known, shown, self.now.location))

    def _other(self, event: Event) -> None:
        case = self.judge.other(event, self.now.whole)
        if case is None:
            self._remark(event)
        elif not self.picked or self.picked.matches(event, client=case.client, findings=case.findings):
            self._take(case)

    def _take(self, case: JudgedEvent) -> None:
        if shown := self.selection.pick(case.findings):
            self.writer.take(case._replace(findings=shown))

    def _remark(self, event: Event) -> None:
        """Keep what has to be known about a connection to believe what is said of it."""
        if isinstance(event, GapSeen | Remark):
            if len(self.remarks) < MOST_REMARKS:
                self.remarks.append(f"{self.now.name}: connection {event.ends.number}: {event.message}")
            else:
                self.unshown += 1

    # the end

    def _end(self, events: AllEvents) -> int:
        fared = self._fared()
        if self.given["report"]:
            self.writer.report(fared)
        remarks = [*self.remarks, *events.remarks]
        if self.unshown:
            remarks.insert(len(self.remarks), f"{self.unshown:,} more remarks about connections")
        self.writer.end(events.faults, remarks)
        for remark in remarks:
            note(remark)
        if self.judge.packets or any(self.selection.counts.values()):
            self._sum_up(fared)
        elif not events.faults:
            raise click.UsageError("no MQTT packet was found")
        if events.faults:
            for fault in events.faults[:-1]:
                note(fault)
            raise click.UsageError(events.faults[-1])
        return 1 if self.selection.counts["error"] else 0

    def _sum_up(self, fared: list[Rows]) -> None:
        lines = summary(
            self.judge.packets,
            self.judge.connections,
            self.selection,
            fared,
            width_of(sys.stderr),
            picked=any(self.given[name] for name in ("select", "ignore", "filter")),
        )
        together = on_one_screen()
        apart: list[Line] = [[]] if together and any(self.selection.counts.values()) else []
        show([*apart, *lines], sys.stderr)

    def _fared(self) -> list[Rows]:
        return [
            (version, [row for row in rows if self.selection.covers(row.statement)])
            for version, rows in self.judge.end()
        ]
