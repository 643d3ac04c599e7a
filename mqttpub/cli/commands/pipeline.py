"""`mqttpub pipeline`: captures to tables with Spark, its progress on the terminal, and the report on the tables."""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...wire.types import readable
from ..flags.base import Command, flag, together
from ..flags.types import PORT, TOPIC_FILTER, NumberType
from ..notes import note
from ..pipeline_flags import PipelineFlags
from ..table_report import TableReport, table_report

if TYPE_CHECKING:
    from ...spark.pipeline.run import OnProgress, PipelineRequest, PipelineResult
    from ...spark.session.session import Settings

FORMATS = ("parquet", "orc", "csv", "json", "delta", "iceberg")
MODES = ("error", "overwrite", "append")
PAYLOADS = ("keep", "hash", "drop")
WITHOUT = "none"
"""The master that stands for no Spark."""
NEEDED = dict.fromkeys(("pyarrow", "numpy"), "columns")
"""Packages that any run needs, and the extra of mqttpub that has them."""
SPARK_NEEDED = dict.fromkeys(("pyspark", "pyarrow", "numpy", "pandas"), "spark")
MOST_NAMED = 20
"""Incomplete sources that are listed one by one; the rest are only counted."""

spark_flags = together(
    flag(
        "--master", common=True, metavar="URL",
        help="Where Spark runs: local[N] on N cores of this machine, spark://HOST:PORT, yarn, k8s://..., sc://..., or "
        "none to do without. [default: none up to 1 GB of sources, else local[*]]",
    ),
    flag("--remote", metavar="URL", help="Another name for --master; give only one of them."),
    flag("--conf", metavar="KEY=VALUE", multiple=True, help="A Spark setting, such as spark.driver.memory=2g."),
    flag(
        "--partitions", type=NumberType(1, 1024), metavar="N",
        help="About how many tasks share each stage of the work, 1 to 1024. [default: two per core]",
    ),
    flag("--verbose", is_flag=True, help="Show Spark's own log."),
    flag("--warm", is_flag=True, help="Build a JVM cache first, so that Spark starts faster from then on."),
    group="Spark",
)  # fmt: skip

choosing_flags = together(
    flag(
        "--since", common=True, metavar="TIME",
        help="Only rows from this time on: 2026-01-31, 2026-01-31T12:00:00Z, or seconds since 1970.",
    ),
    flag("--until", common=True, metavar="TIME", help="Only rows before this time."),
    flag(
        "--topic", common=True, type=TOPIC_FILTER, metavar="FILTER", multiple=True,
        help="Only messages on matching topics; wildcards are + and #.",
    ),
    flag(
        "--payload", type=click.Choice(PAYLOADS), default="keep", show_default=True,
        help="Keep payloads, replace them by their SHA-256, or drop them.",
    ),
    flag(
        "--lint", common=True, is_flag=True,
        help="Check every packet, and write the violations to the table findings.",
    ),
    flag(
        "--port", type=PORT, multiple=True, metavar="PORT",
        help="Treat connections on this TCP port, 1 to 65535, as MQTT even if no CONNECT was captured.",
    ),
    group="Which rows",
)  # fmt: skip

output_flags = together(
    flag(
        "-o", "--out", common=True, metavar="DIR", type=click.Path(file_okay=False),
        help="Folder for the tables, or its URL.",
    ),
    flag(
        "--format", common=True, type=click.Choice(FORMATS), default="parquet", show_default=True,
        help="Format of the tables; see the guide tables.",
    ),
    flag(
        "--mode", common=True, type=click.Choice(MODES), default="error", show_default=True,
        help="If there are tables already: stop, replace them, or add the sources they do not have yet.",
    ),
    flag(
        "--partition-by", metavar="COLUMN", multiple=True,
        help="Partition tables into folders by a column, or by date or hour in UTC; separate several with commas.",
    ),
    flag(
        "--resume", common=True, is_flag=True,
        help="Continue where the previous run stopped, with new files of the same capture.",
    ),
    flag(
        "--report", common=True, metavar="PATH", type=click.Path(),
        help="Write a page on traffic, latency, links, payloads and findings, to open in a browser.",
    ),
    flag(
        "--against", metavar="DIR", type=click.Path(file_okay=False),
        help="Also compare with the tables of another run, in this folder or URL; needs --report.",
    ),
    flag(
        "--summary/--no-summary", default=None,
        help="Whether to print a summary of the tables. [default: on a terminal, and with --json]",
    ),
    flag("--json", "as_json", is_flag=True, help="Print the result as one JSON record."),
    flag("--quiet", is_flag=True, help="Print no progress on standard error."),
    group="Output",
)  # fmt: skip


