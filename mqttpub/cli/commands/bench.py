"""`mqttpub bench`: its flags, and the benchmark that they make."""

import re
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import click

from ...live.failures import Exit
from ..bench.run import CONN, PUB, SUB, Measure, bench, connection_summary, delivery_summary, summary
from ..flags.base import Flag, FlagValues, flag, ready
from ..flags.client import ClientCommand
from ..flags.connect import broker_flags, connection_target
from ..flags.payload import (
    SOURCES,
    SizeType,
    TemplateRequest,
    converter_flags,
    payload_options,
    template_flags,
    template_request,
)
from ..flags.profile import profile_flag
from ..flags.types import MOST, FiniteRange, NumberType
from ..flags.unsupported import BENCHING, CONNECTION, refused_flags

if TYPE_CHECKING:
    from ...live.bench.delivery import DeliveryRequest
    from ...live.bench.publishing import BenchRequest
    from ...live.net.target import Target
    from ...spec.packets import Publish


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
@template_flags
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
@broker_flags
@profile_flag
@refused_flags({name: said for name, said in CONNECTION.items() if name != "-S"}, BENCHING)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Measure a broker: publishing, receiving or connecting.

    The latency is the time to the last acknowledgement (pub, the default; QoS 0 has none), from publishing to
    receiving (sub), or to CONNACK (conn). %i and %u may stand in --client-id too.
    """
    kind = _kind(ctx, given["kind"])
    return bench(BENCHMARKS[kind](given), json=given["as_json"], draw=given["histogram"])


def _kind(ctx: click.Context, words: tuple[str, ...]) -> str:
    """Return what is to be measured; raises UsageError for any other argument."""
    if not words:
        return PUB
    rest = words[1:] if words[0] in BENCHMARKS else words
    if rest:
        from ..surplus import too_many

        raise click.UsageError(too_many(ctx, rest))
    return words[0]


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
        targets=_targets(given, _target(given), given["connections"]),
        interval_s=(given["connect_interval"] or 0) / 1000, hold_s=given["duration"] or 0.0,
        timeout_s=given["timeout"],
    ))  # fmt: skip
    return Measure(
        benchmark, lambda: {"connected": benchmark.connected}, lambda: connection_summary(benchmark), lambda: Exit.DONE
    )


BENCHMARKS: dict[str, Callable[[FlagValues], Measure]] = {PUB: _publishing, SUB: _receiving, CONN: _connecting}
"""What can be measured, and the function that makes it of the flags."""
TEMPLATES = {"template": "--template", "csv": "--csv", "seed": "--seed"}
OTHERS = {
    PUB: {"connect_interval": "--connect-interval", "publishers": "--publishers"},
    SUB: {
        "connect_interval": "--connect-interval", "retain": "--retain", **SOURCES, "format": "--format", **TEMPLATES,
    },
    CONN: {
        "messages": "--messages", "rate": "--rate", "qos": "--qos",
        "retain": "--retain", "publishers": "--publishers", "payload_size": "--payload-size", **SOURCES, **TEMPLATES,
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
    targets = _targets(given, _target(given), given["connections"])
    packets = [Publish(topic=topic, qos=given["qos"] or 0, retain=given["retain"]) for topic in _topics(given, targets)]
    asked = template_request(given)
    payload = b"" if asked else _payload(given)
    for target, packet in zip(targets, packets, strict=True):
        judge(packet, target.version, force=None)
    publishers = list(zip(targets, packets, strict=True))
    payloads = _payloads(given, asked, publishers) if asked else ()
    return BenchRequest(publishers=publishers, payload=payload, payloads=payloads, **limits)


def delivery_request(given: FlagValues) -> "DeliveryRequest":
    """Return the request of `bench sub` that the flags make; raises UsageError."""
    from ...live.bench.delivery import STAMP, DeliveryRequest
    from ...payload.formats import payload_size
    from ...spec.packets import Publish, Subscribe, Subscription
    from ..observe.gate import judge

    publishers = 1 if given["publishers"] is None else given["publishers"]
    limits, target = _limits(given, DELIVERY_RATE), _target(given)
    talkers, listeners = _targets(given, target, publishers, "p"), _targets(given, target, given["connections"], "s")
    topics = _topics(given, talkers)
    for topic in topics:
        judge(Publish(topic=topic), target.version, force=None)
    # Who else publishes is not known, and neither are their numbers and names.
    filters = tuple(dict.fromkeys(topics)) or (
        _filled(given, OTHERS_MAY_BE.sub("+", given["topic"]), 0, target, "--topic"),
    )
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


def _targets(given: FlagValues, target: "Target", count: int, mark: str = "") -> "list[Target]":
    """Return the targets of so many connections, each with a Client Identifier of its own; raises UsageError."""
    placeholders = target.connect.client_id.replace("%%", "")
    if "%c" in placeholders:
        raise click.BadParameter("%c is the client id, so it cannot be a part of it", param_hint="--client-id")
    numbered = "%i" in placeholders or (count == 1 and not mark)
    made = []
    for number in range(1, count + 1):
        client_id = _filled(given, target.connect.client_id, number, target, "--client-id")
        suffix = mark if numbered else f"{mark}{number}"
        made.append(target.changed(client_id=f"{client_id}-{suffix}" if suffix else client_id))
    return made


def _topics(given: FlagValues, targets: "list[Target]") -> list[str]:
    """Return the topic of each connection; raises UsageError."""
    return [_filled(given, given["topic"], number, target, "--topic") for number, target in enumerate(targets, 1)]


def _filled(given: FlagValues, text: str, number: int, target: "Target", flag_name: str) -> str:
    """Return a text with its placeholders filled for a connection, as `pub --template` has them."""
    from ..templates import template, values_of

    values = values_of(target, _seed(given, number))
    values.begin(number, time.time_ns())
    return template(text, values, flag_name).text()


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


def _payloads(
    given: FlagValues, asked: TemplateRequest, publishers: "list[tuple[Target, Publish]]"
) -> list[Iterator[bytes]]:  # fmt: skip
    """Return the payloads of each connection, which a template makes; raises UsageError."""
    from ..flags.payload import chosen_format, payload
    from ..templates import CsvFile, PublishTemplate, filled, values_of

    csv = CsvFile(asked.csv) if asked.csv else None
    text, convert = payload(given), chosen_format(given)
    made: list[Iterator[bytes]] = []
    for number, (target, packet) in enumerate(publishers, 1):
        values = values_of(target, _seed(given, number), csv.columns if csv else None)
        # The topic is filled already, and a percent sign in it is one.
        topic = packet.topic.replace("%", "%%")
        template = PublishTemplate(packet.replace(topic=topic, payload=text), values, asked.payload_flag)
        template.check(target.version, convert, force=None)
        rows = csv.endless_rows() if csv else repeat(())
        made.append(data for _, data in filled(template, rows, convert))
    return made


def _seed(given: FlagValues, number: int) -> str | None:
    """Return the seed of a connection: the same in each run, and another for each connection."""
    return None if given["seed"] is None else f"{given['seed']}/{number}"
