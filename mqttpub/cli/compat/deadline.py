"""How long to wait for an answer of the broker, where the clients themselves would wait for ever."""

import os

DEFAULT_S = 30.0


def timeout_s() -> float:
    """Return what MQTTPUB_TIMEOUT says, in seconds, otherwise the default."""
    try:
        given = float(os.environ.get("MQTTPUB_TIMEOUT", ""))
    except ValueError:
        return DEFAULT_S
    return given if 0 < given < float("inf") else DEFAULT_S
