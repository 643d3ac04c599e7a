"""Kill Spark's driver, executor and workers and the broker at random moments, and count what is lost or comes twice.

It takes about half an hour on two cores, most of it to start Spark again. `--rate` is in messages per second; logs,
spools and files are left in the folder of `--keep`.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.scenarios.spark.kills import StreamKills


def lines(folder: Path, *, kills: int = 20, seed: int = 1, rate: int = 5, keep: Path | None = None) -> Iterator[str]:
    """Yield what came of it."""
    place = keep or folder
    place.mkdir(exist_ok=True)
    yield f"seed {seed}"
    yield from StreamKills(place, seed, rate, partial(print, flush=True)).run(kills).lines()
