"""From captures to tables: the driver starts the tasks, waits for them, and makes the result visible."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from ...columns.schema import digest
from ..lake.logs import LOGGED, check
from ..session.session import Settings, session
from ..storage.files import as_path, is_url, locate
from ..storage.folder import StorageFolder
from .engine import COMMIT, LIST, START, STOP, Failed, TaskEngine
from .engine.local import SMALLEST, LocalEngine, cores
from .engine.spark import TASKS, SparkEngine, failing, session_cores
from .flow import examined
from .job import BUCKETS, FIRST_BUCKETS, TARGET_BYTES, Job, SourceResult, TaskResult, buckets_for
from .manifest import MANIFEST, KnownSources, Manifest, OutputRefused, SourceRecord
from .output import Output, logged_tables, opened
from .record_numbers import write_names
from .row_filter import RowFilter
from .shuffle.counts import source_results
from .sources import NoSource, Source, examine_all, expand, fetched, opens, ordered
from .tables import SCHEMAS

BRIEF = 64_000_000
"""Bytes of sources up to which the JVM does not run long enough for its better compiler to pay."""
MANY = 10_000
"""Files at URLs that this process looks at itself, at most: each takes it a millisecond and two requests."""
MOST_RUNS = 100
"""Runs that a manifest describes, at most the last so many."""
POLL_S = 0.3
"""Seconds between two looks at the progress of the tasks."""


class PipelineRequest(NamedTuple):
    """What one run reads, how, and where it writes."""

    sources: tuple[str, ...]
    out: str | Path
    """The path or URL of the folder of tables."""
    settings: Settings = Settings()
    on_spark: bool = True
    """Whether Spark does the work, or processes of this machine."""
    mode: str = "error"
    """error, overwrite, append or resume."""
    growing: bool = False
    """Whether sources are still being written, so that a missing end is not a problem of theirs."""
    file_format: str = "parquet"
    partition_by: tuple[str, ...] = ()
    """Columns by which tables are divided into folders."""
    target_bytes: int = TARGET_BYTES
    """The size of the files that small Parquet files of the run are joined to."""
    row_filter: RowFilter = RowFilter()
    lint: bool = False
    ports: tuple[int, ...] = ()
    key_log: str = ""
    """Path or URL of a file with keys for TLS (SSLKEYLOGFILE), which all tasks reach."""
    partitions: int | None = None
    """About how many tasks share each stage of the work; None for two for each core."""


class RunStage(NamedTuple):
    """The current stage of a run, and its progress."""

    name: str
    done: int = 0
    total: int = 0
    """Bytes, or what `unit` names; 0 for a stage without a measure."""
    unit: str = "bytes"


class PipelineResult(NamedTuple):
    """What a run read and wrote."""

    run: str
    manifest: str | Path
    """Its path or URL."""
    rows: dict[str, int]
    """Number of rows that the run added to each table."""
    read: int
    """Number of sources that were read, including incomplete ones."""
    known: int
    """Number of sources that an earlier run had read."""
    problems: list[tuple[str, str]]
    """Sources that were not read completely, and why."""
    seconds: float
    forgotten: int = 0
    """Connections that were dropped before they ended, as more were open than are remembered."""
    files: int = 0
    """Number of files that all tables have."""

    def record(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        problems = [{"source": name, "problem": problem} for name, problem in self.problems]
        return {**self._asdict(), "manifest": str(self.manifest), "problems": problems}


OnProgress = Callable[[RunStage], None]
OnDone = Callable[[Any, str | Path], None]


def run(
    request: PipelineRequest, on_progress: OnProgress | None = None, on_done: OnDone | None = None, *,
    found: list[Source] | None = None, spark: Any = None,
) -> PipelineResult:  # fmt: skip
    """Turn sources into tables.

    `found` is what `expand` returns for the sources, if that is known, and `spark` a session for the work.
    `on_progress` is called with each stage and its progress. `on_done` is called with the session, None without
    Spark, and the folder when the tables are complete, for queries while Spark is still running. Raises UserError
    (NoSource, OutputRefused, LakeError), NoSpark, Failed and OSError with nothing written, and LogsOutdated with
    all of it in the manifest.
    """
    return _PipelineRun(request, on_progress or (lambda stage: None), spark).run(on_done, found)


class _PipelineRun:
    def __init__(self, request: PipelineRequest, on_progress: OnProgress, spark: Any) -> None:
        self.spark = spark
        self.request = request
        self.on_progress = on_progress
        self.begun = datetime.now(UTC)
        self.clock = time.monotonic()
        self.buckets = BUCKETS
        """Into how many the connections are divided."""
        self.name = f"{self.begun:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"

    def run(self, on_done: OnDone | None, found: list[Source] | None) -> PipelineResult:
        self.on_progress(RunStage(LIST))
        given = [as_path(each) for each in self.request.sources]
        urls = [each for each in given if not opens(each)]
        if urls and not self.request.on_spark:
            raise NoSource(f"'{urls[0]}' is opened by Hadoop alone, and this run is without Spark")
        with ExitStack() as stack:
            if found is None:
                found = expand((each for each in given if each not in urls), partial(self._looked_at, stack))
            return self._run(found, urls, on_done)

    def _run(self, found: list[Source], urls: list[str], on_done: OnDone | None) -> PipelineResult:
        self._check_apart(found)
        if self.request.file_format in LOGGED:
            self._check_logs(Manifest(), self.request.file_format, self.request.partition_by)
        with opened(self.request.out, self.name, self.request.mode) as output:
            self._check(output.before)
            sources = self._new(output, found)
            if not sources and not urls:
                return self._result([], [], len(found), {})
            with self._session(sources, urls) as spark:
                found += self._fetched(spark, output, urls)
                sources = self._new(output, ordered(found))
                rows, reads = self._work(spark, output, sources)
                self._check_replacement(output.before, sources, reads)
                self.on_progress(RunStage(COMMIT))
                after = self._commit(output, sources, rows, reads)
                result = self._result(sources, reads, len(found) - len(sources), after.rows(self.name))
                result = result._replace(forgotten=sum(row.forgotten for row in rows), files=len(after.parts))
                if on_done:
                    on_done(spark, self.request.out)
                if spark and not self.spark:
                    self.on_progress(RunStage(STOP))
        return result

    # before

    def _looked_at(self, stack: ExitStack, paths: Sequence[str]) -> list[Source]:
        """Return the sources for files, which tasks of Spark look at where there are very many at URLs."""
        if self.request.on_spark is False or sum(map(is_url, paths)) < MANY:
            return examine_all(paths)
        if not self.spark:
            self.on_progress(RunStage(START))
            self.spark = stack.enter_context(session(self.request.settings))
            self.on_progress(RunStage(LIST))
        with failing():
            return examined(self.spark, paths)

    @staticmethod
    def _fetched(spark: Any, output: Output, urls: list[str]) -> list[Source]:
        """Return the files at URLs that only Hadoop opens, copied to where tasks find them."""
        if not urls:
            return []
        if not output.folder.is_local:
            raise NoSource(
                f"'{urls[0]}' is opened by Hadoop alone, whose copies need a shared folder: give a path as --out"
            )
        return fetched(spark, urls, Path(output.staging).absolute() / "sources")

    def _check_apart(self, found: list[Source]) -> None:
        """Raise OutputRefused for a source below the output folder, whose files the run may replace."""
        out = _whole(self.request.out)
        for source in found:
            if _whole(source.path).startswith(os.path.join(out, "")):
                raise OutputRefused(f"{source.name} is in {self.request.out}; the tables need a folder without sources")

    def _check(self, before: Manifest) -> None:
        """Raise OutputRefused where the request does not fit the tables it adds to, or the state it resumes."""
        request = self.request
        if not before.runs:
            return
        last = before.runs[-1]
        self._check_replaced(last)
        self._check_columns(before)
        if last["format"] in LOGGED:
            self._check_logs(before, last["format"], last["divided"])
        if request.mode not in ("append", "resume"):
            return
        for flag, found, wanted in (
            ("--format", last["format"], request.file_format),
            ("--partition-by", ",".join(last["divided"]), ",".join(request.partition_by)),
            ("--payload", last["payload"], request.row_filter.payload),
            ("--lint", last["lint"], request.lint),
            ("--key-log", last.get("key_log", False), bool(request.key_log)),
        ):
            if found != wanted:
                how = f"{'with' if found else 'without'} {flag}{'' if found in (True, False, '') else f' {found}'}"
                raise OutputRefused(f"the tables in {request.out} were made {how}, and new rows must match them")
        if request.mode != "resume" or not before.states:
            return
        begun = before.settings.get("ports", [])
        if request.ports and sorted(set(request.ports)) != begun:
            flags = " ".join(f"--port {port}" for port in begun) or "no --port"
            raise OutputRefused(
                f"{request.out} was begun with {flags}, and --resume continues with that; leave --port out"
            )

    def _check_logs(self, before: Manifest, table_format: str, partition_by: Sequence[str]) -> None:
        """Raise LakeError where the logs of the tables cannot be written."""
        out = self.request.out
        check(table_format, str(out), logged_tables(StorageFolder(out), partition_by, before))

    def _check_columns(self, before: Manifest) -> None:
        """Raise OutputRefused where tables with other columns would stay beside the rows of this run."""
        request, is_logged = self.request, before.runs[-1]["format"] in LOGGED
        if before.columns == digest() or (request.mode == "overwrite" and not is_logged):
            return
        how = "into a new folder" if is_logged else "with --mode overwrite or into a new folder"
        raise OutputRefused(
            f"the tables in {request.out} have other columns than this version of mqttpub writes: read all captures "
            f"again, {how}"
        )

    def _check_replaced(self, last: dict[str, Any]) -> None:
        """Raise OutputRefused where tables with a log would be replaced by tables that it cannot describe."""
        request = self.request
        same = last["format"] == request.file_format and last["divided"] == list(request.partition_by)
        if last["format"] in LOGGED and request.mode == "overwrite" and not same:
            how = f"partitioned by {','.join(last['divided'])}" if last["divided"] else "without partitions"
            raise OutputRefused(
                f"{request.out} has {last['format']} tables {how}, and their log cannot change that: choose the same, "
                "or a new folder"
            )

    def _new(self, output: Output, found: list[Source]) -> list[Source]:
        """Return the sources that are not in the tables yet; one that has grown is read from its old end."""
        if self.request.mode not in ("append", "resume"):
            return found
        return [left for source in found if (left := self._left(source, output.known.taken(source)))]

    def _left(self, source: Source, taken: SourceRecord | None) -> Source | None:
        if taken is None:
            return source
        if taken.compressed != source.compressed:
            # A ring may compress a file before all of it was read; how much is in it is known only at its end.
            return source._replace(skip=taken.records) if self.request.mode == "resume" else None
        if taken.size == source.size:
            return None
        if taken.size > source.size:
            read = "it was read" if taken.name == source.name else f"it was read as {taken.name}"
            return source._replace(problem=f"it has shrunk since {read}; its rows stay in the tables")
        if not source.capture:
            return source._replace(
                problem="the tables hold its beginning, and texts are read as a whole: --mode overwrite reads it"
            )
        if self.request.mode == "resume":
            return source._replace(skip=taken.records, start=taken.end, before=taken.before)
        return source._replace(problem="the tables hold its beginning; --resume reads the rest")

    # the work

    def _session(self, sources: list[Source], urls: list[str]) -> AbstractContextManager[Any]:
        """Return a context that gives a session of Spark, or None where the work is done without."""
        if self.spark:
            return nullcontext(self.spark)
        if not self.request.on_spark:
            return nullcontext()
        self.on_progress(RunStage(START))
        total = sum(source.size - source.start for source in sources)
        return session(self.request.settings._replace(brief=not urls and total <= BRIEF))

    def _work(self, spark: Any, output: Output, sources: list[Source]) -> tuple[list[TaskResult], list[SourceResult]]:
        """Run the tasks and return their results, and those of the sources; raises Failed."""
        total = sum(source.size - source.start for source in sources)
        processes = cores() if total > SMALLEST else 1
        tasks = self.request.partitions or (TASKS * session_cores(spark) if spark else processes)
        job = self._job(output, sources, tasks)
        self.buckets = job.buckets
        # Work is done in a thread of its own, so that an interrupt never hits the middle of a call of Spark.
        with self._engine(spark, output, job, sources, processes) as engine, ThreadPoolExecutor(1) as pool:
            done = pool.submit(engine.run)
            try:
                while not wait((done,), POLL_S).done:
                    stage, share = engine.progress()
                    self.on_progress(RunStage(stage, int(share * total), total))
                rows = done.result()
                return rows, _reads(sources, rows, job.first)
            except KeyboardInterrupt:
                engine.cancel()
                raise

    @contextmanager
    def _engine(
        self, spark: Any, output: Output, job: Job, sources: list[Source], processes: int
    ) -> Iterator[TaskEngine]:
        """Give what does the tasks."""
        if spark:
            yield SparkEngine(spark, job, sources)
            return
        with TemporaryDirectory(prefix="rows-", dir=output.staging if output.folder.is_local else None) as folder:
            yield LocalEngine(job, sources, folder, processes)

    def _job(self, output: Output, sources: list[Source], tasks: int) -> Job:
        request, before = self.request, output.before
        job = Job(
            staging=_absolute(output.staging), run=self.name, file_format=request.file_format,
            partition_by=request.partition_by, target_bytes=request.target_bytes,
            row_filter=request.row_filter, lint=request.lint, ports=request.ports,
            key_log=request.key_log and _absolute(request.key_log),
            resumable=request.mode == "resume", buckets=buckets_for(tasks), tasks=tasks,
        )  # fmt: skip
        finished = KnownSources()
        if request.mode == "resume" and before.states:
            finished = self._finished(output.known, sources)
            buckets = before.settings.get("buckets", FIRST_BUCKETS)
            job = job._replace(
                first=len(finished), records=before.settings["records"], buckets=max(job.buckets, buckets),
                buckets_before=buckets,
                states=tuple(_absolute(output.folder.place(name)) for name in before.states),
            )  # fmt: skip
        write_names(job, [*finished.names(), *(each.name for each in sources)])
        return job

    @staticmethod
    def _finished(known: KnownSources, sources: list[Source]) -> KnownSources:
        """Return the sources of earlier runs, without the last one if the first new one is what was appended to it.

        That keeps its number, as a file to which something is appended every few seconds would soon have thousands.
        """
        if not known or not sources or not sources[0].skip:
            return known
        last = known[len(known) - 1]
        is_last = known.taken(sources[0]) == last and last.name == sources[0].name
        return known.first(len(known) - 1) if is_last else known

    # after

    def _check_replacement(self, before: Manifest, sources: list[Source], reads: list[SourceResult]) -> None:
        """Raise Failed where tables would be replaced by nothing."""
        if self.request.mode != "overwrite" or not before.runs or any(read.records for read in reads):
            return
        reasons = [
            f"{source.name}: {read.problem or 'it is empty'}" for source, read in zip(sources, reads, strict=True)
        ]
        more = f", and {len(reasons) - 1:,} more" if reasons[1:] else ""
        raise Failed(f"no source contained a record, so the tables in {self.request.out} stay: {reasons[0]}{more}")

    def _commit(
        self, output: Output, sources: list[Source], rows: list[TaskResult], reads: list[SourceResult]
    ) -> Manifest:
        before = output.before
        keeps = self.request.mode in ("append", "resume")
        old = Manifest() if not keeps else before
        replaced = [part for part in before.parts if not keeps or (part.open and self.request.mode == "resume")]
        taken = (
            SourceRecord(
                name=source.name,
                # With size 0 a resumed run regards it as one that has grown, and continues after its records.
                size=0 if read.unread else source.size,
                head=source.head, digest=source.digest, run=self.name, records=read.records, problem=read.problem,
                stamp=source.stamp, first=source.first, compressed=source.compressed, end=read.end,
                before=read.before, cut=read.cut,
            )
            for source, read in zip(sources, reads, strict=True)
        )  # fmt: skip
        settings: dict[str, Any] = {"ports": sorted(set(self.request.ports)), "records": 0}
        if keeps and before.states:
            settings = before.settings
        if self.request.mode == "append" and before.states:
            rows = [row._replace(state="") for row in rows]
        else:
            captures = (pair for pair in zip(sources, reads, strict=True) if pair[0].capture)
            added = sum(read.records - source.skip for source, read in captures)
            settings = {**settings, "records": settings["records"] + added, "buckets": self.buckets}
        known = output.known if keeps else KnownSources()
        kept = self._finished(known, sources) if self.request.mode == "resume" else known
        after = replace(
            old, runs=(*old.runs, self._about(rows, before))[-MOST_RUNS:], parts=before.parts, settings=settings,
            columns=digest(),
        )  # fmt: skip
        return output.commit(rows, after, replaced=replaced, known=kept.joined(KnownSources.of(taken)))

    def _about(self, rows: list[TaskResult], before: Manifest) -> dict[str, Any]:
        from ... import __version__

        request = self.request
        return {
            "run": self.name, "number": before.runs[-1]["number"] + 1 if before.runs else 1,
            "begun": self.begun.isoformat(), "ended": datetime.now(UTC).isoformat(),
            "mqttpub": __version__, "mode": request.mode, "format": request.file_format,
            "divided": list(request.partition_by), "tasks": len(rows),
            "seconds": [round(row.seconds, 3) for row in rows],
            **request.row_filter._asdict(), "lint": request.lint, "key_log": bool(request.key_log),
        }  # fmt: skip

    def _result(
        self, sources: list[Source], reads: list[SourceResult], known: int, rows: dict[str, int]
    ) -> PipelineResult:
        problems = [
            (source.name, read.problem)
            for source, read in zip(sources, reads, strict=True)
            if read.problem and not (read.cut and self.request.growing)
        ]
        rows = {name: rows[name] for name in SCHEMAS if name in rows}
        seconds = time.monotonic() - self.clock
        return PipelineResult(
            self.name, StorageFolder(self.request.out).place(MANIFEST), rows, len(sources), known, problems, seconds
        )


def _absolute(place: str) -> str:
    return place if is_url(place) else os.path.abspath(place)


def _whole(place: str | Path) -> str:
    """Return a path without links, or what stands for a URL whatever its scheme is called."""
    if not is_url(str(place)):
        return os.path.realpath(place)
    at = locate(str(place))
    return f"{at.system.type_name}:{at.path}"


def _reads(sources: list[Source], rows: list[TaskResult], first: int) -> list[SourceResult]:
    """Return what tasks found in each source, the first of which has that number.

    Raises Failed where that is missing, or a task could not read or write.
    """
    for row in rows:
        if row.failure:
            raise Failed(row.failure, row.status)
    found = source_results(read for row in rows for read in row.reads)
    for number, source in enumerate(sources, first):
        if number not in found:
            raise Failed(f"{source.name} was not read")
    return [found[number] for number in range(first, first + len(sources))]
