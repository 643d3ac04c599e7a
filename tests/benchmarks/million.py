"""What each source, bucket and connection costs a run, from generated sources, and what a million of them would.

Each source holds a few packets of a connection of its own. Every run is in a process of its own, whose functions are
watched: what they take in processor time, and what passes between them. It does the tasks as well, so a second run with
tasks in other processes says what the driver takes. A slope is the difference of the largest and the smallest run by
that of their sources; what remains of the smallest run is a floor. `--spark` runs the same on local[2] as well,
`--store` so many sources on the S3 stand-in. Times are of a core.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

from mqttpub.codec.encode import encode
from mqttpub.columns.scan.splits import SIZE
from mqttpub.spark.pipeline import checkpoint, flow, output, route, run
from mqttpub.spark.pipeline.engine import local
from mqttpub.spark.pipeline.engine.spark import TASKS
from mqttpub.spark.pipeline.job import BlobRow
from mqttpub.spark.pipeline.manifest import Manifest
from mqttpub.spark.pipeline.run import PipelineRequest
from mqttpub.spark.pipeline.shuffle import counts
from mqttpub.spark.session.session import Settings
from mqttpub.spark.storage.files import is_url
from mqttpub.spec.packets import Connack, Connect, Puback, Publish
from mqttpub.spec.versions import Direction, Version
from tests.benchmarks.harness import memory_mb
from tests.build.frames import SentSegment, pcap_of
from tests.build.object_store import BUCKET, object_store

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
FOLDER = 1_000
"""Sources in a folder."""
FILES, BYTES, CORES = 1_000_000, 10_000_000_000_000, 800
"""The case that is extrapolated."""
REQUEST_S = 0.03
"""What a request to an object store takes there."""
Run = dict[str, float]


def source(number: int) -> bytes:
    """Return a capture of one connection, with a message and its acknowledgement."""
    said = [
        (CLIENT, Connect(client_id=f"device-{number}")), (SERVER, Connack()),
        (CLIENT, Publish(qos=1, packet_id=1, topic=f"plant/{number % 100}", payload=b"21.5")),
        (SERVER, Puback(packet_id=1)),
    ]  # fmt: skip
    return pcap_of(SentSegment(number, end, encode(packet, Version.V5)) for end, packet in said)


def generate(folder: Path, count: int) -> Path:
    """Write so many sources, and return the folder."""
    for number in range(count):
        path = folder / f"{number // FOLDER:04}" / f"capture-{number:07}.pcap"
        if not number % FOLDER:
            path.parent.mkdir(parents=True)
        path.write_bytes(source(number))
    return folder


class Watched:
    """What functions take in processor time, and how many bytes pass."""

    def __init__(self) -> None:
        self.found: defaultdict[str, float] = defaultdict(float)

    def call(self, place: Any, name: str, what: str, count: Callable[[Any], int] | None = None) -> None:
        """Watch a function; `count` says how many bytes are in what it returns."""
        work = getattr(place, name)

        @wraps(work)
        def watched(*given: Any, **named: Any) -> Any:
            begun = time.process_time()
            value = work(*given, **named)
            self.found[f"{what} s"] += time.process_time() - begun
            if count:
                self.found[f"{what} bytes"] += count(value)
            return value

        setattr(place, name, watched)

    def rows(self, place: Any, name: str, what: str) -> None:
        """Watch a function that yields rows."""
        work = getattr(place, name)

        @wraps(work)
        def watched(*given: Any) -> Iterator[BlobRow]:
            made = work(*given)
            self.found[f"{what} tasks"] += 1
            while True:
                begun = time.process_time()
                row = next(made, None)
                self.found[f"{what} s"] += time.process_time() - begun
                if row is None:
                    return
                kind = "counts" if row.major == route.COUNTS else "results" if row.key == route.RESULT else what
                self.found[f"{kind} bytes"] += len(row.blob)
                self.found[f"{kind} rows"] += 1
                yield row

        setattr(place, name, watched)


def serve() -> None:
    """Be a process with one run.

    The arguments are its master, the number of tasks, the bytes above which they are in other processes, source and
    folder of tables.
    """
    master, tasks, smallest, given, out = sys.argv[1:]
    vars(run)["SMALLEST"] = int(smallest)
    watched = Watched()
    watched.call(run, "expand", "list")
    watched.call(output.Output, "commit", "commit")
    watched.call(checkpoint, "dumps", "state", len)
    watched.call(counts.SourceCounts, "add", "add counts")
    for name, what in (("route", "route"), ("read_buckets", "read"), ("pair_slots", "pair")) if int(smallest) else ():
        watched.rows(local, name, what)
    if master != "none":
        watched.call(flow, "_mapped", "plan")
    spark = master != "none"
    request = PipelineRequest((given,), out, Settings(master), on_spark=spark, mode="resume", partitions=int(tasks))
    found, begun, before = watched.found, time.perf_counter(), time.process_time()
    result = run.run(request, on_done=lambda session, out: found.update(jvm_mb(session)))
    found["wall s"], found["all s"] = time.perf_counter() - begun, time.process_time() - before
    found["memory MB"] = memory_mb(os.getpid(), "VmHWM")
    found["sources"], found["connections"] = result.read, result.rows["connections"]
    sys.stdout.write(json.dumps(found) + "\n")


def jvm_mb(session: Any) -> Run:
    """Return what the JVM of a session holds, which is driver and executor."""
    return {"JVM MB": memory_mb(session._jvm.java.lang.ProcessHandle.current().pid(), "VmHWM")} if session else {}


def ran(master: str, tasks: int, given: str, out: str, *, apart: bool = False) -> Run:
    """Run it in a process of its own; with `apart`, the tasks are in others."""
    command = [sys.executable, "-c", "from tests.benchmarks.million import serve; serve()", master, str(tasks)]
    command += [str(0 if apart else sys.maxsize), given, out]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parents[2])
    found: Run = json.loads(done.stdout.splitlines()[-1])
    if not is_url(out):
        sources = Path(out, Manifest.in_folder(out).sources)
        found["manifest bytes"] = sources.stat().st_size
    return found


def measured(master: str, tasks: int, given: str, out: str) -> Run:
    """Run it with the tasks in the process that is watched, and once more for the memory and the time of the driver."""
    if master != "none":
        return ran(master, tasks, given, out)
    both, driver = ran(master, tasks, given, out), ran(master, tasks, given, f"{out}-apart", apart=True)
    return {**both, "memory MB": driver["memory MB"], "driver s": driver["all s"], "commit s": driver["commit s"]}


def slopes(runs: Sequence[Run]) -> Iterator[tuple[str, float, float]]:
    """Yield measures, what a source adds to each, and what remains without one."""
    small, large = runs[0], runs[-1]
    for what in sorted(small.keys() & large.keys()):
        if what not in ("sources", "connections"):
            slope = (large[what] - small[what]) / (large["sources"] - small["sources"])
            yield what, slope, small[what] - slope * small["sources"]


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each measure."""
    yield f"{'sources':18}" + "".join(f"{each['sources']:14,.0f}" for each in runs) + "      by source         floor"
    for what, slope, floor in slopes(runs):
        values = "".join(f"{each[what]:14,.2f}" for each in runs)
        by_source = f"{slope * 1e6:10,.1f} us" if what.endswith(" s") else f"{slope:10,.3f}   "
        yield f"{what:18}{values}  {by_source}  {floor:12,.2f}"


