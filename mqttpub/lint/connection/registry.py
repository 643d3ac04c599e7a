"""What rules of a conversation are made of: occasions on which statements are tested, and faults."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...spec.constraints import Law
from ...spec.declare import Packet
from ...spec.statements import statement
from ...spec.versions import Direction, Version

CLIENT, SERVER = 0, 1
"""The two sides, as indexes."""
BOTH = (CLIENT, SERVER)


def cite(v5: str = "", v311: str = "", v31: str = "") -> Law:
    """Return the law of these statements; raises KeyError for one that is not in the lists.

    So a rule that cites what does not exist fails when it is loaded, and not when a peer breaks it.
    """
    law = Law(v5, v311, v31)
    for version in Version:
        if id := law.id(version):
            statement(id)
    return law


class Occasion:
    """A situation that puts statements to the test; how often it came is all that a tally needs."""

    __slots__ = ("laws",)

    def __init__(self, *laws: Law) -> None:
        self.laws = laws
        OCCASIONS.append(self)

    def ids(self, version: Version) -> list[str]:
        """Return the ids of the statements that a version has for it."""
        return [id for law in self.laws if (id := law.id(version))]


OCCASIONS: list[Occasion] = []
"""Every occasion, in the order of declaration."""


class Fault(NamedTuple):
    """A broken rule, before it has a place in the bytes."""

    law: Law
    path: str
    """The field at fault, without the packet's own name; empty for the packet as a whole."""
    message: str
    also: tuple[Law, ...] = ()
    """Other statements that the same fault breaks."""
    severity: str = ""
    """The finding is at most as severe as this; empty for the severity of the statement."""


SEVERITIES = ("error", "warning", "note")
"""The most severe first."""

Check = Callable[..., None]
"""Takes the state, the packet and the end that sent it; notes faults and brings the state up to date."""

CHECKS: tuple[dict[type[Packet], tuple[Check, ...]], ...] = ({}, {})
"""For each side the checks of what it sends, by type, in the order in which the modules are loaded."""


def on(*packets: type[Packet], sender: Direction | None = None) -> Callable[[Check], Check]:
    """Make a function a check of some packets, from both ends or from one."""

    def declared(check: Check) -> Check:
        for side, end in zip(BOTH, Direction, strict=True):
            for packet in packets if sender in (None, end) else ():
                CHECKS[side][packet] = (*CHECKS[side].get(packet, ()), check)
        return check

    return declared


class Tally(NamedTuple):
    """How often each statement was put to the test, and how it fared; ids that are not in it were not exercised."""

    exercised: dict[str, int]
    broken: dict[str, int]

    def kept(self, id: str) -> int:
        """Return how often a statement was tested and not broken."""
        return self.exercised.get(id, 0) - self.broken.get(id, 0)


def checkable(version: Version) -> list[str]:
    """Return the ids of all statements of a version that a conversation can put to the test."""
    return sorted({id for occasion in OCCASIONS for id in occasion.ids(version)})


def value_of(properties: Any, id: int, absent: Any = None) -> Any:
    """Return the value of the first property with this identifier."""
    for number, value in properties or ():
        if number == id:
            return value
    return absent
