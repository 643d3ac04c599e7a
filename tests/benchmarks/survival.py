"""Kill the publisher and the broker at random moments and count what is lost and what comes twice.

    python tests/benchmarks/survival.py [--kills 50] [--lines 30000] [--broker-share 0.3] [--signal KILL] [--late]

Run from the top of the checkout. The broker is a mosquitto that saves its state at every
change; with --aedes, the folder in which `npm install aedes aedes-persistence-level level` was
run, it is Aedes, which has written its state before it acknowledges.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.scenarios.survival import forgotten_behind_pubrec, survive


def main() -> None:
    """Run for QoS 1 and 2 and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--lines", type=int, default=30_000)
    parser.add_argument("--broker-share", type=float, default=0.3)
    parser.add_argument("--signal", choices=["KILL", "TERM"], default="KILL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--late", action="store_true", help="the subscriber comes when all is published")
    parser.add_argument("--aedes", type=Path, metavar="FOLDER")
    parser.add_argument("--qos", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    if not given.aedes:
        for seconds in (0.0, 1.0):
            with tempfile.TemporaryDirectory() as folder:
                lost = forgotten_behind_pubrec(Path(folder), seconds)
            print(  # noqa: T201
                f"mosquitto killed {seconds:g} s behind its PUBREC: the message is {'lost' if lost else 'there'}"
            )
    for qos in given.qos:
        with tempfile.TemporaryDirectory() as folder:
            outcome = survive(
                Path(folder), qos=qos, lines=given.lines, kills=given.kills, broker_share=given.broker_share,
                seed=given.seed, broker_signal=signal.Signals[f"SIG{given.signal}"], late=given.late,
                packages=given.aedes, rate=given.rate,
            )  # fmt: skip
        print(  # noqa: T201
            f"QoS {qos}: {given.lines} lines, publisher killed {outcome.publisher_kills} times, "
            f"broker {outcome.broker_kills} times: {len(outcome.lost)} lost, {len(outcome.doubled)} twice "
            f"(and {outcome.brought_again} brought again by the broker under the same identifier)"
        )


if __name__ == "__main__":
    main()
