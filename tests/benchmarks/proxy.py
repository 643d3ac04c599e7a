"""`mqttpub proxy` beside the plain Python relay of the tests and beside socat, in one run.

    python tests/benchmarks/proxy.py [--messages 50000] [--rounds 5] [--qos 0 1] [--memory] [--idle 1000]

Each forwarder is a process of its own between mosquitto_pub and a mosquitto, and the forwarders take turns: a round of
each comes before the next round. Printed for each, as medians of the rounds: messages a second from the start of
mosquitto_pub until the last of them was at a subscriber that is connected directly; how many times the speed of the
relay that is, by rounds; the time of a PINGREQ until its PINGRESP and how much longer than over a direct connection;
and the speed of bare bytes into a socket that only reads, which shows what the forwarder itself costs.

With --memory: the resident memory of the proxy before and after a thousand idle connections, and while a million
messages pass.
"""

import argparse
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.installed import as_installed
from tests.build.brokers import free_port, mosquitto, plain, wait_for_port

RELAY = """
import sys, time
from tests.live.relays import relay, straight_to
with relay(straight_to(int(sys.argv[1])), keeps=False) as made:
    print(made.port, flush=True)
    time.sleep(10**6)
"""
CONNECT = bytes.fromhex("101000044d5154540502003c032100140000")
PING, PONG = b"\xc0\0", b"\xd0\0"
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
        command = [sys.executable, "-m", "mqttpub", "proxy", "--listen", str(port), "-p", str(to), "-h", "127.0.0.1"]
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
    while not _is_readable(subscriber.stdout.fileno()):
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


def _is_readable(descriptor: int) -> bool:
    import select

    return bool(select.select([descriptor], [], [], 0)[0])


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


