"""`mqttpub bench`: publish from several connections, and show rate and latency."""

from math import ceil
from typing import TYPE_CHECKING, Any

import click

from ...live.failures import Exit, Interrupted
from ..flags.base import Flag, FlagValues, flag, ready
from ..flags.client import ClientCommand
from ..flags.connection import connection_flags
from ..flags.payload import SizeType, converter_flags, payload_options
from ..flags.profile import profile_flag
from ..flags.transport import transport_flags
from ..flags.types import MOST, FiniteRange, NumberType
from ..flags.unsupported import BENCHING, CONNECTION, refused_flags

if TYPE_CHECKING:
    from ...common.quantiles import Latencies
    from ...live.bench.publishing import Benchmark, BenchRequest

PERCENTILES = (50, 90, 95, 99, 99.9)
BARS = 40
PATIENCE_S = 2.0
"""How long the connections may take, after a signal, for the acknowledgements and DISCONNECT."""
DEFAULT_MESSAGES = 10_000
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
    examples=("mqttpub bench --connections 4 -q 1 -n 10000 --histogram", "mqttpub bench -q 2 --duration 10 --json"),
)
@flag(
    "-t",
    "--topic",
    common=True,
    default="bench/%c",
    show_default=True,
    metavar="TOPIC",
    help="Topic Name; %c is the number of the connection.",
)
@flag(
    "--connections",
    common=True,
    aliases=("--count",),
    type=NumberType(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Connections that publish at once, 1 to 1000.",
)
@flag(
    "-n",
    "--messages",
    common=True,
    type=NumberType(1, MOST),
    metavar="N",
    help="Number of messages per connection. [default: 10000]",
)
@flag(
    "--duration",
    common=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Publish for this long instead.",
)
@flag(
    "--rate",
    common=True,
    type=FiniteRange(min=0, min_open=True),
    metavar="N",
    help="Messages per second per connection. [default: unlimited]",
)
@flag(
    "-q", "--qos", common=True, type=NumberType(0, 2, wrong="is not a QoS: 0, 1 or 2"), default=0, show_default=True,
    metavar="0|1|2", help="QoS: at most, at least or exactly once.",
)  # fmt: skip
@flag("-r", "--retain", common=True, is_flag=True, help="Ask the broker to keep the last message for new subscribers.")
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
@flag("--histogram", common=True, is_flag=True, help="Draw a histogram of acknowledgement latencies.")
@flag("--json", "as_json", common=True, is_flag=True, help="Print one JSON record instead of the table.")
@connection_flags
@transport_flags
@profile_flag
@refused_flags({name: said for name, said in CONNECTION.items() if name != "-S"}, BENCHING)
def command(**given: Any) -> int:
    """Publish from several connections and report rate and latency.

    The latency is the time from sending a message to its last acknowledgement, so QoS 0 has none.
    """
    from ...live.bench.publishing import Benchmark

    benchmark = Benchmark(bench_request(given))
    interrupted = _run(benchmark)
    result = summary(benchmark, qos=given["qos"])
    _print(result, benchmark, json=given["as_json"], draw=given["histogram"])
    if interrupted:
        raise interrupted
    for failure in benchmark.failures[:1]:
        raise failure
    return Exit.REFUSED if benchmark.refused else Exit.DONE


def bench_request(given: FlagValues) -> "BenchRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...live.bench.publishing import BenchRequest
    from ...spec.packets import Publish
    from ..flags.connect import connection_target
    from ..flags.transport import check
    from ..pub.gate import judge, judge_connection

    if given["messages"] is not None and given["duration"] is not None:
        raise click.UsageError("only one of --messages and --duration")
    target = connection_target(given)
    judge_connection(target, force=None)
    check(target.transport)
    packets = tuple(
        Publish(topic=given["topic"].replace("%c", str(number)), qos=given["qos"], retain=given["retain"])
        for number in range(1, given["connections"] + 1)
    )
    payload = _payload(given)
    for packet in packets:
        judge(packet, target.version, force=None)
    return BenchRequest(
        target=target, packets=packets, payload=payload, rate=given["rate"],
        messages=None if given["duration"] else given["messages"] or DEFAULT_MESSAGES, duration_s=given["duration"],
        window=given["max_inflight"], timeout_s=given["timeout"],
    )  # fmt: skip


def _payload(given: FlagValues) -> bytes:
    """Return the payload of every message: what a flag names, or a number of bytes; raises UsageError."""
    from ...payload.formats import payload_size
    from ..flags.payload import SOURCES, chosen_format, formatted_payload

    if any(given[key] not in (None, False) for key in SOURCES):
        return formatted_payload(given)
    if chosen_format(given):
        raise click.UsageError("a format needs a payload: give one of -m, --payload, -f or -s")
    size = given["payload_size"]
    return b"x" * (DEFAULT_SIZE_BYTES if size is None else payload_size(size))


def _run(benchmark: "Benchmark") -> Interrupted | None:
    """Run to the end; after a signal, let the connections end in order and return the failure."""
    from .. import signals

    benchmark.start()
    try:
        benchmark.wait()
    except KeyboardInterrupt:
        benchmark.stop(PATIENCE_S)
        return Interrupted(f"{signals.word()}; measured up to then", signals.status())
    return None


def summary(benchmark: "Benchmark", *, qos: int) -> dict[str, Any]:
    """Return what was measured, as it stands in the JSON record."""
    latencies, seconds, done = benchmark.latencies, benchmark.seconds, benchmark.done
    record: dict[str, Any] = {
        "event": "bench", "connections": len(benchmark.workers), "qos": qos,
        "payload_bytes": len(benchmark.workers[0].source.message.payload),
        "messages": done, "refused": benchmark.refused, "seconds": round(seconds, 3),
        "messages_per_second": round(done / seconds, 1), "failed_connections": len(benchmark.failures),
    }  # fmt: skip
    if latencies.count:
        record["latency_us"] = {
            "min": latencies.least // 1000,
            **{f"p{percent:g}": latencies.percentile(percent) // 1000 for percent in PERCENTILES},
            "max": latencies.most // 1000,
        }
    return record


def _print(result: dict[str, Any], benchmark: "Benchmark", *, json: bool, draw: bool) -> None:
    if json:
        from ..notes import print_json

        print_json(result)
        return
    rows = {key.replace("_", " "): value for key, value in result.items() if key not in ("event", "latency_us")}
    for name, value in rows.items():
        click.echo(f"{name:<20} {value:>12}")
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
