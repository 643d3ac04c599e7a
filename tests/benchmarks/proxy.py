"""`mqttpub proxy` beside the plain Python relay of the tests and beside socat, in one run.

Each forwarder is a process of its own between mosquitto_pub and a mosquitto, and the forwarders take turns: a round of
each comes before the next round. Printed for each, as medians of the rounds: messages a second from the start of
mosquitto_pub until the last of them was at a subscriber that is connected directly; how many times the speed of the
relay that is, by rounds; the time of a PINGREQ until its PINGRESP and how much longer than over a direct connection;
and the speed of bare bytes into a socket that only reads, which shows what the forwarder itself costs.

With `--memory`: the resident memory of the proxy before and after so many idle connections, and while a million
messages pass.
"""

import os
import resource
import select
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.benchmarks.clients import PING, PONG, numbered, sink, unlimited
from tests.benchmarks.harness import MQTTPUB, in_turn, memory_mb, middle, ratio
from tests.build.brokers import free_port, mosquitto, wait_for_port

RELAY = """
import sys, time
from tests.live.relays import relay, straight_to
with relay(straight_to(int(sys.argv[1])), keeps=False) as made:
    print(made.port, flush=True)
    time.sleep(10**6)
"""
CONNECT = bytes.fromhex("101000044d5154540502003c032100140000")
PAYLOAD_BYTES = 62
ROUND_TRIPS = 10_000
BULK_BYTES = 400_000_000
TOPIC = "bench/t"
WANTED = {"proxy": 0.8, "proxy --capture": 0.5, "proxy --lint": 0.3}
"""Least speed of each, as a part of that of the relay."""


class Forwarder(NamedTuple):
    """A process that forwards a port of loopback to another."""

    port: int
    process: "subprocess.Popen[bytes] | None"


Start = Callable[[int, Path], Forwarder]


def direct(to: int, folder: Path) -> Forwarder:
    """Return the port itself."""
    return Forwarder(to, None)


def relay(to: int, folder: Path) -> Forwarder:
    """Start the relay of the tests."""
    process = subprocess.Popen([sys.executable, "-c", RELAY, str(to)], stdout=subprocess.PIPE)
    assert process.stdout
    return Forwarder(int(process.stdout.readline()), process)


def socat(to: int, folder: Path) -> Forwarder:
    """Start socat."""
    port = free_port()
    listen, target = f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr,nodelay", f"TCP:127.0.0.1:{to},nodelay"
    process = subprocess.Popen(["socat", listen, target])
    wait_for_port(port)
    return Forwarder(port, process)


def proxy(*flags: str) -> Start:
    """Return what starts the proxy with some flags."""

    def start(to: int, folder: Path) -> Forwarder:
        port = free_port()
        words = [each.format(folder=folder) for each in flags]
        command = [*MQTTPUB, "proxy", "--listen", str(port), "-p", str(to), "-h", "127.0.0.1"]
        process = subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_port(port)
        return Forwarder(port, process)

    return start


FORWARDERS: dict[str, Start] = {
    "direct": direct,
    "relay": relay,
    "socat": socat,
    "proxy": proxy(),
    "proxy --capture": proxy("--capture", "{folder}/bench.pcapng"),
    "proxy --lint": proxy("--lint"),
    "proxy --inspect": proxy("--inspect"),
}


@contextmanager
def forwarding(start: Start, to: int, folder: Path) -> Iterator[Forwarder]:
    """Run a forwarder."""
    made = start(to, folder)
    try:
        yield made
    finally:
        if made.process:
            made.process.terminate()
            made.process.wait()


def messages_per_s(port: int, broker: int, qos: int, lines: Path, count: int) -> float:
    """Publish lines through a port, and return the messages a second at a subscriber of the broker."""
    # Of MQTT 5, mosquitto_sub 2.0.11 ends many QoS 2 messages with an error of its own.
    here = ["-V", "311", "-h", "127.0.0.1", "-t", TOPIC, "-q", str(qos)]
    listening = ["mosquitto_sub", *here, "-p", str(broker), "-C", str(count + 1)]
    subscriber = subprocess.Popen(listening, stdout=subprocess.PIPE)
    assert subscriber.stdout
    while not select.select([subscriber.stdout], [], [], 0)[0]:
        subprocess.run(["mosquitto_pub", *here, "-p", str(broker), "-m", "ready?"], check=True)
        time.sleep(0.2)
    reader = threading.Thread(target=subscriber.stdout.read)
    reader.start()
    began = time.perf_counter()
    with open(lines, "rb") as stdin:
        subprocess.run(["mosquitto_pub", *here, "-p", str(port), "-l"], stdin=stdin, check=True)
    reader.join()
    taken = time.perf_counter() - began
    assert subscriber.wait() == 0, "the subscriber did not get everything"
    return count / taken


