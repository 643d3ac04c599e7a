"""What the tests of the pipeline have in common: tasks without Spark, and tables as sorted rows."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mqttpub.capture.containers.registry import records
from mqttpub.capture.types import BadCapture
from mqttpub.columns.connections import Connections
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode_coded
from mqttpub.columns.exchanges.pair import Pairing, closes
from mqttpub.columns.findings import Judging
from mqttpub.columns.reassemble.assembly import Batch
from mqttpub.columns.reassemble.frames import of_events
from mqttpub.columns.reassemble.state import State
from mqttpub.spark.pipeline import engine
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spark.pipeline.manifest import MANIFEST, Manifest
from mqttpub.spark.pipeline.run import PipelineRequest, PipelineResult, run
from mqttpub.spark.pipeline.tables import NOTHING, RECORDS
from mqttpub.traffic.closings import Closings
from mqttpub.traffic.events import Endpoints, Event
from mqttpub.view.terminal.progress import StageLines

Rows = list[dict[str, Any]]
STAGES = tuple(value for name, value in vars(engine).items() if name.isupper() and value != engine.WAIT)
"""What a run says while it works."""
WITHOUT_SPARK = ("pipeline", "--master", "none")
"""The words of a command that is not about Spark, and starts no JVM."""


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tasks run one after another in this process, without Spark."""
    monkeypatch.setattr(pipeline, "session", lambda settings: nullcontext())
    monkeypatch.setattr(pipeline, "SMALLEST", 1 << 40)
    monkeypatch.setattr(StageLines, "FIRST_S", 3600.0)


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


def in_one_process(paths: Iterable[Path]) -> dict[str, Rows]:
    """Return the rows of all tables of captures, whose records are read one by one, in the order of `tables`."""
    state, before, found = State(), list[tuple[str, int]](), dict[str, Rows]()
    events, number = list[Event](), 0
    for path in paths:
        before.append((str(path), number))
        # A file that is broken is read as far as that is possible.
        with open(path, "rb") as file, suppress(BadCapture):
            for record in records(file):
                number += 1
                events += state.feed(record._replace(number=number))
    events += state.finish()
    batch = Batch(**vars(of_events(events)), names=state.reassembler.names)
    for table, rows in _columns([batch]):
        found.setdefault(table, []).extend(rows.to_pylist())
    for table, listed in found.items():
        for row in listed:
            _localize(row, before, RECORDS[table])
    return {name: sorted(rows, key=repr) for name, rows in found.items() if rows}


def _columns(batches: Iterable[Batch]) -> Iterator[tuple[str, Any]]:
    """Yield the rows of tables, whose record numbers count on over all captures."""
    memory, connections, judging, closings, pairing = Memory(), Connections(), Judging(), Closings[str](), Pairing()
    for batch in batches:
        names = batch.names
        packets = decode_coded(batch, keys=batch.keys, memory=memory) if len(batch) else NOTHING

        def name(ends: Endpoints, names: dict[int, str] = names) -> str:
            return names[ends.number]

        yield "packets", packets
        yield "exchanges", pairing.add(packets, closes(batch, closings, name))
        yield "connections", connections.add(packets, batch, name=name)
        yield "findings", judging.add(batch, packets, name=name, client=memory.client)
    yield "exchanges", pairing.finish()
    yield "connections", connections.finish()


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
