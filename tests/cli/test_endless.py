"""Inputs that never end: each is refused in one sentence, or read in bounded memory."""

import resource
import subprocess
import sys
from collections.abc import Sequence

import pytest

PROGRAM = [sys.executable, "-m", "mqttpub"]
MB = 1 << 20


def limited(megabytes: int, arguments: Sequence[str], stdin: str = "/dev/null") -> subprocess.CompletedProcess[str]:
    """Run the program in so much address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB))

    with open(stdin, "rb") as file:
        return subprocess.run(
            [*PROGRAM, *arguments], stdin=file, capture_output=True, text=True, timeout=300, check=False,
            preexec_fn=limit,
        )  # fmt: skip


PUB = ("pub", "-h", "127.0.0.1", "-p", "1", "-t", "a")
VALUES = {
    "--payload @": ((*PUB, "--payload", "@/dev/zero"), "--payload: '/dev/zero'"),
    "-f": ((*PUB, "-f", "/dev/zero"), "--file: '/dev/zero'"),
    "-s": ((*PUB, "-s"), "standard input"),
    "will": ((*PUB, "-m", "x", "--will-topic", "w", "--will-message", "@/dev/zero"), "--will-message: '/dev/zero'"),
    "property": ((*PUB, "-m", "x", "--correlation-data", "@/dev/zero"), "--correlation-data: '/dev/zero'"),
    "encode": (("encode", "publish", "-t", "a", "--payload", "@/dev/zero"), "--payload: '/dev/zero'"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_beyond_every_packet_is_refused_when_it_passes_the_limit(name: str) -> None:
    arguments, source = VALUES[name]
    done = limited(600, arguments, stdin="/dev/zero")
    command = " ".join(arguments[: 2 if arguments[0] == "encode" else 1])
    said = f"mqttpub {command}: {source} holds more than 268,435,455 bytes, but no packet can\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_secret_that_never_ends_is_refused_without_a_word_of_it() -> None:
    done = limited(600, (*PUB, "-m", "x", "--authentication-data", "@/dev/zero"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("mqttpub pub: --authentication-data: what follows @ cannot be read")
