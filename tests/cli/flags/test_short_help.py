"""`--help` shows the common flags of a command, and `--help-all` shows all of them."""

import pytest
from click.testing import CliRunner

from mqttpub.cli.commands.encode import packet_flags
from mqttpub.cli.flags.base import Flag, has_short_help
from mqttpub.cli.flags.properties import options_of
from mqttpub.cli.main import program
from mqttpub.cli.registry import COMMANDS, load
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import PACKETS
from mqttpub.spec.properties import WILL

LINES = 2 * 24
"""Rows of two screens of a terminal, the row of the prompt included."""
SHORT = [name for name in COMMANDS if has_short_help(load(name))]


def shown(*arguments: str) -> str:
    """Return what the program prints on a terminal with 80 columns."""
    result = CliRunner().invoke(program, arguments, prog_name="mqttpub", env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.output


def options(name: str) -> list[Flag]:
    """Return the flags of a command that its help may show."""
    return [param for param in load(name).params if isinstance(param, Flag) and not param.hidden]


def names(text: str) -> set[str]:
    """Return the names of the flags at the beginnings of lines."""
    rows = (line.strip().split("  ")[0] for line in text.splitlines() if line.startswith("  -"))
    return {word for row in rows for word in row.replace(",", " ").split() if word.startswith("-")}


def test_pub_and_bench_have_a_short_help() -> None:
    assert {"pub", "bench"} <= set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_the_short_help_fits_two_screens(name: str) -> None:
    assert len(shown(name, "--help").splitlines()) < LINES


@pytest.mark.parametrize("name", SHORT)
def test_each_help_shows_the_flags_that_belong_to_it(name: str) -> None:
    every = options(name)
    assert names(shown(name, "--help")) == {each for flag in every if flag.common for each in flag.shown()}
    assert names(shown(name, "--help-all")) == {each for flag in every for each in flag.shown()} | {
        "--help",
        "--help-all",
    }


def test_the_short_help_of_pub_ends_with_three_examples_with_flags_that_it_has() -> None:
    examples = shown("pub", "--help").split("Examples:\n")[1].splitlines()
    assert len(examples) == 3
    known = {name for flag in options("pub") for name in flag.shown()}
    for line in examples:
        words = line.rpartition("mqttpub pub ")[2].split()
        assert {word for word in words if word.startswith("-")} <= known


def test_a_command_without_common_flags_has_one_help() -> None:
    assert "--help-all" not in shown("walkthrough", "--help")


@pytest.mark.parametrize("cls", PACKETS.values(), ids=lambda cls: cls.name)
def test_the_short_help_of_a_packet_has_its_fields(cls: type[Packet]) -> None:
    words = ("encode", cls.name.lower())
    short = shown(*words, "--help")
    assert len(short.splitlines()) < LINES
    fields = [each for flag in packet_flags(cls) if flag.name not in options_of(WILL) for each in flag.shown()]
    assert {*fields, "--inspect"} <= names(short)
    if "More flags: --help-all" in short:
        assert "--user-property" in names(shown(*words, "--help-all")) - names(short)
