"""What it costs `pub` to show or check every packet, by kind of lines.

Runs with and without the options of `--by`, which is inspect unless given (lint and json are others), take turns;
output goes to a file, and nobody subscribes. `--window` is the Receive Maximum of mosquitto (0: none). Printed for each
kind of lines, as medians of the rounds: messages a second, how many times the time and the processor time of the plain
run, and the bytes written for a message.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from random import Random

from tests.benchmarks.clients import unlimited
from tests.benchmarks.harness import MQTTPUB, in_turn, middle, ran, ratio
from tests.build.brokers import mosquitto

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda")
KINDS: dict[str, Callable[[Random, int], str]] = {
    "numbers": lambda random, number: f"{number}",
    "words of 62 bytes": lambda random, number: " ".join(random.choices(WORDS, k=20))[:62],
    "words of any length": lambda random, number: " ".join(random.choices(WORDS, k=random.randrange(12))),
    "JSON, other digits": lambda random, number: f'{{"station": "hall", "value": {random.uniform(10, 99):.3f}}}',
    "JSON, other names": lambda random, number: f'{{"station": "{random.choice(WORDS)}", "value": {number}}}',
}


def lines(
    folder: Path, *, messages: int = 200_000, rounds: int = 5, qos: int = 1, window: int = 20,
    by: tuple[str, ...] = ("inspect",),
) -> Iterator[str]:  # fmt: skip
    """Yield a line for each kind of lines."""
    yield f"{'':<20} {'msg/s':>9} {'inspected':>10} {'time':>6} {'cpu':>6} {'bytes':>7}"
    text, out = folder / "lines", folder / "out"
    with mosquitto(folder, lambda port: [*unlimited(port), f"max_inflight_messages {window}"]) as (port,):
        command = [*MQTTPUB, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(qos), "-l"]
        for kind, line in KINDS.items():
            random = Random(7)
            text.write_text("".join(f"{line(random, number)}\n" for number in range(messages)))
            ways = {"plain": command, "shown": [*command, *(f"--{each}" for each in by)]}
            took = in_turn({name: ran(way, stdin=text, stdout=out) for name, way in ways.items()}, rounds)
            speeds = [middle(done, lambda each: messages / each.seconds) for done in took.values()]
            times, cpu = (ratio(took["shown"], took["plain"], attrgetter(name)) for name in ("seconds", "cpu_s"))
            size = out.stat().st_size / messages
            yield f"{kind:<20} {speeds[0]:9,.0f} {speeds[1]:10,.0f} {times:6.2f} {cpu:6.2f} {size:7,.0f}"
