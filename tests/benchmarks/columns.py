"""Packets a second on one core: a capture to Arrow columns, step by step, and tshark on the same file.

All mixes have connections of MQTT 5.0 and 3.1.1 at the same time, PUBLISH packets and their
acknowledgements: `usual` 32 connections, QoS 0, 1 and 2 with properties, most packets in a TCP segment of
their own; `bulk` 32 connections, short messages of QoS 0 and 1 that fill segments of 1,448 bytes, as do
the acknowledgements; `many` 10,000 connections that take turns, each packet in a segment of its own. All
steps run in one process on one core and take turns with tshark, so that a slow minute hits all.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.exchanges.pair import Pairing, closes
from mqttpub.columns.read import read
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.columns.scan.records import records
from mqttpub.traffic.closings import Closings
from tests.benchmarks.harness import call, in_turn, middle, stay_on_one_core
from tests.benchmarks.traffic import MIXES, tshark, write_pcap

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


def lines(
    folder: Path, *, mix: str = "usual", packets: int = 400_000, rounds: int = 3, pcap: Path | None = None
) -> Iterator[str]:
    """Yield a line for each way: its time, its rate, and how many times as fast as tshark it is."""
    stay_on_one_core()
    pa.set_cpu_count(1)
    path = pcap or folder / "traffic.pcap"
    count = write_pcap(path, packets, MIXES[mix])
    batches = framed(path)
    rows = decoded(batches)
    if sum(len(each) for each in rows) != count or any(each["error"].null_count < len(each) for each in rows):
        raise SystemExit(f"{sum(len(each) for each in rows)} rows, but {count} packets were written")
    ways: dict[str, Callable[[], object]] = {
        "pcap to records": lambda: scanned(path),
        "pcap to frames": lambda: framed(path),
        "frames to Arrow": lambda: decoded(batches),
        "packets to exchanges": lambda: paired(batches, rows),
        "pcap to Arrow": lambda: to_arrow(path),
        "tshark -T fields": lambda: tshark(path),
    }
    yield f"{count:,} packets, {path.stat().st_size:,} bytes, {len(batches)} batches, {rounds} rounds"
    took = in_turn({name: partial(call, way) for name, way in ways.items()}, rounds)
    cpu_s = {name: middle(done, attrgetter("cpu_s")) for name, done in took.items()}
    for name, taken in cpu_s.items():
        times = cpu_s["tshark -T fields"] / taken
        yield f"{name:24}{taken:9.3f} s{count / taken:14,.0f} packets/s{times:8.1f} x tshark"