def connected(port: int) -> socket.socket:
    """Return a connection that a broker has accepted."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(CONNECT)
    assert sock.recv(100)[0] == 0x20
    return sock


def round_trip_us(port: int) -> float:
    """Return the median time of a PINGREQ until its PINGRESP, in microseconds."""
    taken = []
    with connected(port) as sock:
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            sock.sendall(PING)
            assert sock.recv(2) == PONG
            taken.append(time.perf_counter() - began)
    return median(taken) * 1e6


def megabytes_per_s(port: int) -> float:
    """Return the speed of PUBLISH packets into a sink, sent 64 KiB at a time."""
    packet = publish(PAYLOAD_BYTES)
    chunk = packet * (65536 // len(packet))
    with connected(port) as sock:
        began = time.perf_counter()
        for _ in range(BULK_BYTES // len(chunk)):
            sock.sendall(chunk)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
        return BULK_BYTES / (time.perf_counter() - began) / 1e6


def publish(size_bytes: int) -> bytes:
    """Return a PUBLISH of QoS 0 with a payload of so many bytes."""
    body = len(TOPIC).to_bytes(2, "big") + TOPIC.encode() + b"\0" + b"x" * size_bytes
    return bytes((0x30, len(body))) + body


# what is measured

Speeds = dict[str, float]
"""What was measured of a forwarder in one round, by its kind."""


def speeds(port: int, hole: int | None, broker: int, qos: tuple[int, ...], text: Path, messages: int) -> Speeds:
    """Measure a forwarder once."""
    found = {f"QoS {each}": messages_per_s(port, broker, each, text, messages) for each in qos}
    found["ping"] = round_trip_us(port)
    return found if hole is None else {**found, "bulk": megabytes_per_s(hole)}


def measured(folder: Path, messages: int, rounds: int, qos: tuple[int, ...]) -> dict[str, list[Speeds]]:
    """Measure all forwarders in turn."""
    text = numbered(folder, messages, 61)
    names = [name for name in FORWARDERS if name != "socat" or shutil.which("socat")]
    with ExitStack() as stack:
        (broker,), hole = stack.enter_context(mosquitto(folder, unlimited)), stack.enter_context(sink())
        ports = {name: stack.enter_context(forwarding(FORWARDERS[name], broker, folder)).port for name in names}
        holes = {name: stack.enter_context(forwarding(FORWARDERS[name], hole, folder)).port for name in names[:5]}
        ways = {
            name: partial(speeds, port, holes.get(name), broker, qos, text, messages) for name, port in ports.items()
        }
        return in_turn(ways, rounds)


def table(found: dict[str, list[Speeds]], kinds: list[str]) -> Iterator[str]:
    """Yield the medians."""
    head = "".join(f"{kind + ' msg/s':>13} {'to relay':>8}" for kind in kinds)
    yield f"{'':<17}{head} {'ping us':>8} {'added us':>8} {'bulk MB/s':>10} {'to relay':>8}"
    for name, rounds in found.items():
        cells = ""
        for kind in kinds:
            cells += f"{middle(rounds, itemgetter(kind)):13,.0f} {ratio(rounds, found['relay'], itemgetter(kind)):8.2f}"
        added = [one["ping"] - other["ping"] for one, other in zip(rounds, found["direct"], strict=True)]
        cells += f" {middle(rounds, itemgetter('ping')):8.0f} {median(added):8.0f}"
        if "bulk" in rounds[0]:
            bulk = itemgetter("bulk")
            cells += f" {middle(rounds, bulk):10,.0f} {ratio(rounds, found['relay'], bulk):8.2f}"
        yield f"{name:<17}{cells}"
    for name, least in WANTED.items():
        worst = min(ratio(found[name], found["relay"], itemgetter(kind)) for kind in kinds)
        yield f"{name}: {worst:.2f} of the relay, wanted {least}: {'yes' if worst >= least else 'NO'}"


def open_files(pid: int) -> int:
    """Return how many files a process has open, once it has closed what others have closed."""
    before = -1
    while (count := len(os.listdir(f"/proc/{pid}/fd"))) != before:
        before = count
        time.sleep(0.5)
    return count


def memories(folder: Path, idle: int) -> Iterator[str]:
    """Measure and yield memory."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kinds = {"": (), " --capture": ("--capture", f"{folder}/m.pcapng"), " --lint": ("--lint",)}
    chunk = publish(PAYLOAD_BYTES) * 500
    for name, flags in kinds.items():
        with sink() as hole, forwarding(proxy(*flags, "--max-connections", "2000"), hole, folder) as made:
            assert made.process
            pid = made.process.pid
            with connected(made.port) as sock:
                sizes = [memory_mb(pid)]
                waiting = [connected(made.port) for _ in range(idle)]
                sizes.append(memory_mb(pid))
                for _ in range(10):
                    for _ in range(200):
                        sock.sendall(chunk)
                    sock.sendall(PING)
                    assert sock.recv(2) == PONG
                    sizes.append(memory_mb(pid))
                for each in waiting:
                    each.close()
            files = open_files(pid)
        after = ", ".join(f"{each:.1f}" for each in sizes[2:])
        yield (
            f"proxy{name}: {sizes[0]:.1f} MB, with {idle} idle connections {sizes[1]:.1f} MB, after each 100,000 "
            f"of 1,000,000 messages {after} MB; {files} files open at the end"
        )


def lines(
    folder: Path, *, messages: int = 50_000, rounds: int = 5, qos: tuple[int, ...] = (0, 1), memory: bool = False,
    idle: int = 1000,
) -> Iterator[str]:  # fmt: skip
    """Yield speed and latency of all forwarders, or the memory of the proxy."""
    if memory:
        yield from memories(folder, idle)
    else:
        yield from table(measured(folder, messages, rounds, qos), [f"QoS {each}" for each in qos])
