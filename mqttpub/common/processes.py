"""Processes that were started, with all that they started."""

import os
import subprocess
import time
from contextlib import suppress

from .system import end_group

GRACE_S = 1.0
"""How long a process may take to end after SIGTERM, before SIGKILL."""
POLL_S = 0.01


def end_groups(*processes: "subprocess.Popen[bytes]") -> None:
    """End processes that lead a session each, and what they have started, as far as that is still in their groups."""
    running = [process for process in processes if process.returncode is None]
    _end(running, at_once=False)
    until_s = time.monotonic() + GRACE_S
    while not all(map(has_ended, running)) and time.monotonic() < until_s:
        time.sleep(POLL_S)
    # A shell ends at once, and what it has started may not: the group gets this signal too, and keeps its number until
    # the process that leads it is waited for.
    _end(running, at_once=True)
    for process in running:
        process.wait()


def _end(processes: "list[subprocess.Popen[bytes]]", *, at_once: bool) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            # It may have ended by itself.
            end_group(process, at_once=at_once)


def has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process has ended by itself."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        # Its process identifier stays taken until its group is ended, so that no other group can have it.
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # another thread has waited for it
        return True
