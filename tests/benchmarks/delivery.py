"""From publishing to receiving: `mqttpub bench sub` beside the same pair of clients made of paho.

    python tests/benchmarks/delivery.py [--messages 5000] [--rate 1000] [--qos 0 1 2] [--runs 3]

Each publishes at the same rate through the same mosquitto, and receives in the same process. Printed per program and
QoS: messages that arrived, median and 99th percentile of the latency, and the CPU seconds of the process; of the runs
the one with the lowest median, which the rest of the machine disturbed least.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.installed import as_installed
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
    ours = ["bench", "sub", "-h", "127.0.0.1", "-p", str(port), "-t", "bench/delivery", "-q", str(qos), "--json"]
    return {
        "mqttpub bench sub": [
            sys.executable, "-m", "mqttpub", *ours, "-n", str(count), "--rate", str(rate), "-S", "64"
        ],
        "paho": [sys.executable, "-c", PAHO, str(port), str(count), str(rate), str(qos)],
    }  # fmt: skip


def run(command: list[str]) -> dict[str, Any]:
    """Run a program and return its record, with the CPU seconds that it took."""
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    cpu_s = after.children_user - before.children_user + after.children_system - before.children_system
    return {**json.loads(done.stdout), "cpu_s": cpu_s}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--qos", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    as_installed()
    print(f"{'':<20} QoS  received  median ms     p99 ms  CPU s")  # noqa: T201
    with tempfile.TemporaryDirectory() as folder, mosquitto(Path(folder), plain) as (port,):
        for qos in given.qos:
            for name, command in commands(port, given.messages, given.rate, qos).items():
                best = min((run(command) for _ in range(given.runs)), key=lambda each: each["latency_us"]["p50"])
                latency = best["latency_us"]
                print(  # noqa: T201
                    f"{name:<20} {qos:>3}  {best['received']:>8}  {latency['p50'] / 1000:>9.3f}  "
                    f"{latency['p99'] / 1000:>9.3f}  {best['cpu_s']:>5.2f}"
                )


if __name__ == "__main__":
    main()
