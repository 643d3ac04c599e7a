"""Colour and the pager, decided once for a whole run.

The flags set the environment variables that other programs use too, so that all drawing code has one place to look.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from .flags.base import ALL_FLAGS, Flag, PlainOption

COLORS: dict[str, dict[str, str | None]] = {
    "auto": {},
    "always": {"FORCE_COLOR": "1", "NO_COLOR": None},
    "never": {"NO_COLOR": "1"},
}
"""Environment variables that each value of --color sets."""
NO_PAGER: dict[str, str | None] = {"MQTTPUB_PAGER": ""}
PAGED = "MQTTPUB_PAGED"
"""Environment variable that is set while a pager shows the output."""
PLAIN_PAGERS = ("", "cat")
"""Values of the variables that turn the pager off."""


def screen_flags() -> list[click.Parameter]:
    """Return the flags of every command that draws on a terminal."""
    return [
        Flag(
            ["--color"], type=click.Choice(tuple(COLORS)), metavar="|".join(COLORS), expose_value=False,
            callback=_take_color,
            help="Use colour: on a terminal, always or never. [default: auto; NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE]",
        ),
        Flag(
            ["--no-pager"], is_flag=True, expose_value=False, callback=_take_no_pager,
            help="Do not show long output through a pager. [pager: MQTTPUB_PAGER, PAGER or less]",
        ),
    ]  # fmt: skip


def help_all_flag() -> click.Parameter:
    """Return the flag with which a command shows all of its flags."""
    # Not a Flag, which the environment or a profile could give.
    return PlainOption(
        ["--help-all"], is_flag=True, is_eager=True, expose_value=False, allow_from_autoenv=False,
        callback=_show_all_flags, help="Show all flags and exit.",
    )  # fmt: skip


def _show_all_flags(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show_full_help(ctx)
        ctx.exit()


def show_full_help(ctx: click.Context) -> None:
    """Print the help of a command with all of its flags, through the pager on a terminal."""
    ctx.meta[ALL_FLAGS] = True
    with paged():
        click.echo(ctx.get_help(), color=ctx.color)


def _take_color(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.with_resource(environment(COLORS[value or "auto"]))


def _take_no_pager(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.with_resource(environment(NO_PAGER if value else {}))


@contextmanager
def environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Within the context, set environment variables, or remove those whose value is None."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def pager() -> str | None:
    """Return the shell command of the pager, None if it is turned off or none is installed."""
    for name in ("MQTTPUB_PAGER", "PAGER"):
        if (found := os.environ.get(name)) is not None:
            return None if found.strip() in PLAIN_PAGERS else found
    return "less" if _installed("less") else None


def _runs(command: str) -> bool:
    """Whether the program of a pager is installed; anything but a plain command is left to the shell."""
    name = command.split()[0]
    return not name.replace("-", "").isalnum() or _installed(name)


def _installed(name: str) -> bool:
    from shutil import which  # loaded on use, because it loads the compression formats of archives

    return which(name) is not None


@contextmanager
def paged() -> Iterator[None]:
    """Send output to a terminal through a pager, as git does; `less` quits at once if it fits on one screen.

    Standard error goes through the pager too if it is a terminal, so that the two do not overwrite each other.
    """
    command = pager() if sys.stdout is not None and sys.stdout.isatty() else None
    if command and not _runs(command):
        from .notes import note

        note(f"the pager '{command}' is not installed")
        command = None
    if command is None:
        yield
        return
    from shutil import get_terminal_size

    from ..view.terminal.style import wants_color

    # The pipe that replaces the terminal has neither its width nor its colours.
    values: dict[str, str | None] = {"COLUMNS": str(get_terminal_size((80, 24)).columns), PAGED: "1"}
    if wants_color(sys.stdout):
        values["FORCE_COLOR"] = "1"
    with environment(values), _piped(command):
        yield


def on_one_screen() -> bool:
    """Whether standard output and standard error are read together, on a terminal or in a pager."""
    if PAGED in os.environ:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    return sys.stdout.isatty() and sys.stderr.isatty()


@contextmanager
def _piped(command: str) -> Iterator[None]:
    import subprocess

    process = subprocess.Popen(
        command, shell=True, stdin=subprocess.PIPE, env={"LESS": "FRX", "LV": "-c", **os.environ}
    )
    assert process.stdin
    streams = [sys.stdout, *([sys.stderr] if sys.stderr.isatty() else [])]
    terminals = [os.dup(stream.fileno()) for stream in streams]
    for stream in streams:
        os.dup2(process.stdin.fileno(), stream.fileno())
    process.stdin.close()
    try:
        yield
        for stream in streams:
            stream.flush()
    finally:
        for stream, terminal in zip(streams, terminals, strict=True):
            os.dup2(terminal, stream.fileno())
            os.close(terminal)
        _wait(process)


def _wait(process: Any) -> None:
    """Wait until the user leaves the pager, which takes an interrupt for itself."""
    from signal import SIG_IGN, SIGINT, signal

    before = signal(SIGINT, SIG_IGN)
    try:
        process.wait()
    finally:
        signal(SIGINT, before)
