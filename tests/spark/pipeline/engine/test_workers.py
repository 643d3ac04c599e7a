"""Processes do what they are asked to do, say what failed, and end."""

import os
import pickle
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fcntl import ioctl
from termios import FIONREAD
from typing import Any

import pytest

from mqttpub.spark.pipeline.engine.workers import OnBytes, WorkerEnded, Workers


def doubled(number: int, on_bytes: OnBytes) -> int:
    on_bytes(number)
    sys.stdout.write("what a library prints")
    return 2 * number


def failing(text: str, on_bytes: OnBytes) -> None:
    raise ValueError(text)


def dying(status: int, on_bytes: OnBytes) -> None:
    os._exit(status) if status >= 0 else os.kill(os.getpid(), -status)
    time.sleep(60)


def sleeping(seconds: float, on_bytes: OnBytes) -> None:
    time.sleep(seconds)


def ignore(size: int) -> None:
    """Do nothing with bytes."""


def test_calls_return_and_count() -> None:
    counted: list[int] = []
    with Workers(2) as workers, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: workers.call(doubled, number, on_bytes=counted.append), range(9)))
    assert found == [2 * number for number in range(9)]
    assert sorted(counted) == list(range(9))


def test_what_a_function_raises_is_raised_with_its_trace() -> None:
    with Workers(1) as workers:
        with pytest.raises(ValueError, match="broken") as caught:
            workers.call(failing, "broken", on_bytes=ignore)
        assert "in failing" in caught.value.__notes__[0]
        assert workers.call(doubled, 4, on_bytes=ignore) == 8


class Unreadable:
    """Cannot be unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return failing, ("unreadable", None)


def test_a_task_that_cannot_be_read_is_said() -> None:
    with Workers(1) as workers, pytest.raises(ValueError, match="unreadable"):
        workers.call(doubled, Unreadable(), on_bytes=ignore)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (3, "ended with status 3"),
        (-signal.SIGKILL, "was ended by SIGKILL, as if memory ran out"),
        (-signal.SIGSEGV, "was ended by SIGSEGV"),
    ],
)
def test_a_process_that_ends_is_said(status: int, said: str) -> None:
    with Workers(1) as workers, pytest.raises(WorkerEnded, match=f"^a process of mqttpub {said}$"):
        workers.call(dying, status, on_bytes=ignore)


def long(on_bytes: OnBytes) -> bytes:
    on_bytes(0)
    return bytes(1 << 20)


def test_a_process_that_ends_within_its_answer_is_said() -> None:
    with Workers(1) as workers:
        process = workers.processes[0]

        def kill(size: int) -> None:
            # The pipe holds less than the answer, so the process waits for its reader.
            assert process.stdout
            while int.from_bytes(ioctl(process.stdout, FIONREAD, bytes(4)), sys.byteorder) < 1 << 15:
                assert process.poll() is None
            process.kill()

        with pytest.raises(WorkerEnded, match=r"^a process of mqttpub was ended by SIGKILL, as if memory ran out$"):
            workers.call(long, on_bytes=kill)


def test_processes_end_with_the_one_that_started_them() -> None:
    with Workers(2) as workers:
        for process, sent in zip(workers.processes, (b"", pickle.dumps(bytes(100))[:50]), strict=True):
            assert process.stdin
            process.stdin.write(sent)
            process.stdin.close()
            assert process.wait(timeout=30) == 0
            process.stdin = None


def test_end_ends_a_call() -> None:
    with Workers(1) as workers, ThreadPoolExecutor(1) as pool:
        call = pool.submit(workers.call, sleeping, 60, on_bytes=ignore)
        workers.end()
        with pytest.raises(WorkerEnded):
            call.result()
