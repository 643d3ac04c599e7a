"""From captures to tables: the driver hands out the work, waits, and makes the result visible."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...columns.scan.shares import shares
from ..session.connect import cores
from ..session.session import Settings, failures, sentence, session
from . import checkpoint as saved
from .manifest import MANIFEST, Manifest, Output, Read, Refused, Row, Taken, opened
from .row_filter import Choice
from .sources import Source, as_path, expand, fetched, is_url, ordered
from .task import Job, pair, progress_of, work

MOST_TASKS = 16
"""Tasks by default, at most. Each scans all captures for its share of the connections, which costs less than moving
packets between tasks as long as these are few."""
LOOK = 0.3
"""Seconds between two looks at how far the tasks have come."""


class Failed(RuntimeError):
    """The work could not be done, and nothing was written; the message is one sentence."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


class Asked(NamedTuple):
    """What a run is to do."""

    sources: tuple[str, ...]
    out: Path
    settings: Settings = Settings()
    mode: str = "error"
    """error, overwrite, append or resume."""
    form: str = "parquet"
    divided: tuple[str, ...] = ()
    """Columns by which tables are divided into folders."""
    choice: Choice = Choice()
    lint: bool = False
    ports: tuple[int, ...] = ()
    partitions: int | None = None
    """Tasks; None for as many as there are cores."""


class Stage(NamedTuple):
    """How far a run has come."""

    name: str
    done: int = 0
    total: int = 0
    """Bytes; 0 where nothing is counted."""


class Result(NamedTuple):
    """What a run did."""

    run: str
    manifest: Path
    rows: dict[str, int]
    """Rows of each table that the run added."""
    read: int
    """Sources that were read, those included that broke off."""
    known: int
    """Sources that had been read before."""
    problems: list[tuple[str, str]]
    """Sources that were not read to their end, and why."""
    seconds: float

    def record(self) -> dict[str, Any]:
        """Return it as values that JSON has."""
        problems = [{"source": name, "problem": problem} for name, problem in self.problems]
        return {**self._asdict(), "manifest": str(self.manifest), "problems": problems}


Tell = Callable[[Stage], None]
Then = Callable[[Any, Path], None]


def run(asked: Asked, tell: Tell | None = None, then: Then | None = None) -> Result:
    """Turn sources into tables; raises NoSource, Refused, NoSpark and Failed, having written nothing.

    `tell` hears of the progress. `then` is called with the session and the folder once the tables are
    there, to ask them something while Spark runs.
    """
    return _Run(asked, tell or (lambda stage: None)).run(then)


