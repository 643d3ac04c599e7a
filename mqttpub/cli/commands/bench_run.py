"""What `bench` does: many publishers at once, and what they measured."""

import threading
import time
from math import ceil
from typing import Any

import click

from ...codec.publish_writer import PublishWriter
from ...common.quantiles import Latencies
from ...live.failures import Exit, Interrupted
from ...live.net.target import Target
from ...live.publish.outgoing import Message, NotSent, OutgoingMessage
from ...live.publish.publisher import Publisher, PublishOptions
from ...live.publish.sources import Generated
from ...payload.formats import payload_size
from ...spec.packets import Publish
from .. import signals
from ..flags.transport import check
from ..pub.gate import judge
from ..pub.request import SOURCES, chosen_format, connection_target, formatted_payload

PERCENTILES = (50, 90, 95, 99, 99.9)
BARS = 40
PATIENCE_S = 2.0
"""How long a signal leaves the connections for the acknowledgements and DISCONNECT."""
DEFAULT_MESSAGES = 10_000
DEFAULT_SIZE = 64
"""Bytes of a payload that no flag names."""


class Worker(threading.Thread):
    """One connection that publishes and measures."""

    def __init__(self, target: Target, source: Generated, options: PublishOptions) -> None:
        super().__init__(daemon=True)
        self.source = source
        self.publisher = Publisher(target, source, options)
        self.latencies = Latencies()
        self.done = self.refused = 0
        self.failure: Exception | None = None
        self.over = threading.Event()

    def run(self) -> None:
        """Publish until the source ends."""
        try:
            for outcomes in self.publisher.run():
                while outcomes:
                    self._count(outcomes.popleft())
        except Exception as error:
            # Whatever it is, it ends the program in the main thread: a benchmark that broke must not pass for one done.
            self.failure = error
        finally:
            self.over.set()

    def _count(self, outcome: OutgoingMessage | NotSent) -> None:
        if isinstance(outcome, OutgoingMessage):
            self.done += 1
            self.refused += outcome.refused
            if outcome.latency_s is not None:
                self.latencies.add(round(outcome.latency_s * 1e9))


def bench(given: dict[str, Any]) -> int:
    """Run the benchmark, print what was measured and return the exit status."""
    if given["messages"] is not None and given["duration"] is not None:
        raise click.UsageError("only one of --messages and --duration")
    target = connection_target(given)
    check(target.transport)
    data = _payload(given)
    workers = [_worker(number, target, given, data) for number in range(1, given["connections"] + 1)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    interrupted = _interrupted(workers)
    result = summary(workers, time.monotonic() - began, given)
    _print(result, workers, given)
    if interrupted:
        raise interrupted
    for failure in {str(worker.failure): worker.failure for worker in workers if worker.failure}.values():
        raise failure
    return Exit.REFUSED if result["refused"] else Exit.DONE


def _interrupted(workers: list[Worker]) -> Interrupted | None:
    """Wait for the workers; on a signal let them take their leave of the broker, and return the failure."""
    try:
        _join(workers)
    except KeyboardInterrupt:
        for worker in workers:
            worker.source.stop()
        _join(workers, PATIENCE_S)
        return Interrupted(f"{signals.word()}; measured up to then", signals.status())
    return None


def _join(workers: list[Worker], longest_s: float = float("inf")) -> None:
    # Python takes a thread for ended when a signal breaks off `join`, so an event is waited for.
    until = time.monotonic() + longest_s
    for worker in workers:
        worker.over.wait(max(min(until - time.monotonic(), threading.TIMEOUT_MAX), 0))


def _payload(given: dict[str, Any]) -> bytes:
    """Return the payload of every message: what a flag names, or so many bytes; raises UsageError."""
    if any(given[key] not in (None, False) for key in SOURCES):
        return formatted_payload(given)
    if chosen_format(given):
        raise click.UsageError("a format needs a payload: give one of -m, --payload, -f or -s")
    size = given["payload_size"]
    return b"x" * (DEFAULT_SIZE if size is None else payload_size(size))


def _worker(number: int, target: Target, given: dict[str, Any], data: bytes) -> Worker:
    if given["connections"] > 1:
        target = target.changed(client_id=f"{target.connect.client_id}-{number}")
    packet = Publish(topic=given["topic"].replace("%c", str(number)), qos=given["qos"], retain=given["retain"])
    judge(packet, target.version, force=None)
    message = Message(PublishWriter(packet, target.version), data)
    count = None if given["duration"] else given["messages"] or DEFAULT_MESSAGES
    source = Generated(message, count, given["duration"], given["rate"])
    return Worker(target, source, PublishOptions(timeout_s=given["timeout"], window=given["max_inflight"]))


def summary(workers: list[Worker], seconds: float, given: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured, as it stands in the JSON record."""
    latencies = Latencies()
    for worker in workers:
        latencies.merge(worker.latencies)
    done = sum(worker.done for worker in workers)
    record: dict[str, Any] = {
        "event": "bench", "connections": len(workers), "qos": given["qos"],
        "payload_bytes": len(workers[0].source.message.payload),
        "messages": done, "refused": sum(worker.refused for worker in workers), "seconds": round(seconds, 3),
        "messages_per_second": round(done / seconds, 1), "failed_connections": sum(bool(w.failure) for w in workers),
    }  # fmt: skip
    if latencies.count:
        record["latency_us"] = {
            "min": latencies.least // 1000,
            **{f"p{percent:g}": latencies.percentile(percent) // 1000 for percent in PERCENTILES},
            "max": latencies.most // 1000,
        }
    return record


def _print(result: dict[str, Any], workers: list[Worker], given: dict[str, Any]) -> None:
    if given["as_json"]:
        import json

        click.echo(json.dumps(result, separators=(",", ":")))
        return
    rows = {key.replace("_", " "): value for key, value in result.items() if key not in ("event", "latency_us")}
    for name, value in rows.items():
        click.echo(f"{name:<20} {value:>12}")
    for name, value in result.get("latency_us", {}).items():
        click.echo(f"latency {name:<12} {value / 1000:>9.3f} ms")
    if given["histogram"] and "latency_us" in result:
        latencies = Latencies()
        for worker in workers:
            latencies.merge(worker.latencies)
        click.echo()
        for line in histogram(latencies):
            click.echo(line)


def histogram(latencies: Latencies, rows: int = 12) -> list[str]:
    """Return a drawing with a row for each class of latency: its upper bound, its share as a bar and in percent."""
    classes = latencies.histogram(rows)
    most, total = max(count for _, count in classes), latencies.count
    return [
        f"<= {bound_ns / 1e6:>10.3f} ms  {'#' * ceil(BARS * count / most):<{BARS}} {100 * count / total:5.1f} %"
        for bound_ns, count in classes
    ]
