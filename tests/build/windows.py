"""This Python as that of Windows is: without the modules and names that it lacks, and with its `select`.

`python -m tests.build.windows decode FILE` runs the program so. What Windows does otherwise than lacking something,
such as paths, its terminal and how its sockets end, is not shown.
"""

import asyncio
import multiprocessing
import multiprocessing.connection
import os
import select
import selectors
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any, cast

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
NAMES: dict[ModuleType, tuple[str, ...]] = {
    os: (
        "fchmod", "fork", "getpgid", "getpgrp", "getsid", "geteuid", "getuid", "killpg", "mkfifo", "openpty", "pread",
        "pwrite", "sched_getaffinity", "setsid", "sysconf", "tcgetpgrp", "waitid",
    ),
    select: ("poll", "epoll", "PIPE_BUF"),
    selectors: ("PollSelector", "EpollSelector"),
    signal: (
        "SIGHUP", "SIGKILL", "SIGPIPE", "SIGCHLD", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGCONT", "SIGWINCH",
        "alarm", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait",
    ),
    socket: ("AF_UNIX", "MSG_DONTWAIT", "TCP_QUICKACK"),
}  # fmt: skip
"""What Windows lacks in the modules that it has."""
NOT_A_SOCKET = 10038
_select = select.select


def become() -> None:
    """Take everything away; modules of Python that need it for themselves are imported before that."""
    assert asyncio
    assert multiprocessing.connection
    assert subprocess
    for name in MODULES:
        vars(sys)["modules"][name] = None
    for module, names in NAMES.items():
        for name in names:
            vars(module).pop(name, None)
    vars(select)["select"] = _sockets_only
    vars(selectors)["SelectSelector"]._select = staticmethod(_sockets_only)
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc,assignment]
    socket.socketpair = _socketpair  # type: ignore[assignment]
    multiprocessing.get_all_start_methods = lambda: ["spawn"]
    kill = signal.Signals(9)
    vars(subprocess)["Popen"].kill = lambda process: process.send_signal(kill)
    sys.modules["msvcrt"] = cast(ModuleType, SimpleNamespace(LK_NBLCK=2, locking=lambda *given: None))
    from mqttpub.common import system

    vars(system)["sys"] = SimpleNamespace(platform="win32")
    vars(system).update(HANG_UP=None, GIVES_KEYS=False, PIPE_BYTES=512)


def _sockets_only(*given: Any) -> Any:
    """Wait for sockets; raises OSError for anything else, as Winsock does."""
    files: Iterable[Any] = (each for group in given[:3] for each in group)
    for file in files:
        descriptor = file if isinstance(file, int) else file.fileno()
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(NOT_A_SOCKET, "An operation was attempted on something that is not a socket")
    return _select(*given)


def _socketpair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a connection, made as Python makes them on Windows."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        return ours, listener.accept()[0]


if __name__ == "__main__":
    become()
    from mqttpub.cli.main import main

    sys.exit(main(sys.argv[1:]))
