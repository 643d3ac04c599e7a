"""What the pipeline costs: one task or many, one core or two, beside other ways to read the same captures.

First the tasks alone, without a JVM: the processor time of all, and of the longest of each kind, for 1 to 16 tasks.
Then sessions of Spark stand side by side and take turns, so that a slow minute hits all; the first turns of each, in
which the JVM and the workers are still cold, do not count. The JVM of local[1] works on a second core beside its task;
a third session has one core for all its processes. `--files` says into how many the capture is rotated; `--sources`
are captures to read instead; `--beside` is a checkout of another mqttpub with a `.venv`.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from mqttpub.spark.pipeline.job import BlobRow, Job
from mqttpub.spark.pipeline.manifest import MANIFEST
from mqttpub.spark.pipeline.record_numbers import write_names
from mqttpub.spark.pipeline.route import COUNTS, is_large, parts, route, units
from mqttpub.spark.pipeline.run import PipelineRequest, run
from mqttpub.spark.pipeline.sources import expand
from mqttpub.spark.pipeline.task import pair_slots, read_buckets
from mqttpub.spark.session.session import Settings, session
from tests.benchmarks.harness import MQTTPUB, call, in_turn, middle
from tests.benchmarks.harness import run as ran_program
from tests.benchmarks.traffic import MIXES, tshark, write_pcap
from tests.build.fleet import rotated
from tests.processes import below

TASKS = (1, 2, 4, 8, 16)
COLD = 6
"""Turns that do not count; the JVM compiles for as long."""
Turn = dict[str, Any]


class Side:
    """A process with a session of its own, which runs the pipeline whenever it is asked to."""

    def __init__(
        self, master: str, sources: list[Path], out: Path, checkout: Path | None = None, cores: set[int] | None = None
    ) -> None:
        python = sys.executable if checkout is None else str(checkout / ".venv" / "bin" / "python")
        words = [master, str(out), *map(str, sources)]
        command = [python, "-c", "from tests.benchmarks.pipeline import serve; serve()", *words]
        # Workers of Spark import mqttpub from the working folder.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=checkout or Path(__file__).parents[2]
        )
        if cores:
            os.sched_setaffinity(self.process.pid, cores)

    def turn(self, tasks: int | None = None) -> Turn:
        """Run it once, with about so many tasks, and return how long what took and how many rows it wrote."""
        assert self.process.stdin
        assert self.process.stdout
        before = family_time_s(self.process.pid)
        self.process.stdin.write(f"{tasks or ''}\n")
        self.process.stdin.flush()
        found: Turn = json.loads(self.process.stdout.readline())
        return {**found, "processor": family_time_s(self.process.pid) - before}

    def end(self) -> None:
        """Let it end."""
        self.process.communicate()


def serve() -> None:
    """Be the other end of a Side."""
    master, place, *sources = sys.argv[1:]
    out = Path(place)
    with session(Settings(master)):
        for line in sys.stdin:
            tasks = int(line) if line.strip() else None
            request = PipelineRequest(tuple(sources), out, mode="overwrite", partitions=tasks)
            begun = time.perf_counter()
            result = run(request)
            seconds = time.perf_counter() - begun
            longest = max(json.loads((out / MANIFEST).read_text())["runs"][-1]["seconds"])
            sys.stdout.write(json.dumps({"seconds": seconds, "longest": longest, **result.rows}) + "\n")
            sys.stdout.flush()


def family_time_s(root: int) -> float:
    """Return the processor time of a process and its descendants, with those that have ended."""
    return sum(each.cpu_s for each in below(root).values())


def memory(root: int) -> int:
    """Return the bytes that a process and its descendants have for themselves, without pages of files."""
    total = 0
    for process in below(root):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss_Anon:"))
    return total


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


def task_times(sources: list[Path], tasks: int, folder: Path) -> list[list[float]]:
    """Return the processor times of the tasks of each kind, one after another in this process."""
    job, found = Job(str(folder), run="run", tasks=tasks), expand(map(str, sources))
    write_names(job, (source.name for source in found))
    index: list[float] = []
    given = []
    for each in units(found, job):
        if is_large(each):
            given += [[part] for part in timed(index, parts, each[0])]
        else:
            given.append(each)
    first: list[float] = []
    rows: list[BlobRow] = []
    for each in given:
        rows += timed(first, list, route(job, each))
    kinds = [index, first]
    for step in (read_buckets, pair_slots):
        kinds.append([])
        # The counts of all sources, which each task gets.
        counts = [row for row in rows if row.major == COUNTS]
        groups = divided([row for row in rows if row.major != COUNTS], tasks)
        groups = [[*(row for row in counts if row.key == place), *group] for place, group in enumerate(groups)]
        rows = []
        for group in groups:
            rows += timed(kinds[-1], list, step(job, group))
    return kinds


def timed(times: list[float], work: Callable[..., Any], *given: Any) -> Any:
    """Return what a call returns, and add its processor time to a list."""
    begun = time.process_time()
    found = work(*given)
    times.append(time.process_time() - begun)
    return found


def divided(rows: list[BlobRow], tasks: int) -> list[list[BlobRow]]:
    """Divide rows among tasks by the size of their blobs, as Spark joins partitions."""
    rows.sort(key=itemgetter(0, 1, 2))
    most = sum(len(row.blob) for row in rows) / tasks
    groups: list[list[BlobRow]] = [[]]
    held = 0
    for _, same in groupby(rows, key=itemgetter(0)):
        own = list(same)
        size = sum(len(row.blob) for row in own)
        if groups[-1] and held + size > most:
            groups.append([])
            held = 0
        groups[-1] += own
        held += size
    return groups


def scaling(sources: list[Path], folder: Path, rounds: int) -> Iterator[str]:
    """Yield what all tasks cost, and the longest of each kind together, for several numbers of tasks."""
    pa.set_cpu_count(1)

    def once(tasks: int) -> list[list[float]]:
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            return task_times(sources, tasks, Path(staging))

    found = in_turn({str(tasks): partial(once, tasks) for tasks in TASKS}, rounds, cold=1)
    cost = {tasks: middle(found[str(tasks)], lambda kinds: sum(map(sum, kinds))) for tasks in TASKS}
    longest = {tasks: middle(found[str(tasks)], _longest) for tasks in TASKS}
    for tasks in TASKS:
        yield f"{tasks:2} tasks, no JVM  {cost[tasks]:8.2f} s of processor time, the longest {longest[tasks]:6.2f} s"
    part = f"1/{longest[1] / longest[8]:.1f} of that of 1"
    yield f"16 tasks cost {cost[16] / cost[2]:.2f} times what 2 cost; the longest of 8 takes {part}"


def _longest(kinds: list[list[float]]) -> float:
    return sum(max(each, default=0.0) for each in kinds)


def turns(sources: list[Path], folder: Path, rounds: int, beside: Path | None) -> Iterator[str]:
    """Yield rates of sessions that take turns, the ratios between them, and the cost by number of tasks."""
    sides = {master: Side(master, sources, folder / master) for master in ("local[1]", "local[2]")}
    sides["one core"] = Side("local[1]", sources, folder / "one", cores={min(os.sched_getaffinity(0))})
    if beside:
        sides["beside"] = Side("local[2]", sources, folder / "beside", beside)
    watch = Watch([side.process.pid for side in sides.values()])
    found = in_turn({name: side.turn for name, side in sides.items()}, rounds, cold=COLD)
    by_tasks = in_turn({f"{tasks:2}": partial(sides["local[2]"].turn, tasks) for tasks in TASKS}, rounds, cold=1)
    watch.end()
    for side in sides.values():
        side.end()
    took = {name: middle(all_turns, itemgetter("seconds")) for name, all_turns in found.items()}
    for name, all_turns in found.items():
        cost, packets = middle(all_turns, itemgetter("processor")), all_turns[0]["packets"]
        yield (
            f"{name:10}{took[name]:8.2f} s{packets / took[name]:12,.0f} packets/s{cost:8.2f} s of processor time"
            f"{watch.most[sides[name].process.pid] / 1e6:8,.0f} MB, JVM included"
        )
    for tasks, all_turns in by_tasks.items():
        cost, longest = (middle(all_turns, itemgetter(name)) for name in ("processor", "longest"))
        yield f"{tasks} tasks, local[2] {cost:7.2f} s of processor time, JVM included, the longest {longest:6.2f} s"
    for name in took:
        if name != "local[2]":
            yield f"local[2] is {took[name] / took['local[2]']:.2f} times as fast as {name}"


def others(sources: list[Path], folder: Path, rounds: int) -> Iterator[str]:
    """Yield how long `decode --parquet` and tshark take for the same captures."""
    out = folder / "one.parquet"
    decode = [*MQTTPUB, "decode", *map(str, sources), "--parquet", str(out)]
    ways: dict[str, Callable[[], Any]] = {
        "decode --parquet": lambda: ran_program(decode),
        "tshark -T fields": lambda: [tshark(each) for each in sources],
    }
    for name, done in in_turn({name: partial(call, way) for name, way in ways.items()}, rounds).items():
        yield f"{name:18}{middle(done, attrgetter('seconds')):8.2f} s"


def starts(source: Path, folder: Path, rounds: int) -> Iterator[str]:
    """Yield how long the command takes for a small capture: with a JVM, and without."""
    command = [*MQTTPUB, "pipeline", str(source), "--out", str(folder / "small"), "--mode", "overwrite", "--master"]
    ways = {"with a JVM": "local[2]", "without a JVM": "none"}
    started = {name: partial(ran_program, [*command, master]) for name, master in ways.items()}
    for name, done in in_turn(started, rounds).items():
        times = [each.seconds for each in done]
        yield f"start to first rows, {name}: {median(times):6.1f} s ({min(times):.1f} to {max(times):.1f})"


def lines(
    folder: Path, *, packets: int = 1_000_000, files: int = 19, rounds: int = 5, sources: tuple[Path, ...] = (),
    beside: Path | None = None,
) -> Iterator[str]:  # fmt: skip
    """Yield what the tasks cost, the sessions, other ways, and how long the command takes for a small capture."""
    read = [*sources] or _written(folder, packets, files)
    yield from scaling(read, folder, rounds)
    yield from turns(read, folder, rounds, beside)
    yield from others(read, folder, rounds)
    small = folder / "small.pcap"
    write_pcap(small, 1000, MIXES["usual"])
    yield from starts(small, folder, rounds)


def _written(folder: Path, packets: int, files: int) -> list[Path]:
    whole = folder / "whole.pcap"
    write_pcap(whole, packets, MIXES["usual"])
    sources = rotated(whole.read_bytes(), folder / "captures", files)
    whole.unlink()
    return sources
