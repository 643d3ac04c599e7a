"""Lines of a file published in bulk: mqttpub, mosquitto_pub -l, paho's loop, and MQTTX if its path is given.

Each program sends the same lines to the same mosquitto, or with `--to-sink` at QoS 0 to a socket that only
reads. The programs take turns; a round of each comes before the next round. paho's loop is tried first with several
windows, and runs with the one that was fastest. Printed per program and QoS, as medians of the rounds: messages a
second as a whole process, how many times paho's time and paho's CPU seconds in the same round are those of the
program, how many a mosquitto_sub got and how fast (until the last of them was there; one that exits earlier gains
nothing), CPU seconds, and peak memory. With `--alone` nobody subscribes, so that only publishing is timed.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.clients import numbered, sink, unlimited
from tests.benchmarks.harness import MQTTPUB, Took, in_turn, middle, ratio, run
from tests.build.brokers import mosquitto

PAHO = """
import sys
from paho.mqtt.client import Client, CallbackAPIVersion
client = Client(CallbackAPIVersion.VERSION2, protocol=5)
client.max_queued_messages_set(0)
client.max_inflight_messages_set(int(sys.argv[3]))
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_start()
info = None
for line in sys.stdin.buffer:
    info = client.publish("bench/t", line.rstrip(b"\\n"), int(sys.argv[2]))
    if info.mid % int(sys.argv[4]) == 0:
        info.wait_for_publish()
info.wait_for_publish()
client.disconnect()
client.loop_stop()
"""

PAHO_WINDOWS = ((10, 1000), (20, 20), (20, 100), (20, 1000), (20, 60_000), (0, 100), (0, 1000))
"""For paho: most messages in flight (0 for no limit), and the number of messages between waits for the last of them.

mosquitto's Receive Maximum is 20 unless it is configured; with more in flight it may close the connection.
"""


def paho(port: int, qos: int, window: tuple[int, int]) -> list[str]:
    """Return the command of paho's loop."""
    return [sys.executable, "-c", PAHO, str(port), str(qos), *map(str, window)]


def best_window(port: int, qos: int, lines: Path) -> tuple[int, int]:
    """Return the window with which paho's loop takes the least time for a part of the lines."""
    part = lines.with_name("part")
    part.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:10_000]))
    tried = {window: run(paho(port, qos, window), stdin=part, good=range(256)) for window in PAHO_WINDOWS}
    sent = [window for window, done in tried.items() if not done.status]
    return min(sent, key=lambda window: tried[window].seconds)


def commands(port: int, qos: int, window: tuple[int, int], mqttx: str) -> dict[str, list[str]]:
    """Return the programs by name."""
    where = ["-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(qos)]
    programs = {
        "paho": paho(port, qos, window),
        "mqttpub": [*MQTTPUB, "pub", *where, "-l"],
        "mosquitto_pub": ["mosquitto_pub", "-V", "5", *where, "-l"],
    }
    return programs | ({"mqttx": [mqttx, "pub", *where, "-s", "-M"]} if mqttx else {})


@contextmanager
def subscriber(port: int, qos: int, out: Path) -> Iterator[None]:
    """Write what arrives to a file, from when the first message has come."""
    here = ["-V", "311", "-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(qos)]
    out.unlink(missing_ok=True)
    with open(out, "ab") as file:
        process = subprocess.Popen(["mosquitto_sub", *here], stdout=file)
    while not out.stat().st_size:
        subprocess.run(["mosquitto_pub", *here, "-m", "ready?"], check=True)
        time.sleep(0.2)
    os.truncate(out, 0)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


class Arrival(NamedTuple):
    """What a subscriber got."""

    lines: int
    at: float
    """When the last of it was there, by time.perf_counter()."""


def settled(path: Path, most: int, publishing: threading.Event) -> Arrival:
    """Return how many bytes of lines came and when the last did: all, or no more for two seconds after publishing."""
    size, at = -1, time.perf_counter()
    quiet_since = at
    while size < most and time.perf_counter() - quiet_since < 2:
        if (now := path.stat().st_size) != size:
            size, at = now, time.perf_counter()
            quiet_since = at
        elif publishing.is_set():
            quiet_since = time.perf_counter()
        time.sleep(0.005)
    return Arrival(path.read_bytes().count(b"\n"), at)


class Outcome(NamedTuple):
    """What a program took, and what a subscriber got."""

    took: Took
    arrival: Arrival | None


def sent(command: Sequence[str], text: Path) -> Outcome:
    """Run a program."""
    return Outcome(run(command, stdin=text, watched=True), None)


def heard(command: Sequence[str], text: Path, out: Path, port: int, qos: int) -> Outcome:
    """Run a program and watch what arrives meanwhile."""
    publishing = threading.Event()
    publishing.set()
    with subscriber(port, qos, out), ThreadPoolExecutor(1) as pool:
        arrival = pool.submit(settled, out, text.stat().st_size, publishing)
        try:
            done = sent(command, text)
        finally:
            publishing.clear()
        return done._replace(arrival=arrival.result())


def compared(
    port: int, qos: int, text: Path, rounds: int, mqttx: str, once: Callable[[Sequence[str]], Outcome]
) -> Iterator[str]:
    """Yield the medians of programs in turn."""
    window = best_window(port, qos, text)
    yield f"paho with {window[0]} in flight, a wait every {window[1]} messages"
    ways = {name: lambda command=each: once(command) for name, each in commands(port, qos, window, mqttx).items()}
    measured = in_turn(ways, rounds)
    yield (
        f"{'':<14} {'msg/s':>10} {'to paho':>8} {'in cpu':>7} {'arrived':>9} {'arrived/s':>10} {'cpu s':>7} {'MB':>6}"
    )
    count = text.read_bytes().count(b"\n")
    base = [each.took for each in measured["paho"]]
    for name, outcomes in measured.items():
        took, came = [each.took for each in outcomes], " " * 20
        arrived = [(each.arrival, each.took.began_s) for each in outcomes if each.arrival]
        if arrived:
            speed = middle(arrived, lambda each: each[0].lines / (each[0].at - each[1]))
            came = f"{min(arrival.lines for arrival, _ in arrived):9} {speed:10,.0f}"
        yield (
            f"{name:<14} {middle(took, lambda each: count / each.seconds):10,.0f} "
            f"{ratio(base, took, attrgetter('seconds')):8.2f} {ratio(base, took, attrgetter('cpu_s')):7.2f} {came} "
            f"{middle(took, attrgetter('cpu_s')):7.2f} {max(each.peak_mb for each in took):6.0f}"
        )


def lines(
    folder: Path, *, messages: int = 50_000, rounds: int = 10, qos: tuple[int, ...] = (0, 1, 2), to_sink: bool = False,
    alone: bool = False, mqttx: str = "",
) -> Iterator[str]:  # fmt: skip
    """Yield a table for each QoS."""
    text = numbered(folder, messages)
    if to_sink:
        with sink() as port:
            yield "\nQoS 0 into a sink"
            yield from compared(port, 0, text, rounds, mqttx, partial(sent, text=text))
        return
    for each in qos:
        with mosquitto(folder, unlimited) as (port,):
            yield f"\nQoS {each} into mosquitto, {'nobody subscribes' if alone else 'with a subscriber'}"
            listened = partial(heard, text=text, out=folder / "out", port=port, qos=each)
            yield from compared(port, each, text, rounds, mqttx, partial(sent, text=text) if alone else listened)
