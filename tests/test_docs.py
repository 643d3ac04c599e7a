"""README.md and the guides show what the program does: each of their screens is run; `--update` rewrites them."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mqttpub.cli.commands.help import TOPICS
from mqttpub.cli.main import program
from mqttpub.cli.registry import COMMANDS, load
from tests.documents import DOCUMENTS, GUIDES, README, ROOT, between, blocks, guide, replace_between, section
from tests.screens import comparable, parse, rewritten, run, written

LONGEST_README = 350
SCREENS = [(path, number) for path in DOCUMENTS for number in range(len(blocks(path.read_text(), "console")))]
LINK = re.compile(r"\]\(([^)#]+)\)")
GUIDE_TABLE = "guides"
STATUS_ROW = re.compile(r"^\| [\d, ]+ \|.*$", re.MULTILINE)


@pytest.mark.broker
@pytest.mark.parametrize(("path", "number"), SCREENS, ids=[f"{path.stem}-{number}" for path, number in SCREENS])
def test_the_screens_are_as_written(path: Path, number: int, mosquitto: int, tmp_path: Path, update: bool) -> None:
    block = blocks(path.read_text(), "console")[number]
    expected = parse(block)
    shown = [run(screen.command, port=mosquitto, folder=tmp_path) for screen in expected]
    if update:
        text = "".join(rewritten(expected, shown))
        path.write_text(path.read_text().replace(f"```console\n{block}```", f"```console\n{text}```", 1))
        return
    for old, new in zip(expected, shown, strict=True):
        assert comparable(written(new)) == comparable(written(old))


def test_an_update_keeps_a_screen_that_differs_only_in_what_varies() -> None:
    old = parse("$ a\nb\n[1] 0.005 s  dropped\n$ c\nd\n")
    shown = [old[0]._replace(output="b\n[1] 0.007 s  dropped"), old[1]._replace(status=1)]
    assert rewritten(old, shown) == ["$ a\nb\n[1] 0.005 s  dropped\n", "$ c\nd\n[1]\n"]


def test_the_commands_that_the_readme_promises() -> None:
    text = README.read_text()
    assert "\nbash tests/run\n" in text
    assert "python3 -m venv .venv && .venv/bin/pip install --quiet . && .venv/bin/mqttpub pub --embedded" in text
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("bash tests/run")


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= LONGEST_README


def test_the_readme_lists_the_guides_as_help_does(update: bool) -> None:
    rows = [f"| `{name}` | {about} |" for name, about in TOPICS.items()]
    table = "\n".join(["| guide | about |", "| --- | --- |", *rows, ""])
    if update:
        replace_between(README, GUIDE_TABLE, table)
    assert between(README, GUIDE_TABLE) == table
    assert {path.stem for path in GUIDES.glob("*")} == set(TOPICS)


def test_the_readme_has_the_exit_statuses_of_the_guide() -> None:
    every = guide("exit-status").read_text().partition("\n## ")[0]
    assert STATUS_ROW.findall(section(README, "Exit status")) == STATUS_ROW.findall(every)
    assert len(STATUS_ROW.findall(every)) > 10


def test_the_readme_has_no_link_that_a_package_index_cannot_follow() -> None:
    assert [target for target in LINK.findall(README.read_text()) if "://" not in target] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_to_files(path: Path) -> None:
    for target in LINK.findall(path.read_text()):
        assert "://" in target or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_document_begins_with_its_title(path: Path) -> None:
    assert re.match(r"# [^\n]+\n\n", path.read_text())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_itself_and_each_option(name: str) -> None:
    result = CliRunner().invoke(program, [name, "--help"], prog_name="mqttpub")
    assert result.exit_code == 0
    assert f"mqttpub {name}" in result.output
    assert any(f"mqttpub {name}" in path.read_text() for path in DOCUMENTS)
    for param in load(name).params:
        assert isinstance(param, click.Argument) or param.help, f"{name} {param.name} has no help"


def test_the_paths_in_contributing_exist() -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    paths = set(re.findall(r"`((?:mqttpub|tests)/[\w./-]+)`", text)) - {
        "mqttpub/cli/NAME/run.py",
        "mqttpub/cli/commands/NAME.py",
        "mqttpub/guides/NAME.md",
        "tests/capture/text/logs/mqtt/NAME.log",
    }
    assert len(paths) > 20
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def lines_of_shell() -> list[str]:
    """Return the commands in `sh` blocks that call mqttpub, joined where they continue."""
    texts = (block.replace("\\\n", " ") for path in DOCUMENTS for block in blocks(path.read_text(), "sh"))
    commands = (part for text in texts for line in text.splitlines() for part in line.split(" | "))
    return [each for each in commands if re.search(r"(^| )mqttpub \w+ .*-", each)]


@pytest.mark.parametrize("line", lines_of_shell())
def test_lines_of_shell_use_flags_that_exist(line: str) -> None:
    name, _, arguments = line.partition("mqttpub ")[2].partition(" -- ")[0].partition(" ")
    known = {each for param in load(name).params for each in (*param.opts, *param.secondary_opts)} | {"-"}
    assert {word.split("=")[0] for word in arguments.split() if word.startswith("-")} <= known
