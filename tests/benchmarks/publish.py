"""Lines of a file published in bulk: mqttpub, mosquitto_pub -l, paho's loop, and MQTTX if its path is given.

    python tests/benchmarks/publish.py [--lines 50000] [--rounds 10] [--qos 0 1 2] [--alone] [--sink] [--mqttx PATH]

Each program sends the same lines to the same mosquitto, or with --sink at QoS 0 to a socket that only
reads. The programs take turns; a round of each comes before the next round. paho's loop is tried first with several
windows, and runs with the one that was fastest. Printed per program and QoS, as medians of the rounds: messages a
second as a whole process, how many times paho's time and paho's CPU seconds in the same round are those of the
program, how many a mosquitto_sub got and how fast (until the last of them was there; one that exits earlier gains
nothing), CPU seconds, and peak memory.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.installed import as_installed
from tests.build.brokers import mosquitto, plain

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
MOST_S = 300
"""Seconds after which a program counts as failed."""


class Run(NamedTuple):
    """What one program did."""

    began: float
    seconds: float
    cpu: float
    memory: float
    """Peak, in MB."""
    status: int


def run(command: list[str], lines: Path) -> Run:
    """Run a program with the lines as its input."""
    began = time.perf_counter()
    with open(lines, "rb") as stdin:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, resident(process.pid))
        if time.perf_counter() - began > MOST_S:
            process.kill()
        time.sleep(0.005)
    process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - began
    return Run(began, taken, usage.ru_utime + usage.ru_stime, peak, process.returncode)


def resident(pid: int) -> float:
    """Return the peak memory of a running process in MB; the accounting at its end counts its parent's too."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), "0")
    return int(peak) / 1024


def paho(port: int, qos: int, window: tuple[int, int]) -> list[str]:
    """Return the command of paho's loop."""
    return [sys.executable, "-c", PAHO, str(port), str(qos), *map(str, window)]


def best_window(port: int, qos: int, lines: Path) -> tuple[int, int]:
    """Return the window with which paho's loop takes the least time for a part of the lines."""
    part = lines.with_name("part")
    part.write_bytes(b"".join(lines.read_bytes().splitlines(keepends=True)[:10_000]))
    tried = {window: run(paho(port, qos, window), part) for window in PAHO_WINDOWS}
    sent = [window for window, done in tried.items() if not done.status]
    return min(sent, key=lambda window: tried[window].seconds)


def commands(port: int, qos: int, window: tuple[int, int], mqttx: str | None) -> dict[str, list[str]]:
    """Return the programs by name."""
    where = ["-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(qos)]
    programs = {
        "paho": paho(port, qos, window),
        "mqttpub": [sys.executable, "-m", "mqttpub", "pub", *where, "-l"],
        "mosquitto_pub": ["mosquitto_pub", "-V", "5", *where, "-l"],
    }
    return programs | ({"mqttx": [mqttx, "pub", *where, "-s", "-M"]} if mqttx else {})


def unlimited(port: int) -> list[str]:
    """Return the settings of a broker that drops no message."""
    return [*plain(port), "max_queued_messages 0"]


@contextmanager
def subscriber(port: int, qos: int, out: Path) -> Iterator[None]:
    """Write what arrives to a file, from when the first message has come."""
    here = ["-V", "311", "-h", "127.0.0.1", "-p", str(port), "-t", "bench/t", "-q", str(qos)]
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


def watched(what: list[str], lines: Path, out: Path) -> tuple[Run, Arrival]:
    """Run a program and watch what arrives meanwhile."""
    publishing = threading.Event()
    publishing.set()
    with ThreadPoolExecutor(1) as pool:
        arrival = pool.submit(settled, out, lines.stat().st_size, publishing)
        done = run(what, lines)
        publishing.clear()
        return done, arrival.result()


@contextmanager
def sink() -> Iterator[int]:
    """Accept connections, answer CONNECT, and read all else away."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    sock, _ = server.accept()
                except OSError:
                    return
                with sock:
                    sock.recv(65536)
                    sock.sendall(bytes.fromhex("2003000000"))
                    while sock.recv(1 << 20):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])


Outcome = tuple[Run, Arrival | None]
Measured = dict[str, list[Outcome]]
"""What each program did, round by round."""


def table(title: str, measured: Measured, lines: int) -> None:
    """Print the medians of what was measured."""
    heads = (
        f"{'msg/s':>10} {'to paho':>8} {'in cpu':>7} {'arrived':>9} {'arrived/s':>10} {'cpu s':>7} {'MB':>6} "
        f"{'exit':>5}"
    )
    print(f"\n{title}\n{'':<14} {heads}")  # noqa: T201
    base = [done for done, _ in measured["paho"]]
    for name, rounds in measured.items():
        runs = [done for done, _ in rounds]
        ratio = median(each.seconds / done.seconds for each, done in zip(base, runs, strict=True))
        in_cpu = median(each.cpu / done.cpu for each, done in zip(base, runs, strict=True))
        arrivals = [(arrival, done.began) for done, arrival in rounds if arrival]
        came = " " * 20
        if arrivals:
            speed = median(arrival.lines / (arrival.at - began) for arrival, began in arrivals)
            came = f"{min(arrival.lines for arrival, _ in arrivals):9} {speed:10,.0f}"
        print(  # noqa: T201
            f"{name:<14} {median(lines / done.seconds for done in runs):10,.0f} {ratio:8.2f} {in_cpu:7.2f} {came} "
            f"{median(done.cpu for done in runs):7.2f} {max(done.memory for done in runs):6.0f} "
            f"{max(done.status for done in runs):5}"
        )


def measure(
    port: int,
    qos: int,
    lines: Path,
    given: argparse.Namespace,
    once: Callable[[list[str], str], Outcome],
) -> Measured:
    """Run the programs in turn, as often as asked, and return what they did."""
    window = best_window(port, qos, lines)
    print(f"\nQoS {qos}: paho with {window[0]} in flight, a wait every {window[1]} messages")  # noqa: T201
    programs = commands(port, qos, window, given.mqttx)
    measured: Measured = {who: [] for who in programs}
    for _ in range(given.rounds):
        for who, what in programs.items():
            measured[who].append(once(what, who))
    return measured


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--sink", action="store_true")
    parser.add_argument("--alone", action="store_true", help="nobody subscribes, so that only publishing is timed")
    parser.add_argument("--qos", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--mqttx")
    given = parser.parse_args()
    as_installed()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "lines"
        lines.write_bytes(b"".join(b"%-62d\n" % number for number in range(given.lines)))

        def alone(what: list[str], who: str) -> Outcome:
            return run(what, lines), None

        if given.sink:
            with sink() as port:
                table("QoS 0 into a sink", measure(port, 0, lines, given, alone), given.lines)
            return
        for qos in given.qos:
            with mosquitto(folder, unlimited) as (port,):

                def heard(what: list[str], who: str, port: int = port, qos: int = qos) -> Outcome:
                    out = folder / f"{who}-{qos}"
                    with subscriber(port, qos, out):
                        return watched(what, lines, out)

                measured = measure(port, qos, lines, given, alone if given.alone else heard)
            listening = "nobody subscribes" if given.alone else "with a subscriber of the same QoS"
            table(f"QoS {qos} into mosquitto, {listening}", measured, given.lines)


if __name__ == "__main__":
    main()
