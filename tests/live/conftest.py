"""What the tests of connections share."""

from collections.abc import Iterator

import pytest

from tests.live.brokers import Broker, broker


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Run a mosquitto that listens in every way."""
    with broker(tmp_path_factory.mktemp("broker")) as made:
        yield made
