"""Where the program starts."""

import gc
import signal

# Until the program takes signals itself, Ctrl-C ends it without a trace of what it was loading.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
# Loading makes many objects and little garbage, so looking for it after every 700 only costs time.
gc.set_threshold(50_000)

from .main import run  # noqa: E402

__all__ = ["run"]
