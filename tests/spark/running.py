"""What the tests of the pipeline have in common: tasks without Spark, and tables as sorted rows."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from mqttpub.capture.types import BadCapture
from mqttpub.columns.exchanges.pair import Pairing
from mqttpub.columns.read import finish
from mqttpub.columns.reassemble.reassemble import reassemble
from mqttpub.columns.reassemble.state import State
from mqttpub.columns.scan.records import reader, records
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.flow import here
from mqttpub.spark.pipeline.job import Job, TaskResult
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from mqttpub.spark.pipeline.run import PipelineRequest, PipelineResult, run
from mqttpub.spark.pipeline.tables import RECORDS, TableBuilder

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


class KeptRows:
    """Stands in for the files and the shuffle: keeps rows in memory."""

    def __init__(self) -> None:
        self.pairing = Pairing()
        self.rows: dict[str, Rows] = {}

    def begin(self, slots: Any, before: Any) -> None:
        """Begin another bucket of connections."""

    def put(self, given: Any, found: Any, client: Any = None, **over: bool) -> None:
        """Keep rows of a table, or pair packets."""
        table, rows = (given, found) if isinstance(given, str) else ("exchanges", self.pairing.add(given, found))
        self.rows.setdefault(table, []).extend(rows.to_pylist())


def add_capture(path: Path, state: State, builder: TableBuilder, rows: KeptRows) -> None:
    """Read a capture in columns, without a shuffle; a file that is broken is read as far as that is possible."""
    builder.begin(rows, rows, np.zeros_like, lint=True)  # type: ignore[arg-type]
    with path.open("rb") as file, suppress(BadCapture):
        for found in records(reader(file), state.secrets):
            builder.add(reassemble(found, state))


def in_one_process(paths: Iterable[Path]) -> dict[str, Rows]:
    """Return the rows of all tables of captures, made in columns without the dataflow, in the order of `tables`."""
    state, builder, rows, before = State(), TableBuilder(), KeptRows(), list[tuple[str, int]]()
    for path in paths:
        before.append((str(path), state.records))
        add_capture(path, state, builder, rows)
    builder.add(finish(state), last=True)
    builder.finish()
    rows.put("exchanges", rows.pairing.finish())
    for table, found in rows.rows.items():
        for row in found:
            _localize(row, before, RECORDS[table])
    return {name: sorted(found, key=repr) for name, found in rows.rows.items() if found}


def _localize(row: dict[str, Any], before: list[tuple[str, int]], columns: tuple[str, ...]) -> None:
    """Let record numbers count from the beginning of their source."""
    for index, column in enumerate(columns):
        if row[column] is not None:
            name, count = next(each for each in reversed(before) if each[1] < row[column])
            row[column] -= count
            row["capture"] = row["capture"] if index else name


def collect(spark: Any, folder: Path) -> list[Any]:
    """Return the rows that a stream wrote, of the batches that it ended."""
    out = folder / "out"
    return list(spark.read.parquet(str(out)).collect()) if (out / "_spark_metadata").exists() else []