def extrapolated(runs: Sequence[Run]) -> Iterator[str]:
    """Yield what the large case would take."""
    each = {what: slope for what, slope, _ in slopes(runs)}
    yield f"{FILES:,} sources with a connection each, {BYTES / 1e12:.0f} TB, {CORES} cores:"
    for what in ("list s", "commit s", "driver s"):
        yield f"  driver: {what[:-2]:10} {each[what] * FILES / 60:10,.1f} minutes"
    yield f"  driver: memory     {each['memory MB'] * FILES / 1e3:10,.1f} GB"
    yield f"  driver: sources    {each['manifest bytes'] * FILES / 1e9:10,.2f} GB, in the file that the manifest names"
    yield f"  driver: results    {each['results bytes'] * FILES / 1e9:10,.2f} GB"
    # A row of each task that routes, for each task that reads.
    rows = min(BYTES / SIZE, route.ROUNDS * TASKS * CORES) * TASKS * CORES
    yield f"  counts, shuffled   {runs[-1]['counts bytes'] / runs[-1]['counts rows'] * rows / 1e9:10,.2f} GB"
    yield f"  states             {each['state bytes'] * FILES / 1e9:10,.2f} GB"
    yield f"  states, all cores  {each['state s'] * FILES / CORES:10,.1f} s"


def stored(folder: Path, count: int, tasks: int) -> Iterator[str]:
    """Yield what sources on the S3 stand-in take in requests."""
    with object_store() as store:
        url = store.make(BUCKET)
        asked: Counter[str] = Counter()
        runs = []
        for number in (count // 4, count):
            for each in range(number):
                store.put(BUCKET, f"in-{number}/capture-{each:07}.pcap", source(each))
            store.on_request = partial(asked.update, ["requests"])
            asked.clear()
            found = ran("none", tasks, f"{url}/in-{number}", f"{url}/out-{number}")
            store.on_request = None
            # It is called before and after each request.
            runs.append({**found, "requests": asked["requests"] / 2})
    yield "on the S3 stand-in:"
    yield from table(runs)
    requests = next(slope for what, slope, _ in slopes(runs) if what == "requests")
    yield f"  {FILES:,} sources ask {requests * FILES:,.0f} times, of {REQUEST_S * 1e3:.0f} ms each"


def lines(
    folder: Path, *, counts: tuple[int, ...] = (1_000, 10_000), tasks: int = 4, store: int = 0, spark: bool = False
) -> Iterator[str]:
    """Yield what runs with so many sources take, the slopes, and the extrapolation."""
    given = {count: generate(folder / f"in-{count}", count) for count in sorted(counts)}
    masters = ("none", "local[2]") if spark else ("none",)
    for master in masters:
        runs = [
            measured(master, tasks, str(place), str(folder / f"{master}-{count}")) for count, place in given.items()
        ]
        yield f"--master {master}:"
        yield from table(runs)
        if master == "none":
            yield from extrapolated(runs)
    if store:
        yield from stored(folder, store, tasks)
