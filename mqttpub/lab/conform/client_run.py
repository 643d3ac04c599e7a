"""All cases against one client, several runs of its command at a time."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from .client_cases import ClientCase
from .client_playing import ClientAccess, play_client
from .playing import CaseResult


def run_client(cases: Sequence[ClientCase], access: ClientAccess, jobs: int) -> Iterator[CaseResult]:
    """Play cases, `jobs` at a time, and yield their results in their order; raises UserError.

    Whoever stops listening ends all runs.
    """
    stop = Event()
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="mqttpub conform")
    try:
        for run in pool.map(lambda case: play_client(case, access, stop), cases):
            yield run.result
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
