"""What the tests of Spark share: one session, and one broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqttpub.spark.session.session import Settings, session
from tests.spark.brokers import Broker, broker

JOURNEYS = "test_journeys.py"
"""One module, so that one worker has all of them, with one session."""

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java that halve the time of many small queries: none runs long enough for a better compiler to pay."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Run a local session with two cores."""
    with session(Settings("local[2]", {"spark.sql.shuffle.partitions": "2"}, options=QUICK)) as made:
        yield made


@pytest.fixture(scope="session")
def spark_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Run a broker for data sources."""
    with broker(tmp_path_factory.mktemp("broker")) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark as long, but the main journeys: together it takes longer than all other tests."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.path != here / JOURNEYS and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.long)
