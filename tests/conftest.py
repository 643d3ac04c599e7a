"""What all tests share: a real broker, and `--update` to rewrite screens."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from mqttpub.common.system import HANG_UP
from tests.build import brokers as starters
from tests.build.object_store import ObjectStore, object_store

# The same examples in every run, so that a change and nothing else makes a test fail; a busy machine is no failure.
settings.register_profile("stable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stable")

# Where it is forbidden, each process that a test starts compiles all modules of the program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Thousands of collected tests are walked by each full collection of garbage: a fifth of the time of the quick tests.
# pytest_collection_finish takes them out of its reach.
gc.disable()

# What runs the tests may ignore them, as nohup and jobs in the background do, and programs leave what is ignored alone.
if HANG_UP:
    signal.signal(HANG_UP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

YOUNG = 50_000
"""New objects before garbage is collected, as in the program: with the usual 700, tests take a tenth longer."""
LONG_S = 900
"""Seconds for a test that is marked long."""


SPARK_AS_SLOW = 20
"""Slow tests that one with a Spark session takes as long as."""
ON_SPARK = (
    "tests/report/test_tables.py",
    "tests/scenarios/spark/test_journeys.py",
    "tests/spark/pipeline/engine/test_spark.py",
)
"""All that need a Spark session and are not long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --update and --without-quick."""
    parser.addoption("--update", action="store_true", help="rewrite the screens in transcripts and README.md")
    parser.addoption("--without-quick", nargs="+", default=(), metavar="FOLDER", help="of these, run only slow tests")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Give tests that take minutes more time before they are stopped; what is long is slow as well.

    Files with slow tests come first, so that no worker is left with one when the others are done.
    """
    for item in items:
        if not item.get_closest_marker("long"):
            continue
        item.add_marker(pytest.mark.slow)
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_S))
    yield
    folders = {config.rootpath / folder for folder in config.getoption("--without-quick")}
    items[:] = [item for item in items if item.get_closest_marker("slow") or folders.isdisjoint(item.path.parents)]
    weights: Counter[Path] = Counter()
    for item in items:
        if item.get_closest_marker("slow"):
            weights[item.path] += SPARK_AS_SLOW if "spark" in getattr(item, "fixturenames", ()) else 1
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: -weights[item.path])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker have all files that need a Spark session, as each worker would start a JVM of its own."""
    if config.getvalue("dist") != "loadfile":
        return None
    scheduler = LoadFileScheduling(config, log)
    file_of = scheduler._split_scope
    scheduler._split_scope = lambda test: "Spark" if file_of(test) in ON_SPARK else file_of(test)
    return scheduler


def pytest_collection_finish() -> None:
    """Leave what was collected to the end of the process, and collect garbage from here on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
    gc.enable()


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


@pytest.fixture(scope="session")
def s3_server() -> Iterator[ObjectStore]:
    """Run a server with the interface of S3."""
    with object_store() as made:
        yield made


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that is the same in all processes of a test run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def s3(s3_server: ObjectStore) -> str:
    """Make a bucket of its own for a test, and return its URL."""
    return s3_server.make(f"test-{os.urandom(6).hex()}")
