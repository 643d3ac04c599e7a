"""Kill the publisher and the broker at random moments and count what is lost and what comes twice.

The broker is a mosquitto that saves its state at every change; with `--aedes`, the folder in which `npm install aedes
aedes-persistence-level level` was run, it is Aedes, which has written its state before it acknowledges. With `--late`
the subscriber comes when all is published; `--signal` is KILL or TERM.
"""

import signal as signals
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.scenarios.survival import forgotten_behind_pubrec, survive


def lines(
    folder: Path, *, kills: int = 50, messages: int = 30_000, broker_share: float = 0.3, signal: str = "KILL",
    seed: int = 1, rate: int = 2000, late: bool = False, aedes: Path | None = None, qos: tuple[int, ...] = (1, 2),
) -> Iterator[str]:  # fmt: skip
    """Yield what came of it for each QoS."""
    for seconds in () if aedes else (0.0, 1.0):
        lost = forgotten_behind_pubrec(Path(tempfile.mkdtemp(dir=folder)), seconds)
        yield f"mosquitto killed {seconds:g} s behind its PUBREC: the message is {'lost' if lost else 'there'}"
    for each in qos:
        outcome = survive(
            Path(tempfile.mkdtemp(dir=folder)), qos=each, lines=messages, kills=kills, broker_share=broker_share,
            seed=seed, broker_signal=signals.Signals[f"SIG{signal}"], late=late, packages=aedes, rate=rate,
        )  # fmt: skip
        yield (
            f"QoS {each}: {messages} lines, publisher killed {outcome.publisher_kills} times, "
            f"broker {outcome.broker_kills} times: {len(outcome.lost)} lost, {len(outcome.doubled)} twice "
            f"(and {outcome.brought_again} brought again by the broker under the same identifier)"
        )
