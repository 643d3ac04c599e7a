"""What Windows lacks, in one place: waiting for pipes, locks of files, groups of processes, signals and sockets.

`mqttpub help completion` says what is lost there.
"""

import os
import select
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket
    import subprocess

HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The signal of a terminal that went away."""
GIVES_KEYS = sys.platform != "win32"
"""Whether a terminal can give each key at once: `cli.sub.keyboard` needs termios."""
BINARY: int = getattr(os, "O_BINARY", 0)
"""The flag of `os.open` without which Windows writes a carriage return before each line feed."""
PIPE_BYTES: int = getattr(select, "PIPE_BUF", 512)
"""What a pipe that takes output takes at once."""
PUMPED_BYTES = 65536


def waitable(descriptor: int) -> tuple[int, Callable[[int], bytes]]:
    """Return what can be waited for in place of a pipe or a terminal, and the function that reads from it.

    Windows waits for sockets only, so a thread copies the input to one there.
    """
    if sys.platform == "win32":
        from socket import socketpair
        from threading import Thread

        ours, theirs = socketpair()
        Thread(target=_pump, args=(os.dup(descriptor), theirs), daemon=True).start()
        return ours.fileno(), ours.recv
    return descriptor, partial(os.read, descriptor)


def _pump(descriptor: int, into: "socket.socket") -> None:
    """Copy what can be read to a socket, until the end or until nobody wants it."""
    from contextlib import suppress

    with into, suppress(OSError):
        while data := os.read(descriptor, PUMPED_BYTES):
            into.sendall(data)
    os.close(descriptor)


def takes_output(descriptor: int, wait_s: float = 0.0) -> bool:
    """Whether a file takes output within some seconds; on Windows that is not known, and taken for granted."""
    return sys.platform == "win32" or bool(select.select([], [descriptor], [], wait_s)[1])


def keep_private(descriptor: int) -> None:
    """Let nobody but its owner read an open file; on Windows the folder decides that."""
    if sys.platform != "win32":
        os.fchmod(descriptor, 0o600)


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


def end_group(process: "subprocess.Popen[bytes]", *, at_once: bool) -> None:
    """Ask a process that leads a session, and what it has started, to end, or end them; on Windows only end it."""
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL if at_once else signal.SIGTERM)


def unix_socket() -> "socket.socket":
    """Return a Unix socket; raises OSError on Windows, where Python has none."""
    import socket

    if sys.platform == "win32":
        raise OSError("Python has no Unix sockets on Windows")
    return socket.socket(socket.AF_UNIX)


def unreceived_bytes(sock: Any) -> int:
    """Return how many bytes the system of a socket's peer has not acknowledged, which Linux knows; otherwise 0."""
    if sys.platform != "linux":
        return 0
    from fcntl import ioctl
    from struct import calcsize, unpack
    from termios import TIOCOUTQ

    try:
        (left,) = unpack("i", ioctl(sock.fileno(), TIOCOUTQ, bytes(calcsize("i"))))
    except OSError:
        return 0
    return int(left)


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
