"""Ctrl-C in a pipe reaches both of its programs; what the first one wrote until then is read."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mqttpub.spec.versions import Version
from tests.build.frames import numbered
from tests.build.story import Talk, capture
from tests.program import PROGRAM

MESSAGES = 4000
WRITER = """
import signal, sys

def end(*given):
    sys.stdout.buffer.write(rest)
    sys.stdout.buffer.flush()
    print("signalled", file=sys.stderr, flush=True)
    if len(sys.argv) == 2:
        raise SystemExit

data = open(sys.argv[1], "rb").read()
first, rest = data[: len(data) // 2], data[len(data) // 2 :]
signal.signal(signal.SIGINT, end)
sys.stdout.buffer.write(first)
sys.stdout.buffer.flush()
print("writing", file=sys.stderr, flush=True)
while True:
    signal.pause()
"""
"""Writes half of a file, and the rest when a signal comes, as a capture program does; then it ends, or waits for more.

Each half is larger than a pipe holds, so it is written once the reader reads.
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture of a conversation."""
    talk = Talk(numbered(1), Version.V311)
    talk.say(0, "> connect id=a; < connack c=00")
    for number in range(1, MESSAGES + 1):
        talk.say(number * 1_000_000, "> publish q1 i=$at t=t p=21.5; < puback i=$at", at=number)
    talk.say(MESSAGES * 1_000_000 + 1, "> publish t=last p=x; > disconnect")
    path = tmp_path_factory.mktemp("live") / "live.pcap"
    path.write_bytes(capture([talk]))
    assert path.stat().st_size > 1 << 18
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "writer", "status", "shown"),
    [
        ("decode --summary", "ends", 0, b"QoS 0 last 1 B"),
        ("lint", "ends", 0, f"{2 * MESSAGES + 4:,} packets: no findings\n".encode()),
        ("lint", "stays", 130, b"mqttpub: interrupted\n"),
    ],
)
def test_the_first_interrupt_ends_the_writer_and_the_second_the_reader(
    command: str, writer: str, status: int, shown: bytes, live: Path, tmp_path: Path
) -> None:
    more = [] if writer == "ends" else [writer]
    words = [sys.executable, "-c", WRITER, str(live), *more]
    with (
        open(tmp_path / "shown", "wb+") as out,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0) as written,
        subprocess.Popen(
            [*PROGRAM, *command.split()], stdin=written.stdout, stdout=out, stderr=out, process_group=written.pid
        ) as reader,
    ):
        assert written.stdout
        assert written.stderr
        written.stdout.close()
        assert written.stderr.readline() == b"writing\n"
        os.killpg(written.pid, signal.SIGINT)
        # The reader has read on since then.
        assert written.stderr.readline() == b"signalled\n"
        if more:
            reader.send_signal(signal.SIGINT)
        assert reader.wait(60) == status
        written.kill()
        out.seek(0)
        assert shown in out.read()
