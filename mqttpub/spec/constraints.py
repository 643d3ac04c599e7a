"""What the specification demands of single values and of the structure of packets, with the statements that say so."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from ..common.words import plural
from .versions import Version

SHARE = "$share/"
"""The beginning of a shared Topic Filter (5.0: 4.8.2)."""


class StatementRef(NamedTuple):
    """The labels of the statements that make one demand, by version; empty if a version does not make it."""

    v5: str = ""
    v311: str = ""
    v31: str = ""

    def id(self, version: Version) -> str:
        """Return the full id of the statement in `version`, such as MQTT5-3.3.1-2; empty if there is none."""
        label = {Version.V5: self.v5, Version.V311: self.v311, Version.V31: self.v31}[version]
        return f"{version.prefix}-{label}" if label else ""


class Constraint:
    """A demand on one value; each subclass is a kind of demand."""

    __slots__ = ("ref",)

    def __init__(self, ref: StatementRef) -> None:
        self.ref = ref

    def violation(self, value: Any) -> str:
        """Return how the value violates the constraint, in words that follow the field's name; empty if it does not."""
        return ""

    def at(self, value: Any) -> tuple[int, int] | None:
        """Return the first and last offset of the wrong characters of a violating value; None for the whole value."""
        return None


class OneOf(Constraint):
    """The value is one of those listed."""

    __slots__ = ("allowed",)

    def __init__(self, ref: StatementRef, allowed: Iterable[Any]) -> None:
        super().__init__(ref)
        self.allowed = tuple(allowed)

    def violation(self, value: Any) -> str:
        if value in self.allowed:
            return ""
        return f"is {_shown(value)}, but must be {self.listed}"

    @property
    def listed(self) -> str:
        """The values in words: `0, 1 or 2`."""
        shown = [f"{item:d}" if isinstance(item, int) else repr(item) for item in self.allowed]
        return " or ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


class InTable(Constraint):
    """The code is one that this packet may carry in this version; `names` of the field lists them."""


class NonZero(Constraint):
    """The value is not 0."""

    def violation(self, value: Any) -> str:
        return "is 0, but must be 1 or more" if value == 0 else ""


class NoWildcards(Constraint):
    """A Topic Name has no wildcard character (5.0: 4.7.1)."""

    def violation(self, value: Any) -> str:
        found = [character for character in "+#" if character in value]
        return f"holds the wildcard {' and '.join(found)}" if found else ""

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.search("[+#]", value)
        return found.span() if found else None


class NotEmpty(Constraint):
    """A string or a list is not empty."""

    def violation(self, value: Any) -> str:
        return "" if value else "is empty"


class Wildcards(Constraint):
    """Wildcards are in allowed places; with `shared`, a ShareName is skipped (5.0: 4.7.1)."""

    __slots__ = ("shared",)

    def __init__(self, ref: StatementRef, *, shared: bool = False) -> None:
        super().__init__(ref)
        self.shared = shared

    def begin(self, value: str) -> int:
        """Return the offset at which the filter begins, after $share/ and the ShareName."""
        if not self.shared or not value.startswith(SHARE):
            return 0
        return (value.find("/", len(SHARE)) + 1) or len(value)


class LevelWildcards(Wildcards):
    """`#` is alone or after a /, and last (5.0: 4.7.1.2)."""

    def violation(self, value: Any) -> str:
        at = value.find("#", self.begin(value))
        if at < 0 or (at == len(value) - 1 and (at == 0 or value[at - 1] == "/")):
            return ""
        return "has a # that is not a whole last level"

    def at(self, value: Any) -> tuple[int, int] | None:
        at = value.find("#", self.begin(value))
        return at, at + 1


class SingleWildcards(Wildcards):
    """`+` is a whole level (5.0: 4.7.1.3)."""

    _PART = r"(?<=[^/])\+|\+(?=[^/])"

    def violation(self, value: Any) -> str:
        return "has a + that is not a whole level" if self.at(value) else ""

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.compile(self._PART).search(value, self.begin(value)) if "+" in value else None
        return found.span() if found else None


class ShareName(Constraint):
    """A shared filter has a ShareName (5.0: 4.8.2)."""

    def violation(self, value: Any) -> str:
        if not value.startswith(SHARE):
            return ""
        return "" if value[len(SHARE) :].split("/")[0] else f"has no ShareName after {SHARE}"


class ShareFilter(Constraint):
    """The ShareName has no wildcard and a filter follows it (5.0: 4.8.2)."""

    def violation(self, value: Any) -> str:
        share, slash, rest = value.removeprefix(SHARE).partition("/")
        if not share or not value.startswith(SHARE):
            return ""
        if set(share) & {"+", "#"}:
            return "has a wildcard in its ShareName"
        return "" if slash and rest else "has no filter after its ShareName"

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.compile("[^/]*?([+#])").match(value, len(SHARE))
        return found.span(1) if found else None


class Ascii(Constraint):
    """Only 7-bit characters (3.1: 3.1)."""

    def violation(self, value: Any) -> str:
        return "" if value.isascii() else "has bytes above 0x7F"

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.search(rb"[\x80-\xff]+", value)
        return found.span() if found else None


class Characters(Constraint):
    """The string has between `low` and `high` characters."""

    __slots__ = ("high", "low")

    def __init__(self, ref: StatementRef, low: int, high: int) -> None:
        super().__init__(ref)
        self.low, self.high = low, high

    def violation(self, value: Any) -> str:
        if self.low <= len(value) <= self.high:
            return ""
        wanted = f"{self.low} to {self.high}" if self.low else f"at most {self.high}"
        return f"has {len(value)} characters, but must have {wanted}"


