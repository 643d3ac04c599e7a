"""mqttx bench: many connections that connect, publish or subscribe, until they are interrupted or have sent enough."""

from math import ceil
from typing import Any

from ....live.bench.connections import ConnectionBenchmark, ConnectionBenchRequest
from ....live.bench.delivery import DeliveryBenchmark, DeliveryRequest
from ....live.bench.publishing import Benchmark, BenchRequest
from ....live.net.target import Target
from ..deadline import timeout_s
from . import words
from .connection import check_sent, target_of
from .grammar import LineError, Values
from .options import client_id
from .pub import message_packet, payload_of
from .sub import subscribe_packets

ENDLESS = 10**9
"""Messages, or seconds, of a run without an end."""
PATIENCE_S = 2.0
"""How long the connections may take, after Ctrl-C, for the acknowledgements and DISCONNECT."""
MOST_CONNECTIONS = 1000
NO_SPLIT = "error: option '--split [CHARACTER]' cannot be used: all messages of a benchmark have the same payload"
WITHOUT_EFFECT = {
    "verbose": "-v, --verbose has no effect: a benchmark shows no messages",
    "reconnectPeriod": "-rp, --reconnect-period has no effect: a benchmark does not connect again",
    "maximumReconnectTimes": "--maximum-reconnect-times has no effect: a benchmark does not connect again",
}
"""By key of a value, the sentence about an option that a benchmark does not have."""


def run(values: Values, name: str) -> None:
    """Measure what the values say; raises LineError, UserError and Ended."""
    count = values["count"]
    if not isinstance(count, int) or not 1 <= count <= MOST_CONNECTIONS:
        raise LineError(f"{count} connections: 1 to {MOST_CONNECTIONS} are supported.")
    if values["split"]:
        raise LineError(NO_SPLIT)
    for key, sentence in WITHOUT_EFFECT.items():
        if key in values.given:
            words.noted(sentence)
    values.complete({"clientId": client_id()} if values["clientId"] is None else {})
    target = target_of(values)
    check_sent(target)
    _wait(_BENCHMARKS[name](values, target, count), target)


def _connecting(values: Values, target: Target, count: int) -> Any:
    words.waiting(f"Starting connect benchmark, connections: {count}, req interval: {values['interval']}ms")
    return ConnectionBenchmark(ConnectionBenchRequest(
        target=target, connections=count, interval_s=values["interval"] / 1000, hold_s=ENDLESS, timeout_s=timeout_s(),
    ))  # fmt: skip


def _publishing(values: Values, target: Target, count: int) -> Any:
    if not values["topic"]:
        raise LineError("error: required option '-t, --topic <TOPIC>' not specified")
    payload = payload_of(values)
    packets = tuple(message_packet(values, b"").replace(topic=_topic(values, number)) for number in range(1, count + 1))
    check_sent(target, *packets)
    interval_ms, limit = values["messageInterval"], values["limit"]
    words.waiting(
        f"Starting publish benchmark, connections: {count}, req interval: {values['interval']}ms, "
        f"message interval: {interval_ms}ms"
    )
    return Benchmark(BenchRequest(
        target=target, packets=packets, payload=payload, messages=ceil(limit / count) if limit else ENDLESS,
        rate=1000 / interval_ms if interval_ms else None, timeout_s=timeout_s(), interval_s=values["interval"] / 1000,
    ))  # fmt: skip


def _topic(values: Values, number: int) -> str:
    """Return the topic of a connection: %i is its number, %c the Client Identifier, %u the User Name."""
    topic = str(values["topic"]).replace("%i", str(number)).replace("%c", str(values["clientId"]))
    return topic.replace("%u", values["username"]) if values["username"] else topic


def _subscribing(values: Values, target: Target, count: int) -> Any:
    if not values["topic"]:
        raise LineError("error: required option '-t, --topic <TOPIC>' not specified")
    filters = tuple(values["topic"])
    words.waiting(
        f"Starting subscribe benchmark, connections: {count}, req interval: {values['interval']}ms, "
        f"topic: {', '.join(filters)}"
    )
    subscribes = subscribe_packets(values)
    check_sent(target, *subscribes)
    return DeliveryBenchmark(DeliveryRequest(
        target=target, topics=(), filters=filters, subscribers=count, messages=ENDLESS, timeout_s=timeout_s(),
        subscribes=subscribes, interval_s=values["interval"] / 1000,
    ))  # fmt: skip


_BENCHMARKS = {"bench conn": _connecting, "bench pub": _publishing, "bench sub": _subscribing}


def _wait(benchmark: Any, target: Target) -> None:
    """Wait for the end or for Ctrl-C, and say how many messages there were."""
    try:
        benchmark.start()
        benchmark.wait()
    except KeyboardInterrupt:
        benchmark.stop(PATIENCE_S)
    for failure in benchmark.failures[:1]:
        raise words.ended(failure, target.version, target.place)
    if isinstance(benchmark, DeliveryBenchmark):
        words.done(f"Received total: {benchmark.received}")
    if isinstance(benchmark, ConnectionBenchmark):
        words.done(f"Created {benchmark.connected} connections in {max(benchmark.opening_s, 0):.3f}s")
    if isinstance(benchmark, Benchmark):
        words.done(f"All {benchmark.done} messages have been sent.")
