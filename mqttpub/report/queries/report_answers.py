"""The answers of a whole report: what a terminal shows after each run, and what only the page shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...spark.pipeline.manifest import Manifest
from ..answers import Details, Made, Summary
from ..tables import frames, has, packets_with_payloads
from .anomalies import anomalies
from .churn import churn, connects
from .common import HOUR_US, MOST_BINS, MOST_CELLS, WHO, bins_of, together
from .comparison import comparison
from .exchanges import exchange_rows, latencies, refused, slow, unended
from .fan_out import fan_out
from .findings import culprits, faults
from .keep_alive import silences
from .payloads import payloads
from .talkers import clients, topics, worst
from .topic_tree import topic_tree
from .traffic import connections, kinds, overhead, properties, traffic

WORST = 12
"""Clients whose links, and whose connections, are shown over time."""


def summary(spark: Any, folder: str | Path, against: str | Path | None = None, *, thorough: bool = True) -> Summary:
    """Return the summary of the tables in a folder, compared with those in `against` if that is given.

    Only if `thorough` are the questions asked that take as long again: on connections, silences, topics, fan-out,
    anomalies and payloads. Raises OutputRefused, and Spark's errors.
    """
    found = _summary(spark, folder, thorough=thorough)
    if against is None:
        return found
    other = _summary(spark, against, thorough=thorough)
    return found._replace(comparison=comparison(spark, folder, against, found, other))


def _summary(spark: Any, folder: str | Path, *, thorough: bool) -> Summary:
    data = frames(spark, folder)
    judged = has(folder, "findings") or _judged(folder)
    more: dict[str, Callable[[], Any]] = {
        "churn": lambda: churn(spark, data),
        "silences": lambda: silences(spark, data),
        "topic_tree": lambda: topic_tree(spark, data),
        "fan_out": lambda: fan_out(spark, {"packets": packets_with_payloads(spark, folder)}),
        "anomalies": lambda: anomalies(spark, data),
        "payloads": lambda: payloads(spark, folder),
    }
    return together(
        Summary,
        connections=lambda: connections(spark, data),
        kinds=lambda: kinds(spark, data),
        exchanges=lambda: exchange_rows(spark, data),
        clients=lambda: clients(spark, data),
        topics=lambda: topics(spark, data),
        faults=lambda: faults(spark, data) if judged else None,
        culprits=lambda: culprits(spark, data) if judged else (),
        made=lambda: _made(folder),
        **(more if thorough else {}),
    )


def details(spark: Any, folder: str | Path, known: Summary) -> Details:
    """Return the answers that only the page shows."""
    data, begin, end = frames(spark, folder), known.span.first, known.span.last
    bins, links = bins_of(begin, end, MOST_BINS), bins_of(begin, end, MOST_CELLS)
    hours = bins_of(begin, end, MOST_CELLS, HOUR_US)
    often = [row["who"] for row in known.churn.clients if row["top"] == "connections"][:WORST]
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
        connect_bins=lambda: hours,
        connects=lambda: connects(spark, data, hours, often),
    )


def _made(folder: str | Path) -> Made:
    manifest = Manifest.in_folder(folder)
    taken = sorted(manifest.sources, key=lambda each: (each.stamp is None, each.stamp or 0, each.name))
    return Made(tuple(dict.fromkeys(each.name for each in taken)), tuple(run["begun"] for run in manifest.runs))


def _judged(folder: str | Path) -> bool:
    return any(run.get("lint") for run in Manifest.in_folder(folder).runs)
