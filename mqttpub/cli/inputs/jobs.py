"""Work in processes of their own, and what they print.

A process is a copy of this one, so that work may be any function; where the system cannot fork, `available` says so,
and the caller does the work itself. A process ends when the one that started it ends, even if that was killed.
"""

import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection, wait
from threading import Thread
from traceback import format_exc
from typing import Any

from ...common.errors import UserError
from ..signals import WORDS


def available() -> bool:
    """Whether work can be done in processes of their own."""
    return "fork" in get_all_start_methods()


class ProcessFailed(Exception):
    """A piece of work raised an error that nobody expects; the message is its traceback."""


class Processes:
    """Does pieces of work, at most `most` at once; leaving the context ends those that are not done.

    A piece is a function without arguments. `done` raises the UserError or OSError of a piece, and ProcessFailed for
    any other error.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._context = get_context("fork")
        self._waiting: deque[tuple[Any, Callable[[], Any]]] = deque()
        self._running: dict[Connection, tuple[Any, Any]] = {}
        # Nobody writes to it: the reading end reports the end of the file when this process has ended.
        self._lifeline = os.pipe()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.clear()
        for _, process in self._running.values():
            process.terminate()
        for connection, (_, process) in self._running.items():
            process.join()
            connection.close()
        for end in self._lifeline:
            os.close(end)

    def add(self, key: Any, work: Callable[[], Any], *, first: bool = False) -> None:
        """Add a piece of work, after or before those that wait."""
        (self._waiting.appendleft if first else self._waiting.append)((key, work))
        self._start()

    def done(self) -> Iterator[tuple[Any, Any]]:
        """Yield keys and results as they come; while iterating, more work may be added.

        Raises UserError for a process that was killed.
        """
        while self._running:
            for ready in wait(list(self._running)):
                assert isinstance(ready, Connection)
                key, process = self._running[ready]
                try:
                    worked, result = ready.recv()
                except EOFError:
                    process.join()
                    how = f"was killed by signal {-process.exitcode}" if process.exitcode < 0 else "ended too soon"
                    raise UserError(f"--jobs: a process that read a file {how}") from None
                process.join()
                del self._running[ready]
                ready.close()
                self._start()
                if not worked:
                    raise result
                yield key, result

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.most:
            key, work = self._waiting.popleft()
            here, there = self._context.Pipe(duplex=False)
            # What is not written yet would be in both processes.
            sys.stdout.flush()
            sys.stderr.flush()
            # A signal that arrives before the process looks out for it would be reported with a traceback.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
            try:
                process = self._context.Process(target=_work, args=(work, there, self._lifeline, mask))
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            there.close()
            self._running[here] = key, process


def _work(work: Callable[[], Any], answer: Connection, lifeline: tuple[int, int], mask: Iterable[int]) -> None:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        reading, writing = lifeline
        os.close(writing)
        Thread(target=_end_at_end_of, args=(reading,), daemon=True).start()
        try:
            answer.send((True, work()))
        except Exception as error:
            # The process that waits for this may have been interrupted.
            with suppress(BrokenPipeError):
                answer.send((False, error if isinstance(error, (UserError, OSError)) else ProcessFailed(format_exc())))
        signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)
    except KeyboardInterrupt:
        os._exit(130)


def _end_at_end_of(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(1)


@contextmanager
def printing_to(path: str, *, width: int, color: bool) -> Iterator[None]:
    """Within the context, standard output goes to a file; `width` and `color` are those that drawing code finds."""
    os.environ["COLUMNS"] = str(width)
    os.environ["FORCE_COLOR" if color else "NO_COLOR"] = "1"
    before = sys.stdout
    with open(path, "w", encoding=before.encoding, errors=before.errors, newline="") as sys.stdout:
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stdout = before


def print_file(path: str, begin: bytes = b"") -> bool:
    """Write a file to standard output, `begin` before it; return whether it has any bytes."""
    sys.stdout.flush()
    with open(path, "rb") as file:
        some = os.fstat(file.fileno()).st_size > 0
        if some:
            sys.stdout.buffer.write(begin)
            shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()
    return some
