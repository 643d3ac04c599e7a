"""Types of flag values: how a value is written and what it may be."""

from typing import TYPE_CHECKING, Any

import click

from ...spec.versions import Direction, Version
from ...wire.types import BINARY, BYTE, MAX_VARIABLE, PAIR, STRING, U16, U32, VARIABLE

if TYPE_CHECKING:
    from ...lab.replay.rewrite import Rewrite

NEVER = 0xFFFF_FFFF
"""Session Expiry Interval of a session that never expires (5.0: 3.1.2.11.2)."""
MOST = 1_000_000_000
"""Highest number accepted where nothing else sets a limit."""
FOREVER = ("-1", "never", "∞")
"""Words that stand for NEVER."""
DIRECTIONS = {"client": Direction.CLIENT, "server": Direction.SERVER}


class VersionType(click.ParamType[Version]):
    """An MQTT version, in any notation that other clients use."""

    name = "version"
    suggestions = ("3.1", "3.1.1", "5")
    """Values that completion offers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:
        """Return the Version that the text names."""
        if isinstance(value, Version):
            return value
        try:
            return Version.named(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class TextType(click.ParamType[bytes]):
    """UTF-8 text, used unchanged whatever it begins with, as other clients do."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes of the text."""
        if isinstance(value, bytes):
            return value
        from ...payload.bytes_argument import plain

        return plain(value)


class OctetsType(click.ParamType[bytes]):
    """Bytes: UTF-8 text, or `hex:`, `base64:`, `@path`; what follows `text:` is used literally."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes that the text stands for."""
        if isinstance(value, bytes):
            return value
        from ...payload.bytes_argument import octets

        try:
            return octets(value)
        except (ValueError, OSError) as error:
            self.fail(f"{error}; text:{value} is used literally", param, ctx)


class SecretType(OctetsType):
    """Bytes that are secret, such as a password."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        """Names the secret in messages."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes; if they were given as an argument, record that for the warning."""
        from .passwords import note_secret

        if isinstance(value, bytes):
            return value
        if ctx and param and not str(value).startswith("@"):
            note_secret(ctx, param.name, self.noun)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            prefix = "@" if value.startswith("@") else value.partition(":")[0] + ":"
            self.fail(
                f"what follows {prefix} cannot be read (it is not shown because it may be a secret); "
                "text:... is used literally", param, ctx,
            )  # fmt: skip


class WordType(click.ParamType[str]):
    """Text that is not empty: an empty value is often an unset shell variable, and would silently mean none."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        if not value:
            self.fail("it is empty", param, ctx)
        return str(value)


class TopicFilterType(WordType):
    """A Topic Filter that follows the rules of wildcards (5.0: 4.7.1)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the Topic Filter."""
        from ...traffic.topics import filter_problem

        text = super().convert(value, param, ctx)
        if problem := filter_problem(text):
            self.fail(f"'{text}' is not a Topic Filter: {problem}", param, ctx)
        return text


class PathWord(click.Path):
    """The path of a file; not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path = WORD.convert(value, param, ctx)
        if "\0" in path:
            self.fail("it contains a NUL byte, which no file name can", param, ctx)
        return super().convert(path, param, ctx)


