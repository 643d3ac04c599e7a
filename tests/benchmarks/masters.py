"""Seconds from the command to the finished tables, without Spark and with it, by the size of the capture.

The runs take turns, so that a slow minute hits all. CPU-seconds include those of all processes that a run started.
The guide pipeline says from which size on Spark is as quick.
With `--report`, there is one; `--sources` are captures to read instead.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from mqttpub.spark.pipeline.engine.local import cores
from tests.benchmarks.harness import MQTTPUB, in_turn, middle, ran
from tests.benchmarks.traffic import MIXES, write_pcap

PACKET_BYTES = 121
"""Bytes of capture for a packet of the usual mix."""


def lines(
    folder: Path, *, megabytes: tuple[float, ...] = (0.1, 1, 10, 100), rounds: int = 3, report: bool = False,
    sources: tuple[Path, ...] = (),
) -> Iterator[str]:  # fmt: skip
    """Yield a line for each size and master."""
    more = ["--report", str(folder / "report.html")] if report else ["--no-summary"]
    if sources:
        yield from _measured(sources, folder, rounds, more)
        return
    for size in megabytes:
        path = folder / "capture.pcap"
        write_pcap(path, int(size * 1e6 / PACKET_BYTES), MIXES["usual"])
        yield from _measured([path], folder, rounds, more)


def _measured(sources: Sequence[Path], folder: Path, rounds: int, more: Sequence[str]) -> Iterator[str]:
    command = [*MQTTPUB, "pipeline", *map(str, sources), "--out", str(folder / "out"), "--mode", "overwrite", *more]
    masters = ("none", f"local[{cores()}]")
    size = sum(source.stat().st_size for source in sources)
    for master, done in in_turn({each: ran([*command, "--master", each]) for each in masters}, rounds).items():
        seconds, used = middle(done, attrgetter("seconds")), middle(done, attrgetter("cpu_s"))
        yield f"{size / 1e6:8.1f} MB  {master:10} {seconds:8.2f} s {used:8.2f} CPU-s"