@contextmanager
def sink() -> Iterator[int]:
    """Answer CONNECT, read all else away, and answer the end with a byte."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    sock, _ = server.accept()
                except OSError:
                    return
                with sock:
                    buffer = bytearray(1 << 20)
                    if sock.recv(len(CONNECT)):
                        sock.sendall(bytes.fromhex("2003000000"))
                    while sock.recv_into(buffer):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])


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


def unlimited(port: int) -> list[str]:
    """Return the settings of a broker that drops no message."""
    return [*plain(port), "max_queued_messages 0", "max_connections -1"]


def speed(given: argparse.Namespace, folder: Path) -> None:
    """Measure and print speed and latency."""
    lines = folder / "lines"
    lines.write_bytes(b"".join(b"%-61d\n" % number for number in range(given.messages)))
    names = [name for name in FORWARDERS if name != "socat" or shutil.which("socat")]
    if "socat" not in names:
        print("socat is not installed")  # noqa: T201
    measured: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        (broker,) = stack.enter_context(mosquitto(folder, unlimited))
        hole = stack.enter_context(sink())
        ports = {name: stack.enter_context(forwarding(FORWARDERS[name], broker, folder)).port for name in names}
        holes = {name: stack.enter_context(forwarding(FORWARDERS[name], hole, folder)).port for name in names[:5]}
        for _ in range(given.rounds):
            for name, port in ports.items():
                for qos in given.qos:
                    rate = messages_per_s(port, broker, qos, lines, given.messages)
                    measured.setdefault((name, f"QoS {qos}"), []).append(rate)
                measured.setdefault((name, "ping"), []).append(round_trip_us(port))
                if name in holes:
                    measured.setdefault((name, "bulk"), []).append(megabytes_per_s(holes[name]))
    table(names, measured, given)


def table(names: list[str], measured: dict[tuple[str, str], list[float]], given: argparse.Namespace) -> None:
    """Print the medians."""
    kinds = [f"QoS {qos}" for qos in given.qos]
    head = "".join(f"{kind + ' msg/s':>13} {'to relay':>8}" for kind in kinds)
    print(f"{'':<17}{head} {'ping us':>8} {'added us':>8} {'bulk MB/s':>10} {'to relay':>8}")  # noqa: T201
    for name in names:
        cells = ""
        for kind in kinds:
            cells += f"{median(measured[name, kind]):13,.0f} {_ratio(measured, name, kind):8.2f}"
        pings = measured[name, "ping"]
        added = [one - other for one, other in zip(pings, measured["direct", "ping"], strict=True)]
        cells += f" {median(pings):8.0f} {median(added):8.0f}"
        if bulk := measured.get((name, "bulk")):
            cells += f" {median(bulk):10,.0f} {_ratio(measured, name, 'bulk'):8.2f}"
        print(f"{name:<17}{cells}")  # noqa: T201
    for name, least in WANTED.items():
        worst = min(_ratio(measured, name, kind) for kind in kinds)
        print(f"{name}: {worst:.2f} of the relay, wanted {least}: {'yes' if worst >= least else 'NO'}")  # noqa: T201


def _ratio(measured: dict[tuple[str, str], list[float]], name: str, kind: str) -> float:
    """Return the median, by rounds, of how many times the speed of the relay something has."""
    return median(one / other for one, other in zip(measured[name, kind], measured["relay", kind], strict=True))


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024


def open_files(pid: int) -> int:
    """Return how many files a process has open, once it has closed what others have closed."""
    before = -1
    while (count := len(os.listdir(f"/proc/{pid}/fd"))) != before:
        before = count
        time.sleep(0.5)
    return count


def memory(given: argparse.Namespace, folder: Path) -> None:
    """Measure and print memory."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kinds = {"": (), " --capture": ("--capture", f"{folder}/m.pcapng"), " --lint": ("--lint",)}
    chunk = publish(PAYLOAD_BYTES) * 500
    for name, flags in kinds.items():
        with sink_of_many() as hole, forwarding(proxy(*flags, "--max-connections", "2000"), hole, folder) as made:
            assert made.process
            pid = made.process.pid
            with connected(made.port) as sock:
                sizes = [resident_mb(pid)]
                idle = [connected(made.port) for _ in range(given.idle)]
                sizes.append(resident_mb(pid))
                for _ in range(10):
                    for _ in range(200):
                        sock.sendall(chunk)
                    sock.sendall(PING)
                    assert sock.recv(2) == PONG
                    sizes.append(resident_mb(pid))
                for each in idle:
                    each.close()
            files = open_files(pid)
        after = ", ".join(f"{each:.1f}" for each in sizes[2:])
        print(  # noqa: T201
            f"proxy{name}: {sizes[0]:.1f} MB, with {given.idle} idle connections {sizes[1]:.1f} MB, after each 100,000 "
            f"of 1,000,000 messages {after} MB; {files} files open at the end"
        )


@contextmanager
def sink_of_many() -> Iterator[int]:
    """Answer CONNECT and PINGREQ on many connections, and read all else away."""
    import selectors

    selector = selectors.DefaultSelector()
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        selector.register(server, selectors.EVENT_READ)
        running = True

        def serve() -> None:
            while running:
                for key, _ in selector.select(0.2):
                    if key.fileobj is server:
                        selector.register(server.accept()[0], selectors.EVENT_READ)
                        continue
                    sock = key.fileobj
                    assert isinstance(sock, socket.socket)
                    data = sock.recv(1 << 20)
                    if not data:
                        selector.unregister(sock)
                        sock.close()
                    elif data.startswith(b"\x10"):
                        sock.sendall(bytes.fromhex("2003000000"))
                    elif data.endswith(PING):
                        sock.sendall(PONG)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(server.getsockname()[1])
        finally:
            running = False
            thread.join()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--qos", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--memory", action="store_true", help="measure memory only")
    parser.add_argument("--idle", type=int, default=1000)
    given = parser.parse_args()
    as_installed()
    with tempfile.TemporaryDirectory() as name:
        (memory if given.memory else speed)(given, Path(name))


if __name__ == "__main__":
    main()
