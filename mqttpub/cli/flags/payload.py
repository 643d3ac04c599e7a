"""The flags of a payload: where it comes from, the format it is written in, and the converter that they name."""

import sys
from typing import Any

import click

from ...common.standard_input import STANDARD_INPUT_NAME, standard_input
from ...payload.formats import FORMATS, MODULES, Converter, avro, payload_size, protobuf, random_payload
from ...payload.library import library
from .base import Flag, FlagValues, flag, together
from .types import OCTETS, PATH, TEXT, WORD

SOURCES = {"message": "-m", "payload_value": "--payload", "file": "-f", "stdin": "-s", "null_message": "-n"}
"""Flags that give a payload, by parameter."""
STANDARD_INPUT = b"-"
"""The message that stands for standard input, as in most programs; `--payload text:-` is a hyphen."""
SCHEMAS = {"protobuf": "protobuf_path", "avro": "avsc_path"}
"""Formats that need a schema file, and the option that names it."""


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


converter_flags = together(
    flag(
        "--format", type=click.Choice([*FORMATS, *SCHEMAS]), metavar="FORMAT",
        help="Format of the payload: text (UTF-8), json, hex, base64, binary (raw); or JSON to be sent as "
        "cbor, msgpack, protobuf or avro. [default: sent unchanged]",
    ),
    flag(
        "-Pp", "--protobuf-path", type=PATH, metavar="PATH",
        help="Send JSON as Protocol Buffers, with this .proto file.",
    ),
    flag(
        "-Pmn", "--protobuf-message-name", type=WORD, metavar="NAME",
        help="Message in the .proto file, such as package.Name. [default: the only one]",
    ),
    flag(
        "-Ap", "--avsc-path", type=PATH, metavar="PATH",
        help="Send JSON as Avro, with this .avsc file.",
    ),
)  # fmt: skip
format_flags = together(
    converter_flags,
    flag(
        "--payload-size", type=SizeType(), metavar="SIZE",
        help="Payload: random bytes of this size, such as 512, 1.5K or 2MB.",
    ),
)  # fmt: skip


def chosen_format(given: FlagValues) -> Converter | None:
    """Return the converter that the flags name, None without one; raises UsageError."""
    name = _name(given)
    if given["protobuf_message_name"] and name != "protobuf":
        raise click.UsageError("--protobuf-message-name needs --protobuf-path")
    try:
        return _converter(name, given) if name else None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _name(given: FlagValues) -> str | None:
    """Return the name of the format, which a schema file implies too."""
    name: str | None = given["format"]
    meant = [schema for schema, key in SCHEMAS.items() if given[key]]
    if meant[1:]:
        raise click.UsageError("only one of --protobuf-path and --avsc-path at a time")
    if meant and name not in (None, "json", *meant):
        raise click.UsageError(f"--{SCHEMAS[meant[0]].replace('_', '-')} is for JSON, but --format is {name}")
    return meant[0] if meant else name


def _converter(name: str, given: FlagValues) -> Converter:
    if name in SCHEMAS and not given[SCHEMAS[name]]:
        raise click.UsageError(f"--format {name} needs --{SCHEMAS[name].replace('_', '-')}")
    if name in MODULES:
        library(name, MODULES[name])  # now, so that a missing library is reported before anything is sent
    return _WITH_FILES[name](given) if name in _WITH_FILES else FORMATS[name]


_WITH_FILES = {
    "protobuf": lambda given: protobuf(given["protobuf_path"], given["protobuf_message_name"]),
    "avro": lambda given: avro(given["avsc_path"]),
}


def payload_options() -> list[Flag]:
    """Return the flags that give a payload."""
    return [
        Flag(
            ["-m", "--message"], common=True, metavar="TEXT", type=TEXT,
            help="Payload: this text; - is standard input.",
        ),
        Flag(
            ["--payload", "payload_value"], common=True, metavar="VALUE", type=OCTETS,
            help="Payload: text, hex:..., base64:..., @file, text:LITERAL",
        ),
        Flag(
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
