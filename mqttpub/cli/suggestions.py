"""Suggestions for unknown commands and flags; imported only after an error."""

import os
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

import click

from .flags.base import Flag, has_short_help

MOST = 2
"""Maximum number of names suggested."""
NEAR = 0.75
"""How similar a name must be to be suggested, from 0 to 1; below this, names that share only a few letters match."""
OTHER_COMMANDS = {
    **dict.fromkeys(("publish", "mqtt"), "`mqttpub pub` publishes"),
    "subscribe": "`mqttpub sub` subscribes",
    "rr": "`mqttpub request` publishes a request and waits for its answer",
    "connect": "`mqttpub conn` connects and shows what the broker allows",
    "version": "`mqttpub --version` prints the version",
}
"""Commands of other programs, and the equivalent here."""
OTHER_FLAGS = {
    "-h": "-h is the host of a command, as in `mqttpub pub -h HOST`; `mqttpub --help` shows the help",
    "-V": "-V is the MQTT version of a command, as in `mqttpub pub -V 5`; the program's own is `mqttpub --version`",
    "-v": "`mqttpub --version` prints the version",
}
"""Flags that people place before the command, and where they belong."""


def sentence(error: click.ClickException) -> str | None:
    """Return a message that suggests what was probably meant; None to keep the message of click."""
    ctx = getattr(error, "ctx", None)
    name = getattr(error, "command_name", None)
    if name is not None and ctx is not None:
        return _of_command(name, ctx)
    if isinstance(error, click.NoSuchOption) and ctx is not None:
        return _of_option(error.option_name, ctx)
    if isinstance(error, click.BadOptionUsage) and ctx is not None:
        return _of_value(error.option_name, ctx)
    return None


def _of_value(name: str, ctx: click.Context) -> str | None:
    """Return the message for an option that lacks its value, or that has one and takes none."""
    if name == "-h":
        return "-h needs a host name; --help shows the help"
    option = next((each for each in ctx.command.params if name in (*each.opts, *each.secondary_opts)), None)
    if not isinstance(option, click.Option) or option.nargs != 1:
        return None
    return f"{name} takes no value" if option.is_flag else f"{name} needs a value: {name} {option.make_metavar(ctx)}"


def _of_command(name: str, ctx: click.Context) -> str:
    assert isinstance(ctx.command, click.Group)
    if "://" in name:
        # The URL may hold a password, so it is not repeated.
        return "give a URL with -L: `mqttpub pub -L URL`"
    known = f"there is no command '{name}'"
    if ctx.parent is None:
        if name in OTHER_COMMANDS:
            return f"{known}: {OTHER_COMMANDS[name]}"
        if os.path.isfile(name):
            return f"{known}; `mqttpub decode {name}` reads the file"
    return known + suggestion(name, ctx.command.list_commands(ctx), f"{ctx.command_path} --help")


def _of_option(name: str, ctx: click.Context) -> str:
    known = f"there is no flag {name}"
    if ctx.parent is None:
        if name in OTHER_FLAGS:
            return OTHER_FLAGS[name]
        if command := next(_commands_with(name, ctx), None):
            return f"flags come after the command: `mqttpub {command} {name} ...`"
    every = "--help-all" if has_short_help(ctx.command) else "--help"
    return known + suggestion(name, _shown(ctx.command), f"{ctx.command_path} {every}")


def _commands_with(name: str, ctx: click.Context) -> Iterator[str]:
    """Yield the commands with this flag, `pub` first."""
    assert isinstance(ctx.command, click.Group)
    for command_name in ctx.command.list_commands(ctx):
        command = ctx.command.get_command(ctx, command_name)
        if command and any(name in (*param.opts, *param.secondary_opts) for param in command.params):
            yield command_name


def _shown(command: click.Command) -> list[str]:
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    return [name for each in options for name in (each.shown() if isinstance(each, Flag) else each.opts)]


def suggestion(name: str, known: Iterable[str], listing: str) -> str:
    """Return the end of a sentence about an unknown name: similar names, or else the command that lists all."""
    near = get_close_matches(name, known, MOST, NEAR)
    return f"; did you mean {' or '.join(near)}?" if near else f"; `{listing}` lists them"
