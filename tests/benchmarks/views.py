"""How long each view of a capture takes, beside what tshark prints of the same capture.

    python tests/benchmarks/views.py [--rounds 3] [--scale 1.0] [--views NAME ...] [--mixes NAME ...] [--memory]

Whole processes on one core, in turns; the median of their processor times, and the packets that each of them shows.
`--memory` prints instead the most memory of each view for 10,000 packets and for 2,000,000 times the scale.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.traffic import MIXES, stay_on_one_core, write_pcap

PACKET = rb"CONNECT|CONNACK|PUBLISH|PUBACK|PUBREC|PUBREL|PUBCOMP"
FEW, SOME, MANY = 10_000, 100_000, 200_000
MEMORY = 10_000, 2_000_000
LINES = "-Y mqtt"
SHOWN = re.compile(rb"Connect (?:Command|Ack)|Publish (?:Message|Ack|Received|Release|Complete)")


class View(NamedTuple):
    """A view, and the output of tshark that it stands beside."""

    command: str
    packets: dict[str, int]
    """Packets of the capture of each mix."""
    counted: re.Pattern[bytes] | None
    """What the output has once for each packet; None where it has fewer lines than packets."""
    tshark: str
    tshark_counted: re.Pattern[bytes]
    at_most: float = 1.0
    """The share of tshark's time that it may take."""


FULL = {"usual": SOME, "bulk": MANY, "heavy": SOME}
VIEWS = {
    "annotated": View(
        "decode {}", {"usual": FEW, "bulk": FEW, "heavy": FEW}, re.compile(rb"^[<>] (?:%s) " % PACKET, re.MULTILINE),
        "-V -x -O mqtt -Y mqtt", re.compile(rb"^MQ Telemetry Transport Protocol, ", re.MULTILINE),
    ),
    "json": View(
        "decode --json {}", FULL, re.compile(rb'"type":"(?:%s)"' % PACKET), "-T json -Y mqtt",
        re.compile(rb'"mqtt.hdrflags": '), 0.5,
    ),
    # Records have the bytes of packets, which tshark prints only with -x.
    "json, bytes": View(
        "decode --json {}", FULL, re.compile(rb'"type":"(?:%s)"' % PACKET), "-T json -x -Y mqtt",
        re.compile(rb'"mqtt.hdrflags": '), 0.5,
    ),
    "summary": View("decode --summary {}", FULL, re.compile(rb" [<>] (?:%s) " % PACKET), LINES, SHOWN, 0.5),
    "summary json": View("decode --summary --json {}", FULL, re.compile(rb'"type":"(?:%s)"' % PACKET), LINES, SHOWN),
    "flows": View("decode --flows {}", FULL, None, LINES, SHOWN),
    "stats": View("decode --stats {}", FULL, None, LINES, SHOWN),
    "lint": View("lint {}", FULL, None, LINES, SHOWN),
    "html": View("decode --html {out} {}", FULL, None, "-T json -Y mqtt", re.compile(rb'"mqtt.hdrflags": ')),
}  # fmt: skip


class Done(NamedTuple):
    """What a process used."""

    seconds: float
    """Processor time."""
    most_bytes: int


def run(command: list[str], out: Path) -> Done:
    """Run a command with its output in a file."""
    with out.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # A finding makes `lint` exit with another status.
    if process.returncode not in {0, 1}:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Done(used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def ours(view: View, pcap: Path, folder: Path) -> list[str]:
    """Return the command of a view."""
    words = view.command.format(pcap, out=folder / "page.html").split()
    return [sys.executable, "-m", "mqttpub", *words]


def counted(pattern: re.Pattern[bytes] | None, out: Path) -> str:
    """Return how often a pattern is in an output, a line at a time."""
    if pattern is None:
        return "-"
    with out.open("rb") as file:
        return f"{sum(len(pattern.findall(line)) for line in file):,}"


def write(pcap: Path, packets: int, mix: str) -> None:
    """Write a capture in a process of its own: a child begins with the most memory that its parent ever had."""
    process = get_context("spawn").Process(target=write_pcap, args=(pcap, packets, MIXES[mix]))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"no capture of {packets:,} packets was written")


def compared(name: str, mix: str, packets: int, rounds: int, folder: Path) -> str:
    """Return the line of a view of one capture."""
    view, pcap, out = VIEWS[name], folder / f"{mix}-{packets}.pcap", folder / "out"
    if not pcap.exists():
        write(pcap, packets, mix)
    theirs = ["tshark", "-n", "-r", str(pcap), *view.tshark.split()]
    sides = ((ours(view, pcap, folder), view.counted), (theirs, view.tshark_counted))
    took: list[list[float]] = [[], []]
    shown = ["", ""]
    for number in range(rounds):
        for side, (command, pattern) in enumerate(sides):
            took[side].append(run(command, out).seconds)
            shown[side] = shown[side] if number else counted(pattern, out)
    mine, other = map(median, took)
    verdict = "" if mine <= view.at_most * other else f"  more than {view.at_most:g}"
    return (
        f"{name:13}{mix:7}{packets:9,}{mine:8.2f} s{shown[0]:>10}{other:10.2f} s{shown[1]:>10}"
        f"{mine / other:7.2f}{verdict}\n"
    )


def memory(name: str, mix: str, scale: float, folder: Path) -> str:
    """Return the line of the memory of a view, for few packets and for many."""
    found = []
    for packets in MEMORY:
        pcap = folder / f"{mix}-{packets}.pcap"
        if not pcap.exists():
            write(pcap, packets if packets == MEMORY[0] else int(packets * scale), mix)
        found.append(run(ours(VIEWS[name], pcap, folder), Path(os.devnull)).most_bytes / 1e6)
    return f"{name:13}{mix:7}{found[0]:8,.0f} MB{found[1]:8,.0f} MB\n"


def lines(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    if given.memory:
        yield f"{'view':13}{'mix':7}{MEMORY[0]:,} packets and {int(MEMORY[1] * given.scale):,}\n"
    else:
        yield f"{'view':13}{'mix':7}{'packets':>9}{'mqttpub':>10}{'shown':>10}{'tshark':>12}{'shown':>10}{'ratio':>7}\n"
    for name in given.views:
        for mix, packets in VIEWS[name].packets.items():
            if mix not in given.mixes:
                continue
            if given.memory:
                yield memory(name, mix, given.scale, folder)
            else:
                yield compared(name, mix, int(packets * given.scale), given.rounds, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="how long each view takes, beside tshark")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--scale", type=float, default=1.0, metavar="F", help="share of the packets to take")
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=list(VIEWS), metavar="NAME")
    parser.add_argument("--mixes", nargs="+", choices=list(FULL), default=list(FULL), metavar="NAME")
    parser.add_argument("--memory", action="store_true", help="print memory instead of time")
    given = parser.parse_args()
    stay_on_one_core()
    with tempfile.TemporaryDirectory() as folder:
        for line in lines(given, Path(folder)):
            sys.stdout.write(line)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
