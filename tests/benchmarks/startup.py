"""Short runs of the program as whole processes, beside the interpreter importing click and paho.

Publishes one message at QoS 1, receives one, and does what needs no broker, in turn with mosquitto_pub, against a
mosquitto of its own. Printed are the least and the median time of each, and the median of its ratios to the imports
round by round.
"""

import subprocess
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from tests.benchmarks.harness import MQTTPUB, in_turn, middle, ran, ratio
from tests.build.brokers import mosquitto, plain

BASE = "import click, paho.mqtt.client"
SECONDS = attrgetter("seconds")


def lines(folder: Path, *, rounds: int = 20) -> Iterator[str]:
    """Yield the table."""
    with mosquitto(folder, plain) as (port,):
        place = ["-h", "127.0.0.1", "-p", str(port), "-t", "a"]
        message = [*place, "-q", "1", "-m", "hello"]
        subprocess.run(["mosquitto_pub", *message, "-r"], check=True)
        commands = {
            BASE: [sys.executable, "-c", BASE],
            "mqttpub pub -q 1": [*MQTTPUB, "pub", *message],
            "mqttpub sub -C 1": [*MQTTPUB, "sub", *place, "-C", "1"],
            "mqttpub --version": [*MQTTPUB, "--version"],
            "mqttpub encode": [*MQTTPUB, "encode", "publish", "-t", "a", "-m", "hello"],
            "mqttpub decode HEX": [*MQTTPUB, "decode", "30080001615b78797a5d"],
            "mosquitto_pub -q 1": ["mosquitto_pub", "-V", "5", *message],
        }
        took = in_turn({name: ran(command) for name, command in commands.items()}, rounds, cold=1)
    yield f"{'':<34} {'least':>9} {'median':>9} {'ratio':>7}"
    for name, done in took.items():
        least, usual = min(map(SECONDS, done)) * 1000, middle(done, SECONDS) * 1000
        yield f"{name:<34} {least:6.1f} ms {usual:6.1f} ms {ratio(done, took[BASE], SECONDS):7.2f}"
