"""The tasks on Spark, in this process or through Spark Connect."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...session.connect import cores
from ...session.session import failures, sentence
from ..checkpoint import StateError
from ..flow import distribute
from ..job import Job, TaskResult
from ..route import is_large, units
from ..sources import Source
from . import FIND, JOIN, PAIR, READ, ROUTE, Failed, StageShare

TASKS = 2
"""Tasks for each core, so that one core does not wait long for another."""
MOST_CORES = 256
"""Cores that a Spark Connect server is believed to have, at most."""


class SparkEngine:
    """Does the tasks of a job in a session."""

    def __init__(self, spark: Any, job: Job, sources: Sequence[Source]) -> None:
        self._spark = spark
        self.job = job
        self._given = units(sources, job)
        # What the driver gives is divided among tasks before these begin.
        routes = [ROUTE] * (3 if job.states else 2)
        self._stages = (*([FIND] * 2 if any(map(is_large, self._given)) else []), *routes, READ, PAIR, JOIN)
        self._shares: dict[int, float] = {}
        """How far each stage of Spark is, 0 to 1, by its number, of those that were heard of."""
        self._here = hasattr(spark, "_jsparkSession")
        self._before = self._jobs()

    def run(self) -> list[TaskResult]:
        """Do all tasks and return their results; raises Failed."""
        with failing(), self._heard():
            return distribute(self._spark, self.job, self._given)

    def progress(self) -> StageShare:
        """Return how far it is; raises Failed, because the JVM may end between two calls."""
        with failing():
            return self._progress()

    def _progress(self) -> StageShare:
        if self._here:
            tracker = self._spark.sparkContext.statusTracker()
            active = [stage for each in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(each))]
            done, count = (
                sum(int(getattr(each, name)) for each in active) for name in ("numCompletedTasks", "numTasks")
            )
            # Spark makes a job of each stage, whose number of tasks depends on the one before.
            number, share = len(self._jobs() - self._before), done / max(count, 1)
        else:
            shares = dict(self._shares)
            number, share = len(shares), shares[max(shares)] if shares else 0.0
        return StageShare(self._stages[min(max(number, 1), len(self._stages)) - 1], share)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Hear of the progress through Spark Connect, until the block ends."""
        if self._here:
            yield
            return

        def hear(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
            for each in stages or ():
                self._shares[each.stage_id] = each.num_completed_tasks / max(each.num_tasks, 1)

        self._spark.registerProgressHandler(hear)
        try:
            yield
        finally:
            self._spark.removeProgressHandler(hear)

    def cancel(self) -> None:
        """Make `run` end soon."""
        if self._here:
            self._spark.sparkContext.cancelAllJobs()
        else:
            self._spark.interruptAll()

    def _jobs(self) -> set[int]:
        return set(self._spark.sparkContext.statusTracker().getJobIdsForGroup(None)) if self._here else set()


@contextmanager
def failing() -> Iterator[None]:
    """Raise Failed for what Spark raises."""
    try:
        yield
    except StateError as error:
        raise Failed(str(error)) from None
    except failures() as error:
        raise Failed(f"Spark failed: {sentence(error)}") from None


def session_cores(spark: Any) -> int:
    """Return how many tasks the session of Spark runs at the same time, through Spark Connect as well."""
    return int(spark.sparkContext.defaultParallelism) if hasattr(spark, "_jsparkSession") else cores(spark, MOST_CORES)
