"""Runs on Spark make the tables of runs without it, and each continues what the other began."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.core.context import Py4JError

from mqttpub.spark.pipeline import flow
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.engine import Failed
from mqttpub.spark.pipeline.engine.local import LocalEngine
from mqttpub.spark.pipeline.engine.spark import SparkEngine
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from mqttpub.spark.pipeline.sources import examine_all
from mqttpub.spark.pipeline.writers import FEW
from tests.build.fleet import capture, rotated
from tests.spark.running import Rows, piped, tables

FILES = 4


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write a rotated capture."""
    return rotated(capture(11, clients=7), tmp_path_factory.mktemp("ring"), FILES)


@pytest.fixture(scope="module")
def expected(ring: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    """Return the rows of one run without Spark."""
    out = tmp_path_factory.mktemp("expected")
    piped(*ring, out=out / "out", on_spark=False, lint=True)
    return tables(out / "out")


def noted(run: Callable[[Any], Any], used: list[Any]) -> Callable[[Any], Any]:
    """Return a function that notes the class of the engine and then runs it."""

    def noting(self: Any) -> Any:
        used.append(type(self))
        return run(self)

    return noting


@pytest.mark.slow
@pytest.mark.parametrize(
    "engines",
    [[SparkEngine], [LocalEngine, SparkEngine], [SparkEngine, LocalEngine]],
    ids=["fresh", "spark continues", "spark begins"],
)
def test_tables_do_not_depend_on_the_engine(
    engines: list[Any], ring: list[Path], expected: dict[str, Rows], spark: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    used: list[Any] = []
    for each in (LocalEngine, SparkEngine):
        monkeypatch.setattr(each, "run", noted(each.run, used))
    for turn, engine in enumerate(engines, 1):
        paths = ring[: turn * FILES // len(engines)]
        done = piped(*paths, out=tmp_path, mode="resume", on_spark=engine is SparkEngine, lint=True)
        assert (done.read, done.known, done.problems) == (FILES // len(engines), len(paths) - FILES // len(engines), [])
    assert used == engines
    assert tables(tmp_path) == expected
    assert len(Manifest.load(tmp_path / MANIFEST).runs) == len(engines)
    assert {name for name, rows in expected.items() if rows} == {"packets", "exchanges", "connections", "findings"}


@pytest.mark.slow
def test_a_jvm_that_ends_while_it_is_asked_for_the_progress_is_said(
    ring: list[Path], tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: SparkContext) -> None:
        raise Py4JError("An error occurred while calling o43.statusTracker")

    ask = SparkEngine.progress

    def asked(self: SparkEngine) -> Any:
        monkeypatch.setattr(SparkContext, "statusTracker", gone)
        return ask(self)

    monkeypatch.setattr("mqttpub.spark.pipeline.run.POLL_S", 0.0)
    monkeypatch.setattr(SparkEngine, "progress", asked)
    with pytest.raises(Failed, match=r"^Spark failed: An error occurred while calling o43\.statusTracker$"):
        piped(*ring, out=tmp_path, on_spark=True)


@pytest.mark.slow
def test_small_files_are_joined_by_tasks(
    ring: list[Path], expected: dict[str, Rows], spark: Any, tmp_path: Path
) -> None:
    done = piped(*ring, out=tmp_path, lint=True, partitions=20)
    assert tables(tmp_path) == expected
    assert done.files <= 8 * FEW


@pytest.mark.slow
def test_tasks_look_at_very_many_files(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(path) for path in rotated(capture(3), tmp_path / "ring", 3)]
    paths.insert(1, str(tmp_path / "ring" / "empty.pcap"))
    Path(paths[1]).touch()
    monkeypatch.setattr(flow, "LOOKED_AT", 2)
    assert flow.examined(spark, paths) == examine_all(paths)
    piped(*paths, out=tmp_path / "here", on_spark=False)
    monkeypatch.setattr(pipeline, "MANY", 0)
    # Nothing is looked at here.
    monkeypatch.setattr("mqttpub.spark.pipeline.sources.examine", None)
    pipeline.run(pipeline.PipelineRequest(tuple(paths), tmp_path / "tasks"), spark=spark)
    assert tables(tmp_path / "tasks") == tables(tmp_path / "here")
