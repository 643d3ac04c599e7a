"""What the tests of servers share."""

from collections.abc import Callable

import pytest

from tests.lab.serving.clients import Way, ways


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Way]:
    """A function that returns the layers of a listener, and the transport of a client to it."""
    return ways(tmp_path_factory.mktemp("ways"))
