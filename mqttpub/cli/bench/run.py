"""What `bench` does: run a benchmark to its end or to a signal, and print what it measured."""

import sys
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...live.failures import Exit, Interrupted

if TYPE_CHECKING:
    from ...common.quantiles import Latencies
    from ...live.bench.connections import ConnectionBenchmark
    from ...live.bench.delivery import DeliveryBenchmark
    from ...live.bench.publishing import Benchmark
    from ...live.bench.workers import WorkerGroup


PUB, SUB, CONN = "pub", "sub", "conn"
"""What can be measured."""
PERCENTILES = (50, 90, 95, 99, 99.9)
BARS = 40
PATIENCE_S = 2.0
"""How long the connections may take, after a signal, for the acknowledgements and DISCONNECT."""
REPORT_S = 1.0
"""Seconds between two lines about the rates."""


class Measure(NamedTuple):
    """A benchmark with its summary and its exit status."""

    group: "WorkerGroup"
    counts: Callable[[], dict[str, int]]
    """Returns what has been done so far."""
    summary: Callable[[], dict[str, Any]]
    """Returns what was measured, as it stands in the JSON record."""
    status: Callable[[], Exit]
    """Returns the exit status of a run that did not fail."""


def bench(measure: Measure, *, json: bool, draw: bool) -> int:
    """Run a benchmark, print what it measured and return the exit status; raises a Failure."""
    interrupted = _run(measure)
    _print(measure.summary(), measure.group, json=json, draw=draw)
    if interrupted:
        raise interrupted
    for failure in measure.group.failures[:1]:
        raise failure
    return measure.status()


def _run(measure: Measure) -> Interrupted | None:
    """Run to the end; after a signal, let the connections end in order and return the failure.

    On a terminal, standard error shows the rates of each second.
    """
    from .. import signals

    group = measure.group
    before, seconds = dict.fromkeys(measure.counts(), 0), 0.0
    try:
        # A signal may come as soon as the first connection is there.
        group.start()
        while not group.wait(REPORT_S if sys.stderr.isatty() else float("inf")):
            counts, now_s = measure.counts(), group.seconds
            click.echo(_rates(now_s, now_s - seconds, counts, before), err=True)
            before, seconds = counts, now_s
    except KeyboardInterrupt:
        group.stop(PATIENCE_S)
        return Interrupted(f"{signals.word()}; measured up to then", signals.status())
    return None


def _rates(now_s: float, passed_s: float, counts: dict[str, int], before: dict[str, int]) -> str:
    """Return a line about what was done, and how fast since the line before."""
    rates = {name: (count - before[name]) / passed_s for name, count in counts.items()}
    said = (f"{name} {count:,} ({rates[name]:,.0f} per second)" for name, count in counts.items())
    return f"{now_s:>5.0f} s  {', '.join(said)}"


def summary(benchmark: "Benchmark", *, qos: int) -> dict[str, Any]:
    """Return what was measured, as it stands in the JSON record."""
    latencies, seconds, done = benchmark.latencies, benchmark.seconds, benchmark.done
    source = benchmark.workers[0].source
    record: dict[str, Any] = {
        "event": "bench", "connections": len(benchmark.workers), "qos": qos,
        "payload_bytes": None if source.payloads else len(source.message.payload),
        "messages": done, "refused": benchmark.refused, "seconds": round(seconds, 3),
        "messages_per_second": round(done / seconds, 1), "failed_connections": len(benchmark.failures),
    }  # fmt: skip
    return {**record, **_latency_record(latencies)}


def delivery_summary(benchmark: "DeliveryBenchmark") -> dict[str, Any]:
    """Return what `bench sub` measured, as it stands in the JSON record."""
    request, received, seconds = benchmark.request, benchmark.received, benchmark.receiving_s
    return {
        "event": "bench", "kind": SUB, "subscribers": len(benchmark.listeners), "publishers": len(benchmark.talkers),
        "qos": request.qos, "payload_bytes": request.size_bytes if benchmark.talkers else None,
        "published": benchmark.published, "refused": benchmark.refused, "received": received, "lost": benchmark.lost,
        "disordered": benchmark.disordered, "foreign": benchmark.foreign, "seconds": round(seconds, 3),
        "messages_per_second": round(received / seconds, 1) if seconds else None,
        "failed_connections": len(benchmark.failures), **_latency_record(benchmark.latencies),
    }  # fmt: skip


def connection_summary(benchmark: "ConnectionBenchmark") -> dict[str, Any]:
    """Return what `bench conn` measured, as it stands in the JSON record."""
    connected, seconds = benchmark.connected, max(benchmark.opening_s, 0.0)
    return {
        "event": "bench", "kind": CONN, "connections": len(benchmark.clients), "connected": connected,
        "seconds": round(seconds, 3), "connections_per_second": round(connected / seconds, 1) if seconds else None,
        "failed_connections": len(benchmark.failures), **_latency_record(benchmark.latencies),
    }  # fmt: skip


def _latency_record(latencies: "Latencies") -> dict[str, Any]:
    """Return the percentiles in microseconds; nothing where nothing was measured."""
    if not latencies.count:
        return {}
    shares = {f"p{percent:g}": latencies.percentile(percent) // 1000 for percent in PERCENTILES}
    return {"latency_us": {"min": latencies.least // 1000, **shares, "max": latencies.most // 1000}}


def _print(result: dict[str, Any], benchmark: "WorkerGroup", *, json: bool, draw: bool) -> None:
    if json:
        from ..notes import print_json

        print_json(result)
        return
    rows = {key.replace("_", " "): value for key, value in result.items() if key not in ("event", "kind", "latency_us")}
    for name, value in rows.items():
        click.echo(f"{name:<20} {'-' if value is None else value:>12}")
    for name, value in result.get("latency_us", {}).items():
        click.echo(f"latency {name:<12} {value / 1000:>9.3f} ms")
    if draw and "latency_us" in result:
        click.echo()
        for line in histogram(benchmark.latencies):
            click.echo(line)


def histogram(latencies: "Latencies", rows: int = 12) -> list[str]:
    """Return a drawing with a row for each class of latency: its upper bound, its share as a bar and in percent."""
    classes = latencies.histogram(rows)
    most, total = max(count for _, count in classes), latencies.count
    return [
        f"<= {bound_ns / 1e6:>10.3f} ms  {'#' * ceil(BARS * count / most):<{BARS}} {100 * count / total:5.1f} %"
        for bound_ns, count in classes
    ]
