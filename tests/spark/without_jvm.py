"""A program of its own for tests that kill it: `mqttpub pipeline`, whose tasks run in the same process.

python -m tests.spark.without_jvm pipeline SOURCE... --out DIR [FLAG...]
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from mqttpub.cli.start import run
from mqttpub.spark.pipeline import run as pipeline
from tests.spark.running import one_by_one


@contextmanager
def nothing(settings: Any) -> Iterator[None]:
    """Give no session."""
    yield None


if __name__ == "__main__":
    with (
        patch.object(pipeline, "session", nothing),
        patch.object(pipeline, "distribute", one_by_one),
        patch.object(pipeline, "session_cores", lambda spark: 3),
    ):
        sys.exit(run())