@click.command(
    name="pipeline",
    cls=Command,
    examples=(
        "mqttpub pipeline captures/ --lint --out tables --report report.html",
        "mqttpub pipeline ring/*.pcapng --resume --out tables",
    ),
)
@click.argument("source", nargs=-1)
@output_flags
@choosing_flags
@spark_flags
def command(master: str | None, remote: str | None, **given: Any) -> int:
    """Turn captures into tables, on all cores of this machine or on a cluster.

    Each SOURCE is a file, folder, glob or URL (s3, gs, abfs, hdfs): pcap and pcapng, plain or
    compressed, transcripts, hex text, and what `decode --json` printed. Rotated captures are read as
    one: exchanges that span several files are kept intact. The tables packets, exchanges and
    connections, with --lint also findings, and a manifest are committed together at the end.

    Exit status: 0 everything was read, 1 a source could not be read completely or the report could not
    be made, 2 nothing was written, 74 the output cannot be written, 129 hung up, 130 interrupted,
    143 terminated.
    """
    if master is not None and remote is not None:
        raise click.UsageError("only one of --master and --remote at a time")
    return run_pipeline(PipelineFlags(master=remote if master is None else master, **given))


def run_pipeline(flags: PipelineFlags) -> int:
    """Run the pipeline and return the exit status; raises UsageError."""
    spark = _runs_on_spark(flags)
    _check_packages(SPARK_NEEDED if spark or flags.warm else NEEDED)
    if flags.warm:
        _warm()
        if not flags.source:
            return 0
    if not spark:
        from ...columns.lean import import_lean

        import_lean()
    from ...spark.pipeline.run import run

    logging.getLogger().addFilter(_is_not_interrupt)
    request = pipeline_request(flags)._replace(spark=spark)
    report = table_report(flags, spark)
    with _progress(flags) as on_progress:
        result = run(request, on_progress, report.on_done(request, on_progress))
        report.make_without_run(request, on_progress)
    return _finish(result, request, report)


@contextmanager
def _progress(flags: PipelineFlags) -> "Iterator[OnProgress]":
    """Give what shows the progress: a bar on a terminal, lines anywhere else, nothing with --quiet."""
    from ...view.terminal.progress import StageLines, StageProgress, draws

    if flags.quiet:
        yield lambda stage: None
        return
    progress = StageProgress() if draws(sys.stderr) and not flags.verbose else StageLines(note)
    try:
        yield lambda stage: progress.show(*stage)
    finally:
        progress.close()


def _runs_on_spark(flags: PipelineFlags) -> bool | None:
    """Return whether Spark does the work, None if that depends on the size of the sources; raises UsageError."""
    from ...spark.session.jvm import PORT
    from ...spark.session.session import configured_master

    given = {"--conf": flags.conf, "--verbose": flags.verbose, "--warm": flags.warm}
    if flags.master == WITHOUT:
        if wrong := next((name for name, value in given.items() if value), None):
            raise click.UsageError(f"{wrong} is for Spark, and --master {WITHOUT} works without it")
        return False
    if flags.master or flags.conf or flags.verbose or PORT in os.environ or configured_master():
        return True
    return None if find_spec("pyspark") else False


def _is_not_interrupt(record: logging.LogRecord) -> bool:
    """Return whether to show a log record: py4j logs the trace of an interrupt, which the last line reports anyway."""
    return record.exc_info is None or not isinstance(record.exc_info[1], KeyboardInterrupt)


def _check_packages(needed: Mapping[str, str]) -> None:
    """Raise UsageError for a package that is missing; the values say which extra of mqttpub has it."""
    for name, extra in needed.items():
        if find_spec(name) is None:
            raise click.UsageError(f"the package {name} is missing: pip install 'mqttpub[{extra}]'")


def _warm() -> None:
    from ...spark.session.cache import warm

    path, size_bytes = warm()
    note(f"Spark starts from {path} ({size_bytes / 1e6:,.0f} MB) from now on")


# flags to a request


def pipeline_request(flags: PipelineFlags) -> "PipelineRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...spark.pipeline.row_filter import RowFilter
    from ...spark.pipeline.run import PipelineRequest

    out = _output_folder(flags)
    if flags.resume and flags.mode == "overwrite":
        raise click.UsageError("--resume adds to the tables, and --mode overwrite replaces them")
    since, until = parse_time(flags.since, "--since"), parse_time(flags.until, "--until")
    if since is not None and until is not None and since >= until:
        raise click.UsageError(f"--until {flags.until} is not later than --since {flags.since}")
    return PipelineRequest(
        sources=flags.source, out=out, mode="resume" if flags.resume else flags.mode, file_format=flags.format,
        partition_by=tuple(_partition_columns(flags.partition_by)), lint=flags.lint,
        row_filter=RowFilter(since, until, topics=tuple(flags.topic), payload=flags.payload),
        ports=flags.port, partitions=flags.partitions, settings=_settings(flags),
    )  # fmt: skip


