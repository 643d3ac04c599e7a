"""What the pipeline needs for captures of unusual shapes: time, the longest task, memory; with and without Spark.

`one connection` has nine tenths of the packets in one of 51 connections; `small files` is a ring of 10,000 files;
`many connections` has 60,000; `large file` is one file of so many gigabytes.
"""

import json
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import rmtree

import numpy as np
import pyarrow.parquet as pq

from mqttpub.spark.pipeline.manifest import MANIFEST
from tests.benchmarks.harness import MQTTPUB, chosen
from tests.benchmarks.pipeline import Watch
from tests.benchmarks.traffic import MIXES, bursts, write_pcap
from tests.build.fleet import rotated
from tests.build.frames import SentSegment, pcap_of

OTHERS = 50
FILES, CONNECTIONS = 10_000, 60_000
FILE_HEADER, RECORD_HEADER = 24, 16
SOURCE, TARGET = 14 + 12 + 1, 14 + 16 + 1
"""Offsets in a frame of the second byte of the addresses, which is 0 for a client and 1 for the server."""


def one_connection(folder: Path, packets: int, gigabytes: float) -> list[Path]:
    """Write a capture in which one connection has nine tenths of the packets."""
    mix = MIXES["usual"]
    many = bursts(packets * 9 // 10, mix._replace(connections=1))
    few = bursts(packets // 10, mix._replace(connections=OTHERS))

    def segments() -> Iterator[SentSegment]:
        made = [0, 0]
        for number, burst in enumerate(many):
            yield from (SentSegment(0, burst.direction, each) for each in mix.segments(burst.packets))
            made[0] += len(burst.packets)
            while number and made[1] * 9 < made[0] and (other := next(few, None)):
                made[1] += len(other.packets)
                yield from (
                    SentSegment(1 + other.connection, other.direction, each) for each in mix.segments(other.packets)
                )

    path = folder / "one.pcap"
    path.write_bytes(pcap_of(segments()))
    return [path]


def small_files(folder: Path, packets: int, gigabytes: float) -> list[Path]:
    """Write a ring of small files."""
    path = folder / "whole.pcap"
    write_pcap(path, packets, MIXES["usual"])
    whole = path.read_bytes()
    path.unlink()
    return rotated(whole, folder / "ring", FILES)


def many_connections(folder: Path, packets: int, gigabytes: float) -> list[Path]:
    """Write a capture of many connections."""
    path = folder / "many.pcap"
    write_pcap(path, packets, MIXES["many"]._replace(connections=CONNECTIONS))
    return [path]


def large_file(folder: Path, packets: int, gigabytes: float) -> list[Path]:
    """Write one large file: the same packets again and again, of other clients and later each time."""
    piece = folder / "piece.pcap"
    write_pcap(piece, packets, MIXES["usual"])
    written = bytearray(piece.read_bytes())
    data = np.frombuffer(written, np.uint8)
    at, starts = FILE_HEADER, []
    while at < len(data):
        starts.append(at)
        at += RECORD_HEADER + struct.unpack_from("<I", written, at + 8)[0]
    place = np.array(starts)
    frame = place + RECORD_HEADER
    client = np.where(data[frame + SOURCE] == 0, frame + SOURCE, frame + TARGET)
    seconds = data[place[:, None] + np.arange(4)].copy().view("<u4").ravel()
    path = folder / "large.pcap"
    with open(path, "wb") as file:
        file.write(data[:FILE_HEADER].tobytes())
        for number in range(int(gigabytes * 1e9 / len(data)) + 1):
            # 1 is the server's.
            data[client] = number + (number > 0)
            later = seconds + np.uint32(number * (int(seconds[-1] - seconds[0]) + 1))
            data[place[:, None] + np.arange(4)] = later.view(np.uint8).reshape(-1, 4)
            file.write(data[FILE_HEADER:].tobytes())
    piece.unlink()
    return [path]


SHAPES: dict[str, Callable[[Path, int, float], list[Path]]] = {
    "one connection": one_connection, "small files": small_files, "many connections": many_connections,
    "large file": large_file,
}  # fmt: skip


def measured(sources: Sequence[Path], folder: Path, master: str) -> str:
    """Return how long a run takes, its longest task, and the most memory of its processes, in words."""
    out = folder / "out"
    command = [*MQTTPUB, "pipeline", str(sources[0].parent), "--out", str(out)]
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--mode", "overwrite", "--master", master, "--no-summary"], stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    watch = Watch([process.pid])
    _, said = process.communicate()
    watch.end()
    seconds = time.perf_counter() - begun
    if process.returncode:
        raise SystemExit(said.decode())
    tasks = json.loads((out / MANIFEST).read_text())["runs"][-1]["seconds"]
    rows = sum(pq.ParquetFile(path).metadata.num_rows for path in (out / "packets").rglob("*.parquet"))
    return (
        f"{master:9}{seconds:8.1f} s  the longest task {max(tasks):7.2f} s"
        f"{watch.most[process.pid] / 1e6:8,.0f} MB  {rows:,} packets"
    )


def lines(
    folder: Path, *, shapes: tuple[str, ...] = (), packets: int = 1_000_000, gigabytes: float = 5,
    masters: tuple[str, ...] = ("none", "local[2]"),
) -> Iterator[str]:  # fmt: skip
    """Yield a line for each shape and master."""
    for shape, written in chosen(shapes, SHAPES):
        place = folder / shape.replace(" ", "-")
        (place / "in").mkdir(parents=True)
        sources = written(place / "in", packets, gigabytes)
        for master in masters:
            yield f"{shape:17}{measured(sources, place, master)}"
        rmtree(place)
