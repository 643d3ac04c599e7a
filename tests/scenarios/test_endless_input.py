"""Inputs that never end: each is refused in one sentence, or read in bounded memory."""

import resource
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from mqttpub.cli.encode.request import EncodeOutput
from mqttpub.cli.encode.run import encode_file
from mqttpub.codec.encode import encode
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from tests.program import PROGRAM

MB = 1 << 20


def limited(megabytes: int, arguments: Sequence[str], stdin: str = "/dev/null") -> subprocess.CompletedProcess[str]:
    """Run the program in so much address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB))

    with open(stdin, "rb") as file:
        return subprocess.run(
            [*PROGRAM, *arguments], stdin=file, capture_output=True, text=True, check=False, preexec_fn=limit
        )


PUB = ("pub", "-h", "127.0.0.1", "-p", "1", "-t", "a")
VALUES = {
    "--payload @": ((*PUB, "--payload", "@/dev/zero"), "--payload: '/dev/zero'"),
    "-f": ((*PUB, "-f", "/dev/zero"), "--file: '/dev/zero'"),
    "-s": ((*PUB, "-s"), "standard input"),
    "will": ((*PUB, "-m", "x", "--will-topic", "w", "--will-message", "@/dev/zero"), "--will-message: '/dev/zero'"),
    "property": ((*PUB, "-m", "x", "--correlation-data", "@/dev/zero"), "--correlation-data: '/dev/zero'"),
    "encode": (("encode", "publish", "-t", "a", "--payload", "@/dev/zero"), "--payload: '/dev/zero'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VALUES)
def test_a_value_beyond_every_packet_is_refused_when_it_passes_the_limit(name: str) -> None:
    arguments, source = VALUES[name]
    done = limited(600, arguments, stdin="/dev/zero")
    command = " ".join(arguments[: 2 if arguments[0] == "encode" else 1])
    said = f"mqttpub {command}: {source} holds more than 268,435,455 bytes, but no packet can"
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(said)


def test_a_secret_that_never_ends_is_refused_without_a_word_of_it() -> None:
    done = limited(600, (*PUB, "-m", "x", "--authentication-data", "@/dev/zero"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("mqttpub pub: --authentication-data: what follows @ cannot be read")


ZEROS = "line 1, column 1: there is no MQTT packet in 65,536 bytes\n"


@pytest.mark.parametrize("arguments", [
    ("decode", "/dev/zero"), ("lint", "/dev/zero"), ("decode", "--summary", "-f", "/dev/zero"),
    ("decode", "@/dev/zero"), ("decode", "-f", "/dev/zero", "--json"), ("lint", "--form", "raw", "/dev/zero"),
])  # fmt: skip
def test_bytes_without_a_packet_are_not_read_for_ever(arguments: tuple[str, ...]) -> None:
    done = limited(300, arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"mqttpub {arguments[0]}: {'argument' if '@' in arguments[1] else '/dev/zero'}: {ZEROS}"


@pytest.mark.parametrize("line", ["1,", "1,\n"])
def test_json_that_never_ends_is_refused(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endless = tmp_path / "endless.json"
    endless.write_text('\n{"a": [' + line * (1 << 17))
    output = EncodeOutput("hex", inspect=False, secrets=False, full=False)
    with pytest.raises(click.UsageError, match=r"^line 2: the value that begins here has more than 65,536 bytes$"):
        encode_file(str(endless), output, most_bytes=1 << 16)
    assert capsys.readouterr().out == ""


ENDLESS = {
    "binary": ("cat /dev/zero", ZEROS),
    "hex": ("yes 00", "line 1, column 1: there is no MQTT packet in "),
    "no hex": ("yes", "line 1, column 1: 'y' is not a hex digit\n"),
    "one line": ("yes x | tr -d '\\n'", "line 1, column 1: the line has more than 67,108,864 characters"),
    "an array": (
        "echo {; yes 0x30,0x31,0x32,0x33,0x34,0x35,0x36,0x37,0x38,",
        "line 1, column 1: the value that begins here",
    ),
    "base64": (
        "yes MAMAAWE=MAMAAWE=MAMAAWE=MAMAAWE=MAMAAWE=",
        "line 1, column 1: the value that begins here has more than",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_text_that_never_ends_is_refused(name: str) -> None:
    command, said = ENDLESS[name]
    line = f"ulimit -v 500000; ({command}) | {shlex.join(PROGRAM)} decode"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"mqttpub decode: standard input: {said}")
    assert done.stderr.count("\n") == 1


LARGE = encode(Publish(topic="a", payload=bytes(20_000)), Version.V5).hex()
PACKETS = f"yes {LARGE} | head -"
LONG = {
    "raw": f"{PACKETS}2500 | xxd -r -p",
    "hex": f"{PACKETS}750",
    "one line": f"{PACKETS}750 | tr -d '\\n'",
    "dump": f"{PACKETS}350 | xxd -r -p | xxd",
    "blank lines": f"yes '' | head -500000; echo {LARGE}",
    "comments": f"yes '# nothing' | head -250000; echo {LARGE}",
}
"""Some 30 MB of text, 50 MB of bytes, or as many lines as take 30 MB in a list."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_text_takes_no_more_memory_than_a_short_one(name: str) -> None:
    line = f"ulimit -v 60000; ({LONG[name]}) | {shlex.join(PROGRAM)} decode -V 5 --summary | tail -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PUBLISH" in done.stdout
