"""Messages of QoS 0 that arrive: mqttpub sub beside mosquitto_sub and paho, from a load generator in place of a broker.

The generator sends numbered messages, at a rate or, with `--rate 0`, as fast as they are taken; `--flags` are more of
mqttpub sub. Printed per program: how many lines it wrote and whether they are the payloads that were sent, messages a
second until the last was written, CPU seconds, microseconds of CPU per message, and the resident memory after a tenth
of the messages and at the end.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.harness import MQTTPUB, memory_mb

TOPIC = "bench/subscribe"
BATCH = 1000
PAHO = """
import sys
from paho.mqtt.client import Client, CallbackAPIVersion
out = sys.stdout.buffer
def came(client, data, message):
    out.write(message.payload + b"\\n")
    data.append(1)
    if len(data) == int(sys.argv[2]):
        client.disconnect()
client = Client(CallbackAPIVersion.VERSION2, protocol=5, userdata=[])
client.on_message = came
client.on_connect = lambda client, *more: client.subscribe("bench/subscribe")
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_forever()
"""


class Taken(NamedTuple):
    """What one program did."""

    lines: int
    complete: bool
    """Whether it wrote what was sent, in order."""
    seconds: float
    """From the first message sent to the end of the program."""
    cpu_s: float
    early_mb: float
    late_mb: float


def packets(first: int, count: int) -> bytes:
    """Return PUBLISH packets with their numbers as payloads, ten digits each."""
    name = TOPIC.encode()
    head = bytes((0x30, 2 + len(name) + 1 + 10)) + len(name).to_bytes(2, "big") + name + b"\0"
    return b"".join([head + b"%010d" % number for number in range(first, first + count)])


class Generator(threading.Thread):
    """Accepts one subscriber and sends it messages at a rate; 0 for as fast as it takes them."""

    def __init__(self, batches: list[bytes], rate: float) -> None:
        super().__init__(daemon=True)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.sent = 0
        self.began_s = 0.0
        self._batches = batches
        self._rate = rate

    def run(self) -> None:
        """Send everything, and wait until the subscriber closes."""
        sock, _ = self._server.accept()
        with self._server, sock:
            sock.recv(65536)
            sock.sendall(bytes.fromhex("2003000000"))
            packet = sock.recv(65536)
            sock.sendall(b"\x90\x04" + packet[2:4] + b"\0\0")
            self.began_s = time.perf_counter()
            for number, batch in enumerate(self._batches):
                if self._rate and (early := self.began_s + number * BATCH / self._rate - time.perf_counter()) > 0:
                    time.sleep(early)
                sock.sendall(batch)
                self.sent += BATCH
            while sock.recv(65536):
                pass


def measure(command: list[str], generator: Generator, out: Path, messages: int) -> Taken:
    """Run a subscriber to its end."""
    generator.start()
    early = late = 0.0
    with open(out, "wb") as file:
        process = subprocess.Popen(command, stdout=file)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            now = memory_mb(process.pid)
            if generator.sent <= messages // 10:
                early = now
            late = now or late
            time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - generator.began_s
    written = out.read_bytes()
    complete = written.split() == [b"%010d" % number for number in range(messages)]
    return Taken(written.count(b"\n"), complete, seconds, usage.ru_utime + usage.ru_stime, early, late)


def commands(port: int, messages: int, flags: list[str]) -> dict[str, list[str]]:
    """Return the programs by name."""
    where = ["-h", "127.0.0.1", "-p", str(port), "-t", TOPIC, "-C", str(messages)]
    return {
        "mosquitto_sub": ["mosquitto_sub", "-V", "5", *where],
        "mqttpub": [*MQTTPUB, "sub", *where, *flags],
        "paho": [sys.executable, "-c", PAHO, str(port), str(messages)],
    }


def lines(
    folder: Path, *, messages: int = 1_000_000, rate: float = 100_000, flags: str = "", rounds: int = 1
) -> Iterator[str]:
    """Yield a line for each program and round."""
    count = messages // BATCH * BATCH
    batches = [packets(first, BATCH) for first in range(0, count, BATCH)]
    yield f"{count:,} messages, {f'{rate:,.0f} a second' if rate else 'as fast as they are taken'}"
    yield (
        f"{'program':<14}{'lines':>11}{'complete':>10}{'msg/s':>11}{'CPU s':>8}{'us/msg':>8}{'MB':>8}{'MB at end':>11}"
    )
    for name in list(commands(0, 0, [])) * rounds:
        generator = Generator(batches, rate)
        taken = measure(commands(generator.port, count, flags.split())[name], generator, folder / "out", count)
        # Flags may write something else than payloads.
        complete = "-" if flags and name == "mqttpub" else "yes" if taken.complete else "no"
        yield (
            f"{name:<14}{taken.lines:>11,}{complete:>10}{count / taken.seconds:>11,.0f}"
            f"{taken.cpu_s:>8.2f}{taken.cpu_s / count * 1e6:>8.2f}{taken.early_mb:>8.1f}{taken.late_mb:>11.1f}"
        )
