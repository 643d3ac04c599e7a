"""`mqttpub help`: guides as plain text in a pipe, in colour and through the pager on a terminal."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mqttpub.cli.commands.help import TOPICS, guide
from mqttpub.cli.main import main, program
from mqttpub.cli.registry import COMMANDS, PERSONALITIES
from tests.cli.test_screen import on_a_terminal, piped
from tests.documents import GUIDES, blocks


def test_help_lists_the_guides() -> None:
    shown = piped("help")
    for name in TOPICS:
        assert re.search(rf"^{name} ", shown, re.MULTILINE), name
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", TOPICS)
def test_a_pipe_gets_plain_text_with_all_screens_of_the_guide(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", name]) == 0
    shown = capsys.readouterr().out
    text = (GUIDES / f"{name}.md").read_text()
    title = text.partition("\n")[0].removeprefix("# ")
    assert shown.startswith(f"{title}\n{'=' * len(title)}\n")
    lines = {line.strip() for line in shown.splitlines()}
    languages = ("console", "sh", "text", "toml", "python", "sql")
    assert {line.strip() for block in blocks(text, *languages) for line in block.splitlines()} <= lines
    assert "\x1b" not in shown
    assert "```" not in shown
    assert "<!--" not in shown
    assert not [line for line in shown.splitlines() if line != line.rstrip()]


def test_a_link_to_another_guide_is_the_command_that_shows_it() -> None:
    assert "[lint](lint.md)" in (GUIDES / "publish.md").read_text()
    assert "`mqttpub help lint`" in guide("publish")
    assert not any(".md)" in guide(name) for name in TOPICS)


def test_help_of_a_command_shows_all_of_its_flags() -> None:
    shown = CliRunner().invoke(program, ["help", "pub"], prog_name="mqttpub").output
    assert shown == CliRunner().invoke(program, ["pub", "--help-all"], prog_name="mqttpub").output
    assert "--receive-maximum" in shown


def test_help_of_a_command_of_a_command() -> None:
    assert piped("help", "encode", "publish").startswith("Usage: mqttpub encode publish [OPTIONS]\n")
    assert piped("help", "profile", "show").startswith("Usage: mqttpub profile show [OPTIONS] NAME\n")


def test_the_flags_of_a_command_follow_the_guide_of_that_name() -> None:
    shown = piped("help", "decode")
    assert shown.index("Decode bytes and captures\n====") < shown.index("Usage: mqttpub decode [OPTIONS]")


@pytest.mark.parametrize("name", PERSONALITIES)
def test_help_of_another_client_is_the_guide_about_its_lines(name: str) -> None:
    assert piped("help", name) == piped("help", "compat")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["retained"], ["Retained messages\n", "--remove-retained", "(`mqttpub help subscribe` is the whole guide.)"]),
        (["outbox"], ["Reconnect and outbox\n"]),
        (["reconnect"], ["Reconnect and outbox\n", "Reconnect\n", "help bulk", "help subscribe"]),
        (["format", "strings"], ["Format strings\n"]),
        (["topic", "alias"], ["Topic Alias  property 0x23"]),
        (["0x87"], ["Not authorized"]),
        (["puback"], ["PUBACK  packet type 4"]),
    ],
)
def test_help_of_another_word_is_what_the_guides_or_explain_say(words: list[str], shown: list[str]) -> None:
    said = piped("help", *words)
    assert [text for text in shown if text not in said] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_that_begins_as_one_types_it(name: str) -> None:
    examples = piped(name, "--help").split("Examples:\n")[1].splitlines()
    assert all(f"mqttpub {name}" in line or f"--{name} " in line for line in examples if line)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", name]) == 0
    assert f"Usage: mqttpub {name} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["publsh"], "there is no guide or command 'publsh'; did you mean publish?"),
        (["zzz"], "there is no guide or command 'zzz'; `mqttpub help` lists them"),
        (["encode", "zzz"], "there is no guide or command 'encode zzz'; did you mean encode?"),
    ],
)
def test_a_wrong_topic_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", *words]) == 2
    assert capsys.readouterr().err == f"mqttpub help: {sentence}\n"


def test_a_terminal_gets_colour_and_the_pager(tmp_path: Path) -> None:
    path = tmp_path / "paged"
    assert on_a_terminal("help", "publish", PAGER=f"cat > '{path}'") == ""
    assert "\x1b[1mPublish a message\x1b[0m" in path.read_text()
    assert "\x1b" not in on_a_terminal("help", "publish", "--color", "never", "--no-pager").replace("\r", "")
