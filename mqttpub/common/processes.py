"""Processes that were started, with all that they started."""

import os
import signal
import subprocess
import time
from contextlib import suppress

GRACE_S = 1.0
"""How long a process may take to end after SIGTERM, before SIGKILL."""


def end_groups(*processes: "subprocess.Popen[bytes]") -> None:
    """End processes that lead a session each, and what they have started, as far as that is still in their groups."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    # It may have ended by itself.
                    os.killpg(process.pid, number)
        until_s = time.monotonic() + GRACE_S
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                # The next signal is for those that do not end.
                process.wait(max(until_s - time.monotonic(), 0.0))
