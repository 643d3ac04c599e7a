"""What the rules say of the packets of one case: what the peer was put to the test on, and what it broke."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ...codec.stream import Frame
from ...codec.tree import Finding
from ...lint.connection import Conversation
from ...lint.coverage import Coverage
from ...lint.packet.judge import PacketJudge
from ...lint.registry import SEVERITIES
from ...spec.declare import Packet
from ...spec.statements import statement
from ...spec.versions import Direction, Version
from ...traffic.events import Endpoints, PacketSeen

MOST_PACKETS = 2000
"""Packets of a case, at most; no case asks for a tenth of them."""
_NONE: Counter[str] = Counter()


class SeenPacket(NamedTuple):
    """A packet of a case and what the rules find in it."""

    label: str
    """Its connection."""
    time_s: float
    """Since the epoch."""
    frame: Frame
    version: Version
    findings: tuple[Finding, ...]
    """Those at the peer's fault."""


class Broken(NamedTuple):
    """A statement that the peer broke."""

    statement: str
    """Full id."""
    message: str
    severity: str
    packet: SeenPacket | None
    """The packet that shows it; None where the end of a connection does."""


class CaseJudge:
    """Judges the connections of one case, each through an observer that `connection` returns."""

    def __init__(self, peer: Direction) -> None:
        self.peer = peer
        self.packets: list[SeenPacket] = []
        """The packets of all connections, in their order."""
        self.broken: list[Broken] = []
        self._exercised: dict[str, None] = {}
        self._coverage = Coverage()
        self._versions: set[Version] = set()

    def connection(self, label: str, version: Version) -> "JudgedConnection":
        """Return the observer of a new connection."""
        return JudgedConnection(self, label, version)

    @property
    def exercised(self) -> set[str]:
        """The full ids of the statements that packets of the peer, or its silence, were put to the test on."""
        found = set(self._exercised)
        for version in self._coverage.versions:
            for row in self._coverage.rows(version, _NONE, _NONE):
                if row.exercised:
                    found.add(row.statement.id)
        return found

    @property
    def is_full(self) -> bool:
        """Whether there are as many packets as a case may have."""
        return len(self.packets) >= MOST_PACKETS

    def saw(self, packet: SeenPacket) -> None:
        """Keep a packet."""
        self.packets.append(packet)
        self.found(packet.findings, packet)

    def found(self, findings: Sequence[Finding], packet: SeenPacket | None) -> None:
        """Take the findings at the peer's fault that a packet or an end causes."""
        for each in findings:
            if len(self.broken) < MOST_PACKETS:
                self.broken.append(Broken(each.statement, each.message, each.severity, packet))

    def tested(self, ids: Sequence[str], by: Direction | None) -> None:
        """Note statements that one end was put to the test on; those that bind both count for the end that acted."""
        for id in ids:
            bound = statement(id).bound
            if bound is self.peer or (bound is None and by is self.peer):
                self._exercised[id] = None

    def count(self, event: PacketSeen, packet: Packet | None) -> None:
        """Count a packet of the peer for the statements that a packet by itself can break."""
        self._coverage.packet(event, packet)


class JudgedConnection:
    """Observes one connection of a case."""

    def __init__(self, judge: CaseJudge, label: str, version: Version) -> None:
        self._judge = judge
        self._label = label
        self._version = version
        self._conversation = Conversation(version)
        self._alone = PacketJudge()
        self._counts: dict[str, int] = {}
        self._broken: dict[str, int] = {}
        self._ends = Endpoints(1, "", "", begun=True)

    def __call__(self, now: float, frame: Frame) -> Packet | None:
        """Judge a packet and return its values; None if it cannot be read."""
        direction, version = frame.direction, frame.version or self._version
        assert direction
        packet, alone = self._alone.alone(frame.data, version, direction)
        together = self._conversation.fast(frame.data, packet, direction, int(now * 1e9), version)
        ours = self._ours([*alone, *together], direction)
        if direction is self._judge.peer:
            event = PacketSeen(self._ends, None, 0, frame.data, frame.offset, direction, version, False)
            self._judge.count(event, packet)
        self._note(direction)
        self._judge.saw(SeenPacket(self._label, now, frame, version, tuple(ours)))
        return packet

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Judge the end of the connection by one of its ends."""
        ours = self._ours(self._conversation.closed(direction, how, int(now * 1e9)), direction)
        self._note(direction)
        self._judge.found(ours, None)

    def _ours(self, findings: list[Finding], direction: Direction) -> list[Finding]:
        """Return those at the peer's fault, the first of them again for other statements that were broken with it."""
        ours = [each for each in findings if (each.at_fault or direction) is self._judge.peer]
        if not findings:
            return ours
        before, self._broken = self._broken, self._conversation.tally.broken
        more = {id for id, count in self._broken.items() if count > before.get(id, 0)}
        for id in sorted(more.difference(each.statement for each in findings)) if ours else ():
            first = ours[0]
            severity = max(first.severity, statement(id).severity, key=SEVERITIES.index)
            ours.append(Finding(severity, first.path, first.span, first.message, id, at_fault=first.at_fault))
        return ours

    def _note(self, direction: Direction) -> None:
        """Note the statements that the last event put to the test."""
        counts = dict(self._conversation.tally.exercised)
        self._judge.tested([id for id, count in counts.items() if count > self._counts.get(id, 0)], direction)
        self._counts = counts
