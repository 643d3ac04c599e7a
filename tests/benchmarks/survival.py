"""Kill the publisher and the broker at random moments and count what is lost and what comes twice.

    python tests/benchmarks/survival.py [--kills 50] [--lines 30000] [--broker-share 0.3] [--signal KILL]

Run from the top of the checkout. The broker is a mosquitto that saves its state at every change.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.survival import survive


def main() -> None:
    """Run for QoS 1 and 2 and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--lines", type=int, default=30_000)
    parser.add_argument("--broker-share", type=float, default=0.3)
    parser.add_argument("--signal", choices=["KILL", "TERM"], default="KILL")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for qos in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            outcome = survive(
                Path(folder), qos=qos, lines=given.lines, kills=given.kills, broker_share=given.broker_share,
                seed=given.seed, broker_signal=signal.Signals[f"SIG{given.signal}"],
            )  # fmt: skip
        print(  # noqa: T201
            f"QoS {qos}: {given.lines} lines, publisher killed {outcome.publisher_kills} times, "
            f"broker {outcome.broker_kills} times: {len(outcome.lost)} lost, {len(outcome.doubled)} twice "
            f"(and {outcome.brought_again} brought again by the broker under the same identifier)"
        )


if __name__ == "__main__":
    main()
