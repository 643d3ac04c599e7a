"""The request that the flags of `pipeline` make."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...wire.types import readable
from .flags import WITHOUT, PipelineFlags

if TYPE_CHECKING:
    from ...spark.pipeline.run import PipelineRequest
    from ...spark.session.session import Settings


def pipeline_request(flags: PipelineFlags) -> "PipelineRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...spark.pipeline.row_filter import RowFilter
    from ...spark.pipeline.run import PipelineRequest

    out = _output_folder(flags)
    if flags.tail and flags.mode != "error":
        raise click.UsageError(f"--tail continues the tables as --resume does: leave out --mode {flags.mode}")
    if flags.every is not None and not flags.tail:
        raise click.UsageError("--every needs --tail: other runs look at their sources once")
    if flags.resume and flags.mode == "overwrite":
        raise click.UsageError("--resume adds to the tables, and --mode overwrite replaces them")
    since, until = parse_time(flags.since, "--since"), parse_time(flags.until, "--until")
    if since is not None and until is not None and since >= until:
        raise click.UsageError(f"--until {flags.until} is not later than --since {flags.since}")
    return PipelineRequest(
        sources=flags.source, out=out, mode="resume" if flags.resume or flags.tail else flags.mode,
        file_format=flags.format, partition_by=tuple(_partition_columns(flags.partition_by)), lint=flags.lint,
        target_bytes=flags.target_file_size * 1_000_000,
        row_filter=RowFilter(since, until, topics=tuple(flags.topic), payload=flags.payload),
        ports=flags.port, key_log=_key_log(flags), partitions=flags.partitions, settings=_settings(flags),
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


def _key_log(flags: PipelineFlags) -> str:
    from ...spark.storage.files import as_path, is_url

    path = as_path(flags.key_log or "")
    if path and not is_url(path):
        try:
            open(path, "rb").close()
        except OSError as error:
            raise click.UsageError(f"--key-log: cannot read '{path}': {error.strerror}") from None
    return path


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
