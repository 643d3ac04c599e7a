"""Short flags that MQTTX uses differently: where a command line means MQTTX's flag, name ours."""

import os
import re
from collections.abc import Sequence

import click

from .base import Flag, origin
from .transport import PROTOCOLS

FORMATS = ("base64", "json", "hex", "binary", "cbor", "msgpack")
"""Values of MQTTX's -f."""
PAIRS = {
    "user_property": "-up",
    "connect_user_property": "-Cup",
    "will_user_property": "-Wup",
    "headers": "--ws-header",
}
"""Flags that take any number of pairs in MQTTX, and one pair each here."""
LINES = "-l makes a message of each line of standard input; MQTTX's -l {0} is --protocol {0} here"
ATTACHED = re.compile(f"-l({'|'.join(PROTOCOLS)})")


def check_file(ctx: click.Context) -> None:
    """Raise BadParameter for a missing file whose name is a format."""
    name = ctx.params.get("file")
    if name in FORMATS and not os.path.exists(name):
        flag = next(param for param in ctx.command.params if param.name == "file")
        assert isinstance(flag, Flag)
        sentence = f"there is no file '{name}'; MQTTX's -f {name} is --format {name} here"
        raise click.BadParameter(sentence, ctx, flag, origin(ctx, flag))


def surplus(ctx: click.Context, rest: Sequence[str]) -> str | None:
    """Return what surplus arguments mean in MQTTX, and what to write here; None if they mean nothing there."""
    if ctx.params.get("lines") and rest[0] in PROTOCOLS:
        return LINES.format(rest[0])
    several = next((letter for key, letter in PAIRS.items() if ctx.params.get(key)), None)
    if several and all(": " in each or "=" in each for each in rest):
        return f"{count(rest)} too many; repeat {several} for each pair: {several} 'a: b' {several} 'c: d'"
    if ctx.command.name == "sub" and ctx.params.get("topic"):
        return f"{count(rest)} too many; repeat -t for each Topic Filter: -t a -t b"
    if rest[0].isdigit() and not ctx.params.get("clean", True) and ctx.command.name == "bench":
        return "-c keeps the session; MQTTX's -c is --connections here"
    return None


def count(rest: Sequence[str]) -> str:
    """Return the number of surplus arguments in words."""
    return "1 argument" if len(rest) == 1 else f"{len(rest)} arguments"


def meant(error: click.UsageError, args: Sequence[str]) -> str | None:
    """Return the message for an error caused by a short flag of MQTTX, None for any other."""
    if isinstance(error, click.NoSuchOption):
        attached = next(filter(None, map(ATTACHED.fullmatch, args)), None)
        return LINES.format(attached[1]) if attached and error.option_name == "-w" else None
    without_number = isinstance(error, click.BadOptionUsage) and error.option_name == "-M"
    if isinstance(error, click.BadParameter) and error.param and error.param.name == "max_inflight":
        without_number = error.message.startswith("'-")
    return "-M is the maximum number of messages in flight; MQTTX's -M is --multiline here" if without_number else None
