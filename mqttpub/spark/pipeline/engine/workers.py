"""Processes of this Python that do tasks where Spark does not run."""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, BinaryIO

from ....columns.without_pandas import import_arrow
from ...session.session import THREADS

OnBytes = Callable[[int], None]
"""Called with the number of bytes that a task did since the last call."""
_BEGIN = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from {name} import serve; serve()"


class WorkerEnded(RuntimeError):
    """A process ended before its task was done; the message is one sentence."""


class Workers:
    """Processes that call functions, each one at a time; as a context manager it ends them, whatever they do."""

    def __init__(self, count: int) -> None:
        environ = {**os.environ, **dict.fromkeys(THREADS, "1")}
        self.processes: list[subprocess.Popen[bytes]] = []
        """All of them, idle or not."""
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-c", _BEGIN.format(name=__name__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=environ,
                process_group=0,  # an interrupt is for this process, which then ends the others
            )  # fmt: skip
            self.processes.append(process)
            self._idle.put(process)
            with suppress(BrokenPipeError):
                _send(_pipe(process.stdin), sys.path)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        for process in self.processes:
            process.communicate()

    def end(self) -> None:
        """End all processes; calls that wait for them raise WorkerEnded."""
        for process in self.processes:
            process.kill()

    def call(self, function: Callable[..., Any], *given: Any, on_bytes: OnBytes) -> Any:
        """Return what a function returns in one of the processes, or raise what it raises there.

        The function gets `on_bytes` after the other arguments. Several threads may call at a time, and wait for
        an idle process. Raises WorkerEnded.
        """
        process = self._idle.get()
        try:
            _send(_pipe(process.stdin), pickle.dumps((function, given), pickle.HIGHEST_PROTOCOL))
            while type(answer := pickle.load(_pipe(process.stdout))) is int:
                on_bytes(answer)
        except (EOFError, pickle.UnpicklingError, BrokenPipeError):
            raise WorkerEnded(f"a process of mqttpub {_how(process.wait())}") from None
        finally:
            self._idle.put(process)
        done, value = answer
        if not done:
            raise value
        return value


def serve() -> None:
    """Do the tasks that come on standard input, until it ends."""
    import_arrow()
    answers = os.fdopen(os.dup(1), "wb")
    # What a library prints must not come between the answers.
    os.dup2(2, 1)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(tasks,), daemon=True).start()
    while True:
        task = tasks.get()
        try:
            function, given = pickle.loads(task)
            answer = True, function(*given, lambda size: _send(answers, size))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            answer = False, error
        _send(answers, answer)


def _receive(tasks: "SimpleQueue[bytes]") -> None:
    """Pass on the tasks that come; when the process that sends them is gone, so is any reason to do the last one."""
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)


def _send(pipe: BinaryIO, value: Any) -> None:
    pickle.dump(value, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _pipe(pipe: Any) -> BinaryIO:
    assert pipe is not None, "all pipes were asked for"
    return pipe  # type: ignore[no-any-return]


def _how(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    return f"was ended by {name}{', as if memory ran out' if -status == signal.SIGKILL else ''}"
