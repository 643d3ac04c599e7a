"""What the values of flags may be, and how they are written."""

from typing import Any

import click

from ...spec.versions import Direction, Version
from ...wire.types import BINARY, BYTE, MAX_VARIABLE, PAIR, STRING, U16, U32, VARIABLE

NEVER = 0xFFFF_FFFF
"""Session Expiry Interval of a session that does not expire."""
MOST = 1_000_000_000
"""Highest number that a flag takes where nothing else limits it."""
FOREVER = ("-1", "never", "∞")
"""Other writings of it."""
DIRECTIONS = {"client": Direction.CLIENT, "server": Direction.SERVER}


class VersionType(click.ParamType[Version]):
    """An MQTT version in any writing of the other clients."""

    name = "version"
    suggestions = ("3.1", "3.1.1", "5")
    """What completion offers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:
        """Return the Version that the text names."""
        if isinstance(value, Version):
            return value
        try:
            return Version.named(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class TextType(click.ParamType[bytes]):
    """UTF-8 text that is taken as it stands, as the other clients take it, whatever it begins with."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes of the text."""
        if isinstance(value, bytes):
            return value
        from ...payload.bytes_argument import plain

        return plain(value)


class OctetsType(click.ParamType[bytes]):
    """Bytes: UTF-8 text, or `hex:`, `base64:`, `@path`; `text:` takes the rest as it is."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes that the text stands for."""
        if isinstance(value, bytes):
            return value
        from ...payload.bytes_argument import octets

        try:
            return octets(value)
        except (ValueError, OSError) as error:
            self.fail(f"{error}; text:{value} is that text itself", param, ctx)


class SecretType(OctetsType):
    """Bytes that nobody else should see."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
        """What the secret is, in a sentence."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes, and note it when they stood among the arguments."""
        from .passwords import seen

        if isinstance(value, bytes):
            return value
        if ctx and param and not str(value).startswith("@"):
            seen(ctx, param.name, self.noun)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            prefix = "@" if value.startswith("@") else value.partition(":")[0] + ":"
            self.fail(
                f"what follows {prefix} cannot be read (it is not shown, it may be a secret); "
                "text: takes the rest as it is", param, ctx,
            )  # fmt: skip


class WordType(click.ParamType[str]):
    """Text that is not empty: an empty one, often a variable that is not set, would silently be none."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text."""
        if not value:
            self.fail("it is empty", param, ctx)
        return str(value)


class PathWord(click.Path):
    """The path of a file, which is not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        path = WORD.convert(value, param, ctx)
        if "\0" in path:
            self.fail("it has a zero byte, which no file name has", param, ctx)
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
        """Return the name or address without brackets; for a URL and a port the message names their flags."""
        from ...live.net.urls import check_host

        text = str(value)
        if "://" in text:
            self.fail("a URL is given with -L", param, ctx)
        if "@" in text:
            self.fail("a user is given with -u, or in a URL with -L", param, ctx)
        name, colon, port = text.rpartition(":")
        has_port = colon and port.isascii() and port.isdigit() and (":" not in name or name.endswith("]"))
        try:
            host = check_host(name if has_port else text)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if has_port:
            self.fail(f"a port is given with -p: -h {name} -p {port}", param, ctx)
        return host


class PairType(click.ParamType[tuple[str, str]]):
    """A user property: `name: value` or `name=value`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the name and the value."""
        if isinstance(value, (tuple, list)):
            if len(value) != 2:
                self.fail(f"takes a name and a value, but {len(value)} came", param, ctx)
            return str(value[0]), str(value[1])
        for separator in (": ", "="):
            name, found, rest = value.partition(separator)
            if found:
                return name, rest
        return self.fail(f"'{value}' is neither 'name: value' nor name=value", param, ctx)


class NumberType(click.ParamType[int]):
    """An integer, decimal or with 0x in hexadecimal, within limits; `words` stand for some numbers."""

    name = "number"

    def __init__(self, low: int, high: int, words: dict[str, int] | None = None) -> None:
        self.low, self.high, self.words = low, high, words or {}

    @property
    def suggestions(self) -> list[str]:
        """What completion offers: the words that are easy to type."""
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
            self.fail(f"{value} is not in the range {self.low} to {self.high}", param, ctx)
        return number


class FiniteRange(click.ParamType[float]):
    """A number within limits; neither endless nor no number at all."""

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
            low = f"above {self.min:g} and" if self.min_open else f"{self.min:g} or more, but"
            self.fail(f"{value} is not {low} at most {MOST}", param, ctx)
        return number


class ChoiceByte(NumberType):
    """A byte that says yes or no, also in words."""

    name = "0|1"

    def __init__(self) -> None:
        yes = dict.fromkeys(("true", "yes", "on", "utf_8", "utf-8"), 1)
        no = dict.fromkeys(("false", "no", "off", "unspecified"), 0)
        super().__init__(0, 0xFF, yes | no)


VERSION = VersionType()
HOST = HostType()
ADDRESS = AddressType()
WORD = WordType()
PATH = PathWord(dir_okay=False)
OCTETS = OctetsType()
TEXT = TextType()
USER_PROPERTY = PairType()
U16_NUMBER = NumberType(0, 0xFFFF)
BYTE_NUMBER = NumberType(0, 0xFF)
PASSWORD = SecretType("a password")

AUTO = -1
"""Topic Alias that stands for: let the program choose them."""

PROPERTY_TYPES: dict[Any, Any] = {
    STRING: str,
    BINARY: OCTETS,
    PAIR: USER_PROPERTY,
    BYTE: ChoiceByte(),
    U16: U16_NUMBER,
    U32: NumberType(0, 0xFFFF_FFFF),
    VARIABLE: NumberType(0, MAX_VARIABLE),
}
"""Values of properties, by the data type of their row."""
WORDS_OF_SESSIONS: dict[str, Any] = {"topic_alias": NumberType(0, 0xFFFF, {"auto": AUTO})}
"""Values that stand for a choice of the program, which only a run with a broker can make."""
SPECIAL_TYPES: dict[str, Any] = {
    "session_expiry_interval": NumberType(0, NEVER, dict.fromkeys(FOREVER, NEVER)),
    "authentication_data": SecretType("authentication data"),
}
"""Values of properties that take more, by their key."""
