"""From publishing to receiving: `mqttpub bench sub` beside the same pair of clients made of paho.

Each publishes at the same rate through the same mosquitto, and receives in the same process. Printed per program and
QoS: messages that arrived, median and 99th percentile of the latency, and the CPU seconds of the process; of the
rounds the one with the lowest median, which the rest of the machine disturbed least.
"""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import MQTTPUB, in_turn, run
from tests.build.brokers import mosquitto, plain

PAHO = """
import json, struct, sys, threading, time
from paho.mqtt.client import Client, CallbackAPIVersion
port, count, rate, qos = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
ready, done, latencies = threading.Event(), threading.Event(), []
def received(client, data, message):
    latencies.append(time.time_ns() - struct.unpack_from(">Q", message.payload)[0])
    if len(latencies) == count:
        done.set()
subscriber, publisher = (Client(CallbackAPIVersion.VERSION2, protocol=5) for _ in range(2))
subscriber.on_message = received
subscriber.on_subscribe = lambda *given: ready.set()
subscriber.connect("127.0.0.1", port)
subscriber.subscribe("bench/delivery", qos)
subscriber.loop_start()
publisher.connect("127.0.0.1", port)
publisher.loop_start()
ready.wait(10)
began = time.monotonic()
for number in range(count):
    time.sleep(max(began + number / rate - time.monotonic(), 0))
    publisher.publish("bench/delivery", struct.pack(">Q", time.time_ns()) + bytes(56), qos)
done.wait(30)
latencies.sort()
at = lambda share: latencies[min(int(len(latencies) * share), len(latencies) - 1)] // 1000
print(json.dumps({"received": len(latencies), "latency_us": {"p50": at(0.5), "p99": at(0.99)}}))
"""


def commands(port: int, count: int, rate: float, qos: int) -> dict[str, list[str]]:
    """Return the command of each program."""
    ours = ["-h", "127.0.0.1", "-p", str(port), "-t", "bench/delivery", "-q", str(qos), "--json", "-n", str(count)]
    return {
        "mqttpub bench sub": [*MQTTPUB, "bench", "sub", *ours, "--rate", str(rate), "-S", "64"],
        "paho": [sys.executable, "-c", PAHO, str(port), str(count), str(rate), str(qos)],
    }


def delivered(command: list[str], out: Path) -> dict[str, Any]:
    """Run a program and return its record, with the CPU seconds that it took."""
    took = run(command, stdout=out)
    return {**json.loads(out.read_text()), "cpu_s": took.cpu_s}


def lines(
    folder: Path, *, messages: int = 5000, rate: float = 1000, qos: tuple[int, ...] = (0, 1, 2), rounds: int = 3
) -> Iterator[str]:
    """Yield the table."""
    yield f"{'':<20} QoS  received  median ms     p99 ms  CPU s"
    with mosquitto(folder, plain) as (port,):
        for each in qos:
            programs = commands(port, messages, rate, each).items()
            ways = {name: partial(delivered, command, folder / "out") for name, command in programs}
            for name, found in in_turn(ways, rounds).items():
                best = min(found, key=lambda record: record["latency_us"]["p50"])
                low, high = (best["latency_us"][at] / 1000 for at in ("p50", "p99"))
                yield f"{name:<20} {each:>3}  {best['received']:>8}  {low:>9.3f}  {high:>9.3f}  {best['cpu_s']:>5.2f}"
