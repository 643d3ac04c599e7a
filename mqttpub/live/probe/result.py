"""What a probe finds out about one limit."""

from enum import StrEnum
from typing import Any, NamedTuple

from ...spec.packets import Connack
from ...spec.properties import PropertyRow, value_of


class Agreement(StrEnum):
    """How the value that was seen compares with that of CONNACK, or of the specification."""

    NOT_DECLARED = "not declared"
    AGREES = "agrees"
    TOLERATES_MORE = "tolerates more"
    """The broker takes what it declared not to."""
    ALLOWS_LESS = "allows less"
    """The broker refuses what it declared, or what the specification says that it must accept."""


class ProbeResult(NamedTuple):
    """One limit: what CONNACK declares and what was seen."""

    key: str
    """Its name in JSON."""
    label: str
    declared: Any
    """The value of CONNACK or, where it has none, that of the specification; None for a limit that nothing declares."""
    seen: Any
    """The value that was found out; None where nothing was accepted."""
    at_least: bool = False
    """Whether nothing above `seen` was tried."""
    agreement: Agreement = Agreement.NOT_DECLARED
    said: str = ""
    """How the broker refused a higher value."""
    unit: str = ""


def declared_of(connack: Connack, row: PropertyRow, default: Any) -> Any:
    """Return the value of a limit in CONNACK, or the one that the specification gives to its absence."""
    return value_of(connack.properties, row, default)


def compared(declared: int, seen: int | None) -> Agreement:
    """Return how a number that was seen compares with the declared one."""
    if seen is None or seen < declared:
        return Agreement.ALLOWS_LESS
    return Agreement.TOLERATES_MORE if seen > declared else Agreement.AGREES
