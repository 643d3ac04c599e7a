"""completions/ is what the commands say, the man pages too, and the shells agree with it; `--update` rewrites it."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mqttpub.cli.completions import script
from mqttpub.cli.registry import COMMANDS, PERSONALITIES
from tests.man_pages import pages
from tests.program import on_terminal

FOLDER = Path(__file__).parent.parent / "completions"
MAN = FOLDER / "man"
PAGES = pages()
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


def bash(line: str) -> list[str]:
    """Return what bash offers for the last word."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    code = (
        f"source '{FOLDER / FILES['bash']}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _mqttpub; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True, env=environment())
    return done.stdout.split()


def fish(line: str) -> list[str]:
    """Return what fish offers at the end of a line."""
    code = f"source '{FOLDER / FILES['fish']}'; complete -C '{line}'"
    done = subprocess.run(["fish", "-c", code], check=True, capture_output=True, text=True, env=environment())
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


ZSHRC = """
autoload -Uz compinit
compinit -u -D
source "$COMPLETION"
compadd() {
    # With these options the completion system only asks; what remains is what it offers.
    if [[ " $* " != *' -'(O|A|D)' '* ]]; then
        local -a offered
        builtin compadd -A offered "$@"
        print -rl -- $offered >> "$OFFERED"
    fi
    builtin compadd "$@"
}
zle-line-init() {
    BUFFER=$LINE_TO_COMPLETE CURSOR=$#BUFFER
    zle complete-word
    exit
}
zle -N zle-line-init
"""


def zsh(line: str) -> list[str]:
    """Return what zsh offers at the end of a line that it edits on a terminal of its own."""
    with tempfile.TemporaryDirectory() as folder:
        offered = Path(folder, "offered")
        offered.touch()
        Path(folder, ".zshrc").write_text(ZSHRC)
        values = {"ZDOTDIR": folder, "COMPLETION": str(FOLDER / FILES["zsh"]), "OFFERED": str(offered)}
        env = {**environment(), **values, "LINE_TO_COMPLETE": line, "TERM": "dumb"}
        on_terminal(["zsh", "-i"], env=env, own_session=True)
        return [word for word in offered.read_text().splitlines() if word]


def environment() -> dict[str, str]:
    """Return an environment in which a shell finds the program and two profiles."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "XDG_CONFIG_HOME": str(CONFIG)}


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
CONFIG = Path(__file__).parent / "shell_config"
"""Where the shells find a configuration file with profiles."""


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("mqttpub wal", ["walkthrough"]),
        ("mqttpub encode pub", ["puback", "pubcomp", "publish", "pubrec", "pubrel"]),
        ("mqttpub pub --message-e", ["--message-expiry-interval"]),
        ("mqttpub pub -t x --will-t", ["--will-topic"]),
        ("mqttpub broker --qui", ["--quiet"]),
        ("mqttpub encode publish --content-t", ["--content-type"]),
        ("mqttpub pub -q ", ["0", "1", "2"]),
        ("mqttpub pub -V 3", ["3.1", "3.1.1"]),
        ("mqttpub pub --protocol ws", ["ws", "wss"]),
        ("mqttpub decode --form bas", ["base64"]),
        ("mqttpub explain correlation", ["correlation-data"]),
        ("mqttpub pub --profile ", ["greenhouse", "prod"]),
        ("mqttpub profile show gr", ["greenhouse"]),
        ("mqttpub pub --hostn", []),
        ("mqttpub mq", ["mqttx"]),
        ("mqttpub mosquitto_", ["mosquitto_pub", "mosquitto_rr", "mosquitto_sub"]),
        ("mqttpub mqttx ", ["conn", "pub", "sub"]),
        ("mqttpub mqttx p", ["pub"]),
        ("mqttpub mqttx pub --will-t", ["--will-topic"]),
        ("mqttpub mqttx pub -q ", ["0", "1", "2"]),
        ("mqttpub mosquitto_sub --retain", ["--retain-as-published", "--retain-handling", "--retained-only"]),
        ("mqttpub mosquitto_pub -t a --retain", ["--retain"]),
        ("mqttpub help mosquitto_r", ["mosquitto_rr"]),
    ],
)
def test_the_shells_offer(shell: str, line: str, offered: list[str]) -> None:
    word = line.rpartition(" ")[2]
    assert sorted({each for each in SHELLS[shell](line) if each.startswith(word)}) == offered


def test_bash_runs_nothing_that_it_offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mqttpub"
    folder.mkdir()
    (folder / "config.toml").write_text(f'[profile."$(touch${{IFS}}{tmp_path}/run)"]\n[profile.prod]\n')
    monkeypatch.setattr("tests.test_completions.CONFIG", tmp_path)
    assert "prod" in bash("mqttpub profile show ")
    assert not (tmp_path / "run").exists()


def test_the_folder_holds_the_man_pages(update: bool) -> None:
    if update:
        MAN.mkdir(exist_ok=True)
        for path in MAN.iterdir():
            path.unlink()
        for name, text in PAGES.items():
            (MAN / name).write_text(text)
    assert {path.name for path in MAN.iterdir()} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_command_says(name: str) -> None:
    assert (MAN / name).read_text() == PAGES[name], f"completions/man/{name} is stale: pytest --update rewrites it"


def test_every_command_has_a_page() -> None:
    assert {
        "mqttpub.1",
        "mqttpub-encode-publish.1",
        *(f"mqttpub-{name}.1" for name in (*COMMANDS, *PERSONALITIES)),
    } <= set(PAGES)


def test_a_page_names_every_flag_and_the_exit_statuses() -> None:
    assert r"\fB\-\-receive\-maximum\fP" in PAGES["mqttpub-pub.1"]
    assert ".TP\n.B 74\n" in PAGES["mqttpub.1"]
