"""What another client's line gives by the names that our flags have, and how long to wait, which it does not say."""

import os
from typing import Any

DEFAULT_S = 30.0


class Given(dict[str, Any]):
    """Values by the parameter names of our flags; None for what nothing sets."""

    def __missing__(self, key: str) -> None:
        return None


def timeout_s() -> float:
    """Return how long to wait for an answer of the broker, where the clients themselves would wait for ever.

    That is what MQTTPUB_TIMEOUT says, in seconds, otherwise the default.
    """
    try:
        given = float(os.environ.get("MQTTPUB_TIMEOUT", ""))
    except ValueError:
        return DEFAULT_S
    return given if 0 < given < float("inf") else DEFAULT_S
