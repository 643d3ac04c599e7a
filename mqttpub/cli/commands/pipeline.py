"""`mqttpub pipeline`: its flags."""

from typing import Any

import click

from ..flags.base import Command, flag, together
from ..flags.types import PORT, TOPIC_FILTER, FiniteRange, NumberType
from ..pipeline.flags import PipelineFlags

FORMATS = ("parquet", "orc", "csv", "json", "delta", "iceberg")
MODES = ("error", "overwrite", "append")
PAYLOADS = ("keep", "hash", "drop")
spark_flags = together(
    flag(
        "--master", common=True, metavar="URL",
        help="Where Spark runs: local[N] on N cores of this machine, spark://HOST:PORT, yarn, k8s://..., sc://..., or "
        "none to do without. [default: local[*] if pyspark is installed, else none]",
    ),
    flag("--remote", metavar="URL", help="Another name for --master; give only one of them."),
    flag("--conf", metavar="KEY=VALUE", multiple=True, help="A Spark setting, such as spark.driver.memory=2g."),
    flag(
        "--partitions", type=NumberType(1, 1024), metavar="N",
        help="About how many tasks share each stage of the work, 1 to 1024. [default: two per core]",
    ),
    flag("--verbose", is_flag=True, help="Show Spark's own log."),
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
    flag(
        "--key-log", metavar="PATH", type=click.Path(dir_okay=False),
        help="Decrypt TLS with this key log (SSLKEYLOGFILE), a path or URL that all tasks reach; needs tshark.",
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
        help="If there are tables: stop, replace them, or add the sources they lack.",
    ),
    flag(
        "--partition-by", metavar="COLUMN", multiple=True,
        help="Partition tables into folders by a column, or by date or hour in UTC; separate several with commas.",
    ),
    flag(
        "--target-file-size", type=NumberType(1, 4096), default=128, show_default=True, metavar="MB",
        help="Join small Parquet files of the run to files of about this size in MB, 1 to 4096.",
    ),
    flag(
        "--resume", common=True, is_flag=True,
        help="Continue the last run with what is new.",
    ),
    flag("--tail", common=True, is_flag=True, help="Resume, and follow sources until Ctrl-C."),
    flag(
        "--every", type=FiniteRange(min=0.1), metavar="SECONDS",
        help="With --tail: time between two looks at the sources. [default: 10]",
    ),
    flag(
        "--report", common=True, metavar="PATH", type=click.Path(),
        help="Write a page on traffic, latency, links, payloads and findings, to open in a browser.",
    ),
    flag(
        "--metrics", metavar="PATH", type=click.Path(dir_okay=False),
        help="Write the numbers of the summary for Prometheus, or as JSON if the name ends in .json.",
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
        "mqttpub pipeline ring/ --tail --out tables",
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

    Exit status: 0 everything was read, 1 a source was not read completely, connections were forgotten
    or the report failed, 2 nothing was written, 74 the output cannot be written, 129 hung up,
    130 interrupted, 143 terminated.
    """
    from ..pipeline.run import run_pipeline

    if master is not None and remote is not None:
        raise click.UsageError("only one of --master and --remote at a time")
    return run_pipeline(PipelineFlags(master=remote if master is None else master, **given))
