"""What the specification demands of single values, as data with the statements that say so."""

import re
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from ..common.words import plural
from .versions import Version

SHARE = "$share/"
"""What a shared filter begins with (5.0: 4.8.2)."""


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

    def at(self, value: Any) -> tuple[int, int] | None:
        """Return which characters of a wrong value are at fault; None for the whole value."""
        return None


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


class InTable(Limit):
    """The code is one that this packet may carry in this version; `names` of the field says which."""


class NonZero(Limit):
    """The value is not 0."""

    def broken(self, value: Any) -> str:
        return "is 0, but must be 1 or more" if value == 0 else ""


class NoWildcards(Limit):
    """A Topic Name holds no wildcard character."""

    def broken(self, value: Any) -> str:
        found = [character for character in "+#" if character in value]
        return f"holds the wildcard {' and '.join(found)}" if found else ""

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.search("[+#]", value)
        return found.span() if found else None


class NotEmpty(Limit):
    """A string or a list holds something."""

    def broken(self, value: Any) -> str:
        return "" if value else "is empty"


class Wildcards(Limit):
    """Wildcards stand where they may; with `shared`, a ShareName is not looked at."""

    __slots__ = ("shared",)

    def __init__(self, law: Law, *, shared: bool = False) -> None:
        super().__init__(law)
        self.shared = shared

    def begin(self, value: str) -> int:
        """Return where the filter begins behind $share/ and the ShareName."""
        if not self.shared or not value.startswith(SHARE):
            return 0
        return (value.find("/", len(SHARE)) + 1) or len(value)


class LevelWildcards(Wildcards):
    """`#` is alone or behind a /, and last (5.0: 4.7.1.2)."""

    def broken(self, value: Any) -> str:
        at = value.find("#", self.begin(value))
        if at < 0 or (at == len(value) - 1 and (at == 0 or value[at - 1] == "/")):
            return ""
        return "has a # that is not a whole last level"

    def at(self, value: Any) -> tuple[int, int] | None:
        at = value.find("#", self.begin(value))
        return at, at + 1


class SingleWildcards(Wildcards):
    """`+` fills its level (5.0: 4.7.1.3)."""

    _PART = r"(?<=[^/])\+|\+(?=[^/])"

    def broken(self, value: Any) -> str:
        return "has a + that is not a whole level" if self.at(value) else ""

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.compile(self._PART).search(value, self.begin(value)) if "+" in value else None
        return found.span() if found else None


class ShareName(Limit):
    """A shared filter names its group (5.0: 4.8.2)."""

    def broken(self, value: Any) -> str:
        if not value.startswith(SHARE):
            return ""
        return "" if value[len(SHARE) :].split("/")[0] else f"has no ShareName behind {SHARE}"


class ShareFilter(Limit):
    """The ShareName has no wildcard and a filter follows it (5.0: 4.8.2)."""

    def broken(self, value: Any) -> str:
        share, slash, rest = value.removeprefix(SHARE).partition("/")
        if not share or not value.startswith(SHARE):
            return ""
        if set(share) & {"+", "#"}:
            return "has a wildcard in its ShareName"
        return "" if slash and rest else "has no filter behind its ShareName"

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.compile("[^/]*?([+#])").match(value, len(SHARE))
        return found.span(1) if found else None


class Ascii(Limit):
    """Only 7-bit characters (3.1: 3.1)."""

    def broken(self, value: Any) -> str:
        return "" if value.isascii() else "has bytes above 0x7F"

    def at(self, value: Any) -> tuple[int, int] | None:
        found = re.search(rb"[\x80-\xff]+", value)
        return found.span() if found else None


class Characters(Limit):
    """The string has between `low` and `high` characters."""

    __slots__ = ("high", "low")

    def __init__(self, law: Law, low: int, high: int) -> None:
        super().__init__(law)
        self.low, self.high = low, high

    def broken(self, value: Any) -> str:
        if self.low <= len(value) <= self.high:
            return ""
        wanted = f"{self.low} to {self.high}" if self.low else f"at most {self.high}"
        return f"has {len(value)} characters, but must have {wanted}"


class Pattern(Limit):
    """A string holds nothing that a pattern matches; `text.isprintable()` is a quick proof that it does not."""

    pattern: ClassVar[str]
    # Compiled on use: most runs meet no string that needs it.
    says: ClassVar[str]
    """What a string with such characters does; `{}` stands for them."""

    def broken(self, value: Any) -> str:
        place = self.at(value)
        return self.says.format(_named(value[slice(*place)])) if place else ""

    def at(self, value: Any) -> tuple[int, int] | None:
        found = None if value.isprintable() else re.search(self.pattern, value)
        return found.span() if found else None


class WellFormed(Pattern):
    """The bytes are well-formed UTF-8; others were read as lone surrogates (5.0: 1.5.4)."""

    pattern = "[\ud800-\udfff]+"
    says = "holds {}, which is not UTF-8"


_JAVA = "(?:\udcc0\udc80|\udced[\udca0-\udcbf][\udc80-\udcbf])"


class NearlyWellFormed(Pattern):
    """The bytes are well-formed UTF-8, or what Java's writeUTF makes of U+0000 and of surrogates (3.1: 2.5)."""

    pattern = f"{_JAVA}+|([\ud800-\udfff]+?)(?={_JAVA}|[^\ud800-\udfff]|\\Z)"
    says = WellFormed.says

    def at(self, value: Any) -> tuple[int, int] | None:
        found = () if value.isprintable() else re.finditer(self.pattern, value)
        return next((match.span() for match in found if match[1]), None)


class NoJavaForm(Pattern):
    """The string has no U+0000 as C0 80, and no surrogates that are encoded apart (3.1: 2.5)."""

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


def valid(v5: str = "", v311: str = "", v31: str = "") -> tuple[Limit, ...]:
    """Return the demand that a string is well-formed, by the statements about its own field."""
    strict, older = WellFormed(Law(v5, v311)), NearlyWellFormed(Law(v31=v31))
    return (strict, older) if v31 else (strict,)


_LONGEST = 24
"""Characters of a value that a message shows."""


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:d}"
    if len(value) > _LONGEST:
        return f"{value[:_LONGEST]!a} and {len(value) - _LONGEST} more characters"
    return ascii(value)


def _named(text: str) -> str:
    """Return characters by their numbers, and bytes that are none in hex."""
    if text[0] < "\udc80" or text[0] > "\udcff":
        return f"U+{ord(text[0]):04X}"
    shown, more = " ".join(f"{ord(byte) - 0xDC00:02x}" for byte in text[:8]), len(text) - 8
    return f"{shown} and {more} {plural(more, 'byte')} more" if more > 0 else shown
