"""What `pipeline` does: check what it needs, run it with its progress on the terminal, and print the result."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import click

from ...common.extras import EXTRAS, missing, needs
from ...common.words import counted
from ..notes import FirstNotes, note
from .flags import WITHOUT, PipelineFlags
from .report import UNTYPED, TableReport, table_report
from .request import pipeline_request
from .tail import TailReport, counts, follow_sources

if TYPE_CHECKING:
    from ...spark.pipeline.run import OnProgress, PipelineRequest, PipelineResult, RunStage


ON_SPARK = ("pyspark", "pyarrow", "numpy", "pandas")
"""Packages that a run on Spark needs; its Java may be one of the system."""
QUERIES = ("duckdb", "sqlglot")
"""Packages that answer the queries of a summary without Spark."""
OBJECT_STORES = ("s3://", "s3a://", "s3n://", "gs://", "gcs://", "abfs://", "abfss://")
"""How the URLs of storages begin on which a run decides with obstore who writes."""
STARTS = f"Spark starts, which takes seconds; for small captures --master {WITHOUT} does the same without a JVM"


def run_pipeline(flags: PipelineFlags) -> int:
    """Run the pipeline and return the exit status; raises UsageError."""
    asked = _asks_for_spark(flags)
    spark = _can_run_spark(flags) if asked is None else asked
    _check_packages(flags, spark)
    if not spark:
        from ...columns.without_pandas import import_arrow

        import_arrow()
    from ...spark.pipeline.run import run

    logging.getLogger().addFilter(_is_not_interrupt)
    request = pipeline_request(flags)._replace(on_spark=spark)
    report = table_report(flags, spark)
    with _progress(flags, STARTS if asked is None else "") as on_progress:
        on_done = report.on_done(request, on_progress)
        if flags.tail:
            on_commit = report.on_commit(request, on_progress)
            result = follow_sources(request, on_progress, on_commit, on_done, every_s=flags.every, quiet=flags.quiet)
        else:
            result = run(request, on_progress, on_done)
            report.make_without_run(request, on_progress)
    return _finish(result, request, report)


@contextmanager
def _progress(flags: PipelineFlags, starts: str) -> "Iterator[OnProgress]":
    """Give what shows the progress: a bar on a terminal, lines anywhere else, nothing with --quiet.

    `starts` is said where Spark starts, if it is not empty.
    """
    from ...spark.pipeline.engine import START
    from ...view.terminal.progress import StageProgress, draws

    if flags.quiet:
        yield lambda stage: None
        return
    progress = StageProgress() if draws(sys.stderr) and not flags.verbose else TailReport()

    def show(stage: "RunStage") -> None:
        progress.show(*stage)
        if stage.name == START and starts:
            note(starts)

    try:
        yield show
    finally:
        progress.close()


def _asks_for_spark(flags: PipelineFlags) -> bool | None:
    """Return whether flags and settings ask for Spark or refuse it, None if they do neither; raises UsageError."""
    from ...spark.session.jvm import PORT
    from ...spark.session.session import configured_master

    given = {"--conf": flags.conf, "--verbose": flags.verbose}
    if flags.master == WITHOUT:
        if wrong := next((name for name, value in given.items() if value), None):
            raise click.UsageError(f"{wrong} is for Spark, and --master {WITHOUT} works without it")
        return False
    if flags.master or flags.conf or flags.verbose or PORT in os.environ or configured_master():
        return True
    return None


def _can_run_spark(flags: PipelineFlags) -> bool:
    """Return whether packages and a Java for Spark are there, and say what is missing."""
    from ...spark.session.jvm import NoSpark, find

    try:
        if lacking := missing(*ON_SPARK):
            raise NoSpark(needs("Spark", lacking, "spark"))
        find()
    except NoSpark as error:
        if not flags.quiet:
            note(f"this run goes on without Spark: {error}")
        return False
    return True


def _is_not_interrupt(record: logging.LogRecord) -> bool:
    """Return whether to show a log record: py4j logs the trace of an interrupt, which the last line reports anyway."""
    return record.exc_info is None or not isinstance(record.exc_info[1], KeyboardInterrupt)


def _check_packages(flags: PipelineFlags, spark: bool) -> None:
    """Raise UsageError that names every package that is missing for these flags."""
    needed: dict[str, tuple[str, ...]] = {"spark": ON_SPARK} if spark else {"columns": EXTRAS["columns"]}
    if flags.report:
        needed["summary"] = EXTRAS["summary"]
    elif not spark and (flags.metrics or flags.summary) and flags.format not in UNTYPED:
        needed["summary"] = QUERIES
    if flags.format in EXTRAS:
        needed[flags.format] = EXTRAS[flags.format]
    if (flags.out or "").startswith(OBJECT_STORES):
        needed["object-stores"] = EXTRAS["object-stores"]
    lacking = {extra: found for extra, packages in needed.items() if (found := missing(*packages))}
    if lacking:
        packages = list(dict.fromkeys(chain.from_iterable(lacking.values())))
        raise click.UsageError(needs("this run", packages, *lacking))


# the result


def _finish(result: "PipelineResult", request: "PipelineRequest", report: TableReport) -> int:
    """Print the result and return the exit status."""
    from ...spark.lake.logs import LOGGED
    from ...spark.pipeline.manifest import MOST_FILES

    full = f"'sources' in {result.manifest} is the file that has all"
    say = FirstNotes(note, lambda more: f"{counted(more, 'more source')} could not be read; {full}")
    for name, problem in result.problems:
        say(f"{name}: {problem}")
    say.end()
    if result.files > MOST_FILES and request.file_format not in LOGGED:
        note(
            f"the tables have {result.files:,} files, and the manifest is made for up to {MOST_FILES:,}: beyond, "
            "--format delta or iceberg"
        )
    if result.forgotten:
        note(
            f"{counted(result.forgotten, 'connection')} forgotten while open, as too many were: what they sent later "
            "counts as that of new connections"
        )
    if report.problem:
        what = "report" if report.page else "file of metrics" if report.metrics else "summary"
        note(f"the tables are complete, but the {what} failed: {report.problem}")
    if report.as_json:
        _print_record(result, report)
    else:
        _print_counts(result, request)
        report.print()
    return 1 if result.problems or result.forgotten or (report.problem and report.files) else 0


def _print_record(result: "PipelineResult", report: TableReport) -> None:
    import json

    from ...report.question import record

    values = result.record()
    if report.wanted:
        values |= {"summary": record(report.summary) if report.summary else None, "report": report.page}
    click.echo(json.dumps(values, separators=(",", ":")))


def _print_counts(result: "PipelineResult", request: "PipelineRequest") -> None:
    if result.known:
        note(f"{counted(result.known, 'source')} had been read before")
    click.echo(f"{counts(result)}: {request.out}" if result.read else "nothing new to read")
