"""How a rule is declared."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...spec.constraints import Law
from ...spec.declare import Packet
from ...spec.versions import Direction
from .view import Fault, Reading

Check = Callable[[Reading], Iterator[Fault]]


class Rule(NamedTuple):
    """A check and what it stands for."""

    packets: tuple[type[Packet], ...]
    law: Law
    check: Check
    sender: Direction | None = None
    """The end that the rule binds, where it binds one only; it is not checked when the sender is unknown."""
    severity: str = ""
    """Empty for that of the statement."""
    instead: bool = False
    """Whether its findings replace those of the table at the same place."""


RULES: list[Rule] = []
"""Every rule, in the order of declaration."""


def rule(
    packets: type[Packet] | tuple[type[Packet], ...], law: Law, *,
    sender: Direction | None = None, severity: str = "", instead: bool = False,
) -> Callable[[Check], Check]:  # fmt: skip
    """Make a function a rule of some packets."""

    def declared(check: Check) -> Check:
        among = packets if isinstance(packets, tuple) else (packets,)
        RULES.append(Rule(among, law, check, sender, severity, instead))
        return check

    return declared
