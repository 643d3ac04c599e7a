"""What Windows lacks, in one place: locks of files, a signal of terminals, their sessions, and limits of open files.

`mqttpub help completion` says what is lost there.
"""

import os
import signal
import sys
from typing import IO

HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The signal of a terminal that went away."""
GIVES_KEYS = sys.platform != "win32"
"""Whether a terminal can give each key at once: `cli.sub.keyboard` needs termios."""


def lock(file: IO[bytes] | IO[str]) -> None:
    """Lock an open file until it is closed, however the process ends; raises OSError if another has the lock."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_read_only(descriptor: int) -> bool:
    """Whether an open file can only be read; on Windows that is not known."""
    if sys.platform == "win32":
        return False
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY


def terminal_session() -> int:
    """Return the process that leads the session of this terminal; on Windows the one that started this one."""
    return os.getppid() if sys.platform == "win32" else os.getsid(0)


def open_files(wanted: int) -> int:
    """Ask the system for so many open files, and return how many it allows; Windows has no such limit for sockets."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files
