"""Letters that mean something else for MQTTX: where a line shows that its meaning was meant, the flag here is named."""

import os
import re
from collections.abc import Sequence

import click

from .base import Flag, origin

FORMATS = ("base64", "json", "hex", "binary", "cbor", "msgpack")
"""What MQTTX's -f takes."""
PROTOCOLS = ("mqtt", "mqtts", "ws", "wss")
"""What its -l takes."""
PAIRS = {
    "user_property": "-up",
    "connect_user_property": "-Cup",
    "will_user_property": "-Wup",
    "headers": "--ws-header",
}
"""Flags that take any number of pairs there, and one each time here."""
LINES = "-l makes a message of each line of standard input; MQTTX's -l {0} is --protocol {0} here"
ATTACHED = re.compile(f"-l({'|'.join(PROTOCOLS)})")


def check_file(ctx: click.Context) -> None:
    """Raise BadParameter for a file that is not there and has the name of a format."""
    name = ctx.params.get("file")
    if name in FORMATS and not os.path.exists(name):
        flag = next(param for param in ctx.command.params if param.name == "file")
        assert isinstance(flag, Flag)
        sentence = f"there is no file '{name}'; MQTTX's -f {name} is --format {name} here"
        raise click.BadParameter(sentence, ctx, flag, origin(ctx, flag))


def too_many(ctx: click.Context, rest: Sequence[str]) -> str:
    """Return a sentence for arguments without a flag; they are not repeated, for they may be secret."""
    if ctx.params.get("lines") and rest[0] in PROTOCOLS:
        return LINES.format(rest[0])
    many = "1 argument" if len(rest) == 1 else f"{len(rest)} arguments"
    several = next((letter for key, letter in PAIRS.items() if ctx.params.get(key)), None)
    if several and all(": " in each or "=" in each for each in rest):
        return f"{many} too many; {several} takes one pair each time: {several} 'a: b' {several} 'c: d'"
    if rest[0].isdigit() and not ctx.params.get("clean", True) and ctx.command.name == "bench":
        return "-c keeps the session; MQTTX's -c is --connections here"
    return f"{many} too many; a value with a blank needs quotes"


def meant(error: click.UsageError, args: Sequence[str]) -> str | None:
    """Return a sentence for an error that a letter of MQTTX makes, None for any other."""
    if isinstance(error, click.NoSuchOption):
        attached = next(filter(None, map(ATTACHED.fullmatch, args)), None)
        return LINES.format(attached[1]) if attached and error.option_name == "-w" else None
    without_number = isinstance(error, click.BadOptionUsage) and error.option_name == "-M"
    if isinstance(error, click.BadParameter) and error.param and error.param.name == "max_inflight":
        without_number = error.message.startswith("'-")
    return "-M takes the most messages in flight; MQTTX's -M is --multiline here" if without_number else None