def _output_folder(flags: PipelineFlags) -> "str | Path":
    from ...spark.pipeline.manifest import OutputRefused
    from ...spark.pipeline.sources import opens
    from ...spark.storage.files import as_path, is_url

    if not flags.source:
        raise click.UsageError("nothing to read: give files, folders, globs or URLs")
    if not flags.out:
        raise click.UsageError("--out is missing: the folder for the tables")
    if is_url(out := as_path(flags.out)):
        if not opens(out):
            raise OutputRefused(f"--out: '{out}' is on a storage that cannot be opened here")
        return out.rstrip("/")
    if out != readable(out):
        raise click.UsageError(f"--out: the name '{out}' is not UTF-8, and Spark cannot read a folder of such a name")
    return Path(out)


def _settings(flags: PipelineFlags) -> "Settings":
    from ...spark.session.session import Settings, configured_master

    conf = {}
    for text in flags.conf:
        name, found, value = text.partition("=")
        if not found or not name.startswith("spark."):
            raise click.UsageError(f"--conf: '{text}' is not a Spark setting such as spark.driver.memory=2g")
        conf[name] = value
    named = None if flags.master == WITHOUT else flags.master or configured_master()
    return Settings(named or Settings().master, conf, flags.verbose)


def _partition_columns(given: tuple[str, ...]) -> Iterator[str]:
    """Yield the columns to partition by; raises UsageError for unknown ones and for those of bytes or lists."""
    from ...columns.schema import TABLES
    from ...spark.pipeline.writers import DERIVED, names_folders

    types = {column.name: column.type for columns in TABLES.values() for column in columns}
    known = types.keys() | DERIVED.keys()
    for name in (part.strip() for text in given for part in text.split(",")):
        if name not in known:
            raise click.UsageError(f"--partition-by: no table has a column '{name}'")
        if name in types and not names_folders(types[name]):
            raise click.UsageError(f"--partition-by: '{name}' holds bytes or lists, which cannot name a folder")
        yield name


def parse_time(text: str | None, flag: str) -> int | None:
    """Return a date, a time or seconds as microseconds since 1970; raises UsageError that names the flag."""
    if text is None:
        return None
    try:
        time_us = _microseconds(text)
    except (ValueError, OverflowError):
        raise click.UsageError(f"{flag}: '{text}' is not a time such as 2026-01-31T12:00:00Z") from None
    if not -(1 << 63) <= time_us < 1 << 63:
        raise click.UsageError(f"{flag}: '{text}' is out of range")
    return time_us


def _microseconds(text: str) -> int:
    """Return seconds since 1970 or an ISO 8601 date in microseconds; raises ValueError and OverflowError."""
    try:
        return round(float(text) * 1_000_000)
    except ValueError:
        moment = datetime.fromisoformat(text)
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1_000_000)


# the result


def _finish(result: "PipelineResult", request: "PipelineRequest", report: TableReport) -> int:
    """Print the result and return the exit status."""
    for name, problem in result.problems[:MOST_NAMED]:
        note(f"{name}: {problem}")
    if len(result.problems) > MOST_NAMED:
        note(f"{len(result.problems) - MOST_NAMED:,} more sources could not be read; see {result.manifest}")
    if report.problem:
        what = "report" if report.page else "summary"
        note(f"the tables are complete, but the {what} failed: {report.problem}")
    if report.as_json:
        _print_record(result, report)
    else:
        _print_counts(result, request)
        report.print()
    return 1 if result.problems or (report.problem and report.page) else 0


def _print_record(result: "PipelineResult", report: TableReport) -> None:
    import json

    from ...report.question import record

    values = result.record()
    if report.wanted:
        values |= {"summary": record(report.summary) if report.summary else None, "report": report.page}
    click.echo(json.dumps(values, separators=(",", ":")))


def _print_counts(result: "PipelineResult", request: "PipelineRequest") -> None:
    from ...common.words import counted

    if result.known:
        note(f"{counted(result.known, 'source')} had been read before")
    rows = ", ".join(f"{count:,} {table}" for table, count in result.rows.items()) or "no rows"
    read = counted(result.read, "source")
    click.echo(f"{rows} from {read} in {result.seconds:.1f} s: {request.out}" if result.read else "nothing new to read")
