"""Colour and the pager, on terminals of their own."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.program import PROGRAM, on_terminal

VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PAGER", "MQTTPUB_PAGER", "LESS", "COLUMNS")
PLAIN = {name: value for name, value in os.environ.items() if name not in VARIABLES} | {"TERM": "xterm"}


def piped(*arguments: str, **variables: str) -> str:
    """Return what the program writes to a pipe."""
    done = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, env=PLAIN | variables, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def on_a_terminal(*arguments: str, status: int = 0, data: bytes = b"", **variables: str) -> str:
    """Return what the program and its pager write to a terminal; `data` waits on standard input."""
    shown, ended = on_terminal([*PROGRAM, *arguments], data=data, env=PLAIN | variables)
    assert ended == status, shown
    return shown.decode()


PING = ("decode", "-V", "5", "c000")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "variables", "colored"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "0"}, False),
        ((), {"CLICOLOR_FORCE": "1"}, True),
        ((), {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_in_a_pipe(arguments: tuple[str, ...], variables: dict[str, str], colored: bool) -> None:
    assert ("\x1b[" in piped(*PING, *arguments, **variables)) is colored


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "variables", "colored"),
    [
        ((), {}, True),
        (("--color", "auto"), {}, True),
        (("--color", "never"), {}, False),
        ((), {"TERM": "dumb"}, False),
        ((), {"CLICOLOR": "0"}, False),
        ((), {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_colour_on_a_terminal(arguments: tuple[str, ...], variables: Any, colored: bool) -> None:
    shown = on_a_terminal(*PING, *arguments, "--no-pager", **variables)
    assert ("\x1b[" in shown) is colored


@pytest.mark.slow
def test_the_flags_stand_before_and_after_the_command() -> None:
    before = piped("--color", "always", "--no-pager", *PING)
    assert before == piped(*PING, "--color", "always", "--no-pager")
    assert "\x1b[" in before
    assert "\x1b[" in piped("encode", "publish", "-t", "a", "-m", "x", "--inspect", "--color", "always")


@pytest.mark.slow
def test_the_pager_gets_what_the_terminal_would(tmp_path: Path) -> None:
    path = tmp_path / "paged"
    pager = f"cat > '{path}'; echo left the pager"
    expected = on_a_terminal("lint", "-V", "5", "c100", "--no-pager", status=1).replace("\r", "")
    shown = on_a_terminal("lint", "-V", "5", "c100", status=1, MQTTPUB_PAGER=pager, PAGER="false")
    assert shown.strip() == "left the pager"
    assert path.read_text() == expected
    assert "\x1b[" in expected
    assert "1 error" in expected, "what stands on standard error goes through the pager as well"


@pytest.mark.slow
def test_no_pager_where_nobody_asked_for_one(tmp_path: Path) -> None:
    path = tmp_path / "paged"
    pager = f"cat > '{path}'"
    piped(*PING, PAGER=pager)
    on_a_terminal(*PING, "--no-pager", PAGER=pager)
    on_a_terminal(*PING, PAGER=pager, MQTTPUB_PAGER="cat")
    on_a_terminal("encode", "pingreq", PAGER=pager)
    assert not path.exists()


def test_output_that_still_arrives_is_not_held_by_a_pager(tmp_path: Path) -> None:
    path = tmp_path / "paged"
    assert "PINGREQ" in on_a_terminal("decode", "-V", "5", "-f", "-", data=b"c000", PAGER=f"cat > '{path}'")
    assert "PINGREQ" in on_a_terminal("decode", "-V", "5", data=b"c000", PAGER=f"cat > '{path}'")
    assert not path.exists()


def test_a_pager_that_is_left_early_ends_quietly() -> None:
    many = ["c000"] * 20_000
    shown = on_a_terminal("decode", "-V", "5", *many, status=141, PAGER="head -n 1")
    assert shown.count("\n") == 1
    assert "PINGREQ" in shown


def test_a_pager_that_is_not_installed_loses_nothing() -> None:
    shown = on_a_terminal(*PING, "--color", "never", PAGER="no-such-pager -R")
    assert shown.startswith("mqttpub: the pager 'no-such-pager -R' is not installed")
    assert "PINGREQ" in shown
