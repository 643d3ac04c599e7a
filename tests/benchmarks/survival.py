"""Kill the publisher and the broker at random events and count what is lost and what comes twice.

The broker is a mosquitto that saves its state at every change. With `--late` the subscriber comes when all is
published; `--signal` is KILL or TERM. With `--stream`, Spark's driver, executor and workers and the broker are killed
instead, at `--rate` 5: that takes about half an hour for 20 kills on two cores, most of it to start Spark again.
Logs, spools and files are left in the folder of `--keep`.
"""

import signal as signals
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.scenarios.survival import survive


def lines(
    folder: Path, *, kills: int = 20, messages: int = 30_000, broker_share: float = 0.3, signal: str = "KILL",
    seed: int = 1, rate: int = 2000, late: bool = False, stream: bool = False, keep: Path | None = None,
) -> Iterator[str]:  # fmt: skip
    """Yield what came of it."""
    yield f"seed {seed}"
    place = keep or folder
    if stream:
        from tests.scenarios.spark.kills import StreamKills

        place.mkdir(exist_ok=True)
        yield from StreamKills(place, seed, rate, partial(print, flush=True)).run(kills).lines()
        return
    for qos in (1, 2):
        own = place / f"qos{qos}"
        own.mkdir(parents=True)
        outcome = survive(
            own, qos=qos, lines=messages, kills=kills, broker_share=broker_share,
            seed=seed, broker_signal=signals.Signals[f"SIG{signal}"], late=late, rate=rate,
        )  # fmt: skip
        yield (
            f"QoS {qos}: {messages} lines, publisher killed {outcome.publisher_kills} times, "
            f"broker {outcome.broker_kills} times: {len(outcome.arrived.lost)} lost, "
            f"{len(outcome.arrived.doubled)} twice "
            f"(and {outcome.brought_again} brought again by the broker under the same identifier)"
        )
