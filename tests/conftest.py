"""What all tests share: a real broker, and `--update` to rewrite screens."""

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.build import brokers as starters

# The same examples in every run, so that a change and nothing else makes a test fail; a busy machine is no failure.
settings.register_profile("stable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stable")

# Where it is forbidden, each process that a test starts compiles all modules of the program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

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


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a mosquitto for all tests and yield its port."""
    with starters.mosquitto(tmp_path_factory.mktemp("mosquitto"), starters.plain) as (port,):
        yield port


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[starters.Broker]:
    """Run a mosquitto that listens on every transport."""
    with starters.all_transports(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture(scope="session")
def spark_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[starters.Restricted]:
    """Run a mosquitto for the data sources of Spark."""
    with starters.restricted(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Run a local Spark session with two cores."""
    from mqttpub.spark.session.session import Settings, session

    # These options of Java halve the time of many small queries: none runs long enough for a better compiler to pay.
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    with session(Settings("local[2]", {"spark.sql.shuffle.partitions": "2"}, options=quick)) as made:
        yield made
