"""Screens: a command line, what it prints and its exit status, compared with what really comes."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VARYING = (
    (re.compile(r"^   0\.\d{6}   │", re.MULTILINE), "   0.SECONDS  │"),
    (re.compile(r"\d+\.\d ms"), "0.0 ms"),
    (re.compile(r"(?<=^\[\d\] )\d+\.\d{3} s", re.MULTILINE), "0.000 s"),
    (re.compile(r"mqttpub-[0-9a-f]{8}"), "mqttpub-00000000"),
    (re.compile(r"(6d 71 74 74 70 75 62 2d)( [0-9a-f]{2}){0,8}"), r"\1"),
    (re.compile(r'("sent_at":|"latency_us":|"seconds_after_publish":)[0-9.e-]+'), r"\g<1>0"),
    (re.compile(r'"time":"[^"]*"'), '"time":""'),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:1883"),
    (re.compile(r"localhost:\d+"), "localhost:1883"),
)
"""What differs from run to run, and what stands for it when screens are compared."""


class Screen(NamedTuple):
    """One command line and all that it printed; stderr follows stdout."""

    command: str
    output: str
    status: int


def run(command: str, *, port: int, folder: Path, **environment: str) -> Screen:
    """Run a line in a shell, as a user would, with a broker where the program looks for one, and at `-h localhost`.

    The shell stands in `folder`, which has the captures of the tests where a checkout has them.
    """
    if not (folder / "tests").exists():
        (folder / "tests").symlink_to(ROOT / "tests")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    env = {
        "PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", "MQTTPUB_HOST": "127.0.0.1", "MQTTPUB_PORT": str(port),
        **environment,
    }  # fmt: skip
    done = subprocess.run(
        # The clients of others look at port 1883, whatever our variables say.
        ["bash", "-c", command.replace(" -h localhost ", f" -h localhost -p {port} ")],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    text = (done.stdout + done.stderr).decode()
    return Screen(command, "\n".join(line.rstrip() for line in text.splitlines()), done.returncode)


def comparable(text: str) -> str:
    """Return a screen with all that varies made equal."""
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text


def is_as_written(old: Screen, new: Screen) -> bool:
    """Whether two screens differ at most in what varies."""
    return comparable(written(old)) == comparable(written(new))


def rewritten(expected: list[Screen], shown: list[Screen]) -> list[str]:
    """Return screens as they stand in a text after `--update`: those that differ only in what varies stay."""
    return [written(old if is_as_written(old, new) else new) for old, new in zip(expected, shown, strict=True)]


def parse(text: str) -> list[Screen]:
    """Return the screens of a transcript: `$ command`, its output, and `[status]` if not 0."""
    screens: list[Screen] = []
    for block in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        if not block.startswith("$ "):
            continue
        command, _, output = block[2:].partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command += "\n" + more
        output = output.rstrip("\n")
        status = 0
        if found := re.search(r"(^|\n)\[(\d+)\]$", output):
            status, output = int(found[2]), output[: found.start()]
        screens.append(Screen(command, output.rstrip("\n"), status))
    return screens


def written(screen: Screen) -> str:
    """Return a screen as it stands in a transcript."""
    output = f"{screen.output}\n" if screen.output else ""
    status = f"[{screen.status}]\n" if screen.status else ""
    return f"$ {screen.command}\n{output}{status}"
