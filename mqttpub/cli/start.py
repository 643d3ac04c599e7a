"""The entry point of the program."""

# The module in C, and before all others: importing `signal` takes milliseconds, in which Ctrl-C would be a traceback.
import _signal  # type: ignore[import-not-found]

# Until the program handles signals itself, Ctrl-C ends it without a traceback of the imports.
if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import gc

# Importing creates many objects and little garbage, so collecting after every 700 only costs time. The imports of
# `decode` and numpy together keep 50,000 (tests/benchmarks/views.py: looking through them once took 13 ms).
gc.set_threshold(100_000)

from ..common.deferred_import import deferred  # noqa: E402

# click uses it for help only, and importing it takes 5 of the 70 ms of a short run (tests/benchmarks/startup.py).
with deferred("inspect"):
    from .main import run

__all__ = ["run"]
