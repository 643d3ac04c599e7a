"""Real captures, recorded on loopback with dumpcap while real clients talk to a real mosquitto."""

import fcntl
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.build.brokers import free_port, mosquitto, plain
from tests.build.client_traffic import RECORDINGS, Traffic
from tests.build.traffic import Venue

WITHIN = 20.0
"""Seconds that anything may take here."""


class Capture(NamedTuple):
    """A recorded file, and the ports on which MQTT was spoken."""

    name: str
    path: Path
    venue: Venue

    @property
    def port(self) -> int:
        """The port of its MQTT without WebSocket."""
        return self.venue.tcp


@cache
def captures(folder: Path) -> dict[str, Capture]:
    """Record everything in a folder, once for all processes that name it, and return the captures by name."""
    made = folder / "captures"
    made.mkdir(exist_ok=True)
    # Other processes wait here, and then read what the first one recorded.
    with (made / "venue").open("a+") as known:
        fcntl.flock(known, fcntl.LOCK_EX)
        known.seek(0)
        if ports := known.read():
            venue = Venue(*map(int, ports.split()))
            return {name: Capture(name, made / f"{name}.pcapng", venue) for name in RECORDINGS}
        with _broker(made) as venue:
            found = {name: record(made / f"{name}.pcapng", venue, traffic) for name, traffic in RECORDINGS.items()}
        known.write(" ".join(map(str, venue)))
        return found


def record(path: Path, venue: Venue, traffic: Traffic) -> Capture:
    """Record what some traffic puts on the wire."""
    ports = (venue.tcp, venue.ws, venue.scripted)
    with dumpcap(path, " or ".join(f"tcp port {port}" for port in ports)):
        traffic(venue)
    return Capture(path.stem, path, venue)


@contextmanager
def dumpcap(path: Path, wanted: str) -> Iterator[None]:
    """Record loopback while the body runs; datagrams before and after it show that nothing is missed."""
    program = shutil.which("dumpcap")
    assert program, "the tests need dumpcap (Debian: apt-get install wireshark-common)"
    port = free_port()
    command = [program, "-q", "-B", "64", "-i", "lo", "-w", str(path), "-f", f"{wanted} or udp port {port}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        _await_mark(path, port, b"before", process)
        yield
        _await_mark(path, port, b"behind", process)
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=WITHIN)
    assert process.returncode == 0, said
    dropped = re.search(r"dropped on interface 'Loopback: lo': \d+/(\d+)", said)
    assert dropped, said
    assert dropped[1] == "0", said


def _await_mark(path: Path, port: int, word: bytes, process: subprocess.Popen[str]) -> None:
    """Send datagrams until one of them is in the file."""
    mark, until = word + b" the traffic", time.monotonic() + WITHIN
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        while not (path.exists() and mark in _tail(path)):
            assert process.poll() is None, "dumpcap ended; it needs the right to capture (root, or its capabilities)"
            assert time.monotonic() < until, "dumpcap records nothing"
            sock.sendto(mark, ("127.0.0.1", port))
            time.sleep(0.05)


def _tail(path: Path, size: int = 4096) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read()


@contextmanager
def _broker(folder: Path) -> Iterator[Venue]:
    """Run a mosquitto that listens for MQTT with and without WebSocket."""

    def settings(tcp: int, ws: int) -> list[str]:
        return [*plain(tcp), f"listener {ws} 127.0.0.1", "protocol websockets", "max_keepalive 600"]

    with mosquitto(folder, settings, ports=2) as (tcp, ws):
        yield Venue(tcp, ws, free_port())
