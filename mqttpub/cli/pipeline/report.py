"""The report of `pipeline`: checks before the run, queries about its tables, the summary and the page."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...common.errors import UserError
from ..notes import note
from .flags import PipelineFlags

if TYPE_CHECKING:
    from ...common.files import Kind
    from ...report.answers import OnShare
    from ...report.question import Answers
    from ...spark.pipeline.run import OnDone, OnProgress, PipelineRequest

JSON_NAMES = ".json"
"""What the name of metrics in JSON ends in."""
UNTYPED = ("csv", "json")
"""Formats whose files do not say the types of their columns."""


def table_report(flags: PipelineFlags, spark: bool) -> "TableReport":
    """Return what the flags ask for; raises UsageError and UserError for what cannot be."""
    _check_format(flags, spark)
    if flags.report:
        check_page(flags.report, flags.source, flags.out or "")
    if flags.metrics:
        check_metrics(flags.metrics, flags.source, flags.out or "")
    against = None if flags.against is None else check_against(flags)
    # Whoever ends a long run does not wait for queries about all of it.
    by_default = not flags.tail and (flags.as_json or sys.stdout.isatty())
    shown = by_default if flags.summary is None else flags.summary
    # Where nobody asked for a summary, it must be quick.
    thorough = bool(flags.report or flags.summary)
    starts_spark = (thorough or flags.as_json or bool(flags.metrics)) and spark
    return TableReport(
        flags.report, flags.metrics, against, shown=shown, as_json=flags.as_json, thorough=thorough,
        starts_spark=starts_spark,
    )  # fmt: skip


def _check_format(flags: PipelineFlags, spark: bool) -> None:
    """Raise UsageError where queries that are asked for cannot read tables of this format."""
    from ...spark.storage.files import as_path, is_url

    asked = {"--report": flags.report, "--metrics": flags.metrics, "--summary": flags.summary}
    wanted = next((flag for flag, value in asked.items() if value), "")
    if not wanted or flags.format not in UNTYPED:
        return
    if is_url(as_path(flags.out or "")):
        raise click.UsageError(
            f"{wanted} of tables at a URL needs --format parquet, orc, delta or iceberg, not {flags.format}"
        )
    if not spark:
        raise click.UsageError(f"{wanted} needs Spark for tables in {flags.format}")


class TableReport:
    """Queries the finished tables for the summary on the terminal and for the page."""

    def __init__(
        self, page: str | None, metrics: str | None, against: str | None, *, shown: bool, as_json: bool,
        thorough: bool, starts_spark: bool,
    ) -> None:  # fmt: skip
        self.page = page
        self.metrics = metrics
        """The file for the numbers of the summary."""
        self.against = against
        """The tables of another run, by path or URL."""
        self.shown = shown
        self.as_json = as_json
        self.thorough = thorough
        """Whether to ask the questions that take a while, too."""
        self.starts_spark = starts_spark
        """Whether to start Spark for queries that nothing else answers."""
        self.summary: Answers | None = None
        self.problem = ""
        """Why the queries failed; empty if they did not."""

    @property
    def wanted(self) -> bool:
        """Whether there is anything to query."""
        return self.shown or self.files

    @property
    def files(self) -> bool:
        """Whether there is a file to write."""
        return self.page is not None or self.metrics is not None

    def on_done(self, request: "PipelineRequest", on_progress: "OnProgress") -> "OnDone | None":
        """Return what a run calls when its tables are complete; None where there is nothing to query."""

        def query(spark: Any, folder: str | Path) -> None:
            self.make(spark, request, on_progress)

        return query if self.wanted else None

    def on_commit(self, request: "PipelineRequest", on_progress: "OnProgress") -> "OnDone | None":
        """Return what each run of a tail calls when its rows are in the tables; None where there are no metrics."""

        def write(spark: Any, folder: str | Path) -> None:
            before = self.problem
            self.make(spark, request, on_progress, ended=False)
            if self.problem and self.problem != before:
                note(f"the tables grow, but the file of metrics does not: {self.problem}")

        return write if self.metrics else None

    def make(self, spark: Any, request: "PipelineRequest", on_progress: "OnProgress", *, ended: bool = True) -> None:
        """Query the tables and write the files; a failure goes to `problem`, and the tables stay.

        While the tables still grow, that is the file of metrics, from the questions of a short summary.
        """
        from ...report.answers import details, summary
        from ...report.engines.answering import QueriesFailed, answering
        from ...spark.pipeline.engine import DRAW, QUERY, QUERY_MORE, START
        from ...spark.pipeline.run import RunStage
        from ...spark.session.jvm import NoSpark

        settings = request.settings if self.starts_spark else None
        folders = [request.out, *([self.against] if self.against and ended else [])]
        self.summary, self.problem = None, ""

        def on_share(stage: str, unit: str = "question") -> "OnShare":
            return lambda done, total: on_progress(RunStage(stage, done, total, unit))

        try:
            with answering(spark, folders, settings, starting=lambda: on_progress(RunStage(START))) as engine:
                self.summary = summary(engine, *folders, thorough=self.thorough and ended, on_share=on_share(QUERY))
                if self.metrics:
                    _write_metrics(self.metrics, self.summary)
                if self.page and ended:
                    # Only a page needs the plots.
                    from ...report.page import write_page

                    found = details(engine, request.out, self.summary, on_share(QUERY_MORE))
                    write_page(self.page, request.out, found, on_share(DRAW, "part"))
        except (QueriesFailed, UserError, NoSpark, OSError) as error:
            self.problem = str(error)

    def make_without_run(self, request: "PipelineRequest", on_progress: "OnProgress") -> None:
        """Make the files if there was nothing new to read, so that no queries were made."""
        if self.files and not self.summary and not self.problem:
            self.make(None, request, on_progress)

    def print(self) -> None:
        """Print the summary, and where the page is."""
        from ...report.overview import headline
        from ...report.terminal import show_summary

        if self.summary and self.shown:
            click.echo(headline(self.summary))
            click.echo()
            show_summary(self.summary)
        if self.page and not self.problem:
            note(f"the report is {self.page}")


def check_against(flags: PipelineFlags) -> str:
    """Return the path or URL of the other run; raises UsageError without a page, and OutputRefused without tables."""
    from ...spark.pipeline.manifest import Manifest, OutputRefused
    from ...spark.storage.files import as_path

    if not flags.report:
        raise click.UsageError("--against needs --report: the page shows the comparison")
    against = as_path(flags.against or "")
    if _same_place(against, as_path(flags.out or "")):
        raise click.UsageError("--against is the folder of --out: give the tables of another run")
    try:
        Manifest.in_folder(against)
    except OutputRefused as error:
        raise OutputRefused(f"--against: {error}") from None
    return against


def _same_place(one: str, other: str) -> bool:
    from ...spark.storage.files import is_url

    return len({place.rstrip("/") if is_url(place) else os.path.realpath(place) for place in (one, other)}) == 1


def check_page(page: str, sources: tuple[str, ...], out: str) -> None:
    """Raise UserError or UsageError for a page that cannot be written."""
    from ...common.files import PAGE

    _check_output("--report", page, PAGE, sources, out)


def _check_output(flag: str, path: str, kind: "Kind", sources: tuple[str, ...], out: str) -> None:
    from ...report.terminal import check_output
    from ...spark.pipeline.sources import NothingThere, expand
    from ...spark.storage.files import as_path, is_url

    paths: list[str] = []
    for each in map(as_path, sources):
        # What is not there is for the run to report, or with --tail to wait for.
        with suppress(NothingThere):
            paths += [source.path for source in expand([] if is_url(each) else [each])]
    check_output(flag, path, kind, paths, None if is_url(out := as_path(out)) else Path(out))


def check_metrics(path: str, sources: tuple[str, ...], out: str) -> None:
    """Raise UserError for metrics that cannot be written."""
    from ...common.files import JSON, METRICS

    _check_output("--metrics", path, JSON if path.endswith(JSON_NAMES) else METRICS, sources, out)


def _write_metrics(path: str, answers: "Answers") -> None:
    """Write the numbers of the summary, as a whole or not at all."""
    import json

    from ...common.files import replacing
    from ...report.metrics import metrics
    from ...report.question import record

    text = json.dumps(record(answers)) + "\n" if path.endswith(JSON_NAMES) else metrics(answers)
    with replacing(path) as out:
        out.write(text)
