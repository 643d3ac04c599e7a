"""Packets a second of `pipeline`, on one core and on two, warm; how long a start takes, and how much memory.

    python tests/benchmarks/pipeline.py [--packets 1000000] [--files 19] [--rounds 5] [--sources PATH ...]

A session of local[1] and one of local[2] stand side by side and take turns, so that a slow minute hits
both; the first turn of each, in which the JVM and the workers are still cold, does not count. What a
turn takes is read from the manifest, too: the tasks that read, and those that pair.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mqttpub.spark.pipeline.manifest import MANIFEST
from mqttpub.spark.pipeline.run import PipelineRequest, run
from mqttpub.spark.session.cache import warm
from mqttpub.spark.session.session import Settings, session
from tests.benchmarks.traffic import MIXES, write_pcap
from tests.build.fleet import rotated

MASTERS = ("local[1]", "local[2]")
Told = dict[str, Any]


class Side:
    """A process with a session of its own, which runs the pipeline whenever it is told to."""

    def __init__(self, master: str, sources: list[Path], out: Path) -> None:
        command = [sys.executable, __file__, "--serve", master, "--out", str(out)]
        self.process = subprocess.Popen(
            [*command, "--sources", *map(str, sources)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def turn(self) -> Told:
        """Run it once, and return how long what took and what it wrote."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        told: Told = json.loads(self.process.stdout.readline())
        return told

    def end(self) -> None:
        """Let it end."""
        self.process.communicate()


def serve(master: str, sources: list[Path], out: Path) -> None:
    """Be the other end of a Side."""
    with session(Settings(master)):
        for _ in sys.stdin:
            begun = time.perf_counter()
            result = run(PipelineRequest(tuple(map(str, sources)), out, mode="overwrite"))
            seconds = time.perf_counter() - begun
            tasks = json.loads((out / MANIFEST).read_text())["runs"][-1]["seconds"]
            half = len(tasks) // 2
            told = {"seconds": seconds, "reading": max(tasks[:half]), "pairing": max(tasks[half:]), **result.rows}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


def memory(root: int) -> int:
    """Return the bytes that a process and its children have for themselves (PSS)."""
    total = 0
    for process in _family(root):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def _family(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else 0
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(entry.name) if entry.name.isdigit() else 0)
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left += parents.get(found[-1], [])
    return found


class Watch:
    """Looks at the memory of processes every half second."""

    def __init__(self, roots: list[int]) -> None:
        self.roots = roots
        self.most = dict.fromkeys(roots, 0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            for root in self.roots:
                self.most[root] = max(self.most[root], memory(root))

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self._thread.join()


def turns(sources: list[Path], folder: Path, rounds: int) -> tuple[dict[str, list[Told]], dict[str, int]]:
    """Return what each turn told, by master, and the most memory."""
    sides = {master: Side(master, sources, folder / master) for master in MASTERS}
    watch = Watch([side.process.pid for side in sides.values()])
    found: dict[str, list[Told]] = {master: [] for master in sides}
    for number in range(rounds + 1):
        for master, side in sides.items():
            told = side.turn()
            if number:
                found[master].append(told)
    watch.end()
    for side in sides.values():
        side.end()
    return found, {master: watch.most[side.process.pid] for master, side in sides.items()}


def report(found: dict[str, list[Told]], most: dict[str, int]) -> Iterator[str]:
    """Yield lines about rates, the ratio of the two, and memory."""
    for master, all_told in found.items():
        packets = all_told[0]["packets"]
        for name in ("seconds", "reading", "pairing"):
            took = median(told[name] for told in all_told)
            what = {"seconds": "in all", "reading": "longest task that reads", "pairing": "longest task that pairs"}
            yield f"{master}  {what[name]:26}{took:8.2f} s{packets / took:14,.0f} packets/s\n"
        yield f"{master}  most memory, JVM included {most[master] / 1e6:10,.0f} MB\n"
    one, two = (median(told["seconds"] for told in found[master]) for master in MASTERS)
    yield f"local[2] is {one / two:.2f} times as fast as local[1]\n"


def starts(source: Path, folder: Path, rounds: int) -> Iterator[str]:
    """Yield how long the command takes for a small capture, without the cache of `--warm` and with it."""
    command = [sys.executable, "-m", "mqttpub", "pipeline", str(source), "--out", str(folder / "small"),
               "--mode", "overwrite", "--master", "local[2]"]  # fmt: skip
    caches = {"cold": folder / "none", "warm": folder / "cache"}
    os.environ["XDG_CACHE_HOME"] = str(caches["warm"])
    begun = time.perf_counter()
    _, size = warm()
    yield f"--warm took {time.perf_counter() - begun:.1f} s and {size / 1e6:,.0f} MB\n"
    took: dict[str, list[float]] = {name: [] for name in caches}
    for _ in range(rounds):
        for name, cache in caches.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)})
            took[name].append(time.perf_counter() - begun)
    for name, times in took.items():
        yield f"start to first rows, {name}: {median(times):6.1f} s ({min(times):.1f} to {max(times):.1f})\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="packets a second of the pipeline on one core and two")
    parser.add_argument("--packets", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--files", type=int, default=19, metavar="N", help="into how many the capture is rotated")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--sources", type=Path, nargs="*", help="captures to read instead")
    parser.add_argument("--serve", metavar="MASTER", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.sources, given.out)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = given.sources or _written(folder, given.packets, given.files)
        sys.stdout.writelines(report(*turns(sources, folder, given.rounds)))
        small = folder / "small.pcap"
        write_pcap(small, 1000, MIXES["usual"])
        sys.stdout.writelines(starts(small, folder, given.rounds))


def _written(folder: Path, packets: int, files: int) -> list[Path]:
    whole = folder / "whole.pcap"
    write_pcap(whole, packets, MIXES["usual"])
    sources = rotated(whole.read_bytes(), folder / "captures", files)
    whole.unlink()
    return sources


if __name__ == "__main__":
    main()
