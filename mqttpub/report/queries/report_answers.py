"""The answers of a whole report: what a terminal shows after each run, and what only the page shows."""

from pathlib import Path
from typing import Any

from ...spark.pipeline.manifest import Manifest
from ..answers import Details, Made, Summary
from ..tables import frames, has
from .common import MOST_BINS, MOST_CELLS, WHO, bins_of, together
from .exchanges import exchange_rows, latencies, refused, slow, unended
from .findings import faults
from .payloads import payloads
from .talkers import clients, topics, worst
from .traffic import connections, kinds, overhead, properties, traffic

WORST = 12
"""Clients whose links are shown over time."""


def summary(spark: Any, folder: str | Path, *, with_payloads: bool = True) -> Summary:
    """Return the summary of the tables in a folder; raises OutputRefused, and Spark's errors.

    To look into each payload takes as long as all the rest.
    """
    data = frames(spark, folder)
    judged = has(folder, "findings") or _judged(folder)
    return together(
        Summary,
        connections=lambda: connections(spark, data),
        kinds=lambda: kinds(spark, data),
        exchanges=lambda: exchange_rows(spark, data),
        clients=lambda: clients(spark, data),
        topics=lambda: topics(spark, data),
        faults=lambda: faults(spark, data) if judged else None,
        made=lambda: _made(folder),
        payloads=lambda: payloads(spark, folder) if with_payloads else None,
    )


def details(spark: Any, folder: str | Path, known: Summary) -> Details:
    """Return the answers that only the page shows."""
    data, bins, links = frames(spark, folder), bins_of(known.span, MOST_BINS), bins_of(known.span, MOST_CELLS)
    broken = [row["who"] for row in known.clients if row["top"] == "dups"][:WORST]
    return together(
        Details,
        bins=lambda: bins,
        traffic=lambda: traffic(spark, data, bins),
        latencies=lambda: latencies(spark, data, bins),
        slow_topics=lambda: slow(spark, data, "coalesce(topic, '')"),
        slow_clients=lambda: slow(spark, data, WHO),
        links=lambda: links,
        worst=lambda: worst(spark, data, links, broken),
        refused=lambda: refused(spark, data),
        properties=lambda: properties(spark, data),
        overhead=lambda: overhead(spark, data),
        unended=lambda: unended(spark, data),
    )


def _made(folder: str | Path) -> Made:
    manifest = Manifest.in_folder(folder)
    taken = sorted(manifest.sources, key=lambda each: (each.stamp is None, each.stamp or 0, each.name))
    return Made(tuple(dict.fromkeys(each.name for each in taken)), tuple(run["begun"] for run in manifest.runs))


def _judged(folder: str | Path) -> bool:
    return any(run.get("lint") for run in Manifest.in_folder(folder).runs)
