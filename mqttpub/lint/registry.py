"""The registry of rules: one decorator for rules of single packets and for rules of conversations.

A rule of single packets names the statement that it checks (`cites`) and yields its faults. A rule of
conversations has no `cites`: it follows the state of a connection, adds to `ConnectionState.exercised` each time a
statement is put to the test, and reports with `ConnectionState.fault`. Every id is looked up in the lists of
statements when the module is imported, so a rule whose statement has no row fails there.
"""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from ..spec.constraints import StatementRef
from ..spec.declare import Packet
from ..spec.statements import statement
from ..spec.versions import Direction, Version

SEVERITIES = ("error", "warning", "note")
"""The most severe first."""

Check = Callable[..., Any]
"""Of single packets: takes a PacketView, yields Faults. Of conversations: takes state, packet and sender."""
C = TypeVar("C", bound=Check)
CheckTable = dict[type[Packet], tuple[Check, ...]]


class Rule(NamedTuple):
    """A check and the packets that it is called for."""

    packets: tuple[type[Packet], ...]
    check: Check
    cites: StatementRef | None = None
    """The statement that a rule of single packets checks; None for a rule of conversations."""
    sender: Direction | None = None
    """The end that the rule binds, if it binds only one; such a rule is skipped while the sender is unknown."""
    severity: str = ""
    """Severity of its findings; empty for that of the statement."""
    instead: bool = False
    """Whether its findings replace those of the value checks at the same place."""


RULES: list[Rule] = []
"""Every rule, in the order of declaration."""


def rule(
    *packets: type[Packet], cites: StatementRef | None = None, sender: Direction | None = None, severity: str = "",
    instead: bool = False,
) -> Callable[[C], C]:  # fmt: skip
    """Register a function as a rule for these packets.

    Raises KeyError if a statement in `cites` is not in the lists.
    """
    if cites is not None:
        _resolve(cites)

    def declared(check: C) -> C:
        RULES.append(Rule(packets, check, cites, sender, severity, instead))
        return check

    return declared


def cite(v5: str = "", v311: str = "", v31: str = "") -> StatementRef:
    """Return a reference to a statement by its label in each version; raises KeyError if one is not in the lists."""
    law = StatementRef(v5, v311, v31)
    _resolve(law)
    return law


def _resolve(law: StatementRef) -> None:
    for version in Version:
        if id := law.id(version):
            statement(id)


def check_tables(modules: Sequence[ModuleType]) -> tuple[CheckTable, CheckTable]:
    """Return the conversation checks by packet type, first those for the client's packets, then for the server's.

    The checks of one type run in the order of these modules. Raises ImportError for a rule of any other module.
    """
    order = {module.__name__: place for place, module in enumerate(modules)}
    rules = [each for each in RULES if each.cites is None]
    if strange := {each.check.__module__ for each in rules} - set(order):
        raise ImportError(f"rules in {', '.join(sorted(strange))}, which has no place in the order of the rules")
    rules.sort(key=lambda each: order[each.check.__module__])
    client, server = (_table(each for each in rules if each.sender in (None, end)) for end in Direction)
    return client, server


def _table(rules: Iterable[Rule]) -> CheckTable:
    table: CheckTable = {}
    for each in rules:
        for packet in each.packets:
            table[packet] = (*table.get(packet, ()), each.check)
    return table


class TestPoint:
    """A situation of a conversation that puts statements to the test; it is counted each time it occurs."""

    __slots__ = ("laws",)
    __test__ = False

    def __init__(self, *laws: StatementRef) -> None:
        self.laws = laws
        TEST_POINTS.append(self)

    @property
    def law(self) -> StatementRef:
        """The first statement, which a violation cites; most test points have only one."""
        return self.laws[0]

    def ids(self, version: Version) -> list[str]:
        """Return the ids of the statements that a version has for it."""
        return [id for law in self.laws if (id := law.id(version))]


TEST_POINTS: list[TestPoint] = []
"""Every test point, in the order of declaration."""


class Tally(NamedTuple):
    """How often statements were put to the test and violated, by id; ids that are missing were never tested."""

    exercised: dict[str, int]
    broken: dict[str, int]

    def kept(self, id: str) -> int:
        """Return how often a statement was tested and not violated."""
        return self.exercised.get(id, 0) - self.broken.get(id, 0)


def checkable(version: Version) -> list[str]:
    """Return the ids of all statements of a version that a conversation can put to the test, sorted."""
    return sorted({id for point in TEST_POINTS for id in point.ids(version)})
