"""`mqttpub bench`: publish, receive or connect with several connections, and show rate and latency."""

import re
import sys
import time
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...live.failures import Exit, Interrupted
from ..flags.base import Flag, FlagValues, flag, ready
from ..flags.client import ClientCommand
from ..flags.connection import connection_flags
from ..flags.payload import SOURCES, SizeType, converter_flags, payload_options
from ..flags.profile import profile_flag
from ..flags.transport import transport_flags
from ..flags.types import MOST, FiniteRange, NumberType
from ..flags.unsupported import BENCHING, CONNECTION, refused_flags

if TYPE_CHECKING:
    from ...common.quantiles import Latencies
    from ...live.bench.connections import ConnectionBenchmark
    from ...live.bench.delivery import DeliveryBenchmark, DeliveryRequest
    from ...live.bench.publishing import Benchmark, BenchRequest
    from ...live.bench.workers import WorkerGroup
    from ...live.net.target import Target

PERCENTILES = (50, 90, 95, 99, 99.9)
BARS = 40
PATIENCE_S = 2.0
"""How long the connections may take, after a signal, for the acknowledgements and DISCONNECT."""
REPORT_S = 1.0
"""Seconds between two lines about the rates."""
OTHERS_MAY_BE = re.compile("%[ic]")
"""Placeholders of a topic that are different for each publisher."""
DEFAULT_MESSAGES = 10_000
DELIVERY_RATE = 1000.0
"""Messages per second of each publisher of `bench sub`: more than a broker delivers would measure its queues."""
DEFAULT_SIZE_BYTES = 64
"""Length of a payload that no flag gives."""


def payload_flags() -> list[Flag]:
    """Return the flags of a payload, as `pub` has them; -n is the number of messages here."""
    flags = payload_options()
    flags[-1] = Flag(["--null-message"], is_flag=True, help="Payload: empty, zero bytes.")
    return flags


