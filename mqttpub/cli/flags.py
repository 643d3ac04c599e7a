"""Options with aliases, and the groups of options that commands share."""

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ..spec.properties import PropertyRow, of_packet
from ..spec.terms import Direction, Version
from ..wire.types import BINARY, BYTE, MAX_VARIABLE, PAIR, STRING, U16, U32, VARIABLE

F = TypeVar("F", bound=Callable[..., Any])


class Flag(click.Option):
    """An option that answers to more names than its help shows."""

    def __init__(self, names: Iterable[str], *, aliases: Iterable[str] = (), **attributes: Any) -> None:
        names = list(names)
        aliases = list(aliases)
        # click names the parameter after the longest of the first option's dashes; keep it the shown one.
        super().__init__([*names, *aliases], **attributes)
        self.aliases = frozenset(aliases)

    def shown(self) -> list[str]:
        """Return the names that help and completion show."""
        return [name for name in (*self.opts, *self.secondary_opts) if name not in self.aliases]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the row of the help, without the aliases."""
        every = self.opts
        self.opts = [name for name in every if name not in self.aliases]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = every


def flag(*names: str, aliases: Iterable[str] = (), **attributes: Any) -> Callable[[F], F]:
    """Declare a Flag."""
    return click.option(*names, cls=Flag, aliases=aliases, **attributes)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, shown in the order given."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


class VersionType(click.ParamType[Version]):
    """An MQTT version in any writing of the other clients."""

    name = "version"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Version:
        """Return the Version that the text names."""
        if isinstance(value, Version):
            return value
        try:
            return Version.named(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class OctetsType(click.ParamType[bytes]):
    """Bytes: UTF-8 text, or `hex:`, `base64:`, `@path`; `text:` takes the rest as it is."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Return the bytes that the text stands for."""
        if isinstance(value, bytes):
            return value
        from .octets import octets

        try:
            return octets(value)
        except (ValueError, OSError) as error:
            self.fail(str(error), param, ctx)


class PairType(click.ParamType[tuple[str, str]]):
    """A user property: `name: value` or `name=value`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the name and the value."""
        if isinstance(value, tuple):
            return value
        for separator in (": ", "="):
            name, found, rest = value.partition(separator)
            if found:
                return name, rest
        return self.fail(f"'{value}' is neither 'name: value' nor name=value", param, ctx)


class NumberType(click.ParamType[int]):
    """An integer, decimal or with 0x in hexadecimal, within limits."""

    name = "number"

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        try:
            number = value if isinstance(value, int) else int(value, 0)
        except ValueError:
            self.fail(f"'{value}' is not a number", param, ctx)
        if not self.low <= number <= self.high:
            self.fail(f"{value} is not in the range {self.low} to {self.high}", param, ctx)
        return number


VERSION = VersionType()
U16_NUMBER = NumberType(0, 0xFFFF)
OCTETS = OctetsType()
USER_PROPERTY = PairType()

DIRECTIONS = {"client": Direction.CLIENT, "server": Direction.SERVER}

SHORT_NAMES = {
    "payload_format_indicator": "-pf",
    "message_expiry_interval": "-e",
    "topic_alias": "-ta",
    "response_topic": "-rt",
    "correlation_data": "-cd",
    "user_property": "-up",
    "content_type": "-ct",
    "subscription_identifier": "-si",
    "session_expiry_interval": "-se",
}
"""Letters that the other clients have for properties of PUBLISH and CONNECT."""
MORE_NAMES = {
    "user_property": ("--user-properties", "--userProperty"),
    "receive_maximum": ("--rcv-max", "--rcvMax"),
    "maximum_packet_size": ("--maxPacketSize",),
    "topic_alias_maximum": ("--topicAliasMax",),
}


def property_option(row: PropertyRow, *, prefix: str = "") -> Flag:
    """Return the option of one property, from its row; `prefix` is will_ for the will's."""
    unit = f", {row.unit}" if row.unit else ""
    help = f"{row.label} (0x{row.id:02x}{unit}): {row.doc}."
    given: dict[str, Any] = {"type": _TYPES[row.type], "multiple": bool(row.repeatable)}
    if row.key == "payload_format_indicator":
        given = {"type": _FORMATS, "is_flag": False, "flag_value": "1"}
    if prefix:
        key = prefix + row.key.removeprefix(prefix)
        return Flag(["--" + key.replace("_", "-"), key], help=f"Of the will: {help}", **given)
    name = "--" + row.key.replace("_", "-")
    first, *rest = row.key.split("_")
    aliases = {f"--{first}{''.join(part.title() for part in rest)}", *MORE_NAMES.get(row.key, ())} - {name}
    names = [SHORT_NAMES[row.key], name] if row.key in SHORT_NAMES else [name]
    return Flag([*names, row.key], aliases=sorted(aliases), help=help, **given)


