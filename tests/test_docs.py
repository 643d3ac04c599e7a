"""README.md shows what the program does: every screen in it is run and compared; `--update` rewrites them."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mqttpub.cli.main import program
from mqttpub.cli.registry import COMMANDS
from tests.screens import ROOT, comparable, parse, run, written

README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


def blocks() -> list[str]:
    """Return the blocks of README.md that hold screens."""
    return BLOCK.findall(README.read_text())


@pytest.mark.broker
@pytest.mark.parametrize("number", range(len(blocks())))
def test_the_screens_of_the_readme(number: int, mosquitto: int, tmp_path: Path, update: bool) -> None:
    block = blocks()[number]
    expected = parse(block)
    shown = [run(screen.command, port=mosquitto, folder=tmp_path) for screen in expected]
    if update:
        text = "".join(written(new if changed(old, new) else old) for old, new in zip(expected, shown, strict=True))
        README.write_text(README.read_text().replace(f"```console\n{block}```", f"```console\n{text}```", 1))
        return
    for old, new in zip(expected, shown, strict=True):
        assert (comparable(new.output), new.status) == (comparable(old.output), old.status), new.command


def changed(old: object, new: object) -> bool:
    return comparable(str(old)) != comparable(str(new))


def test_the_commands_that_the_readme_promises() -> None:
    text = README.read_text()
    assert "\nbash tests/run\n" in text
    assert "python3 -m venv .venv && .venv/bin/pip install --quiet . && .venv/bin/mqttpub pub --embedded" in text
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("bash tests/run")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_itself_and_each_option(name: str) -> None:
    result = CliRunner().invoke(program, [name, "--help"], prog_name="mqttpub")
    assert result.exit_code == 0
    assert f"mqttpub {name}" in result.output
    assert name in README.read_text()
    for param in program.get_command(None, name).params:  # type: ignore[arg-type, union-attr]
        assert isinstance(param, click.Argument) or param.help, f"{name} {param.name} has no help"
