"""Where messages come from: what a descriptor gives is there at once, counted, and never piles up."""

import os
import subprocess
import sys

import click
import pytest

from mqttpub.cli.pub.messages import LineFormat, Lines
from mqttpub.live.publish.sources import Batched, Streamed
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from mqttpub.wire.types import MAX_VARIABLE


def lines(longest_bytes: int = MAX_VARIABLE) -> Lines:
    """Return what makes a message of each line, and raises what it complains of."""

    def complain(text: str) -> None:
        raise AssertionError(text)

    return Lines(LineFormat(Publish(topic="a"), Version.V5, longest_bytes=longest_bytes), complain)


def test_a_line_is_there_as_soon_as_it_is_written() -> None:
    inlet, outlet = os.pipe()
    source = Streamed(inlet, lines())
    for written, payloads in ((b"one\ntwo\nthr", [b"one", b"two"]), (b"ee\n", [b"three"]), (b"end", [])):
        os.write(outlet, written)
        source.read()
        assert [message.payload for message in source.take(10, 0.0)] == payloads
        assert source.descriptor == inlet
        assert not source.ended
    os.close(outlet)
    source.read()
    assert [(message.payload, message.token) for message in source.take(10, 0.0)] == [(b"end", 4)]
    assert source.ended
    os.close(inlet)


def test_an_empty_file_gives_nothing() -> None:
    inlet = os.open(os.devnull, os.O_RDONLY)
    source = Streamed(inlet, lines())
    assert source.descriptor is None
    assert source.take(10, 0.0) == []
    assert source.ended
    os.close(inlet)


@pytest.mark.parametrize("kind", [Streamed, Batched])
def test_a_line_that_is_too_long_is_named_by_its_number(kind: type[Streamed]) -> None:
    inlet, outlet = os.pipe()
    source = kind(inlet, lines(longest_bytes=3))
    for _ in range(3):
        os.write(outlet, b"a\nbc\n")
        source.read()
    os.write(outlet, b"x\nabcd\n")
    os.close(outlet)
    source.read()
    with pytest.raises(click.UsageError, match=r"^standard input: message 8 has more than 3 bytes, but no packet can$"):
        source.read()
    os.close(inlet)


MEASURE = """
import resource, sys
from mqttpub.live.publish.sources import Streamed
from tests.live.publish.test_sources import lines
source, count = Streamed(0, lines()), 0
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
while not source.ended:
    source.read()
    count += len(source.take(1 << 20, 0.0))
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000)
"""


@pytest.mark.slow
def test_memory_stays_small() -> None:
    given = b"x" * 63 + b"\n" + b"1234567\n" * 500_000
    done = subprocess.run([sys.executable, "-c", MEASURE], input=given, capture_output=True, check=True)
    assert done.stdout == b"500001 True\n"
