"""What the tests of the pipeline have in common: tasks without Spark, and tables as sorted rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.flow import here
from mqttpub.spark.pipeline.job import Job, TaskResult
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from mqttpub.spark.pipeline.run import PipelineRequest, PipelineResult, run

Rows = list[dict[str, Any]]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks run one after another in this process."""

    @contextmanager
    def nothing(settings: Any) -> Iterator[None]:
        yield None

    monkeypatch.setattr(pipeline, "session", nothing)
    monkeypatch.setattr(pipeline, "distribute", one_by_one)


def one_by_one(spark: Any, job: Job, tasks: int) -> list[TaskResult]:
    """Do all tasks in this process."""
    return here(job, tasks)


def piped(*sources: Path | str, out: Path | str, **more: Any) -> PipelineResult:
    """Run the pipeline."""
    return run(PipelineRequest(tuple(str(source) for source in sources), out, **{"partitions": 3, **more}))


def tables(out: Path) -> dict[str, Rows]:
    """Return the rows of all tables in one order, wherever they stand; the files are those of the manifest."""
    listed = {part.path for part in Manifest.load(out / MANIFEST).parts}
    found: dict[str, Rows] = {}
    for path in sorted(out.rglob("*.parquet")):
        name = path.relative_to(out)
        assert name.as_posix() in listed, name
        # By way of the file alone: its folder may look like a column.
        found.setdefault(name.parts[0], []).extend(pq.ParquetFile(path).read().to_pylist())
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def collect(spark: Any, folder: Path) -> list[Any]:
    """Return the rows that a stream wrote, of the batches that it ended."""
    out = folder / "out"
    return list(spark.read.parquet(str(out)).collect()) if (out / "_spark_metadata").exists() else []
