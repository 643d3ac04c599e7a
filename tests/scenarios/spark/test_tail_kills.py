"""Whatever a ring does to its files, and whenever the program is killed, each packet is in the tables once."""

from pathlib import Path

import pytest

from tests.build.brokers import mosquitto, plain
from tests.scenarios.spark.tail_kills import DumpcapRing, RenamedFiles, Ring, TailKills, TcpdumpRing, expected, found
from tests.spark.lake.reading import READERS
from tests.spark.running import Rows, tables

pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.timeout(3600)]
WITHOUT, SPARK = ("--master", "none"), ("--master", "local[2]")


@pytest.mark.parametrize(
    ("ring", "words"),
    [
        (DumpcapRing, WITHOUT), (TcpdumpRing, WITHOUT), (RenamedFiles, WITHOUT), (RenamedFiles, SPARK),
        (DumpcapRing, (*WITHOUT, "--format", "delta")),
    ],
)  # fmt: skip
def test_twenty_kills_lose_and_double_nothing(ring: type[Ring], words: tuple[str, ...], tmp_path: Path) -> None:
    with mosquitto(tmp_path, lambda port: [*plain(port), "max_inflight_messages 0"]) as (port,):
        kills = TailKills(tmp_path, port, ring, 1, *words)
        whole = expected(kills.run(20))
    there = found(in_logs(kills.out) if "delta" in words else tables(kills.out))
    lost = {name: rows - there[name] for name, rows in whole.items()}
    doubled = {name: there[name] - rows for name, rows in whole.items()}
    print(dict(kills.moments), {name: rows.total() for name, rows in whole.items()})  # noqa: T201
    assert not any(lost.values()), lost
    assert not any(doubled.values()), doubled
    assert all(whole.values())
    assert kills.moments.total() == 20


def in_logs(out: Path) -> dict[str, Rows]:
    """Return the rows of all Delta tables."""
    return {path.name: READERS["delta"](str(path)).to_pylist() for path in out.iterdir() if path.name[0] != "_"}