class Pattern(Constraint):
    """No part of a string matches a pattern; no printable text does, which is a quick test."""

    pattern: ClassVar[str]
    # Compiled on use: most runs meet no string that needs it.
    says: ClassVar[str]
    """The violation; `{}` stands for the characters."""

    def violation(self, value: Any) -> str:
        place = self.at(value)
        return self.says.format(_named(value[slice(*place)])) if place else ""

    def at(self, value: Any) -> tuple[int, int] | None:
        found = None if value.isprintable() else re.search(self.pattern, value)
        return found.span() if found else None


class WellFormed(Pattern):
    """The bytes are well-formed UTF-8; others are lone surrogates in the value (5.0: 1.5.4)."""

    pattern = "[\ud800-\udfff]+"
    says = "holds {}, which is not UTF-8"


_JAVA = "(?:\udcc0\udc80|\udced[\udca0-\udcbf][\udc80-\udcbf])"


class NearlyWellFormed(Pattern):
    """The bytes are well-formed UTF-8, or U+0000 and surrogates as Java's writeUTF encodes them (3.1: 2.5)."""

    pattern = f"{_JAVA}+|([\ud800-\udfff]+?)(?={_JAVA}|[^\ud800-\udfff]|\\Z)"
    says = WellFormed.says

    def at(self, value: Any) -> tuple[int, int] | None:
        found = () if value.isprintable() else re.finditer(self.pattern, value)
        return next((match.span() for match in found if match[1]), None)


class NoJavaForm(Pattern):
    """The string has no U+0000 as C0 80 and no surrogates as two characters (3.1: 2.5)."""

    pattern = f"{_JAVA}+"
    says = "holds {}, which only Java's form of UTF-8 has"


class NoNull(Pattern):
    """The string has no U+0000 (5.0: 1.5.4)."""

    pattern = "\0"
    says = "holds {}"


_LAST_OF_PLANES = "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))


class NoControl(Pattern):
    """The string has no control characters and no non-characters (5.0: 1.5.4)."""

    pattern = f"[\1-\x1f\x7f-\x9f\ufdd0-\ufdef{_LAST_OF_PLANES}]"
    says = "holds {}, which a string should not hold"


def valid(v5: str = "", v311: str = "", v31: str = "") -> tuple[Constraint, ...]:
    """Return the constraints that a string is well-formed, citing the statements about its own field."""
    strict, older = WellFormed(StatementRef(v5, v311)), NearlyWellFormed(StatementRef(v31=v31))
    return (strict, older) if v31 else (strict,)


_LONGEST = 24
"""Largest number of characters of a value in a message."""


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:d}"
    if len(value) > _LONGEST:
        return f"{value[:_LONGEST]!a} and {len(value) - _LONGEST} more characters"
    return ascii(value)


def _named(text: str) -> str:
    """Return characters as U+NNNN, and bytes that are not UTF-8 in hex."""
    if text[0] < "\udc80" or text[0] > "\udcff":
        return f"U+{ord(text[0]):04X}"
    shown, more = " ".join(f"{ord(byte) - 0xDC00:02x}" for byte in text[:8]), len(text) - 8
    return f"{shown} and {more} {plural(more, 'byte')} more" if more > 0 else shown


# How packets are put together, whatever their type

SHORT = StatementRef("2.1.4/short", "2.2.3/short", "2.1/short")
"""A field ends beyond the Remaining Length."""
TRAILING = StatementRef("2.1.4/trailing", "2.2.3/trailing", "2.1/trailing")
"""Bytes are left over after the last field."""
LENGTH = StatementRef("1.5.5/length", "2.2.3/length", "2.1/length")
"""A Variable Byte Integer has at most four bytes."""
SHORTEST = StatementRef("1.5.5-1", "2.2.3/shortest", "2.1/shortest")
"""A Variable Byte Integer uses the fewest bytes."""
TYPE = StatementRef("2.1.2/type", "2.2.1/type", "2.1/type")
"""Reserved packet types are not used."""
DIRECTION = StatementRef("2.1.2/direction", "2.2.1/direction", "2.1/direction")
"""Some packets come from one end only."""
NO_PROPERTIES = StatementRef("2.2.2-1")
"""A packet without properties has a Property Length of 0."""
PROPERTY_SHORT = StatementRef("2.2.2.1/short")
"""The Property Length ends neither beyond the packet nor within a property."""
PROPERTY_UNKNOWN = StatementRef("2.2.2.2/unknown")
PROPERTY_PLACE = StatementRef("2.2.2.2/not-allowed")
PROPERTY_TWICE = StatementRef("2.2.2.2/repeated")
BINARY_FRAMES = StatementRef("6.0.0-1", "6.0.0-1", "1/transport")
"""On a WebSocket, MQTT travels in binary frames."""
TRANSPORT = StatementRef("6.0.0/frames", "6.0.0/frames", "1/transport")
"""What carries MQTT can be unwrapped to a stream of bytes."""
WELL_FORMED = StatementRef("1.5.4-1", "1.5.3-1", "2.5/string")
"""Strings are well-formed UTF-8."""
NO_NUL = StatementRef("1.5.4-2", "1.5.3-2")
"""Strings hold no U+0000."""
CONTROL = StatementRef("1.5.4/control", "1.5.3/control")
"""Strings should hold no control characters and no non-characters."""
JAVA = StatementRef(v31="2.5/java")
"""Strings may come from Java's writeUTF."""

STRINGS = (
    WellFormed(StatementRef(WELL_FORMED.v5, WELL_FORMED.v311)),
    NearlyWellFormed(StatementRef(v31=WELL_FORMED.v31)),
    NoJavaForm(JAVA),
    NoNull(NO_NUL),
    NoControl(CONTROL),
)
"""Constraints of every string; one of the same class on the field itself replaces each."""
