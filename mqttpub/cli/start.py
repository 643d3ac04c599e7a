"""Where the program starts."""

import gc

# Loading makes many objects and little garbage, so looking for it after every 700 only costs time.
gc.set_threshold(50_000)

from .main import run  # noqa: E402

__all__ = ["run"]
