"""Which clients, statements or topics have the most findings, counted in bounded memory."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ..codec.tree import Finding
from ..spec.packets import Publish
from ..spec.versions import Direction
from ..traffic.clients import display_name, shortened
from ..traffic.context import PacketInContext
from ..traffic.events import Endpoints

MOST_GROUPS = 5000
"""Groups that stay when there are twice as many: those with the fewest findings are dropped."""
MOST_PARTS = 16
"""Different statements of a group, or clients of a statement, that are counted separately."""


class GroupName(NamedTuple):
    """What the findings of a group have in common: a client or a server, a statement, or a topic."""

    text: str
    """The Client Identifier or the address of an end, the id of a statement, or a Topic Name; empty for none.

    A very long one ends with the number of characters left out. It is not escaped.
    """
    end: Direction | None = None
    """Which end it names; None for statements and topics."""

    def __str__(self) -> str:
        return self.text if self.end is not Direction.SERVER else f"server {self.text}".rstrip()


class FindingGroup:
    """The findings of a client, of a statement or about a topic."""

    __slots__ = ("findings", "name", "parts", "parts_left_out", "severities")

    def __init__(self, name: GroupName) -> None:
        self.name = name
        self.findings = 0
        self.severities: Counter[str] = Counter()
        """How many findings there are of each severity."""
        self.parts: Counter[GroupName] = Counter()
        """How many there are of each statement; in the group of a statement, of each client."""
        self.parts_left_out = 0
        """Findings that are not among the parts."""

    @property
    def rank(self) -> tuple[int, int, str]:
        """The key by which groups are sorted: most findings first, then most errors."""
        return -self.findings, -self.severities["error"], str(self.name)

    def count(self, part: GroupName, count: int) -> None:
        """Count findings of a statement, or of a client, as part of the group."""
        if part in self.parts or len(self.parts) < MOST_PARTS:
            self.parts[part] += count
        else:
            self.parts_left_out += count


class FindingGroups:
    """Counts findings by `client`, `statement` or `topic`; the topic is that of a PUBLISH.

    The client of a finding is the end at fault: the Client Identifier of a client, or its address and port where no
    CONNECT gave it one; the address and port of a server. Where the end is unknown it is the client of the connection.
    """

    def __init__(self, by: str) -> None:
        self.by = by
        self.dropped = False
        """Whether groups were dropped, so that counts may be too low."""
        self.findings = 0
        """All findings."""
        self._groups: dict[GroupName, FindingGroup] = {}

    def __len__(self) -> int:
        """Return the number of groups; at least so many, if some were dropped."""
        return len(self._groups)

    def add(
        self, findings: Iterable[Finding], ends: Endpoints, client: str, known: PacketInContext | None = None
    ) -> None:
        """Count findings of a packet, or without one of the end of a connection; `client` is its Client Identifier."""
        for each in findings:
            who, law = _at_fault(each, ends, client), _law(each.statement)
            name, part = (law, who) if self.by == "statement" else (who if self.by == "client" else _topic(known), law)
            group = self._group(name)
            group.findings += 1
            group.severities[each.severity] += 1
            group.count(part, 1)
            self.findings += 1

    def join(self, other: "FindingGroups") -> None:
        """Add what another object counted in other inputs."""
        self.findings += other.findings
        self.dropped = self.dropped or other.dropped
        for name, each in other._groups.items():
            group = self._group(name)
            group.findings += each.findings
            group.severities.update(each.severities)
            group.parts_left_out += each.parts_left_out
            for part, count in each.parts.items():
                group.count(part, count)

    def ranked(self) -> list[FindingGroup]:
        """Return the groups, those with the most findings first."""
        return sorted(self._groups.values(), key=lambda each: each.rank)

    def _group(self, name: GroupName) -> FindingGroup:
        group = self._groups.get(name)
        if group is None:
            if len(self._groups) >= 2 * MOST_GROUPS:
                self._groups = {each.name: each for each in self.ranked()[:MOST_GROUPS]}
                self.dropped = True
            group = self._groups[name] = FindingGroup(name)
        return group


# There are some hundred statements, and thousands of groups that name them.
_law = cache(GroupName)


def _at_fault(finding: Finding, ends: Endpoints, client: str) -> GroupName:
    if finding.at_fault is Direction.SERVER:
        return GroupName(ends.server, Direction.SERVER)
    return GroupName(shortened(display_name(client, ends)), Direction.CLIENT)


def _topic(known: PacketInContext | None) -> GroupName:
    if known is None or not isinstance(known.packet, Publish):
        return GroupName("")
    name = known.topic.name if known.topic else known.packet.topic
    return GroupName(shortened(name or ""))