def property_flags(*packets: str) -> Callable[[F], F]:
    """Declare the options of all properties that the packets may carry, each once."""
    rows = {row.id: row for packet in packets for row in of_packet(packet)}
    return ready(property_option(row) for row in rows.values())


def ready(made: Iterable[Flag]) -> Callable[[F], F]:
    """Return a decorator for options that exist already, shown in the order given."""
    options = list(made)

    def decorate(function: F) -> F:
        function.__click_params__ = [*getattr(function, "__click_params__", []), *reversed(options)]  # type: ignore[attr-defined]
        return function

    return decorate


class FormatType(click.ParamType[int]):
    """Payload Format Indicator as a number or as UTF_8, as other clients write it."""

    name = "0|1"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        named = {"utf_8": 1, "unspecified": 0}.get(str(value).lower(), value)
        try:
            return int(named)
        except ValueError:
            self.fail(f"'{value}' is not 0 or 1", param, ctx)


_FORMATS = FormatType()
_TYPES: dict[Any, Any] = {
    STRING: str,
    BINARY: OCTETS,
    PAIR: USER_PROPERTY,
    BYTE: NumberType(0, 0xFF),
    U16: U16_NUMBER,
    U32: NumberType(0, 0xFFFF_FFFF),
    VARIABLE: NumberType(0, MAX_VARIABLE),
}


def client_id() -> str:
    """Return a fresh client identifier."""
    return f"mqttpub-{os.urandom(4).hex()}"


def payload_options() -> list[Flag]:
    """Return the options that name the source of a payload."""
    return [
        Flag(
            ["-m", "--message"], aliases=("--payload",), metavar="TEXT", type=OCTETS,
            help="Payload: text, or hex:..., base64:..., @file; text: takes the rest as it is.",
        ),
        Flag(
            ["-f", "--file"], aliases=("--file-read", "--message-file"), metavar="PATH",
            type=click.Path(dir_okay=False), help="Payload: what the file holds.",
        ),
        Flag(["-s", "--stdin"], aliases=("--stdin-file",), is_flag=True, help="Payload: all of standard input."),
        Flag(
            ["-n", "--null-message"], aliases=("--message-empty",), is_flag=True, help="Payload: none, zero bytes."
        ),
    ]  # fmt: skip


version_flag = flag(
    "-V", "--mqtt-version", type=VERSION, default="5", show_default=True, envvar="MQTTPUB_MQTT_VERSION",
    aliases=("--protocol-version", "--mqttVersion"), metavar="VERSION", help="MQTT version: 3.1, 3.1.1 or 5.",
)  # fmt: skip

connection_flags = together(
    flag(
        "-h", "--host", aliases=("--hostname",), default="localhost", show_default=True, metavar="HOST",
        envvar="MQTTPUB_HOST", help="Host name or address of the broker.",
    ),
    flag(
        "-p", "--port", type=click.IntRange(1, 65535), default=1883, show_default=True, metavar="PORT",
        envvar="MQTTPUB_PORT", help="Port of the broker.",
    ),
    version_flag,
    flag(
        "-i", "--client-id", aliases=("--id", "--identifier"), metavar="ID", envvar="MQTTPUB_CLIENT_ID",
        help="Client Identifier. [default: mqttpub- and 8 random hex digits]",
    ),
    flag(
        "-u", "--username", aliases=("--user",), metavar="NAME", envvar="MQTTPUB_USERNAME", help="User Name.",
    ),
    flag(
        "-P", "--password", aliases=("--pw",), metavar="PASSWORD", type=OCTETS,
        help="Password; better given by --password-file or MQTTPUB_PASSWORD, since arguments can be seen by others.",
    ),
    flag(
        "--password-file", type=click.Path(dir_okay=False), metavar="PATH",
        help="File whose first line is the password.",
    ),
    flag(
        "-k", "--keep-alive", aliases=("--keepalive", "--keepAlive"), type=click.IntRange(0, 65535), default=60,
        show_default=True, metavar="SECONDS", help="Keep Alive; 0 turns it off.",
    ),
    flag(
        "--clean/--no-clean", "clean", aliases=("--no-cleanStart",), default=True,
        help="Clean Start, before 5.0 Clean Session: begin without an old session.",
    ),
    flag(
        "--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True,
        metavar="SECONDS", help="Give up when nothing moves on for so long.",
    ),
)  # fmt: skip
