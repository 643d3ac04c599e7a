"""The cost of `--capture`: pub -l and sub with it beside the same runs without.

    python tests/benchmarks/capture.py [--lines 200000] [--rounds 5] [--qos 0 1 2]

The runs of pub send lines to a mosquitto to which nobody subscribes; those of sub take messages of QoS 0 from a load
generator, as fast as they take them. They take turns; a round of each comes before the next round. Printed per run, as
medians of the rounds: messages a second as a whole process, how many times its wall time and its CPU time are those of
the plain run in the same round, the peak memory, and the size of the capture.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.installed import as_installed
from tests.benchmarks.publish import run, unlimited
from tests.benchmarks.subscribe import BATCH, TOPIC, Generator, measure, packets, say
from tests.build.brokers import mosquitto

MQTTPUB = [sys.executable, "-m", "mqttpub"]
PLAIN = "plain"


class Done(NamedTuple):
    """What one run took."""

    seconds: float
    cpu_s: float
    peak_mb: float


def ways(capture: Path) -> dict[str, list[str]]:
    """Return the flags of each run."""
    return {
        PLAIN: [], "--capture": ["--capture", str(capture)],
        "--capture-masked": ["--capture", str(capture), "--capture-masked"],
    }  # fmt: skip


def compared(title: str, messages: int, rounds: int, capture: Path, once: Callable[[list[str]], Done]) -> None:
    """Measure each way in turn and print the medians."""
    measured: dict[str, list[Done]] = {name: [] for name in ways(capture)}
    for _ in range(rounds):
        for name, flags in ways(capture).items():
            measured[name].append(once(flags))
    say(f"\n{title:<18}{'msg/s':>11}{'time':>8}{'CPU':>8}{'MB':>8}{'capture MB':>12}")
    for name, done in measured.items():
        pairs = list(zip(done, measured[PLAIN], strict=True))
        time = median(each.seconds / plain.seconds for each, plain in pairs)
        cpu = median(each.cpu_s / plain.cpu_s for each, plain in pairs)
        speed = median(messages / each.seconds for each in done)
        size = f"{capture.stat().st_size / 1e6:12.1f}" if name != PLAIN else ""
        say(f"{name:<18}{speed:>11,.0f}{time:>8.2f}{cpu:>8.2f}{max(each.peak_mb for each in done):>8.0f}{size}")


def publishing(folder: Path, lines: Path, count: int, rounds: int, qos: int) -> None:
    """Compare the runs of pub."""
    with mosquitto(folder, unlimited) as (port,):
        command = [*MQTTPUB, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(qos), "-l"]

        def once(flags: list[str]) -> Done:
            done = run([*command, *flags], lines)
            assert done.status == 0, done
            return Done(done.seconds, done.cpu, done.memory)

        compared(f"pub -l -q {qos}", count, rounds, folder / "a.pcapng", once)


def receiving(folder: Path, count: int, rounds: int) -> None:
    """Compare the runs of sub."""
    batches = [packets(first, BATCH) for first in range(0, count, BATCH)]

    def once(flags: list[str]) -> Done:
        generator = Generator(batches, 0)
        where = ["-h", "127.0.0.1", "-p", str(generator.port), "-t", TOPIC, "-C", str(count)]
        taken = measure([*MQTTPUB, "sub", *where, *flags], generator, folder / "out", count)
        assert taken.complete, taken
        return Done(taken.seconds, taken.cpu_s, taken.late_mb)

    compared("sub", count, rounds, folder / "a.pcapng", once)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--qos", type=int, nargs="*", default=[0, 1, 2])
    given = parser.parse_args()
    as_installed()
    count = given.lines // BATCH * BATCH
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "lines"
        lines.write_bytes(b"".join(b"%010d\n" % number for number in range(count)))
        for qos in given.qos:
            publishing(folder, lines, count, given.rounds, qos)
        receiving(folder, count, given.rounds)


if __name__ == "__main__":
    main()
