"""The registry of rules: one decorator for rules of single packets and for rules of conversations.

A rule of single packets names the statement that it checks (`cites`) and yields its faults. A rule of
conversations has no `cites`: it follows the state of a connection, adds to `ConnectionState.exercised` each time a
statement is put to the test, and reports with `ConnectionState.fault`. Every id is looked up in the lists of
statements when the module is imported, so a rule whose statement has no row fails there.

Most packets are judged without a call of each rule: by `packet.fast.is_clean`, and in runs. So a rule declares in
`runs` what stands for it there. Without that, all packets of its types take the slow way, on which it is called.
"""

from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from ..spec.constraints import StatementRef
from ..spec.declare import Packet
from ..spec.statements import statement
from ..spec.versions import Direction, Version
from .packet.fast import stands_for, take_out

SEVERITIES = ("error", "warning", "note")
"""The most severe first."""

Check = Callable[..., Any]
"""Of single packets: takes a PacketView, yields Faults. Of conversations: takes state, packet and sender."""
C = TypeVar("C", bound=Check)
CheckTable = dict[type[Packet], tuple[Check, ...]]


class InRuns(NamedTuple):
    """What stands for rules of a conversation in a run; each is called with a `state.Stretch`, a row and a stop.

    For each packet type all `until` are called first, then the only `follow`, then all `then`.
    """

    until: Check | None = None
    """Returns the row of the first packet, from the row to before the stop, for which a rule may find something or
    that is unusual; the stop if there is none. Changes nothing."""
    then: Check | None = None
    """Notes and counts the packets from the row to before the stop as the rules do."""
    follow: Check | None = None
    """Does both, and returns the row after the last packet: where what a packet may be depends on those before it."""


RunTable = dict[type[Packet], tuple[InRuns, ...]]


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
    runs: Check | InRuns | None = None
    """What stands for it where it is not called: of single packets, a function of `packet.fast`; of conversations, an
    InRuns. Without, its packets are not judged quickly and are in no run."""


RULES: list[Rule] = []
"""Every rule, in the order of declaration."""


def rule(
    *packets: type[Packet], cites: StatementRef | None = None, sender: Direction | None = None, severity: str = "",
    instead: bool = False, runs: Check | InRuns | None = None,
) -> Callable[[C], C]:  # fmt: skip
    """Register a function as a rule for these packets.

    Raises KeyError if a statement in `cites` is not in the lists, ValueError if `runs` cannot stand for the rule.
    """
    if cites is not None:
        _resolve(cites)
        if runs is None:
            take_out(packets)
    if runs is not None and not (isinstance(runs, InRuns) if cites is None else stands_for(runs, packets)):
        raise ValueError(f"{runs} cannot stand for a rule of {', '.join(each.name for each in packets)}")

    def declared(check: C) -> C:
        RULES.append(Rule(packets, check, cites, sender, severity, instead, runs))
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
    client, server = (
        {packet: tuple(each.check for each in rules) for packet, rules in table.items()} for table in _tables(modules)
    )
    return client, server


def run_tables(modules: Sequence[ModuleType]) -> tuple[RunTable, RunTable]:
    """Return what stands for the conversation checks of `check_tables` in runs, each once.

    A packet type is missing if nothing stands for one of its rules. Raises ImportError for two that `follow`.
    """
    client, server = (
        {packet: found for packet, rules in table.items() if (found := _standing(rules))} for table in _tables(modules)
    )
    return client, server


def _standing(rules: list[Rule]) -> tuple[InRuns, ...]:
    found = dict.fromkeys(each.runs for each in rules if isinstance(each.runs, InRuns))
    if sum(each.follow is not None for each in found) > 1:
        raise ImportError(f"two rules follow packets of {rules[0].packets[0].name}")
    return tuple(found) if all(each.runs for each in rules) else ()


def _tables(modules: Sequence[ModuleType]) -> Iterator[dict[type[Packet], list[Rule]]]:
    """Yield the conversation rules by packet type, first those for the client's packets, then for the server's."""
    order = {module.__name__: place for place, module in enumerate(modules)}
    rules = [each for each in RULES if each.cites is None]
    if strange := {each.check.__module__ for each in rules} - set(order):
        raise ImportError(f"rules in {', '.join(sorted(strange))}, which has no place in the order of the rules")
    rules.sort(key=lambda each: order[each.check.__module__])
    for end in Direction:
        table: dict[type[Packet], list[Rule]] = {}
        for each in rules:
            for packet in each.packets if each.sender in (None, end) else ():
                table.setdefault(packet, []).append(each)
        yield table


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
