"""The cost of `--capture`: pub -l and sub with it beside the same runs without.

The runs of pub send lines to a mosquitto to which nobody subscribes; those of sub take messages of QoS 0 from a load
generator, as fast as they take them. They take turns; a round of each comes before the next round. Printed per run, as
medians of the rounds: messages a second as a whole process, how many times its wall time and its CPU time are those of
the plain run in the same round, the peak memory, and the size of the capture.
"""

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path

from tests.benchmarks.clients import numbered, unlimited
from tests.benchmarks.harness import MQTTPUB, Took, in_turn, middle, ran, ratio
from tests.benchmarks.subscribe import BATCH, TOPIC, Generator, measure, packets
from tests.build.brokers import mosquitto


def compared(
    title: str, messages: int, rounds: int, capture: Path, once: Callable[[list[str]], Callable[[], Took]]
) -> Iterator[str]:
    """Measure each way in turn and yield the medians."""
    ways = {"plain": [], "--capture": ["--capture", str(capture)]}
    ways["--capture-masked"] = [*ways["--capture"], "--capture-masked"]
    measured = in_turn({name: once(flags) for name, flags in ways.items()}, rounds)
    yield f"\n{title:<18}{'msg/s':>11}{'time':>8}{'CPU':>8}{'MB':>8}{'capture MB':>12}"
    for name, done in measured.items():
        time, cpu = (ratio(done, measured["plain"], attrgetter(what)) for what in ("seconds", "cpu_s"))
        speed = middle(done, lambda each: messages / each.seconds)
        size = f"{capture.stat().st_size / 1e6:12.1f}" if name != "plain" else ""
        yield f"{name:<18}{speed:>11,.0f}{time:>8.2f}{cpu:>8.2f}{max(each.peak_mb for each in done):>8.0f}{size}"


def received(flags: list[str], folder: Path, count: int) -> Took:
    """Run sub to its end."""
    generator = Generator([packets(first, BATCH) for first in range(0, count, BATCH)], 0)
    where = ["-h", "127.0.0.1", "-p", str(generator.port), "-t", TOPIC, "-C", str(count)]
    taken = measure([*MQTTPUB, "sub", *where, *flags], generator, folder / "out", count)
    assert taken.complete, taken
    return Took(taken.seconds, taken.cpu_s, taken.late_mb)


def lines(folder: Path, *, messages: int = 200_000, rounds: int = 5, qos: tuple[int, ...] = (0, 1, 2)) -> Iterator[str]:
    """Yield a table for each QoS of pub, and for sub."""
    count, capture = messages // BATCH * BATCH, folder / "a.pcapng"
    text = numbered(folder, count, 10)
    for each in qos:
        with mosquitto(folder, unlimited) as (port,):
            command = [*MQTTPUB, "pub", "-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(each), "-l"]
            published = partial(_published, command, text)
            yield from compared(f"pub -l -q {each}", count, rounds, capture, published)
    yield from compared("sub", count, rounds, capture, lambda flags: partial(received, flags, folder, count))


def _published(command: list[str], text: Path, flags: list[str]) -> Callable[[], Took]:
    return ran([*command, *flags], stdin=text, watched=True)
