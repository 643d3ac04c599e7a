"""What `pipeline` does: flags to a run of Spark, its progress and its end to the screen."""

import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...wire.types import readable
from ..notes import note

if TYPE_CHECKING:
    from ...report.answers import Summary
    from ...spark.pipeline.run import Asked, Result, Stage, Tell, Then

NEEDED = ("pyspark", "pyarrow", "numpy", "pandas")
MOST_NAMED = 20
"""Bad sources that are named one by one; the others are counted."""


def pipe(given: dict[str, Any]) -> int:
    """Run the pipeline and return the exit status; raises UsageError."""
    _check_packages()
    if given["warm"]:
        _warm()
        if not given["source"]:
            return 0
    from ...spark.pipeline.run import run

    logging.getLogger().addFilter(_is_no_interrupt)
    asked = _asked(given)
    reporting = _Reporting(given)
    progress = _Progress() if sys.stderr.isatty() and not given["verbose"] else None
    tell = progress.stage if progress else None
    try:
        result = run(asked, tell=tell, then=reporting.telling(tell))
        reporting.without_news(asked)
    finally:
        if progress:
            progress.close()
    return _end(result, asked, reporting)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a log record is worth showing: py4j logs the trace of a signal, which the last line says in one word."""
    return record.exc_info is None or not isinstance(record.exc_info[1], KeyboardInterrupt)


def _check_packages() -> None:
    for name in NEEDED:
        if find_spec(name) is None:
            raise click.UsageError(f"the package {name} is missing: pip install 'mqttpub[spark]'")


def _asked(given: dict[str, Any]) -> "Asked":
    """Return what the flags ask for; raises UsageError."""
    from ...spark.pipeline.row_filter import Choice
    from ...spark.pipeline.run import Asked
    from ...spark.pipeline.sources import as_path, is_url

    if not given["source"]:
        raise click.UsageError("nothing to read: give files, folders, globs or URLs")
    if not given["out"]:
        raise click.UsageError("--out is missing: the folder for the tables")
    if is_url(out := as_path(given["out"])):
        raise click.UsageError(
            f"--out: '{out}' is a URL, and tables are written to a folder: give a path, or file:///path"
        )
    if out != readable(out):
        raise click.UsageError(f"--out: the name '{out}' is not UTF-8, and Spark reads no folder of such a name")
    if given["resume"] and given["mode"] == "overwrite":
        raise click.UsageError("--resume adds to what there is, and --mode overwrite replaces it")
    since, until = (_moment(given[name], f"--{name}") for name in ("since", "until"))
    if since is not None and until is not None and since >= until:
        raise click.UsageError(f"--until {given['until']} is not later than --since {given['since']}")
    return Asked(
        sources=tuple(given["source"]), out=Path(out), mode="resume" if given["resume"] else given["mode"],
        form=given["format"], divided=tuple(_columns(given["partition_by"])), lint=given["lint"],
        choice=Choice(since, until, tuple(map(_filter, given["topic"])), given["payload"]), ports=tuple(given["port"]),
        partitions=given["partitions"], settings=_settings(given),
    )  # fmt: skip


def _settings(given: dict[str, Any]) -> Any:
    from ...spark.session.cache import options
    from ...spark.session.session import Settings

    conf = {}
    for text in given["conf"]:
        name, found, value = text.partition("=")
        if not found or not name.startswith("spark."):
            raise click.UsageError(f"--conf: '{text}' is no setting of Spark such as spark.driver.memory=2g")
        conf[name] = value
    return Settings(given["master"], conf, given["verbose"], options())


def _columns(given: tuple[str, ...]) -> Iterator[str]:
    """Yield the columns to divide by; raises UsageError for one that no table has, or that makes no name."""
    from ...columns.schema import TABLES
    from ...spark.pipeline.writers import DERIVED, names_folders

    types = {column.name: column.type for columns in TABLES.values() for column in columns}
    known = types.keys() | DERIVED.keys()
    for name in (part.strip() for text in given for part in text.split(",")):
        if name not in known:
            raise click.UsageError(f"--partition-by: no table has a column '{name}'")
        if name in types and not names_folders(types[name]):
            raise click.UsageError(f"--partition-by: '{name}' holds bytes or lists, which make no folder's name")
        yield name


def _filter(text: str) -> str:
    """Return a Topic Filter; raises UsageError for one that breaks the rules of wildcards (5.0: 4.7.1)."""
    levels = text.split("/")
    fault = ""
    if "#" in levels[:-1]:
        fault = "# is not its last level"
    elif any(len(level) > 1 and ("#" in level or "+" in level) for level in levels):
        fault = "a wildcard is a whole level"
    if fault or not text:
        raise click.UsageError(f"--topic: '{text}' is no Topic Filter: {fault or 'it is empty'}")
    return text


def _moment(text: str | None, flag: str) -> int | None:
    """Return microseconds since 1970 of a time as people write it; raises UsageError."""
    if text is None:
        return None
    try:
        moment = _microseconds(text)
    except (ValueError, OverflowError):
        raise click.UsageError(f"{flag}: '{text}' is no time such as 2026-01-31T12:00:00Z") from None
    if not -(1 << 63) <= moment < 1 << 63:
        raise click.UsageError(f"{flag}: '{text}' is no time that tables can hold: it is too far from 1970")
    return moment


def _microseconds(text: str) -> int:
    """Return what seconds or a date say; raises ValueError and OverflowError."""
    try:
        return round(float(text) * 1_000_000)
    except ValueError:
        moment = datetime.fromisoformat(text)
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1_000_000)


def _warm() -> None:
    from ...spark.session.cache import warm

    path, size = warm()
    note(f"Spark starts from {path} ({size / 1e6:,.0f} MB) from now on")


# the end


def _end(result: "Result", asked: "Asked", reporting: "_Reporting") -> int:
    """Say what was done and return the exit status."""
    for name, problem in result.problems[:MOST_NAMED]:
        note(f"{name}: {problem}")
    if len(result.problems) > MOST_NAMED:
        note(f"{len(result.problems) - MOST_NAMED:,} more sources could not be read; see {result.manifest}")
    if reporting.problem:
        note(f"the tables are there, but Spark could not answer: {reporting.problem}")
    if reporting.as_json:
        _record(result, reporting)
    else:
        _summary(result, asked)
        _told(reporting)
    return 1 if result.problems or (reporting.problem and reporting.page) else 0


def _record(result: "Result", reporting: "_Reporting") -> None:
    import json

    from ...report.terminal import record

    told = result.record()
    if reporting.wanted:
        told |= {"summary": record(reporting.summary) if reporting.summary else None, "report": reporting.page}
    click.echo(json.dumps(told, separators=(",", ":")))


def _told(reporting: "_Reporting") -> None:
    """Print what the tables add up to."""
    from ...report.terminal import headline, show_summary

    if reporting.summary and reporting.shown:
        click.echo(headline(reporting.summary))
        click.echo()
        show_summary(reporting.summary)
    if reporting.page and not reporting.problem:
        note(f"the report is {reporting.page}")


def _summary(result: "Result", asked: "Asked") -> None:
    from ...report.wording import counted

    if result.known:
        note(f"{counted(result.known, 'source')} had been read before")
    rows = ", ".join(f"{count:,} {table}" for table, count in result.rows.items()) or "no rows"
    read = counted(result.read, "source")
    click.echo(f"{rows} from {read} in {result.seconds:.1f} s: {asked.out}" if result.read else "nothing new to read")


class _Reporting:
    """What is to be asked of the tables, and what was answered."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.page: str | None = given["report"]
        self.as_json: bool = given["as_json"]
        asked = given["summary"]
        self.shown: bool = (self.as_json or sys.stdout.isatty()) if asked is None else asked
        self.summary: Summary | None = None
        self.problem = ""
        """Why there is no answer."""
        if self.page:
            self._check(given)

    @property
    def wanted(self) -> bool:
        """Whether anything is to be asked."""
        return self.shown or self.page is not None

    def _check(self, given: dict[str, Any]) -> None:
        """Raise UsageError for a page that cannot be written."""
        from ...report.terminal import check_report
        from ...spark.pipeline.sources import as_path, expand, is_url

        assert self.page
        if find_spec("vl_convert") is None:
            raise click.UsageError("the package vl-convert-python is missing: pip install 'mqttpub[spark]'")
        paths = [source.path for source in expand(each for each in map(as_path, given["source"]) if not is_url(each))]
        check_report(self.page, paths, Path(as_path(given["out"])))

    def telling(self, tell: "Tell | None") -> "Then | None":
        """Return what a run does in the end; None where nothing is to be asked."""
        from ...spark.pipeline.run import Stage

        def then(spark: Any, folder: Path) -> None:
            if tell:
                tell(Stage("asking the tables"))
            self.ask(spark, folder)

        return then if self.wanted else None

    def ask(self, spark: Any, folder: Path) -> None:
        """Ask; the tables stay whatever comes of it."""
        from ...report.questions import summary
        from ...report.terminal import write_page
        from ...spark.session.session import failures, sentence

        try:
            self.summary = summary(spark, folder)
            if self.page:
                write_page(self.page, str(folder), spark, folder, self.summary)
        except (*failures(), OSError) as error:
            self.problem = sentence(error)

    def without_news(self, asked: "Asked") -> None:
        """Make the report also where there was nothing new to read, so that no run asked."""
        from ...spark.session.session import session

        if self.page and not self.summary and not self.problem:
            with session(asked.settings) as spark:
                self.ask(spark, asked.out)


class _Progress:
    """The stages of a run on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from ...view.terminal.style import wants_color

        color = wants_color(sys.stderr)
        console = Console(
            file=sys.stderr, force_terminal=True, color_system="standard" if color else None, no_color=not color,
            legacy_windows=False,
        )  # fmt: skip
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"))
        self._bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._name = ""
        self._task = self._bar.add_task("", total=None, amount="")
        self._bar.start()

    def stage(self, stage: "Stage") -> None:
        """Take how far the run has come."""
        from ...view.terminal.progress import size

        if stage.name != self._name:
            self._name = stage.name
            self._bar.reset(self._task, description=stage.name, total=None, amount="")
        if stage.total:
            amount = f"{size(stage.done)} of {size(stage.total)}"
            self._bar.update(self._task, completed=stage.done, total=stage.total, amount=amount)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()
