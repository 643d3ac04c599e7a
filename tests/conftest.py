"""What all tests share: a real broker, and `--update` to rewrite screens."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.live import brokers as live_brokers
    from tests.spark import brokers as spark_brokers

# The same examples in every run, so that a change and nothing else makes a test fail; a busy machine is no failure.
settings.register_profile("stable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stable")

# What runs the tests may ignore it, as nohup does, and programs leave what is ignored alone.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

LONG_S = 900
"""Seconds for a test that is marked long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update."""
    parser.addoption("--update", action="store_true", help="rewrite the screens in transcripts and README.md")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests that take minutes more time before they are stopped; what is long is slow as well."""
    for item in items:
        if not item.get_closest_marker("long"):
            continue
        item.add_marker(pytest.mark.slow)
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_S))


@pytest.fixture(scope="session")
def update(request: pytest.FixtureRequest) -> bool:
    """Whether screens are to be rewritten."""
    return bool(request.config.getoption("--update"))


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for_port(port: int, seconds: float = 60) -> None:
    """Return when somebody listens."""
    until = time.monotonic() + seconds
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


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a real mosquitto for all tests and yield its port."""
    program = mosquitto_program()
    port = free_port()
    folder: Path = tmp_path_factory.mktemp("mosquitto")
    config = folder / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nlog_dest none\n")
    process = subprocess.Popen([program, "-c", str(config)])
    try:
        wait_for_port(port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[live_brokers.Broker]":
    """Run a mosquitto that listens on every transport."""
    from tests.live.brokers import broker

    with broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture(scope="session")
def spark_broker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[spark_brokers.Broker]":
    """Run a mosquitto for the data sources of Spark."""
    from tests.spark.brokers import broker

    with broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Run a local Spark session with two cores."""
    from mqttpub.spark.session.session import Settings, session

    # These options of Java halve the time of many small queries: none runs long enough for a better compiler to pay.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    with session(Settings("local[2]", {"spark.sql.shuffle.partitions": "2"}, options=quick)) as made:
        yield made
