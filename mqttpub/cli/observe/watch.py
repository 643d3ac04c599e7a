"""`pub --lint`: what both ends send is checked as it passes."""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from ...codec.frame_runs import FrameRun
from ...codec.stream import Frame
from ...codec.tree import Finding
from ...common.words import counted
from ...live.net.dial import Route
from ...live.net.transport import authority
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
from ..lint.findings import OutputOptions, VersionResults, summary, writer_of
from ..notes import note, print_json

JudgedValues = tuple[Packet | None, Sequence[Finding]]
"""The values of a packet, None if it could not be read, and its findings."""


class Watch:
    """Shows the findings of all connections of a run as they arise: on standard error or, as JSON, on standard output.

    `connection` returns what observes one of them. `peers` are the ends that others than this program play.
    """

    def __init__(
        self, version: Version, manner: OutputOptions, peers: Sequence[Direction] = (Direction.SERVER,)
    ) -> None:
        self.aside: Callable[[], None] = lambda: None
        """Called before anything is shown, so that the progress makes room."""
        self._errors = dict.fromkeys(peers, 0)
        """Findings of severity error in what each peer sent."""
        self._version = version
        self._manner = manner
        self._stream: TextIO = sys.stdout if manner.json else sys.stderr
        self._writer = writer_of(manner, self._stream)
        self.judge = EventJudge()
        self._selection = Selection()
        self._numbers = itertools.count(1)
        self._connections: dict[WatchedConnection, None] = {}
        """Those that have not ended."""
        self._ended = False

    @property
    def peer_errors(self) -> int:
        """Findings of severity error in what the peers sent, or did not send."""
        return sum(self._errors.values())

    def connection(self, label: str = "") -> "WatchedConnection":
        """Return what checks one connection at a time; a label that is a number is also that of the connection."""
        made = WatchedConnection(self, self._version, self._numbers, label)
        self._connections[made] = None
        return made

    def over(self, connection: "WatchedConnection") -> None:
        """Take a connection as ended, and forget it."""
        self._connections.pop(connection, None)
        connection.close()

    def settle(self) -> None:
        """Take all connections so far as ended."""
        ended, self._connections = self._connections, {}
        for connection in ended:
            connection.close()

    def end(self) -> None:
        """Show the summary, once."""
        if self._ended:
            return
        self._ended = True
        self.settle()
        fared = list(self.judge.end())
        self.aside()
        width = screen_width(sys.stderr)
        if not self.judge.packets:
            return
        show(summary(self.judge.packets, self.judge.connections, self._selection, fared, width), sys.stderr)
        for peer, count in self._errors.items():
            if count:
                who = "broker" if peer is Direction.SERVER else "client"
                note(f"the {who} broke the protocol: {counted(count, 'error')} in its packets or omissions")
        if self._manner.json:
            self._record(fared)

    def start_at(self, now: float) -> int:
        """Return the time of packets in nanoseconds; the first begins the output."""
        time_ns = int(now * 1_000_000) * 1000
        if not self.judge.packets:
            self._writer.begin(time_ns)
        return time_ns

    def counted(self, known: PacketInContext) -> JudgedValues:
        """Count the findings of a packet; return its values and findings."""
        found = known.findings or ()
        self._count(known.event.direction, found)
        self._selection.pick(found)
        return known.packet, found

    def show_packet(self, known: PacketInContext) -> None:
        """Show the findings of a packet."""
        if known.findings:
            self.show(self.judge.judged(known, known.findings, Location()))

    def show(self, case: JudgedEvent) -> None:
        """Show the findings of an event."""
        for peer in self._errors:
            self._count(peer, [each for each in case.findings if each.at_fault is peer])
        if shown := self._selection.pick(case.findings):
            self.aside()
            self._writer.write(case._replace(findings=shown))
            self._stream.flush()

    def _count(self, sender: Direction | None, found: Sequence[Finding]) -> None:
        if sender in self._errors:
            self._errors[sender] += sum(each.severity == "error" for each in found)

    def _record(self, fared: list[VersionResults]) -> None:
        words = [row.word for _, rows in fared for row in rows]
        print_json({
            "event": "lint", "packets": self.judge.packets,
            **{f"{word}s": count for word, count in self._selection.counts.items()}, "peer_errors": self.peer_errors,
            "statements": {word.replace(" ", "_"): words.count(word) for word in ("broken", "kept", "not exercised")},
        })  # fmt: skip


class WatchedConnection:
    """Observes one connection at a time, from `connected` on; its Watch shows the findings."""

    def __init__(self, watch: Watch, version: Version, numbers: Iterator[int], label: str) -> None:
        self._watch = watch
        self._label = label
        self._version = version
        self._numbers = numbers
        self._clean = CleanFrames(version)
        self._ends = Endpoints(next(numbers), "", "")
        self._last: int | None = None
        """The time of the last packet; None before the first of a connection."""

    def __call__(self, now: float, frame: Frame) -> None:
        """Check one packet from the tap and show its findings."""
        self._watch.show_packet(self._take(now, frame))

    def judged(self, now: float, frame: Frame) -> JudgedValues:
        """Check one packet and return its values and findings, for a caller that shows them."""
        return self._watch.counted(self._take(now, frame))

    def together(self, now: float, runs: Sequence[FrameRun]) -> None:
        """Check packets that passed together and show their findings."""
        for known in self._take_together(now, runs):
            self._watch.show_packet(known)

    def judged_together(self, now: float, runs: Sequence[FrameRun]) -> dict[int, JudgedValues]:
        """Check packets that passed together; return what `judged` does for those that have findings, by their offset.

        The other packets have none.
        """
        found = (known for known in self._take_together(now, runs) if known.findings)
        return {known.event.offset: self._watch.counted(known) for known in found}

    def connected(self, route: Route) -> None:
        """Begin a new connection."""
        self.close()
        if self._label.isdecimal():
            self._ends = Endpoints(int(self._label), authority(*route.client), authority(*route.server), begun=True)

    def over(self) -> None:
        """End the connection; another does not follow."""
        self._watch.over(self)

    def close(self) -> None:
        """End the connection, if it had packets."""
        last, self._last = self._last, None
        if last is not None:
            ends, self._ends = self._ends, self._ends._replace(number=next(self._numbers))
            case = self._watch.judge.other(Closed(ends, last, 0, None, "end"), Location())
            if case:
                self._watch.show(case)

    def _take(self, now: float, frame: Frame) -> PacketInContext:
        time_ns = self._last = self._watch.start_at(now)
        version = frame.version or self._version
        return self._watch.judge.packet(
            PacketSeen(self._ends, time_ns, 0, frame.data, frame.offset, frame.direction, version, False)
        )

    def _take_together(self, now: float, runs: Sequence[FrameRun]) -> Iterator[PacketInContext]:
        """Check packets and yield those that were checked one by one."""
        time_ns = self._last = self._watch.start_at(now)
        for run in self._clean.runs(runs, time_ns, self._ends):
            if isinstance(run, FrameRun):
                for frame in run.frames:
                    yield self._take(now, frame)
            else:
                yield from self._watch.judge.run(run)
