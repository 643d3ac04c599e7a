"""What `pub --inspect` or `--lint` adds to publishing lines of a file in bulk; no other program does the same.

    python tests/benchmarks/inspected.py [--lines 200000] [--rounds 5] [--qos 1] [--window 20] [--by inspect lint]

Runs with and without the options of --by, which is --inspect unless given, take turns; output goes to a file, and
nobody subscribes. --window is the Receive Maximum of mosquitto (0: none). Printed for each kind of lines, as medians of
the rounds: messages a second, how many times the time and the processor time of the plain run, and the bytes written
for a message.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from os import wait4
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.installed import as_installed
from tests.benchmarks.publish import unlimited
from tests.build.brokers import mosquitto

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda")
KINDS: dict[str, Callable[[Random, int], str]] = {
    "numbers": lambda random, number: f"{number}",
    "words of 62 bytes": lambda random, number: " ".join(random.choices(WORDS, k=20))[:62],
    "words of any length": lambda random, number: " ".join(random.choices(WORDS, k=random.randrange(12))),
    "JSON, other digits": lambda random, number: f'{{"station": "hall", "value": {random.uniform(10, 99):.3f}}}',
    "JSON, other names": lambda random, number: f'{{"station": "{random.choice(WORDS)}", "value": {number}}}',
}


def taken(command: list[str], lines: Path, out: Path) -> tuple[float, float]:
    """Run a program with the lines as its input, and return its seconds and its processor time."""
    began = time.perf_counter()
    with open(lines, "rb") as stdin, open(out, "wb") as stdout:
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL)
        _, status, usage = wait4(process.pid, 0)
    process.returncode = status
    assert not status
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--qos", type=int, default=1)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--by", nargs="+", default=["inspect"], choices=["inspect", "lint", "json"])
    given = parser.parse_args()
    as_installed()
    ways: tuple[list[str], ...] = [], [f"--{each}" for each in given.by]
    print(f"{'':<20} {'msg/s':>9} {'inspected':>10} {'time':>6} {'cpu':>6} {'bytes':>7}")  # noqa: T201
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, out = folder / "lines", folder / "out"
        settings = [f"max_inflight_messages {given.window}"]
        with mosquitto(folder, lambda port: [*unlimited(port), *settings]) as (port,):
            broker = ["-h", "127.0.0.1", "-p", str(port)]
            where = [sys.executable, "-m", "mqttpub", "pub", *broker, "-t", "bench/t", "-q", str(given.qos), "-l"]
            for kind, line in KINDS.items():
                random = Random(7)
                lines.write_text("".join(f"{line(random, number)}\n" for number in range(given.lines)))
                runs = [[taken([*where, *more], lines, out) for more in ways] for _ in range(given.rounds)]
                speeds = [median(given.lines / each[way][0] for each in runs) for way in range(2)]
                times, cpu = (median(after[at] / before[at] for before, after in runs) for at in range(2))
                size = out.stat().st_size / given.lines
                print(f"{kind:<20} {speeds[0]:9,.0f} {speeds[1]:10,.0f} {times:6.2f} {cpu:6.2f} {size:7,.0f}")  # noqa: T201


if __name__ == "__main__":
    main()
