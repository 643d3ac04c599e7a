"""The scripts that `step` plays: files, standard input, and those that come with the program."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import BinaryIO, NamedTuple

import click

from ...common.bad_text import BadText
from ...common.standard_input import STANDARD_INPUT_NAME, standard_input
from ...script.reader import LONGEST_LINE, decoded_lines, read_script
from ...script.steps import Step, VersionStep
from .masked import masked_message

SUFFIX = ".mqtt"
"""Ending of the names of script files."""
MOST_BYTES = 64 << 20
"""Bytes of a script that is played, at most."""
MOST_STEPS = 200_000
"""Steps of a script that is played, at most: they are read before the first one is played, and take 1 to 2 KB each."""


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


def check_standard_input(words: Sequence[str]) -> None:
    """Check that at most one argument is standard input; raises UsageError."""
    if words.count("-") > 1:
        raise click.UsageError("- is given twice, and standard input can be read only once")


def opened(word: str) -> NamedScript:
    """Return the script of an argument: a file, `-` for standard input, or the name of a ready script.

    Raises UsageError for a file that cannot be read, and for a script that is wrong, too long or without a step.
    """
    name = STANDARD_INPUT_NAME if word == "-" else word
    return NamedScript(name, bounded(name, read_script, word))


def bounded(name: str, read: Callable[[Iterable[str]], Iterable[Step]], word: str) -> tuple[Step, ...]:
    """Return the steps that `read` makes of the lines of an argument, which are named `name` in messages.

    Raises UsageError with the place of what is wrong, for more than MOST_STEPS, and where nothing is to be played.
    """
    found: list[Step] = []
    try:
        for step in read(lines_of(word)):
            found.append(step)
            if len(found) > MOST_STEPS:
                raise click.UsageError(f"{name}: a script has {MOST_STEPS:,} steps at most")
    except BadText as error:
        raise wrong(name, error) from None
    if all(isinstance(step, VersionStep) for step in found):
        raise click.UsageError(f"{name}: it has no steps")
    return tuple(found)


def wrong(name: str, error: BadText) -> click.UsageError:
    """Return the error for a script that cannot be played, with its place."""
    return click.UsageError(f"{name}: line {error.line}, column {error.column}: {masked_message(error)}")


def lines_of(word: str) -> Iterator[str]:
    """Yield the lines of the script of an argument.

    Raises UsageError for a file that cannot be read, has more than MOST_BYTES or a line of more than LONGEST_LINE.
    """
    try:
        if word == "-":
            yield from decoded_lines(_bounded_lines(STANDARD_INPUT_NAME, standard_input()))
            return
        with open(word, "rb") as file:
            yield from decoded_lines(_bounded_lines(word, file))
    except FileNotFoundError:
        if word not in ready():
            raise click.UsageError(f"there is neither a file nor a ready script '{word}' (see step --list)") from None
        yield from files("mqttpub").joinpath("lab", "scripts", f"{word}{SUFFIX}").read_text("utf-8").splitlines()
    except BadText as error:
        raise wrong(STANDARD_INPUT_NAME if word == "-" else word, error) from None
    except OSError as error:
        raise click.UsageError(f"cannot read '{word}': {error.strerror}") from None


def _bounded_lines(name: str, file: BinaryIO) -> Iterator[bytes]:
    read = 0
    while line := file.readline(LONGEST_LINE + 1):
        read += len(line)
        if read > MOST_BYTES and len(line) <= LONGEST_LINE:
            raise click.UsageError(f"{name}: a script has {MOST_BYTES >> 20} MiB at most")
        yield line
