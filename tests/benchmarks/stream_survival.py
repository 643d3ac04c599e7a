"""Kill Spark's driver, executor and workers and the broker at random moments, and count what is lost or comes twice.

    python tests/benchmarks/stream_survival.py [--kills 20] [--seed 1] [--rate 5] [--keep FOLDER]

Run from the top of the checkout. It takes about half an hour on two cores, most of it to start Spark again.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.scenarios.spark.kills import StreamKills


def main() -> None:
    """Run and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=5, help="messages per second")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where logs, spools and files are left")
    given = parser.parse_args()
    say = partial(print, flush=True)
    say(f"seed {given.seed}")
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        folder.mkdir(exist_ok=True)
        outcome = StreamKills(folder, given.seed, given.rate, say).run(given.kills)
    say("\n".join(outcome.lines()))


if __name__ == "__main__":
    main()
