"""`pub --lint`: what both ends send is checked as it passes."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from ...codec.frame_runs import FrameRun
from ...codec.stream import Frame
from ...codec.tree import Finding
from ...common.words import plural
from ...reading.clean_frames import CleanFrames
from ...reading.judged import EventJudge, JudgedEvent
from ...reading.located import Location
from ...reading.selection import Selection
from ...spec.declare import Packet
from ...spec.versions import Direction, Version
from ...traffic.context import PacketInContext
from ...traffic.events import Closed, Endpoints, PacketSeen
from ...view.terminal.style import show
from ...view.terminal.width import screen_width
from ..inspect.findings import OutputOptions, VersionResults, summary, writer_of
from ..notes import note, print_json

JudgedValues = tuple[Packet | None, Sequence[Finding]]
"""The values of a packet, None if it could not be read, and its findings."""


class Watch:
    """Observes a tap and shows findings as they arise, on standard error or, as JSON, on standard output."""

    def __init__(self, version: Version, manner: OutputOptions) -> None:
        self.aside: Callable[[], None] = lambda: None
        """Called before anything is shown, so that the progress makes room."""
        self.peer_errors = 0
        """Findings of severity error in what the broker sent."""
        self._version = version
        self._manner = manner
        self._stream: TextIO = sys.stdout if manner.json else sys.stderr
        self._writer = writer_of(manner, self._stream)
        self._judge = EventJudge()
        self._clean = CleanFrames(version)
        self._selection = Selection()
        self._ends = Endpoints(1, "", "")
        self._last: int | None = None
        self._ended = False

    def __call__(self, now: float, frame: Frame) -> None:
        """Check one packet from the tap and show its findings."""
        self._show_packet(self._take(now, frame))

    def judged(self, now: float, frame: Frame) -> JudgedValues:
        """Check one packet and return its values and findings, for a caller that shows them."""
        return self._counted(self._take(now, frame))

    def together(self, now: float, runs: Sequence[FrameRun]) -> None:
        """Check packets that passed together and show their findings."""
        for known in self._take_together(now, runs):
            self._show_packet(known)

    def judged_together(self, now: float, runs: Sequence[FrameRun]) -> dict[int, JudgedValues]:
        """Check packets that passed together; return what `judged` does for those that have findings, by their offset.

        The other packets have none.
        """
        return {known.event.offset: self._counted(known) for known in self._take_together(now, runs) if known.findings}

    def connected(self, layers: list[str]) -> None:
        """Begin a new connection."""
        if self._last is not None:
            self._close()
            self._ends = self._ends._replace(number=self._ends.number + 1)
            self._last = None

    def end(self) -> None:
        """Show the summary, once."""
        if self._ended:
            return
        self._ended = True
        if self._last is not None:
            self._close()
        fared = list(self._judge.end())
        self.aside()
        width = screen_width(sys.stderr)
        if not self._judge.packets:
            return
        show(summary(self._judge.packets, self._judge.connections, self._selection, fared, width), sys.stderr)
        if self.peer_errors:
            errors = f"{self.peer_errors} {plural(self.peer_errors, 'error')}"
            note(f"the broker broke the protocol: {errors} in its packets or omissions")
        if self._manner.json:
            self._record(fared)

    def _take(self, now: float, frame: Frame) -> PacketInContext:
        time = self._start_at(now)
        version = frame.version or self._version
        return self._judge.packet(
            PacketSeen(self._ends, time, 0, frame.data, frame.offset, frame.direction, version, False)
        )

    def _take_together(self, now: float, runs: Sequence[FrameRun]) -> Iterator[PacketInContext]:
        """Check packets and yield those that were checked one by one."""
        for run in self._clean.runs(runs, self._start_at(now), self._ends):
            if isinstance(run, FrameRun):
                for frame in run.frames:
                    yield self._take(now, frame)
            else:
                yield from self._judge.run(run)

    def _start_at(self, now: float) -> int:
        """Return the time of packets in nanoseconds; the first begins the output."""
        time_ns = self._last = int(now * 1_000_000) * 1000
        if not self._judge.packets:
            self._writer.begin(time_ns)
        return time_ns

    def _close(self) -> None:
        case = self._judge.other(Closed(self._ends, self._last, 0, None, "end"), Location())
        if case:
            self._show(case)

    def _counted(self, known: PacketInContext) -> JudgedValues:
        """Count the findings of a packet; return its values and findings."""
        found = known.findings or ()
        self._count(found, known.event.direction is Direction.SERVER)
        self._selection.pick(found)
        return known.packet, found

    def _show_packet(self, known: PacketInContext) -> None:
        if known.findings:
            self._show(self._judge.judged(known, known.findings, Location()))

    def _show(self, case: JudgedEvent) -> None:
        of_peer = [each for each in case.findings if each.at_fault is Direction.SERVER]
        self._count(of_peer, bool(of_peer))
        if shown := self._selection.pick(case.findings):
            self.aside()
            self._writer.write(case._replace(findings=shown))
            self._stream.flush()

    def _count(self, found: Sequence[Finding], of_peer: bool) -> None:
        self.peer_errors += of_peer and sum(each.severity == "error" for each in found)

    def _record(self, fared: list[VersionResults]) -> None:
        words = [row.word for _, rows in fared for row in rows]
        print_json({
            "event": "lint", "packets": self._judge.packets,
            **{f"{word}s": count for word, count in self._selection.counts.items()}, "peer_errors": self.peer_errors,
            "statements": {word.replace(" ", "_"): words.count(word) for word in ("broken", "kept", "not exercised")},
        })  # fmt: skip