class AddressType(WordType):
    """An address of this machine, with or without brackets."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address without brackets."""
        from ...live.net.urls import check_host

        text = super().convert(value, param, ctx)
        try:
            return check_host(text)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class HostType(click.ParamType[str]):
    """A host name, or an address with or without brackets."""

    name = "host"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name or address without brackets; for a URL or a port, the message names the right flag."""
        from ...live.net.urls import check_host

        text = str(value)
        if "://" in text:
            self.fail("give a URL with -L", param, ctx)
        if "@" in text:
            self.fail("give a User Name with -u, or in a URL with -L", param, ctx)
        name, colon, port = text.rpartition(":")
        has_port = colon and port.isascii() and port.isdigit() and (":" not in name or name.endswith("]"))
        try:
            host = check_host(name if has_port else text)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if has_port:
            self.fail(f"give a port with -p: -h {name} -p {port}", param, ctx)
        return host


class PairType(click.ParamType[tuple[str, str]]):
    """A user property: `name: value` or `name=value`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the name and the value."""
        if isinstance(value, (tuple, list)):
            if len(value) != 2:
                self.fail(f"expects a name and a value, but got {len(value)}", param, ctx)
            return str(value[0]), str(value[1])
        for separator in (": ", "="):
            name, found, rest = value.partition(separator)
            if found:
                return name, rest
        return self.fail(f"'{value}' is neither 'name: value' nor name=value", param, ctx)


class NumberType(click.ParamType[int]):
    """An integer in a range, decimal or hexadecimal with 0x; `words` are names for some values.

    The message for a number outside the range names `least` as the lowest value, where lower ones are accepted only
    for --force; `wrong` replaces the whole message after the number.
    """

    name = "number"

    def __init__(
        self, low: int, high: int, words: dict[str, int] | None = None, *, least: int | None = None, wrong: str = ""
    ) -> None:
        self.low, self.high, self.words = low, high, words or {}
        self.wrong = wrong or f"is not in the range {low if least is None else least} to {high}"

    @property
    def suggestions(self) -> list[str]:
        """Values that completion offers: the words that are easy to type."""
        return [word for word in self.words if word.isascii() and word.isalpha()]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        if (word := str(value).lower()) in self.words:
            return self.words[word]
        try:
            number = value if isinstance(value, int) else int(value, 0)
        except ValueError:
            self.fail(f"'{value}' is not a number", param, ctx)
        if not self.low <= number <= self.high:
            self.fail(f"{value} {self.wrong}", param, ctx)
        return number


class FiniteRange(click.ParamType[float]):
    """A finite number in a range."""

    name = "number"

    def __init__(self, *, min: float, min_open: bool = False) -> None:
        self.min, self.min_open = min, min_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if number != number:
            self.fail(f"'{value}' is not a number", param, ctx)
        if not self.min <= number <= MOST or (self.min_open and number == self.min):
            low = f"above {self.min:g}" if self.min_open else f"at least {self.min:g}"
            wrong = f"large: it must be at most {MOST}" if number > self.min else f"small: it must be {low}"
            self.fail(f"{value} is too {wrong}", param, ctx)
        return number


class ChoiceByte(NumberType):
    """A byte that is 0 or 1, also written as a word."""

    name = "0|1"

    def __init__(self) -> None:
        yes = dict.fromkeys(("true", "yes", "on", "utf_8", "utf-8"), 1)
        no = dict.fromkeys(("false", "no", "off", "unspecified"), 0)
        super().__init__(0, 0xFF, yes | no)


class RewriteType(click.ParamType["Rewrite"]):
    """An expression of sed, `s/PATTERN/REPLACEMENT/`."""

    name = "s/../../"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Rewrite":
        """Return what rewrites a topic."""
        from ...common.bad_text import BadText
        from ...lab.replay.rewrite import rewrite

        try:
            return rewrite(value)
        except BadText as error:
            self.fail(f"column {error.column} of '{value}': {error.message}", param, ctx)


VERSION = VersionType()
HOST = HostType()
ADDRESS = AddressType()
WORD = WordType()
TOPIC_FILTER = TopicFilterType()
PATH = PathWord(dir_okay=False)
OCTETS = OctetsType()
TEXT = TextType()
USER_PROPERTY = PairType()
U16_NUMBER = NumberType(0, 0xFFFF)
BYTE_NUMBER = NumberType(0, 0xFF)
QOS = NumberType(0, 3, wrong="is not a QoS: 0, 1 or 2 (3 only with --force)")
PORT = NumberType(1, 0xFFFF)
PASSWORD = SecretType("a password")
REWRITE = RewriteType()

AUTO = -1
"""Topic Alias value meaning that the program chooses the aliases."""

PROPERTY_TYPES: dict[Any, Any] = {
    STRING: str,
    BINARY: OCTETS,
    PAIR: USER_PROPERTY,
    BYTE: ChoiceByte(),
    U16: U16_NUMBER,
    U32: NumberType(0, 0xFFFF_FFFF),
    VARIABLE: NumberType(0, MAX_VARIABLE),
}
"""Flag type for each data type of a property."""
WORDS_OF_SESSIONS: dict[str, Any] = {"topic_alias": NumberType(0, 0xFFFF, {"auto": AUTO}, least=1)}
"""Types with a word that leaves the choice to the program; only for commands that connect."""
SPECIAL_TYPES: dict[str, Any] = {
    "session_expiry_interval": NumberType(0, NEVER, dict.fromkeys(FOREVER, NEVER)),
    "authentication_data": SecretType("authentication data"),
}
"""Flag types of properties that accept more than their data type, by key."""