class _Run:
    def __init__(self, asked: Asked, tell: Tell) -> None:
        self.asked = asked
        self.tell = tell
        self.begun = datetime.now(UTC)
        self.clock = time.monotonic()
        self.name = f"{self.begun:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"

    def run(self, then: Then | None) -> Result:
        self.tell(Stage("looking at sources"))
        given = [as_path(each) for each in self.asked.sources]
        urls = [each for each in given if is_url(each)]
        found = expand(each for each in given if not is_url(each))
        self._check_apart(found)
        with opened(self.asked.out, self.name, self.asked.mode) as output:
            self._check(output.before)
            sources = self._new(output.before, found)
            if not sources and not urls:
                return self._result([], [], len(found), {})
            self.tell(Stage("starting Spark"))
            with session(self.asked.settings) as spark:
                found += fetched(spark, urls, output.staging.absolute() / "sources") if urls else []
                sources = self._new(output.before, ordered(found))
                rows = self._work(spark, output, sources)
                self._check_replacement(output.before, sources, rows)
                self.tell(Stage("making tables visible"))
                added = self._commit(output, sources, rows).rows(self.name)
                result = self._result(sources, _reads(sources, rows), len(found) - len(sources), added)
                if then:
                    then(spark, self.asked.out)
        return result

    # before

    def _check_apart(self, found: list[Source]) -> None:
        """Raise Refused for a source among the tables, which the run may replace."""
        out = os.path.realpath(self.asked.out)
        for source in found:
            if os.path.realpath(source.path).startswith(os.path.join(out, "")):
                raise Refused(f"{source.name} lies in {self.asked.out}; the tables need a folder without sources")

    def _check(self, before: Manifest) -> None:
        """Raise Refused where a run is to go on otherwise than it began: what it left knows no other way."""
        asked = self.asked
        if asked.mode not in ("append", "resume") or not before.runs:
            return
        last = before.runs[-1]
        for flag, told, wanted in (
            ("--format", last["format"], asked.form),
            ("--partition-by", ",".join(last["divided"]), ",".join(asked.divided)),
            ("--payload", last["payload"], asked.choice.payload),
            ("--lint", last["lint"], asked.lint),
        ):
            if told != wanted:
                how = f"{'with' if told else 'without'} {flag}{'' if told in (True, False, '') else f' {told}'}"
                raise Refused(f"the tables in {asked.out} were made {how}, and new rows have to be like them")
        if asked.mode != "resume" or not before.buckets:
            return
        begun = before.settings.get("ports", [])
        if asked.ports and sorted(set(asked.ports)) != begun:
            told = " ".join(f"--port {port}" for port in begun) or "no --port"
            raise Refused(f"{asked.out} was begun with {told}, and --resume goes on with that; leave --port out")
        if asked.partitions not in (None, before.buckets):
            raise Refused(
                f"{asked.out} was begun with --partitions {before.buckets}, and --resume goes on with that; "
                "leave --partitions out"
            )

    def _new(self, before: Manifest, found: list[Source]) -> list[Source]:
        """Return the sources that are not in the tables yet; one that has grown is read from where it ended."""
        if self.asked.mode not in ("append", "resume"):
            return found
        return [left for source in found if (left := self._left(source, before.taken(source)))]

    def _left(self, source: Source, taken: Taken | None) -> Source | None:
        if taken is None:
            return source
        if taken.size == source.size:
            return None
        if taken.size > source.size:
            return source._replace(problem="it is shorter than when it was read; the rows of then stay in the tables")
        if not source.capture:
            return source._replace(
                problem="the tables hold the beginning of it, and texts are read as a whole: --mode overwrite reads it"
            )
        if self.asked.mode == "resume":
            return source._replace(skip=taken.records)
        return source._replace(problem="the tables hold the beginning of it; --resume reads the rest")

    # the work

    def _work(self, spark: Any, output: Output, sources: list[Source]) -> list[Row]:
        """Return what the tasks wrote; raises Failed."""
        job = self._job(spark, output, sources)
        total = sum(source.size for source in sources)
        # Spark is asked in a thread of its own, so that an interrupt finds nobody in the middle of a question.
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(_both, spark, job)
            try:
                while not wait((done,), LOOK).done:
                    read = sum(progress_of(job, bucket) for bucket in range(job.buckets)) // job.buckets
                    self.tell(Stage("reading captures", min(read, total), total))
                return done.result()
            except KeyboardInterrupt:
                _cancel(spark)
                raise
            except failures() as error:
                raise Failed(f"Spark could not do the work: {sentence(error)}") from None

    def _job(self, spark: Any, output: Output, sources: list[Source]) -> Job:
        asked, before = self.asked, output.before
        resumed = asked.mode == "resume" and before.buckets
        buckets = before.buckets if resumed else asked.partitions or min(_cores(spark), MOST_TASKS)
        states = tuple(str((output.folder / name).absolute()) for name in before.states if resumed)
        captures = [source.path for source in sources if source.capture and not source.problem]
        return Job(
            tuple(sources), buckets, str(output.staging.absolute()), asked.form, asked.divided, asked.choice,
            asked.lint, asked.ports, b"" if states else shares(captures, buckets), states,
        )  # fmt: skip

    # after

    def _check_replacement(self, before: Manifest, sources: list[Source], rows: list[Row]) -> None:
        """Raise Failed where tables would be replaced, and there is nothing to replace them with."""
        reads = _reads(sources, rows)
        if self.asked.mode != "overwrite" or not before.runs or any(read.records for read in reads):
            return
        reasons = [
            f"{source.name}: {read.problem or 'it is empty'}" for source, read in zip(sources, reads, strict=True)
        ]
        more = f", and {len(reasons) - 1:,} more" if reasons[1:] else ""
        raise Failed(f"no source gave a record, so the tables in {self.asked.out} stay: {reasons[0]}{more}")

    def _commit(self, output: Output, sources: list[Source], rows: list[Row]) -> Manifest:
        before = output.before
        keeps = self.asked.mode in ("append", "resume")
        reads = _reads(sources, rows)
        old = Manifest() if not keeps else before
        replaced = [part for part in before.parts if not keeps or (part.open and self.asked.mode == "resume")]
        taken = [
            Taken(
                source.name,
                # As none of it: so a resumed run takes it for one that has grown, and continues after its records.
                0 if read.unread else source.size,
                source.head,
                source.digest,
                self.name,
                read.records,
                read.problem,
                source.stamp,
            )
            for source, read in zip(sources, reads, strict=True)
        ]
        if self.asked.mode == "append" and before.states:
            rows = [row._replace(state="") for row in rows]
        after = replace(
            old, runs=(*old.runs, self._about(rows)), sources=(*old.sources, *taken), parts=before.parts,
            buckets=old.buckets or sum(bool(row.reads) for row in rows),
            settings=old.settings if old.buckets else {"ports": sorted(set(self.asked.ports))},
        )  # fmt: skip
        return output.commit(rows, after, replaced=replaced)

    def _about(self, rows: list[Row]) -> dict[str, Any]:
        from ... import __version__

        asked = self.asked
        return {
            "run": self.name, "begun": self.begun.isoformat(), "ended": datetime.now(UTC).isoformat(),
            "mqttpub": __version__, "mode": asked.mode, "format": asked.form, "divided": list(asked.divided),
            "tasks": len(rows), "seconds": [round(row.seconds, 3) for row in sorted(rows)], **asked.choice._asdict(),
            "lint": asked.lint,
        }  # fmt: skip

    def _result(self, sources: list[Source], reads: list[Read], known: int, rows: dict[str, int]) -> Result:
        problems = [(source.name, read.problem) for source, read in zip(sources, reads, strict=True) if read.problem]
        seconds = time.monotonic() - self.clock
        return Result(self.name, self.asked.out / MANIFEST, rows, len(sources), known, problems, seconds)


