"""Starts mosquitto with any settings, and with those that several folders of tests need."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.build.certificates import Authority, Pair, encrypted

STARTS = 3
"""Times that mosquitto is started, with other ports each time, should a port have been taken in the meantime."""
START_S = 60


def free_ports(count: int) -> list[int]:
    """Return different ports of loopback that nobody uses."""
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in servers]


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    return free_ports(1)[0]


def wait_for_port(port: int, timeout_s: float = START_S) -> None:
    """Return when somebody listens on a port of loopback."""
    until = time.monotonic() + timeout_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until, f"nobody listens on {port}"
            time.sleep(0.02)
        else:
            return


def mosquitto_program() -> str:
    """Return the path of mosquitto."""
    program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    assert program, "the tests need mosquitto (Debian: apt-get install mosquitto)"
    return program


@contextmanager
def mosquitto(folder: Path, settings: Callable[..., Iterable[str]], *, ports: int = 1) -> Iterator[list[int]]:
    """Run mosquitto and yield its ports.

    `settings` gets the ports and returns the lines of the configuration after these: anonymous clients are let in,
    the log is `mosquitto.log` in the folder.
    """
    log, config = folder / "mosquitto.log", folder / "mosquitto.conf"
    for _ in range(STARTS):
        chosen = free_ports(ports)
        lines = [f"log_dest file {log}", *["user root"] * (os.getuid() == 0), "allow_anonymous true"]
        config.write_text("\n".join([*lines, *settings(*chosen)]) + "\n")
        log.unlink(missing_ok=True)
        process = subprocess.Popen(
            [mosquitto_program(), "-c", config], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if _runs(process, log):
            break
        said, _ = process.communicate()
    else:
        raise AssertionError(said)
    try:
        yield chosen
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _runs(process: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Return whether all listeners are open, as soon as the log says so, or False as soon as the process has ended."""
    until = time.monotonic() + START_S
    while process.poll() is None:
        if log.exists() and " running\n" in log.read_text():
            return True
        assert time.monotonic() < until, "mosquitto does not start"
        time.sleep(0.02)
    return False


def plain(port: int) -> list[str]:
    """Return the settings of one listener without TLS."""
    return [f"listener {port} 127.0.0.1"]


# one listener for each transport


class Broker(NamedTuple):
    """A mosquitto with a listener for each transport, and what its clients need."""

    ports: dict[str, int]
    """By the names of TRANSPORTS."""
    socket: Path
    ca: Authority
    stranger: Authority
    """A CA that signed none of its certificates."""
    client: Pair
    locked: Pair
    """The same with its key behind a password."""
    log: Path


TRANSPORTS = ("tcp", "ipv6", "ws", "tls", "wss", "client", "expired", "elsewhere")


@contextmanager
def all_transports(folder: Path) -> Iterator[Broker]:
    """Run a mosquitto with a listener for each transport."""
    ca = Authority(folder / "ca")
    client = ca.signed("client", common_name="me")
    made = Broker(
        {}, folder / "mqtt.sock", ca, Authority(folder / "stranger", "nobody knows it"), client, encrypted(client),
        folder / "mosquitto.log",
    )  # fmt: skip

    def settings(*ports: int) -> Iterator[str]:
        made.ports.update(zip(TRANSPORTS, ports, strict=True))
        return _all_transports(made)

    with mosquitto(folder, settings, ports=len(TRANSPORTS)):
        yield made


def _all_transports(made: Broker) -> Iterator[str]:
    ca, ports = made.ca, made.ports
    good = _certificate(made, ca.signed("server"))
    yield "log_type all"
    yield from (f"listener {ports['tcp']} 127.0.0.1", f"listener {ports['ipv6']} ::1", f"listener 0 {made.socket}")
    yield from (f"listener {ports['tls']}", *good)
    yield from (f"listener {ports['client']}", *good, "require_certificate true")
    yield from (f"listener {ports['expired']}", *_certificate(made, ca.signed("expired", days=-1)))
    elsewhere = ca.signed("elsewhere", "DNS:elsewhere.example", common_name="elsewhere.example")
    yield from (f"listener {ports['elsewhere']}", *_certificate(made, elsewhere))
    yield from (f"listener {ports['ws']}", "protocol websockets")
    yield from (f"listener {ports['wss']}", "protocol websockets", *good)


def _certificate(made: Broker, pair: Pair) -> list[str]:
    return [f"cafile {made.ca.cert}", f"certfile {pair.cert}", f"keyfile {pair.key}"]


# queues without end, rights


class Restricted(NamedTuple):
    """A mosquitto on which nobody may use the topics below forbidden/."""

    port: int
    tls: int
    """Port of its listener with TLS."""
    authority: Path
    log: Path


@contextmanager
def restricted(folder: Path) -> Iterator[Restricted]:
    """Run a mosquitto whose queues have no end, and on which nobody may use what is below forbidden/."""
    authority = Authority(folder / "ca")
    pair = authority.signed("server")
    (folder / "acl").write_text("topic readwrite #\ntopic deny forbidden/#\n")

    def settings(port: int, tls: int) -> Iterator[str]:
        yield from ("per_listener_settings false", "max_queued_messages 0", "max_inflight_messages 0", "log_type all")
        yield from (f"acl_file {folder}/acl", *plain(port), f"listener {tls} 127.0.0.1")
        yield from (f"cafile {authority.cert}", f"certfile {pair.cert}", f"keyfile {pair.key}")

    with mosquitto(folder, settings, ports=2) as (port, tls):
        yield Restricted(port, tls, authority.cert, folder / "mosquitto.log")
