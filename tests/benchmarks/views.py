"""How long each view of a capture takes, beside what tshark prints of the same capture.

Whole processes on one core, in turns; the median of their processor times, and the packets that each of them shows.
`--scale` is the share of the packets to take. `--memory` prints instead the most memory of each view for 10,000 packets
and for 2,000,000 times the scale.
"""

import re
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

from tests.benchmarks.harness import MQTTPUB, chosen, in_turn, middle, ran, run, stay_on_one_core
from tests.benchmarks.traffic import MIXES, write_pcap
from tests.build.pages import parts

PACKET = rb"CONNECT|CONNACK|PUBLISH|PUBACK|PUBREC|PUBREL|PUBCOMP"
FEW, SOME, MANY, MOST = 10_000, 100_000, 200_000, 2_000_000
MEMORY = 10_000, 2_000_000
LINES = "-Y mqtt"


def occurrences(pattern: bytes) -> Callable[[Path], int]:
    """Return a function that counts how often a pattern is in a file, a line at a time."""
    compiled = re.compile(pattern, re.MULTILINE)

    def count(path: Path) -> int:
        with path.open("rb") as file:
            return sum(len(compiled.findall(line)) for line in file)

    return count


def stated(pattern: bytes) -> Callable[[Path], int]:
    """Return a function that reads the number in the only match of a pattern in a file."""

    def read(path: Path) -> int:
        [number] = re.findall(pattern, path.read_bytes(), re.MULTILINE)
        return int(number.replace(b",", b""))

    return read


def values(path: Path) -> int:
    """Return how many values are in the lines of a file, which tshark separates with commas."""
    with path.open("rb") as file:
        return sum(line.count(b",") + 1 for line in file)


def page_rows(path: Path) -> int:
    """Return how many rows a page has, with those of events that are not packets."""
    return sum(int(unpack_from("<q", head)[0]) for head, _ in parts(path.read_text()))


def parquet_rows(path: Path) -> int:
    """Return how many rows a table has."""
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


class View(NamedTuple):
    """A view, and the output of tshark that it stands beside."""

    command: str
    """With {out} for a file that it writes; without, it writes to standard output."""
    packets: dict[str, int]
    """Packets of the capture of each mix."""
    shown: Callable[[Path], int]
    """How many packets its output shows or counts; `--flows` has exchanges."""
    tshark: str
    tshark_shown: Callable[[Path], int]
    at_most: float = 1.0
    """The share of tshark's time that it may take."""


FULL = {"usual": SOME, "bulk": MANY, "heavy": SOME}
LINES_SHOWN = occurrences(rb"Connect (?:Command|Ack)|Publish (?:Message|Ack|Received|Release|Complete)")
JSON_SHOWN = occurrences(rb'"mqtt.hdrflags": ')
RECORDS = occurrences(rb'"type":"(?:%s)"' % PACKET)
VIEWS = {
    "annotated": View(
        "decode {}", {"usual": FEW, "bulk": FEW, "heavy": FEW}, occurrences(rb"^[<>] (?:%s) " % PACKET),
        "-V -x -O mqtt -Y mqtt", occurrences(rb"^MQ Telemetry Transport Protocol, "),
    ),
    "json": View("decode --json {}", FULL, RECORDS, "-T json -Y mqtt", JSON_SHOWN, 0.5),
    # Records have the bytes of packets, which tshark prints only with -x.
    "json, bytes": View("decode --json {}", FULL, RECORDS, "-T json -x -Y mqtt", JSON_SHOWN, 0.5),
    "summary": View("decode --summary {}", FULL, occurrences(rb" [<>] (?:%s) " % PACKET), LINES, LINES_SHOWN, 0.5),
    "summary json": View("decode --summary --json {}", FULL, RECORDS, LINES, LINES_SHOWN),
    "flows": View("decode --flows {}", FULL, occurrences(rb" [<>] QoS [012] "), LINES, LINES_SHOWN),
    "stats": View("decode --stats {}", FULL, stated(rb" clients?, ([0-9,]+) packets, "), LINES, LINES_SHOWN),
    "lint": View("lint {}", FULL, stated(rb"^([0-9,]+) packets of "), LINES, LINES_SHOWN),
    "html": View("decode --html {out} {}", FULL, page_rows, "-T json -Y mqtt", JSON_SHOWN),
    "parquet": View(
        "decode --parquet {out} {}", {"usual": MOST}, parquet_rows, "-T fields -e mqtt.msgtype -Y mqtt", values,
    ),
}  # fmt: skip


GOOD = (0, 1)
"""Exit statuses; a finding makes `lint` exit with 1."""


def ours(view: View, pcap: Path, written: Path) -> list[str]:
    """Return the command of a view; some write a file."""
    return [*MQTTPUB, *view.command.format(pcap, out=written).split()]


def write(pcap: Path, packets: int, mix: str) -> None:
    """Write a capture in a process of its own: a child begins with the most memory that its parent ever had."""
    process = get_context("spawn").Process(target=write_pcap, args=(pcap, packets, MIXES[mix]))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"no capture of {packets:,} packets was written")


def compared(name: str, mix: str, packets: int, rounds: int, folder: Path) -> str:
    """Return the line of a view of one capture."""
    view, pcap, out, other = VIEWS[name], folder / f"{mix}-{packets}.pcap", folder / "out", folder / "tshark.out"
    if not pcap.exists():
        write(pcap, packets, mix)
    written = folder / f"{name}.out" if "{out}" in view.command else out
    theirs = ["tshark", "-n", "-r", str(pcap), *view.tshark.split()]
    ways = {
        "ours": ran(ours(view, pcap, written), stdout=out, merged=True, good=GOOD),
        "theirs": ran(theirs, stdout=other),
    }
    mine, tshark = (middle(done, attrgetter("cpu_s")) for done in in_turn(ways, rounds).values())
    verdict = "" if mine <= view.at_most * tshark else f"  more than {view.at_most:g}"
    return (
        f"{name:13}{mix:7}{packets:9,}{mine:8.2f} s{view.shown(written):>10,}{tshark:10.2f} s"
        f"{view.tshark_shown(other):>10,}{mine / tshark:7.2f}{verdict}"
    )


def most_mb(name: str, mix: str, scale: float, folder: Path) -> str:
    """Return the line of the memory of a view, for few packets and for many."""
    found = []
    for packets in MEMORY:
        pcap = folder / f"{mix}-{packets}.pcap"
        if not pcap.exists():
            write(pcap, packets if packets == MEMORY[0] else int(packets * scale), mix)
        found.append(run(ours(VIEWS[name], pcap, folder / f"{name}.out"), watched=True, good=GOOD).peak_mb)
    return f"{name:13}{mix:7}{found[0]:8,.0f} MB{found[1]:8,.0f} MB"


def lines(
    folder: Path, *, rounds: int = 3, scale: float = 1.0, views: tuple[str, ...] = (), mixes: tuple[str, ...] = (),
    memory: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Yield the lines of the table."""
    stay_on_one_core()
    if memory:
        yield f"{'view':13}{'mix':7}{MEMORY[0]:,} packets and {int(MEMORY[1] * scale):,}"
    else:
        yield f"{'view':13}{'mix':7}{'packets':>9}{'mqttpub':>10}{'shown':>10}{'tshark':>12}{'shown':>10}{'ratio':>7}"
    for name, view in chosen(views, VIEWS):
        for mix, packets in view.packets.items():
            if mixes and mix not in mixes:
                continue
            if memory:
                yield most_mb(name, mix, scale, folder)
            else:
                yield compared(name, mix, int(packets * scale), rounds, folder)
