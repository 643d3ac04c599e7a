"""The table of views: flags, help and conflicts follow from its rows."""

import re
from itertools import combinations
from pathlib import Path

import pytest

import mqttpub
from mqttpub.cli.commands.decode import command
from mqttpub.cli.decode.views import VIEWS, EventView, View
from mqttpub.cli.flags.base import parameter
from mqttpub.cli.main import main

FLAGS = {name: param for param in command.params for name in param.opts}


def _words(view: View) -> list[str]:
    return [view.flag, "nowhere"] if view.path else [view.flag]


def _refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["decode", "c000", *words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_every_view_has_its_flag_with_its_help(view: View) -> None:
    flag = FLAGS[view.flag]
    assert (flag.name, getattr(flag, "help", "")) == (view.name, view.help)


def test_the_guide_lists_every_view() -> None:
    guide = Path(mqttpub.__file__).with_name("guides").joinpath("decode.md").read_text()
    rows = guide.partition("The views are:")[2].partition("\n\n`--summary`")[0]
    assert set(re.findall(r"`(--[a-z-]+)", rows)) == {view.flag for view in VIEWS}


def test_two_views_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    for one, other in combinations(VIEWS, 2):
        said = _refused(capsys, *_words(one), *_words(other))
        assert said == f"mqttpub decode: {one.flag} and {other.flag} are different views; give one of them\n"


@pytest.mark.parametrize("view", [view for view in VIEWS if not view.json], ids=lambda view: view.name)
def test_json_is_refused_for_a_view_without_it(view: View, capsys: pytest.CaptureFixture[str]) -> None:
    said = _refused(capsys, *_words(view), "--json")
    assert said == f"mqttpub decode: {view.flag} has no JSON form; --json goes with --summary, --flows and --stats\n"


def test_every_conflict_is_a_flag_of_decode() -> None:
    conflicts = {flag for view in VIEWS for flag in view.conflicts}
    assert conflicts
    assert {flag: FLAGS[flag].name for flag in conflicts} == {flag: parameter(flag) for flag in conflicts}


@pytest.mark.parametrize("view", [view for view in VIEWS if view.path], ids=lambda view: view.name)
def test_an_empty_path_is_refused(view: View, capsys: pytest.CaptureFixture[str]) -> None:
    assert _refused(capsys, view.flag, "") == f"mqttpub decode: {view.flag}: it is empty\n"


@pytest.mark.parametrize(
    "view", [view for view in VIEWS if isinstance(view, EventView) and not view.path], ids=lambda view: view.name
)
def test_no_view_ignores_an_input_of_text(view: View, capsys: pytest.CaptureFixture[str]) -> None:
    publish = ("-V", "3.1.1", "3206 0001 61 0001 78")
    assert main(["decode", *publish]) == 0
    bytes_of_packet = capsys.readouterr().out
    assert main(["decode", *publish, view.flag]) == 0
    assert capsys.readouterr().out not in ("", bytes_of_packet)


def test_a_flag_for_captures_gets_a_remark_if_the_input_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "c000", "--port", "1884", "--max-connections", "5"]) == 0
    assert capsys.readouterr().err == "mqttpub: --port and --max-connections apply to captures; no input is one\n"