@click.command(
    name="bench",
    cls=ClientCommand,
    examples=(
        "mqttpub bench --connections 4 -q 1 -n 10000 --histogram",
        "mqttpub bench sub --connections 3 --publishers 2 --rate 500 -q 1 --histogram",
        "mqttpub bench conn --connections 500 --connect-interval 2 --duration 60 --json",
    ),
)
@click.argument("kind", nargs=-1, metavar="[pub|sub|conn]")
@flag(
    "-t",
    "--topic",
    common=True,
    default="bench/%i",
    show_default=True,
    metavar="TOPIC",
    help="Topic Name; %i is the number of the connection, %c its client id, %u the user name.",
)
@flag(
    "--connections",
    common=True,
    aliases=("--count",),
    type=NumberType(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Connections at once, 1 to 1000.",
)
@flag(
    "-n",
    "--messages",
    common=True,
    type=NumberType(1, MOST),
    metavar="N",
    help="Number of messages per publisher. [default: 10000]",
)
@flag(
    "--duration",
    common=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Publish for this long instead; conn: stay.",
)
@flag(
    "--rate",
    common=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="N",
    help="Messages per second each. [default: no limit; sub: 1000]",
)
@flag(
    "--publishers",
    common=True,
    type=NumberType(0, 1000),
    metavar="N",
    help="sub: connections that publish. [default: 1]",
)
@flag(
    "--connect-interval",
    type=FiniteRange(min=0),
    metavar="MS",
    help="conn: milliseconds between the starts of two connections.",
)
@flag(
    "-q", "--qos", common=True, type=NumberType(0, 2, wrong="is not a QoS: 0, 1 or 2"), default=0, show_default=True,
    metavar="0|1|2", help="QoS: at most, at least or exactly once.",
)  # fmt: skip
@flag("-r", "--retain", is_flag=True, help="Ask the broker to keep the last message for new subscribers.")
@ready(payload_flags())
@converter_flags
@flag(
    "-S",
    "--payload-size",
    common=True,
    type=SizeType(),
    metavar="SIZE",
    help="Size of the payload, such as 64 or 1.5K; every byte is an x. [default: 64]",
)
@flag(
    "-M",
    "--max-inflight",
    type=NumberType(1, 65535),
    default=65535,
    metavar="N",
    help="Maximum number of unacknowledged messages, 1 to 65535; the broker may allow fewer.",
)
@flag("--histogram", common=True, is_flag=True, help="Draw a histogram of the latencies.")
@flag("--json", "as_json", common=True, is_flag=True, help="Print one JSON record instead of the table.")
@connection_flags
@transport_flags
@profile_flag
@refused_flags({name: said for name, said in CONNECTION.items() if name != "-S"}, BENCHING)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Measure a broker: publishing, receiving or connecting.

    The latency is the time to the last acknowledgement (pub, the default; QoS 0 has none), from publishing to
    receiving (sub), or to CONNACK (conn). %i and %u may stand in --client-id too.
    """
    kind = _kind(ctx, given["kind"])
    measure = BENCHMARKS[kind](given)
    interrupted = _run(measure)
    _print(measure.summary(), measure.group, json=given["as_json"], draw=given["histogram"])
    if interrupted:
        raise interrupted
    for failure in measure.group.failures[:1]:
        raise failure
    return measure.status()


def _kind(ctx: click.Context, words: tuple[str, ...]) -> str:
    """Return what is to be measured; raises UsageError for any other argument."""
    if not words:
        return PUB
    rest = words[1:] if words[0] in BENCHMARKS else words
    if rest:
        from ..surplus import too_many

        raise click.UsageError(too_many(ctx, rest))
    return words[0]


class Measure(NamedTuple):
    """A benchmark with its summary and its exit status."""

    group: "WorkerGroup"
    counts: Callable[[], dict[str, int]]
    """Returns what has been done so far."""
    summary: Callable[[], dict[str, Any]]
    """Returns what was measured, as it stands in the JSON record."""
    status: Callable[[], Exit]
    """Returns the exit status of a run that did not fail."""


def _publishing(given: FlagValues) -> Measure:
    from ...live.bench.publishing import Benchmark

    _refuse(given, PUB)
    benchmark = Benchmark(bench_request(given))
    return Measure(
        benchmark, lambda: {"messages": benchmark.done}, lambda: summary(benchmark, qos=given["qos"]),
        lambda: Exit.REFUSED if benchmark.refused else Exit.DONE,
    )  # fmt: skip


def _receiving(given: FlagValues) -> Measure:
    from ...live.bench.delivery import DeliveryBenchmark

    _refuse(given, SUB)
    benchmark = DeliveryBenchmark(delivery_request(given))

    def status() -> Exit:
        if benchmark.refused:
            return Exit.REFUSED
        return Exit.FINDINGS if benchmark.lost and given["qos"] else Exit.DONE

    def counts() -> dict[str, int]:
        return {"published": benchmark.published, "received": benchmark.received}

    return Measure(benchmark, counts, lambda: delivery_summary(benchmark), status)


def _connecting(given: FlagValues) -> Measure:
    from ...live.bench.connections import ConnectionBenchmark, ConnectionBenchRequest

    _refuse(given, CONN)
    benchmark = ConnectionBenchmark(ConnectionBenchRequest(
        targets=_targets(_target(given), given["connections"]),
        interval_s=(given["connect_interval"] or 0) / 1000, hold_s=given["duration"] or 0.0,
        timeout_s=given["timeout"],
    ))  # fmt: skip
    return Measure(
        benchmark, lambda: {"connected": benchmark.connected}, lambda: connection_summary(benchmark), lambda: Exit.DONE
    )


PUB, SUB, CONN = "pub", "sub", "conn"
BENCHMARKS: dict[str, Callable[[FlagValues], Measure]] = {PUB: _publishing, SUB: _receiving, CONN: _connecting}
"""What can be measured, and the function that makes it of the flags."""
OTHERS = {
    PUB: {"connect_interval": "--connect-interval", "publishers": "--publishers"},
    SUB: {"connect_interval": "--connect-interval", "retain": "--retain", **SOURCES, "format": "--format"},
    CONN: {
        "messages": "--messages", "rate": "--rate", "qos": "--qos",
        "retain": "--retain", "publishers": "--publishers", "payload_size": "--payload-size", **SOURCES,
    },
}  # fmt: skip
"""Flags that do not belong to what is measured, by parameter."""


def _refuse(given: FlagValues, kind: str) -> None:
    """Raise UsageError for a flag that does not belong to what is measured."""
    named = next((name for key, name in OTHERS[kind].items() if given[key] not in (None, False, 0)), None)
    if named:
        raise click.UsageError(f"{named} does not go with bench {kind}")


def _target(given: FlagValues) -> "Target":
    """Return where to connect; raises UsageError."""
    from ..flags.connect import connection_target
    from ..observe.gate import admit

    target = connection_target(given)
    admit(target, force=None)
    return target


def _limits(given: FlagValues, rate: float | None = None) -> dict[str, Any]:
    """Return how many messages a connection publishes, for how long and how fast; raises UsageError."""
    if given["messages"] is not None and given["duration"] is not None:
        raise click.UsageError("only one of --messages and --duration")
    return {
        "messages": None if given["duration"] else given["messages"] or DEFAULT_MESSAGES,
        "duration_s": given["duration"], "rate": given["rate"] or rate, "window": given["max_inflight"],
        "timeout_s": given["timeout"],
    }  # fmt: skip


def bench_request(given: FlagValues) -> "BenchRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...live.bench.publishing import BenchRequest
    from ...spec.packets import Publish
    from ..observe.gate import judge

    limits = _limits(given)
    targets = _targets(_target(given), given["connections"])
    packets = [Publish(topic=topic, qos=given["qos"] or 0, retain=given["retain"]) for topic in _topics(given, targets)]
    payload = _payload(given)
    for target, packet in zip(targets, packets, strict=True):
        judge(packet, target.version, force=None)
    return BenchRequest(publishers=list(zip(targets, packets, strict=True)), payload=payload, **limits)


def delivery_request(given: FlagValues) -> "DeliveryRequest":
    """Return the request of `bench sub` that the flags make; raises UsageError."""
    from ...live.bench.delivery import STAMP, DeliveryRequest
    from ...payload.formats import payload_size
    from ...spec.packets import Publish, Subscribe, Subscription
    from ..observe.gate import judge

    publishers = 1 if given["publishers"] is None else given["publishers"]
    limits, target = _limits(given, DELIVERY_RATE), _target(given)
    talkers, listeners = _targets(target, publishers, "p"), _targets(target, given["connections"], "s")
    topics = _topics(given, talkers)
    for topic in topics:
        judge(Publish(topic=topic), target.version, force=None)
    # Who else publishes is not known, and neither are their numbers and names.
    filters = tuple(dict.fromkeys(topics)) or (_filled(OTHERS_MAY_BE.sub("+", given["topic"]), 0, target, "--topic"),)
    subscriptions = tuple(Subscription(filter=each) for each in filters)
    judge(Subscribe(packet_id=1, subscriptions=subscriptions), target.version, force=None)
    size = DEFAULT_SIZE_BYTES if given["payload_size"] is None else payload_size(given["payload_size"])
    if size < STAMP.size:
        said = f"must be at least {STAMP.size} bytes, which carry the time of sending"
        raise click.BadParameter(said, param_hint="--payload-size")
    return DeliveryRequest(
        publishers=list(zip(talkers, topics, strict=True)), subscribers=listeners, filters=filters,
        qos=given["qos"] or 0, size_bytes=size, **limits,
    )  # fmt: skip


def _targets(target: "Target", count: int, mark: str = "") -> "list[Target]":
    """Return the targets of so many connections, each with a Client Identifier of its own; raises UsageError."""
    placeholders = target.connect.client_id.replace("%%", "")
    if "%c" in placeholders:
        raise click.BadParameter("%c is the client id, so it cannot be a part of it", param_hint="--client-id")
    numbered = "%i" in placeholders or (count == 1 and not mark)
    made = []
    for number in range(1, count + 1):
        client_id = _filled(target.connect.client_id, number, target, "--client-id")
        suffix = mark if numbered else f"{mark}{number}"
        made.append(target.changed(client_id=f"{client_id}-{suffix}" if suffix else client_id))
    return made


def _topics(given: FlagValues, targets: "list[Target]") -> list[str]:
    """Return the topic of each connection; raises UsageError."""
    return [_filled(given["topic"], number, target, "--topic") for number, target in enumerate(targets, 1)]


def _filled(text: str, number: int, target: "Target", flag_name: str) -> str:
    """Return a text with its placeholders filled for a connection, as `pub --template` has them."""
    from ..pub.lines import Template

    try:
        template = Template(text, client_id=target.connect.client_id, username=target.connect.username)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=flag_name) from None
    return template.text(number, time.time())


def _payload(given: FlagValues) -> bytes:
    """Return the payload of every message: what a flag names, or a number of bytes; raises UsageError."""
    from ...payload.formats import payload_size
    from ..flags.payload import chosen_format, formatted_payload

    if any(given[key] not in (None, False) for key in SOURCES):
        return formatted_payload(given)
    if chosen_format(given):
        raise click.UsageError("a format needs a payload: give one of -m, --payload, -f or -s")
    size = given["payload_size"]
    return b"x" * (DEFAULT_SIZE_BYTES if size is None else payload_size(size))


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
    record: dict[str, Any] = {
        "event": "bench", "connections": len(benchmark.workers), "qos": qos,
        "payload_bytes": len(benchmark.workers[0].source.message.payload),
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
