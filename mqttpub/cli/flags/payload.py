"""The flags of payloads: where one comes from, and the formats that it is written in and that others are read in."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from ...payload.formats import (
    FORMATS,
    Converter,
    Format,
    PayloadReader,
    converter,
    payload_reader,
    payload_size,
    random_payload,
)
from .base import F, Flag, FlagValues, flag, together
from .types import MOST, OCTETS, PATH, TEXT, WORD, NumberType

SOURCES = {"message": "-m", "payload_value": "--payload", "file": "-f", "stdin": "-s", "null_message": "-n"}
"""Flags that give a payload, by parameter."""
STANDARD_INPUT = b"-"
"""The message that stands for standard input, as in most programs; `--payload text:-` is a hyphen."""


class SizeType(click.ParamType[str]):
    """A size in bytes, such as 512, 1.5K or 2MB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the size as it was typed; raises BadParameter if it is not one."""
        try:
            payload_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


def _choice(formats: Iterable[Format]) -> click.Choice[str]:
    return click.Choice([each.name for each in formats])


def _listed(formats: Iterable[Format]) -> str:
    """Return the names of formats: a, b or c."""
    *names, last = (each.name for each in formats)
    return f"{', '.join(names)} or {last}"


def _schema_flags(what: str) -> Callable[[F], F]:
    """Return the decorator that adds the flags of schemas; `what` begins their helps."""
    return together(
        flag(
            "-Pp", "--protobuf-path", type=PATH, metavar="PATH",
            help=f"{what} as Protocol Buffers, with this .proto file.",
        ),
        flag(
            "-Pmn", "--protobuf-message-name", type=WORD, metavar="NAME",
            help="Message in the .proto file, such as package.Name. [default: the only one]",
        ),
        flag("-Ap", "--avsc-path", type=PATH, metavar="PATH", help=f"{what} as Avro, with this .avsc file."),
    )  # fmt: skip


SENT = [each for each in FORMATS.values() if each.is_sent]
READ = [each for each in FORMATS.values() if each.is_read]
READ_ALONE = [each for each in READ if not each.schema]
"""Those that need no flags of their own."""
converter_flags = together(
    flag(
        "--format", type=_choice(SENT), metavar="FORMAT",
        help=f"Format of the payload: {_listed(each for each in SENT if not each.takes_json)}; or JSON to be sent as "
        f"{_listed(each for each in SENT if each.takes_json)}. [default: sent unchanged]",
    ),
    _schema_flags("Send JSON"),
)  # fmt: skip
format_flags = together(
    converter_flags,
    flag(
        "--payload-size", type=SizeType(), metavar="SIZE",
        help="Payload: random bytes of this size, such as 512, 1.5K or 2MB.",
    ),
)  # fmt: skip


template_flags = together(
    flag(
        "--template", is_flag=True,
        help="Fill in %i (number), %d (time), %c (client id), %u (user name), %(random 1 6) and others: in topic, "
        "payload and User Properties; %% is a percent sign. See `mqttpub help bulk`.",
    ),
    flag(
        "--csv", type=PATH, metavar="PATH",
        help="A message for each row of this CSV file, with %(column NAME) and the other placeholders of --template.",
    ),
    flag(
        "--seed", type=NumberType(0, MOST), metavar="N",
        help="Make the random values of --template the same in each run with this number.",
    ),
)  # fmt: skip


class TemplateRequest(NamedTuple):
    """What templates are filled with."""

    csv: str | None = None
    """The file whose rows make messages; - for standard input."""
    seed: int | None = None
    payload_flag: str = ""
    """The flag that gives the payload."""


def template_request(given: FlagValues) -> TemplateRequest | None:
    """Return what templates are filled with; None where nothing is a template. Raises UsageError."""
    if not (given["template"] or given["csv"]):
        if given["seed"] is not None:
            raise click.UsageError("--seed needs --template or --csv")
        return None
    if given["payload_size"]:
        raise click.UsageError("--payload-size makes a payload, which cannot be a template")
    flag = next((letter for key, letter in SOURCES.items() if given[key] not in (None, False)), "")
    return TemplateRequest(given["csv"], given["seed"], flag)


def payload_format_flags(*names: str, help: str) -> Callable[[F], F]:
    """Return the decorator that adds the flags that say how to read payloads; `help` ends that of --format."""
    return together(
        flag(*names, type=_choice(READ), metavar="FORMAT", help=f"Read payloads as {_listed(READ)}; {help}"),
        _schema_flags("Read payloads"),
    )


def answer_format_flag() -> Callable[[F], F]:
    """Return the decorator that adds --answer-format."""
    return flag(
        "--answer-format", type=_choice(READ_ALONE), metavar="FORMAT",
        help=f"Read answers as {_listed(READ_ALONE)}. [default: escaped text]",
    )  # fmt: skip


def chosen_format(given: FlagValues) -> Converter | None:
    """Return the converter that the flags name, None without one; raises UsageError."""
    named = _chosen(given, "json")
    try:
        return converter(*named) if named else None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def payload_format(given: FlagValues) -> tuple[str, PayloadReader | None]:
    """Return the name of the format that payloads are read in, empty for none, and its reader; raises UsageError."""
    named = _chosen(given)
    try:
        return (named[0], payload_reader(*named)) if named else ("", None)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _chosen(given: FlagValues, *also: str) -> tuple[Any, ...] | None:
    """Return the name of the format, which a schema implies, and what its class takes; None without a format.

    A schema goes with its format and those of `also`; raises UsageError.
    """
    name: str | None = given["format"]
    with_schema = [each for each in FORMATS.values() if each.schema]
    meant = [each for each in with_schema if given[each.schema[0]]]
    if meant[1:]:
        raise click.UsageError(f"only one of {' and '.join(_flag(each.schema[0]) for each in meant)} at a time")
    if meant and name not in (None, meant[0].name, *also):
        raise click.UsageError(f"{_flag(meant[0].schema[0])} does not go with --format {name}")
    name = meant[0].name if meant else name
    for path, key in ((each.schema[0], key) for each in with_schema if each.name != name for key in each.schema[1:]):
        if given[key]:
            raise click.UsageError(f"{_flag(key)} needs {_flag(path)}")
    if name is None:
        return None
    schema = FORMATS[name].schema
    if schema and not given[schema[0]]:
        raise click.UsageError(f"--format {name} needs {_flag(schema[0])}")
    return name, *(given[key] for key in schema)


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


class PayloadFlag(Flag):
    """A flag whose value is a payload: a second one is refused, where click would drop the first in silence."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser collect every value."""
        parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append")

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """Return the value and its source; raises UsageError for a second value."""
        return super().consume_value(
            ctx, {**opts, self.name: self.only(opts[self.name])} if self.name in opts else opts
        )

    def only(self, values: list[str]) -> str:
        """Return the one of the values that the parser collected; raises UsageError for several."""
        if values[1:]:
            raise click.UsageError(f"only one payload at a time, but {self.opts[0]} was given {len(values)} times")
        return values[0]


