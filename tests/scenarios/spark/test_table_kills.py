"""Whatever is killed whenever, readers of tables in an object store see them before or after the run."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake.exceptions import TableNotFoundError

from mqttpub.spark.pipeline.tables import SCHEMAS
from mqttpub.spark.pipeline.writers import NOTHING
from tests.build.fleet import capture, rotated
from tests.build.object_store import ObjectStore
from tests.scenarios.spark.table_kills import WITHOUT, Place, Rows, TableKills
from tests.scenarios.spark.test_cluster import master as master
from tests.spark.lake.reading import READERS
from tests.spark.running import alone as alone

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200), pytest.mark.usefixtures("alone")]
HERE = Place("a run without Spark", WITHOUT, "all")
DRIVER = Place("driver, JVM and workers", "local[2]", "all")
JVM = Place("JVM of the driver", "local[2]", "driver")
WORKER = Place("Python worker", "local[2]", "worker")


@pytest.fixture
def ring(tmp_path: Path) -> list[Path]:
    """Write a rotated capture."""
    return rotated(capture(5), tmp_path / "ring", 6)


@pytest.fixture
def cluster(s3_server: ObjectStore, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Start a cluster whose workers know where the store is, and return the URL of its master."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    return str(request.getfixturevalue("master"))


def test_thirty_kills(s3: str, s3_server: ObjectStore, cluster: str, ring: list[Path], tmp_path: Path) -> None:
    executor = Place("executor of a cluster", cluster, "executor")
    cluster_driver = Place("driver of a cluster", cluster, "all")
    plan = [HERE] * 20 + [DRIVER] * 3 + [JVM] * 2 + [WORKER] * 2 + [executor] * 2 + [cluster_driver]
    Random(1).shuffle(plan)
    kills = TableKills(s3_server, f"{s3}/out", ring, tmp_path, 1, print)
    kills.run(plan)
    assert len(kills.killed) == 30
    assert {each.state for each in kills.killed} == {"old", "new"}


def test_kills_of_runs_that_write_logs(s3: str, s3_server: ObjectStore, ring: list[Path], tmp_path: Path) -> None:
    kills = TableKills(s3_server, f"{s3}/out", ring, tmp_path, 2, print, table_format="delta", seen=in_logs)
    kills.run([HERE] * 24)
    assert {each.state for each in kills.killed} == {"old", "new"}


def in_logs(place: str | Path) -> Rows:
    """Return the rows of all Delta tables like those of a manifest."""
    found: Rows = {}
    for table in SCHEMAS:
        for row in delta_rows(f"{place}/{table}"):
            divided = [f"type={row.pop('type') or NOTHING}"] if "type" in row else []
            # The log divides rows by whether a later run may replace them, too.
            row.pop("open", None)
            row["capture"] = row["capture"].rpartition("/")[2]
            found.setdefault(table, []).append(repr((row, divided)))
    return {table: sorted(rows) for table, rows in found.items()}


def delta_rows(place: str) -> list[dict[str, Any]]:
    """Return the rows of a Delta table, and none if there is no log yet."""
    try:
        rows: list[dict[str, Any]] = READERS["delta"](place).to_pylist()
    except TableNotFoundError:
        return []
    return rows
