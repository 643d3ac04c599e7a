"""What a session says when Spark fails."""

import pytest
from py4j.protocol import Py4JNetworkError

from mqttpub.spark.session.session import failures, sentence


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("Answer from Java side is empty")]
)
def test_a_jvm_that_was_killed_is_named(error: Exception) -> None:
    assert isinstance(error, failures())
    assert sentence(error) == "its JVM has ended"
