"""What the specification demands of single values, as data with the statements that say so."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from .terms import Version


class Law(NamedTuple):
    """The statements that make one demand, by version; empty where a version does not make it."""

    v5: str = ""
    v311: str = ""
    v31: str = ""

    def id(self, version: Version) -> str:
        """Return the full id of the statement in `version`, or an empty string."""
        label = {Version.V5: self.v5, Version.V311: self.v311, Version.V31: self.v31}[version]
        return f"{version.prefix}-{label}" if label else ""


class Limit:
    """A demand on one value; subclasses say which."""

    __slots__ = ("law",)

    def __init__(self, law: Law) -> None:
        self.law = law

    def broken(self, value: Any) -> str:
        """Return what is and what should be, or an empty string when the value is right."""
        return ""


class OneOf(Limit):
    """The value is one of a few."""

    __slots__ = ("allowed",)

    def __init__(self, law: Law, allowed: Iterable[Any]) -> None:
        super().__init__(law)
        self.allowed = tuple(allowed)

    def broken(self, value: Any) -> str:
        if value in self.allowed:
            return ""
        shown = [f"{item:d}" if isinstance(item, int) else repr(item) for item in self.allowed]
        listed = " or ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
        return f"is {_shown(value)}, but must be {listed}"


class NonZero(Limit):
    """The value is not 0."""

    def broken(self, value: Any) -> str:
        return "is 0, but must be 1 or more" if value == 0 else ""


class NoWildcards(Limit):
    """A Topic Name holds no wildcard character."""

    def broken(self, value: Any) -> str:
        found = [character for character in "+#" if character in value]
        return f"holds the wildcard {' and '.join(found)}" if found else ""


class NotEmpty(Limit):
    """A string or a list holds something."""

    def broken(self, value: Any) -> str:
        return "" if value else "is empty"


class LevelWildcards(Limit):
    """`#` is alone or behind a /, and last (5.0: 4.7.1.2)."""

    def broken(self, value: Any) -> str:
        at = value.find("#")
        if at < 0 or (at == len(value) - 1 and (at == 0 or value[at - 1] == "/")):
            return ""
        return "has a # that is not a whole last level"


class SingleWildcards(Limit):
    """`+` fills its level (5.0: 4.7.1.3)."""

    def broken(self, value: Any) -> str:
        if "+" not in value or all(level == "+" or "+" not in level for level in value.split("/")):
            return ""
        return "has a + that is not a whole level"


class ShareName(Limit):
    """A shared filter names its group (5.0: 4.8.2)."""

    def broken(self, value: Any) -> str:
        if not value.startswith("$share/") and value != "$share":
            return ""
        return "" if value[7:].split("/")[0] else "has no ShareName behind $share/"


class ShareFilter(Limit):
    """The ShareName has no wildcard and a filter follows it (5.0: 4.8.2)."""

    def broken(self, value: Any) -> str:
        if not value.startswith("$share/"):
            return ""
        share, slash, rest = value[7:].partition("/")
        if set(share) & {"+", "#"}:
            return "has a wildcard in its ShareName"
        return "" if slash and rest else "has no filter behind its ShareName"


class Ascii(Limit):
    """Only 7-bit characters (3.1: 3.1)."""

    def broken(self, value: Any) -> str:
        return "" if value.isascii() else "has bytes above 0x7F"


class Characters(Limit):
    """The string has between `low` and `high` characters."""

    __slots__ = ("high", "low")

    def __init__(self, law: Law, low: int, high: int) -> None:
        super().__init__(law)
        self.low, self.high = low, high

    def broken(self, value: Any) -> str:
        if self.low <= len(value) <= self.high:
            return ""
        return f"has {len(value)} characters, but must have {self.low} to {self.high}"


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:d}"
    return ascii(value)


class InTable(Limit):
    """The code is one that this packet may carry in this version; `names` of the field says which."""
