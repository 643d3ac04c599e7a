"""The entry point of the program."""

import gc
import signal

# Until the program handles signals itself, Ctrl-C ends it without a traceback of the imports.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
# Importing creates many objects and little garbage, so collecting after every 700 only costs time. The imports of
# `decode` and numpy together keep 50,000 (tests/benchmarks/views.py: looking through them once took 13 ms).
gc.set_threshold(100_000)

from ..common.deferred_import import deferred  # noqa: E402

# click uses it for help only, and importing it takes 5 of the 70 ms of a short run (tests/benchmarks/startup.py).
with deferred("inspect"):
    from .main import run

__all__ = ["run"]
