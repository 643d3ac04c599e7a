"""The limits of a broker: what is played to find each of them, and what is found."""

import tomllib
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ...script.reader import read_script
from ...script.steps import Step
from ...spec.properties import BY_KEY, PropertyRow
from ...spec.versions import Version
from .cases import VERSIONS

TAKEN = (
    ("q0", "> pingreq; < pingresp"),
    ("q1 i1", "< puback i1"),
    ("q2 i1", "< pubrec i1; > pubrel i1; < pubcomp i1"),
)
"""How a message of each QoS is sent, and how a broker shows that it has taken it."""

PACKET = "packet"
"""The `text` of a limit on the size of a packet."""


class Limit(NamedTuple):
    """One limit; `limits.toml` describes the keys of the same names."""

    name: str
    """The property that declares it, where there is one."""
    title: str
    versions: tuple[str, ...]
    script: str
    highest: tuple[int, int] | None = None
    bound: int = 0
    times: int = 0
    repeated: str = ""
    each: Mapping[str, str] = {}
    text: str = ""
    unit: str = ""
    default: Any = None
    least: Any = None
    needs_qos: int = 0
    """The QoS that a message must be able to have."""

    @property
    def row(self) -> PropertyRow | None:
        """The property that declares it."""
        return BY_KEY.get(self.name)

    @property
    def needs_message(self) -> bool:
        """Whether the Maximum QoS has to be known to try it."""
        return self.needs_qos > 0 or "{q}" in self.script

    def steps(self, number: int, qos: int) -> tuple[Step, ...]:
        """Return the steps that try a value, with a message of a QoS; of a limit that counts, all repetitions."""
        how, taken = TAKEN[qos]
        script = self.script.replace("{n}", str(number)).replace("{q}", how).replace("{taken}", taken)
        repeated = "".join(self.repeated.replace("{n}", str(each)) for each in range(1, number + 1))
        return tuple(read_script([f"version {' '.join(self.versions)}", *(script + repeated).splitlines()]))


class Agreement(StrEnum):
    """How the value that was seen compares with that of CONNACK, or of the specification."""

    NOT_DECLARED = "not declared"
    AGREES = "agrees"
    TOLERATES_MORE = "tolerates more"
    """The broker takes what it declared not to."""
    ALLOWS_LESS = "allows less"
    """The broker refuses what it declared, or what the specification says that it must accept."""


class FoundLimit(NamedTuple):
    """What was found out about one limit."""

    limit: Limit
    declared: Any
    """The value of CONNACK or, where it has none, that of the specification; None for a limit that nothing declares."""
    seen: Any
    """The value that was found out; None where nothing was accepted."""
    at_least: bool = False
    """Whether nothing above `seen` was tried."""
    is_least: bool = False
    """Whether `declared` is the least that the specification demands, and more is as good."""

    @property
    def agreement(self) -> Agreement:
        """How the two values compare."""
        if self.declared is None:
            return Agreement.NOT_DECLARED
        if self.seen is None or (self.seen < self.declared and not self.at_least):
            return Agreement.ALLOWS_LESS
        more = self.seen > self.declared and not self.is_least
        return Agreement.TOLERATES_MORE if more else Agreement.AGREES


@cache
def limits(version: Version) -> tuple[Limit, ...]:
    """Return the limits that a broker may have in a version, in the order of their report."""
    entries = tomllib.loads(files(__package__).joinpath("limits.toml").read_text("utf-8"))
    every = (Limit(name, **{"versions": tuple(VERSIONS), **entry}) for name, entry in entries.items())
    return tuple(each for each in every if version.label in each.versions)


@cache
def limits_by_name() -> dict[str, Limit]:
    """Return the limits of all versions by their names."""
    return {limit.name: limit for version in Version for limit in limits(version)}


def highest(low: int, high: int, works: Callable[[int], bool]) -> int | None:
    """Return the highest number of a range that works, where all below one that works do too; None if `low` does not.

    The upper end and the number below it are tried first: most brokers allow all, or just what they declare.
    """
    for number in (high, high - 1):
        if number >= low and works(number):
            return number
    if high - 1 <= low or not works(low):
        return None
    high -= 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low
