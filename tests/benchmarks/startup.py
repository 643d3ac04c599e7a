"""Short runs of the program as whole processes, beside the interpreter importing click and paho.

    python tests/benchmarks/startup.py [--rounds N]

Publishes one message at QoS 1, receives one, and does what needs no broker, in turn with mosquitto_pub, against a
mosquitto of its own. Printed are the least and the median time of each, and the median of its ratios to the imports
round by round.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.installed import as_installed
from tests.build.brokers import mosquitto, plain


def seconds(command: Sequence[str]) -> float:
    """Return how long a process takes."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def measure(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    """Return the times of each command, run in turn; the first round is not counted."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if number:
                times[name].append(taken)
    return times


def report(times: dict[str, list[float]], base: str) -> str:
    """Return the table of medians and ratios."""
    lines = [f"{'':<34} {'least':>9} {'median':>9} {'ratio':>7}"]
    for name, taken in times.items():
        ratio = statistics.median(a / b for a, b in zip(taken, times[base], strict=True))
        lines.append(f"{name:<34} {min(taken) * 1000:6.1f} ms {statistics.median(taken) * 1000:6.1f} ms {ratio:7.2f}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    as_installed()
    base = "import click, paho.mqtt.client"
    with tempfile.TemporaryDirectory() as folder, mosquitto(Path(folder), plain) as (port,):
        place = ["-h", "127.0.0.1", "-p", str(port), "-t", "a"]
        message = [*place, "-q", "1", "-m", "hello"]
        program = [sys.executable, "-m", "mqttpub"]
        subprocess.run(["mosquitto_pub", *message, "-r"], check=True)
        commands = {
            base: [sys.executable, "-c", base],
            "mqttpub pub -q 1": [*program, "pub", *message],
            "mqttpub sub -C 1": [*program, "sub", *place, "-C", "1"],
            "mqttpub --version": [*program, "--version"],
            "mqttpub encode": [*program, "encode", "publish", "-t", "a", "-m", "hello"],
            "mqttpub decode HEX": [*program, "decode", "30080001615b78797a5d"],
            "mosquitto_pub -q 1": ["mosquitto_pub", "-V", "5", *message],
        }
        print(report(measure(commands, rounds), base))  # noqa: T201


if __name__ == "__main__":
    main()
