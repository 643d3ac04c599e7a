"""The scripts that `step` plays: files, standard input, and those that come with the program."""

import sys
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

import click

from ...common.bad_text import BadText
from ...script.reader import read_script
from ...script.steps import Step
from .masked import masked_message

SUFFIX = ".mqtt"
"""Ending of the names of script files."""


class NamedScript(NamedTuple):
    """A script and where it is from."""

    name: str
    """Path of the file, or name of a ready script."""
    steps: tuple[Step, ...]


def ready() -> dict[str, str]:
    """Return the names of the ready scripts, in order, and their first lines, which say what each shows."""
    folder = files("mqttpub").joinpath("lab", "scripts")
    found = {each.name.removesuffix(SUFFIX): each for each in folder.iterdir() if each.name.endswith(SUFFIX)}
    return {
        name: found[name].read_text("utf-8").partition("\n")[0].removeprefix("# ").removesuffix(".")
        for name in sorted(found)
    }


def opened(word: str) -> NamedScript:
    """Return the script of an argument: a file, `-` for standard input, or the name of a ready script.

    Raises UsageError for a file that cannot be read, and for a wrong script with its place.
    """
    name = "standard input" if word == "-" else word
    return NamedScript(name, parsed(name, text_of(word).splitlines()))


def parsed(name: str, lines: Iterable[str]) -> tuple[Step, ...]:
    """Return the steps of a script; raises UsageError with the place of what is wrong."""
    try:
        return tuple(read_script(lines))
    except BadText as error:
        raise wrong(name, error) from None


def wrong(name: str, error: BadText) -> click.UsageError:
    """Return the error for a script that cannot be played, with its place."""
    return click.UsageError(f"{name}: line {error.line}, column {error.column}: {masked_message(error)}")


def text_of(word: str) -> str:
    """Return the text of the script of an argument; raises UsageError for a file that cannot be read."""
    try:
        if word == "-":
            return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        with open(word, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except FileNotFoundError:
        if word in ready():
            return files("mqttpub").joinpath("lab", "scripts", f"{word}{SUFFIX}").read_text("utf-8")
        raise click.UsageError(f"there is neither a file nor a ready script '{word}' (see --list)") from None
    except OSError as error:
        raise click.UsageError(f"cannot read '{word}': {error.strerror}") from None
