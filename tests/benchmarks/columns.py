"""Packets a second on one core: a capture to Arrow columns, step by step, and tshark on the same file.

    python tests/benchmarks/columns.py [--mix usual|bulk|many] [--packets 400000] [--rounds 3] [--pcap FILE]

All mixes have connections of MQTT 5.0 and 3.1.1 at the same time, PUBLISH packets and their
acknowledgements: `usual` 32 connections, QoS 0, 1 and 2 with properties, most packets in a TCP segment of
their own; `bulk` 32 connections, short messages of QoS 0 and 1 that fill segments of 1,448 bytes, as do
the acknowledgements; `many` 10,000 connections that take turns, each packet in a segment of its own. All
steps run in one process on one core and take turns with tshark, so that a slow minute hits all.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2]))

from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.exchanges.pair import Pairing, closes
from mqttpub.columns.read import read
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.columns.scan.records import records
from mqttpub.traffic.closings import Closings
from tests.benchmarks.traffic import MIXES, processor_time_s, stay_on_one_core, tshark, write_pcap

Batches = list[Batch]


# the steps


def scanned(path: Path) -> int:
    """Return the number of records of a capture."""
    with path.open("rb") as file:
        return sum(len(each) for each in records(file.read, Counter()))


def framed(path: Path) -> Batches:
    """Return the frames of a capture."""
    return list(read([path]))


def decoded(batches: Batches) -> list[pa.RecordBatch]:
    """Return the rows of frames."""
    memory = Memory()
    return [decode(each, capture="traffic.pcap", keys=each.keys, memory=memory) for each in batches]


def paired(batches: Batches, packets: list[pa.RecordBatch]) -> int:
    """Return how many exchanges there are."""
    pairing = Pairing()
    closings: Closings[str] = Closings()
    found = [pairing.add(rows, closes(each, closings, lambda ends, own=each: own.names[ends.number]))  # type: ignore[misc]
             for each, rows in zip(batches, packets, strict=True)]  # fmt: skip
    return sum(len(each) for each in (*found, pairing.finish()))


def to_arrow(path: Path) -> int:
    """Return how many rows a capture has, holding one batch at a time."""
    memory, rows = Memory(), 0
    for each in read([path]):
        rows += len(decode(each, capture="traffic.pcap", keys=each.keys, memory=memory))
    return rows


def measure(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median processor time of each way."""
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            took[name].append(processor_time_s(way))
    return {name: median(times) for name, times in took.items()}


def report(took: dict[str, float], packets: int) -> Iterator[str]:
    """Yield a line for each way: its time, its rate, and how many times as fast as tshark it is."""
    slowest = took.get("tshark -T fields")
    for name, measured in took.items():
        # A step of less than a tick of the clock took some time, too.
        seconds = max(measured, 1 / os.sysconf("SC_CLK_TCK"))
        ratio = f"{slowest / seconds:8.1f} x tshark" if slowest and name != "tshark -T fields" else ""
        yield f"{name:24}{seconds:9.3f} s{packets / seconds:14,.0f} packets/s{ratio}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="packets a second on one core: columns, tshark")
    parser.add_argument("--mix", choices=MIXES, default="usual")
    parser.add_argument("--packets", type=int, default=400_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--pcap", type=Path, help="keep the capture here")
    options = parser.parse_args()
    stay_on_one_core()
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory() as folder:
        path = options.pcap or Path(folder) / "traffic.pcap"
        packets = write_pcap(path, options.packets, MIXES[options.mix])
        batches = framed(path)
        rows = decoded(batches)
        if sum(len(each) for each in rows) != packets or any(each["error"].null_count < len(each) for each in rows):
            raise SystemExit(f"{sum(len(each) for each in rows)} rows, but {packets} packets were written")
        ways: dict[str, Callable[[], Any]] = {
            "pcap to records": lambda: scanned(path),
            "pcap to frames": lambda: framed(path),
            "frames to Arrow": lambda: decoded(batches),
            "packets to exchanges": lambda: paired(batches, rows),
            "pcap to Arrow": lambda: to_arrow(path),
        }
        if shutil.which("tshark"):
            ways["tshark -T fields"] = lambda: tshark(path)
        size = path.stat().st_size
        sys.stdout.write(f"{packets:,} packets, {size:,} bytes, {len(batches)} batches, {options.rounds} rounds\n")
        sys.stdout.writelines(report(measure(ways, options.rounds), packets))


if __name__ == "__main__":
    main()