def payload_options() -> list[Flag]:
    """Return the flags that give a payload."""
    return [
        PayloadFlag(
            ["-m", "--message"], common=True, metavar="TEXT", type=TEXT,
            help="Payload: this text; - is standard input.",
        ),
        PayloadFlag(
            ["--payload", "payload_value"], common=True, metavar="VALUE", type=OCTETS,
            help="Payload: text, hex:..., base64:..., @file, text:LITERAL",
        ),
        PayloadFlag(
            ["-f", "--file"], aliases=("--file-read", "--message-file", "-m:file"), metavar="PATH",
            common=True, type=PATH, help="Payload: contents of a file; - is standard input.",
        ),
        Flag(["-s", "--stdin"], aliases=("--stdin-file",), is_flag=True, help="Payload: all of standard input."),
        Flag(
            ["-n", "--null-message"], aliases=("--message-empty", "-m:empty"), is_flag=True,
            help="Payload: empty, zero bytes.",
        ),
    ]  # fmt: skip


# the payload itself


def formatted_payload(given: FlagValues) -> bytes:
    """Return the payload that the flags give, in the format that they name; raises UsageError."""
    convert = chosen_format(given)
    if given["payload_size"] is not None:
        if convert:
            raise click.UsageError("--payload-size makes random bytes, which no format can convert")
        return random_payload(given["payload_size"])
    data = payload(given)
    if convert is None:
        return data
    try:
        return convert(data)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def payload(given: FlagValues, *, required: bool = True) -> bytes:
    """Return the payload as it is given; raises UsageError for none, unless it is not required, and for several."""
    named = [letter for key, letter in SOURCES.items() if given[key] not in (None, False)]
    if not named and required:
        raise click.UsageError("no payload: give one of -m, -f, -s or -n")
    if named[1:]:
        raise click.UsageError(f"only one payload at a time, but {' and '.join(named)} were given")
    if given["payload_value"] is not None:
        value: bytes = given["payload_value"]
        return value
    if given["message"] is not None:
        message: bytes = given["message"]
        if message == STANDARD_INPUT:
            return _standard_input()
        _hint(message)
        return message
    if given["file"]:
        return _file(given["file"])
    return _standard_input() if given["stdin"] else b""


def _hint(message: bytes) -> None:
    """Point out on a terminal that a text with a prefix is not decoded; a script gets no hint."""
    from ...payload.bytes_argument import has_prefix

    if has_prefix(message) and sys.stderr.isatty():
        from ..notes import note

        text = message.decode("utf-8", "surrogateescape")
        note(f"the payload is the text '{text}' itself; --payload decodes a value with this prefix")


def _standard_input() -> bytes:
    from ...common.standard_input import STANDARD_INPUT_NAME, standard_input
    from ...payload.bytes_argument import read_value

    try:
        return read_value(standard_input(), STANDARD_INPUT_NAME)
    except OSError as error:
        raise click.UsageError(f"standard input cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _file(path: str) -> bytes:
    if path == "-":
        return _standard_input()
    from ...payload.bytes_argument import read_value

    try:
        with open(path, "rb") as file:
            return read_value(file, f"'{path}'")
    except OSError as error:
        raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint="--file") from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--file") from None
