"""What the rules say of the packets of one case: what the peer was put to the test on, and what it broke."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...codec.stream import Frame
from ...codec.tree import Finding
from ...lint.connection import Conversation
from ...lint.coverage import Coverage
from ...lint.packet.judge import PacketJudge
from ...spec.declare import Packet
from ...spec.statements import statement
from ...spec.versions import Direction, Version
from ...traffic.events import Endpoints, PacketSeen

MOST_PACKETS = 2000
"""Packets of a case, at most; no case asks for a tenth of them, and no limit for all."""
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
        """Take the findings at the peer's fault that a packet or an end causes; a note is no breach."""
        for each in findings:
            if each.severity != "note":
                self.broken.append(Broken(each.statement, each.message, each.severity, packet))

    def found_too(self, ids: Iterable[str], findings: Sequence[Finding], packet: SeenPacket | None) -> None:
        """Take the other statements that what findings of one packet or end say breaks; which does is not known."""
        message = "; ".join(dict.fromkeys(each.message for each in findings))
        for id in ids:
            law = statement(id)
            if law.bound in (self.peer, None):
                self.broken.append(Broken(id, message, law.severity, packet))

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
        ours = [each for each in (*alone, *together) if (each.at_fault or direction) is self._judge.peer]
        if direction is self._judge.peer:
            event = PacketSeen(self._ends, None, 0, frame.data, frame.offset, direction, version, False)
            self._judge.count(event, packet)
        seen = SeenPacket(self._label, now, frame, version, tuple(ours))
        self._judge.saw(seen)
        self._note(direction, ours, seen)
        return packet

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Judge the end of the connection by one of its ends."""
        found = self._conversation.closed(direction, how, int(now * 1e9))
        ours = [each for each in found if (each.at_fault or direction) is self._judge.peer]
        self._judge.found(ours, None)
        self._note(direction, ours, None)

    def _note(self, direction: Direction, ours: Sequence[Finding], packet: SeenPacket | None) -> None:
        """Note the statements that the last event put to the test, and those that it broke besides those it names."""
        exercised, broken = self._conversation.tally
        self._judge.tested(_more(exercised, self._counts), direction)
        named = {each.statement for each in ours}
        errors = [each for each in ours if each.severity != "note"]
        if errors:
            self._judge.found_too((id for id in _more(broken, self._broken) if id not in named), errors, packet)
        self._counts, self._broken = exercised, broken


def _more(counts: Mapping[str, int], before: Mapping[str, int]) -> list[str]:
    """Return the ids whose count has grown."""
    return [id for id, count in counts.items() if count > before.get(id, 0)]
