"""`mqttpub pipeline`."""

from typing import Any

import click

from ..flags.base import Command, flag, together

FORMATS = ("parquet", "csv", "json")
MODES = ("error", "overwrite", "append")
PAYLOADS = ("keep", "hash", "drop")

spark_flags = together(
    flag(
        "--master", "--remote", "master", metavar="URL", default="local[*]", show_default=True,
        help="Where Spark runs: local[N] on N cores of this machine, spark://HOST:PORT, yarn, k8s://..., sc://...",
    ),
    flag("--conf", metavar="KEY=VALUE", multiple=True, help="A setting of Spark, such as spark.driver.memory=2g."),
    flag(
        "--partitions", type=click.IntRange(1, 1024), metavar="N",
        help="Into how many parts the connections are divided, one for each task. [default: one per core, at most 16]",
    ),
    flag("--verbose", is_flag=True, help="Show Spark's own log."),
    flag("--warm", is_flag=True, help="First make a cache that lets later runs start Spark faster."),
    group="Spark",
)  # fmt: skip

choosing_flags = together(
    flag("--since", metavar="TIME", help="Only what began then or later: 2026-01-31, 2026-01-31T12:00:00Z, seconds."),
    flag("--until", metavar="TIME", help="Only what began before."),
    flag(
        "--topic", metavar="FILTER", multiple=True,
        help="Only messages on topics that match; wildcards are + and #.",
    ),
    flag(
        "--payload", type=click.Choice(PAYLOADS), default="keep", show_default=True,
        help="Keep payloads, or their SHA-256, or nothing of them.",
    ),
    flag("--lint", is_flag=True, help="Judge every packet, and write what is wrong to the table findings."),
    flag(
        "--port", type=click.IntRange(1, 65535), multiple=True, metavar="PORT",
        help="Take connections of this TCP port for MQTT, also where no CONNECT was captured.",
    ),
    group="Which rows",
)  # fmt: skip

output_flags = together(
    flag("-o", "--out", metavar="DIR", help="Folder for the tables.", type=click.Path(file_okay=False)),
    flag("--format", type=click.Choice(FORMATS), default="parquet", show_default=True, help="Format of the tables."),
    flag(
        "--mode", type=click.Choice(MODES), default="error", show_default=True,
        help="When there are tables already: stop, replace them, or add what they do not have yet.",
    ),
    flag(
        "--partition-by", metavar="COLUMN", multiple=True,
        help="Divide tables into folders by a column, or by date or hour in UTC; a comma between several.",
    ),
    flag("--resume", is_flag=True, help="Go on where the run before ended, with new files of the same capture."),
    flag(
        "--report", metavar="PATH", type=click.Path(),
        help="Write a page on traffic, latency, links, overhead and findings, to open in a browser.",
    ),
    flag(
        "--summary/--no-summary", default=None,
        help="Print what the tables add up to, or not. [default: on a terminal, and with --json]",
    ),
    flag("--json", "as_json", is_flag=True, help="Print what was done as one JSON record."),
    group="Output",
)  # fmt: skip


@click.command(name="pipeline", cls=Command)
@click.argument("source", nargs=-1)
@output_flags
@choosing_flags
@spark_flags
def command(**given: Any) -> int:
    """Turn captures into tables, on all cores of this machine or on a cluster.

    SOURCE are files, folders, globs, or URLs that Hadoop reads (s3a, hdfs): pcap and pcapng, plain
    or compressed, transcripts, hex text and JSON Lines of `decode --json`. Rotated captures are
    one: what spans two files comes out whole. Writes the tables packets, exchanges, connections,
    with --lint findings, and a manifest, all at once when everything is done.

    Exit status: 0 all was read, 1 a source could not be read to its end or the report not be made,
    2 nothing was written, 74 the output cannot be written, 129 hung up, 130 interrupted,
    143 terminated.
    """
    from .pipeline_run import pipe

    return pipe(given)