def _both(spark: Any, job: Job) -> list[Row]:
    """Let tasks read, then pair, and return what they wrote; raises Failed."""
    rows = _written(distribute(spark, job.buckets, lambda bucket: work(job, bucket)))
    light = [row._replace(parts=(), reads=()) for row in rows]
    return rows + _written(distribute(spark, job.targets, lambda target: pair(job, target, light)))


def _written(rows: list[Row]) -> list[Row]:
    """Return what tasks returned in their order; raises Failed where one could not write."""
    for row in sorted(rows):
        if row.failure:
            raise Failed(row.failure, row.status)
    return sorted(rows)


def distribute(spark: Any, count: int, task: Callable[[int], Row]) -> list[Row]:
    """Return what tasks return, each run by Spark, again where it was lost."""
    if hasattr(spark, "_jsparkSession"):
        return list(spark.sparkContext.parallelize(range(count), count).map(task).collect())
    return _through_connect(spark, count, task)


def _through_connect(spark: Any, count: int, task: Callable[[int], Row]) -> list[Row]:
    """Do the same where there is a server that knows data frames only; raises Failed."""
    import pyarrow as pa

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                done = [saved.dumps(task(number).plain()) for number in batch.column(0).to_pylist()]
            except Exception as error:
                # A server passes on the beginning of a long trace only, and the message is its end.
                raise error.with_traceback(None) from None
            yield pa.record_batch([pa.array(done, pa.binary())], names=["row"])

    frame = spark.range(0, count, 1, count).mapInArrow(rows, "row binary")
    sent = [row.row for row in frame.collect()]
    try:
        # A plain pickle of a server's could run anything here.
        return [Row.of(saved.loads(each)) for each in sent]
    except (saved.StateError, TypeError) as error:
        raise Failed(f"the server sent something else than what tasks return: {error}") from None


def _cancel(spark: Any) -> None:
    if hasattr(spark, "_jsparkSession"):
        spark.sparkContext.cancelAllJobs()
    elif spark is not None:
        spark.interruptAll()


def _cores(spark: Any) -> int:
    return int(spark.sparkContext.defaultParallelism) if hasattr(spark, "_jsparkSession") else cores(spark, MOST_TASKS)


def _reads(sources: list[Source], rows: list[Row]) -> list[Read]:
    """Return what the tasks say of each source, on which they must agree; raises Failed."""
    reads = []
    for position, source in enumerate(sources):
        told = {row.reads[position] for row in rows if row.reads} - {None}
        if len(told) != 1:
            raise Failed(f"{source.name} changed while it was read")
        reads += [read for read in told if read]
    return reads
