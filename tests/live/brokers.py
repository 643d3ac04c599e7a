"""A mosquitto with a listener of each kind, and the certificates that it needs."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.live.certificates import Authority, Pair, encrypted

Lines = list[str]


class Broker(NamedTuple):
    """Where it listens, by the kind of listener, and what its clients need."""

    ports: dict[str, int]
    socket: Path
    ca: Authority
    stranger: Authority
    """A CA that signed nothing of its."""
    client: Pair
    locked: Pair
    """The same with its key behind a password."""
    log: Path


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """Run a mosquitto and give what there is to know of it."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    assert program, "the tests need mosquitto (Debian: apt-get install mosquitto)"
    made, process = _started(program, folder)
    try:
        yield made
    finally:
        process.terminate()
        process.wait(10)


def _started(program: str, folder: Path, attempts: int = 3) -> tuple[Broker, subprocess.Popen[bytes]]:
    """Start it, with other ports when somebody has taken one in the meantime."""
    made = _made(folder)
    config = folder / "mosquitto.conf"
    config.write_text("\n".join(_lines(made)) + "\n")
    process = subprocess.Popen([program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while process.poll() is None and not _listens(made):
        assert time.monotonic() < until, made.log.read_text()
        time.sleep(0.02)
    if process.poll() is None:
        return made, process
    assert attempts > 1, made.log.read_text()
    return _started(program, folder, attempts - 1)


def _listens(made: Broker) -> bool:
    """Whether the log says that all listeners are open."""
    return made.log.exists() and " running\n" in made.log.read_text()


KINDS = ("tcp", "ipv6", "ws", "tls", "wss", "client", "expired", "elsewhere")


def _made(folder: Path) -> Broker:
    ca = Authority(folder / "ca")
    client = ca.signed("client", common_name="me")
    return Broker(
        dict(zip(KINDS, _free_ports(len(KINDS)), strict=True)), folder / "mqtt.sock", ca,
        Authority(folder / "stranger", "nobody knows it"), client, encrypted(client), folder / "mosquitto.log",
    )  # fmt: skip


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, each another one."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in servers]


def _lines(made: Broker) -> Iterator[str]:
    ca, ports = made.ca, made.ports
    good = _certificate(made, ca.signed("server"))
    yield from ("user root",) * (os.getuid() == 0)
    yield from ("allow_anonymous true", f"log_dest file {made.log}", "log_type all")
    yield f"listener {ports['tcp']} 127.0.0.1"
    yield f"listener {ports['ipv6']} ::1"
    yield f"listener 0 {made.socket}"
    yield from (f"listener {ports['tls']}", *good)
    yield from (f"listener {ports['client']}", *good, "require_certificate true")
    yield from (f"listener {ports['expired']}", *_certificate(made, ca.signed("expired", days=-1)))
    elsewhere = ca.signed("elsewhere", "DNS:elsewhere.example", common_name="elsewhere.example")
    yield from (f"listener {ports['elsewhere']}", *_certificate(made, elsewhere))
    yield from (f"listener {ports['ws']}", "protocol websockets")
    yield from (f"listener {ports['wss']}", "protocol websockets", *good)


def _certificate(made: Broker, pair: Pair) -> Lines:
    return [f"cafile {made.ca.cert}", f"certfile {pair.cert}", f"keyfile {pair.key}"]
