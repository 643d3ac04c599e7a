"""The main numbers of the answers as metrics of Prometheus: the text format 0.0.4, in base units.

Counters are totals over all tables of the folder, so they grow from run to run that adds to it.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..traffic.statistics import PERCENTILES
from .question import Answers
from .questions.clients import CLIENTS
from .questions.exchanges import EXCHANGES, OUTCOMES
from .questions.findings import FINDINGS
from .questions.topics import TOPICS
from .questions.traffic import TRAFFIC

PREFIX = "mqttpub_"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Sample(NamedTuple):
    """A value with its labels."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""
    """What follows the name of the metric."""


class MetricFamily(NamedTuple):
    """A metric with its samples."""

    name: str
    kind: str
    """counter, gauge or summary."""
    help: str
    samples: list[Sample]


def metrics(answers: Answers) -> str:
    """Return the metrics of the answers of a summary."""
    return "".join(f"{line}\n" for metric in _metrics(answers) if metric.samples for line in _lines(metric))


def _lines(metric: MetricFamily) -> Iterator[str]:
    name = PREFIX + metric.name
    yield f"# HELP {name} {metric.help}"
    yield f"# TYPE {name} {metric.kind}"
    for sample in metric.samples:
        labels = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in sample.labels.items())
        yield f"{name}{sample.suffix}{f'{{{labels}}}' if labels else ''} {sample.value!r}"


def _labels(**values: str | int | None) -> dict[str, str]:
    """Return labels, empty where a value is not known: Prometheus takes an empty label for none."""
    return {name: "" if value is None else str(value) for name, value in values.items()}


def _metrics(answers: Answers) -> Iterator[MetricFamily]:
    traffic = answers[TRAFFIC]
    kinds = [(_labels(type=row.type, qos=row.qos, direction=row.direction), row) for row in traffic.kinds]
    yield MetricFamily("packets_total", "counter", "Control Packets.", [Sample(row.packets, of) for of, row in kinds])
    yield MetricFamily(
        "packet_bytes_total", "counter", "Bytes of packets.", [Sample(row.bytes, of) for of, row in kinds]
    )
    malformed = [Sample(row.malformed, of) for of, row in kinds]
    yield MetricFamily("malformed_packets_total", "counter", "Packets that are malformed.", malformed)
    closed = [(_labels(closed_by=row.closed_by, closed_how=row.closed_how), row) for row in traffic.closed]
    connections = [Sample(row.connections, of) for of, row in closed]
    yield MetricFamily("connections_total", "counter", "Network Connections, by how they were closed.", connections)
    gaps = [Sample(sum(row.gaps or 0 for row in traffic.closed))]
    yield MetricFamily("connection_gaps_total", "counter", "Gaps in what was captured of connections.", gaps)
    for name, time_us in (("first", traffic.totals.first), ("last", traffic.totals.last)):
        times = [] if time_us is None else [Sample(time_us / 1e6)]
        yield MetricFamily(f"{name}_packet_timestamp_seconds", "gauge", f"Time of the {name} packet.", times)
    yield MetricFamily("clients", "gauge", "Clients.", [Sample(answers[CLIENTS].ranking.number)])
    yield MetricFamily("topics", "gauge", "Topics of PUBLISH.", [Sample(answers[TOPICS].number)])
    yield from _exchanges(answers)
    if found := answers.get(FINDINGS):
        samples = [Sample(row.times, {"severity": row.severity, "statement": row.name}) for row in found.statements]
        yield MetricFamily("findings_total", "counter", "Findings, by statement of the specification.", samples)


def _exchanges(answers: Answers) -> Iterator[MetricFamily]:
    rows = [(_labels(kind=row.kind, asked_by=row.sender), row) for row in answers[EXCHANGES]]
    ended = [Sample(row.outcomes[each], {**of, "outcome": each}) for of, row in rows for each in OUTCOMES]
    yield MetricFamily("exchanges_total", "counter", "Requests with their acks, by how they ended.", ended)
    again = [Sample(row.dups, of) for of, row in rows]
    yield MetricFamily("redeliveries_total", "counter", "PUBLISH with DUP.", again)
    latencies = [
        sample
        for of, row in rows if row.answers
        for sample in (
            *(Sample(us / 1e6, {**of, "quantile": str(percent / 100)})
              for percent, us in zip(PERCENTILES, row.percentiles or (), strict=False)),
            Sample(row.answers, of, "_count"),
        )
    ]  # fmt: skip
    yield MetricFamily("ack_latency_seconds", "summary", "Time from a request to its last ack.", latencies)
    longest = [Sample(row.longest / 1e6, of) for of, row in rows if row.longest is not None]
    yield MetricFamily("ack_latency_max_seconds", "gauge", "The longest time from a request to its last ack.", longest)
