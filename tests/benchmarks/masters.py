"""Seconds from the command to the finished tables, without Spark and with it, by the size of the capture.

    python tests/benchmarks/masters.py [--megabytes 0.1 1 10 100] [--rounds 3] [--report] [--sources PATH ...]

The runs take turns, so that a slow minute hits all. CPU-seconds include those of all processes that a run started.
Spark has its cache of classes, if `--warm` made one. SMALL in mqttpub/spark/pipeline/run.py stands on these numbers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from mqttpub.spark.pipeline.engine.local import cores
from tests.benchmarks.traffic import MIXES, write_pcap

PACKET_BYTES = 121
"""Bytes of capture for a packet of the usual mix."""


def took(command: Sequence[str]) -> tuple[float, float]:
    """Return the seconds and CPU-seconds of a process and all that it started."""
    begun, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, used


def measured(sources: Sequence[Path], folder: Path, rounds: int, more: Sequence[str]) -> Iterator[str]:
    """Yield a line for each master."""
    times: dict[str, list[tuple[float, float]]] = {master: [] for master in ("none", f"local[{cores()}]")}
    for _ in range(rounds):
        for master, found in times.items():
            command = [sys.executable, "-m", "mqttpub", "pipeline", *map(str, sources), "--out", str(folder / "out")]
            found.append(took([*command, "--mode", "overwrite", "--master", master, *more]))
    size = sum(source.stat().st_size for source in sources)
    for master, found in times.items():
        seconds, used = (median(each) for each in zip(*found, strict=True))
        yield f"{size / 1e6:8.1f} MB  {master:10} {seconds:8.2f} s {used:8.2f} CPU-s\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="seconds to the finished tables, without Spark and with it")
    parser.add_argument("--megabytes", type=float, nargs="*", default=[0.1, 1, 10, 100], metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--report", action="store_true", help="with a report")
    parser.add_argument("--sources", type=Path, nargs="*", help="captures to read instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        more = ["--report", str(folder / "report.html")] if given.report else ["--no-summary"]
        if given.sources:
            sys.stdout.writelines(measured(given.sources, folder, given.rounds, more))
            return
        for megabytes in given.megabytes:
            path = folder / "capture.pcap"
            write_pcap(path, int(megabytes * 1e6 / PACKET_BYTES), MIXES["usual"])
            sys.stdout.writelines(measured([path], folder, given.rounds, more))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
