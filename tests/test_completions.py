"""completions/ is what the program writes, and the shells agree with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mqttpub.cli.completions import script

FOLDER = Path(__file__).parent.parent / "completions"
FILES = {"bash": "mqttpub.bash", "zsh": "_mqttpub", "fish": "mqttpub.fish"}


@pytest.mark.parametrize("shell", FILES)
def test_the_file_is_what_the_program_prints(shell: str, update: bool) -> None:
    path = FOLDER / FILES[shell]
    if update:
        path.write_text(script(shell))
    assert path.read_text() == script(shell), f"completions/{path.name} is stale: pytest --update rewrites it"


@pytest.mark.parametrize("shell", FILES)
def test_the_shell_can_read_it(shell: str) -> None:
    subprocess.run([shell, "-n", FOLDER / FILES[shell]], check=True)


def complete(*words: str) -> list[str]:
    """Return what bash offers for the last word."""
    index = len(words) - 1
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {FOLDER / FILES['bash']}; COMP_WORDS=({quoted}); COMP_CWORD={index}; _mqttpub; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_bash_offers_subcommands() -> None:
    assert complete("mqttpub", "p") == ["pub", "pipeline", "profile"]
    assert complete("mqttpub", "encode", "pub") == ["publish", "puback", "pubrec", "pubrel", "pubcomp"]


def test_bash_offers_flags_and_their_values() -> None:
    assert complete("mqttpub", "pub", "--message-e") == ["--message-expiry-interval"]
    assert complete("mqttpub", "pub", "-t", "x", "--ret") == ["--retain"]
    assert complete("mqttpub", "decode", "--form", "b") == ["base64"]
    assert complete("mqttpub", "pub", "--topic", "x") == []


def test_aliases_are_not_offered() -> None:
    assert complete("mqttpub", "pub", "--hostn") == []


def fish_complete(line: str) -> list[str]:
    """Return what fish offers at the end of a line."""
    code = f"source {FOLDER / FILES['fish']}; complete -C '{line}'"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["fish", "-c", code], check=True, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


def test_fish_offers_subcommands_flags_and_values() -> None:
    assert fish_complete("mqttpub wal") == ["walkthrough"]
    assert "--message-expiry-interval" in fish_complete("mqttpub pub --message-")
    assert fish_complete("mqttpub decode --form bas") == ["base64"]
