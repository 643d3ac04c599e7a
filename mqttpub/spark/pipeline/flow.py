"""The dataflow: sources are read in parts, their records meet by connection, their packets by client.

Three kinds of tasks follow one another, with a shuffle of Spark before the second and the third: `route.route` reads
parts of sources, `task.read_buckets` makes the tables of connections, `task.pair_slots` those of exchanges. Few rows
are moved, each with a large blob. There are far more buckets than tasks, each of which reads several.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import checkpoint, states
from .job import BlobRow, Job, TableFile, TaskResult, Unit
from .route import RESULT, is_large, parts, route
from .sources import Source, examine_all
from .task import join_files, joins, pair_slots, read_buckets

SCHEMA = "key int, major long, minor long, blob binary"
MOST_BYTES = 8 << 20
"""Bytes of blobs that are handed to Spark together."""

LOOKED_AT = 1000
"""Files that a task looks at."""

Step = Callable[[Job, Iterable[BlobRow]], Iterator[BlobRow]]


def distribute(spark: Any, job: Job, given: list[list[Unit]]) -> list[TaskResult]:
    """Do the work on Spark, in about `job.tasks` tasks at a time, and return the results of all tasks.

    `given` is what each of the first tasks reads.
    """
    with _settings(spark):
        rows = _mapped(spark, _indexed(spark, given), _RouteStage(job))
        if job.states:
            rows = rows.union(_mapped(spark, job.states, _States(job)))
        rows = _stage(rows, _ShuffledStage(job, read_buckets), job.tasks)
        rows = _stage(rows, _ShuffledStage(job, pair_slots), job.tasks)
        done = _collected(rows.where(f"key = {RESULT}"))
        if small := joins(job, done):
            done += _collected(_mapped(spark, small, _Join(job)))
        return done


def _collected(rows: Any) -> list[TaskResult]:
    return results(row.blob for row in rows.select("blob").collect())


def examined(spark: Any, paths: Sequence[str]) -> list[Source]:
    """Return the sources for files that all tasks reach, which tasks look at; raises StateError."""
    given = [(begin, paths[begin : begin + LOOKED_AT]) for begin in range(0, len(paths), LOOKED_AT)]
    with _settings(spark):
        rows = _mapped(spark, given, _Examine()).collect()
    found = [checkpoint.loads(bytes(row.blob)) for row in sorted(rows, key=lambda row: row.key)]
    return [Source(*each) for some in found for each in some]


def results(blobs: Iterable[bytes]) -> list[TaskResult]:
    """Return the results in blobs, in the order of their tasks' names; raises StateError."""
    try:
        # A pickle from a server could run anything here.
        return sorted(TaskResult.of(checkpoint.loads(bytes(blob))) for blob in blobs)
    except (checkpoint.StateError, TypeError) as error:
        raise checkpoint.StateError(f"the server sent something other than task results: {error}") from None


def _indexed(spark: Any, given: list[list[Unit]]) -> list[list[Unit]]:
    """Divide large captures into parts, several captures at a time."""
    large = [unit for unit, *_ in filter(is_large, given)]
    if not large:
        return given
    rows = _mapped(spark, large, _Parts()).collect()
    by_number = {unit.number: unit for unit in large}
    found = [
        by_number[row.key]._replace(start=start, stop=stop, first=first, head=head, size=size)
        for row in rows
        for start, stop, first, head, size in checkpoint.loads(bytes(row.blob))
    ]
    rest = [each for each in given if not is_large(each)]
    return sorted([*rest, *([each] for each in found)])


class _MapStage(ABC):
    """Makes rows from batches."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches of rows."""
        try:
            yield from batched(self.rows(batches))
        except Exception as error:
            # A server may pass on only the beginning of a long trace, and the message is at its end.
            raise error.with_traceback(None) from None

    @abstractmethod
    def rows(self, batches: Iterable[Any]) -> Iterator[BlobRow]:
        """Yield the rows for batches."""


class _GivenStage(_MapStage):
    """Makes rows from batches of what the driver gave: each task gets its own, and nothing of the others."""

    def rows(self, batches: Iterable[Any]) -> Iterator[BlobRow]:
        for batch in batches:
            for blob in batch.column(1).to_pylist():
                yield from self.rows_of(pickle.loads(blob))

    @abstractmethod
    def rows_of(self, given: Any) -> Iterator[BlobRow]:
        """Yield the rows for one of the things that were given."""


class _RouteStage(_GivenStage):
    def __init__(self, job: Job) -> None:
        self.job = job

    def rows_of(self, given: list[Unit]) -> Iterator[BlobRow]:
        return route(self.job, given)


class _Parts(_GivenStage):
    def rows_of(self, given: Unit) -> Iterator[BlobRow]:
        found = [(each.start, each.stop, each.first, each.head, each.size) for each in parts(given)]
        yield BlobRow(given.number, 0, 0, checkpoint.dumps(found))


class _Join(_GivenStage):
    def __init__(self, job: Job) -> None:
        self.job = job

    def rows_of(self, given: list[TableFile]) -> Iterator[BlobRow]:
        return join_files(self.job, given)


class _Examine(_GivenStage):
    def rows_of(self, given: tuple[int, Sequence[str]]) -> Iterator[BlobRow]:
        begin, paths = given
        yield BlobRow(begin, 0, 0, checkpoint.dumps([tuple(each) for each in examine_all(paths)]))


class _States(_GivenStage):
    def __init__(self, job: Job) -> None:
        self.job = job

    def rows_of(self, given: str) -> Iterator[BlobRow]:
        return states.rows(self.job, given)


class _ShuffledStage(_MapStage):
    def __init__(self, job: Job, step: Step) -> None:
        self.job, self.step = job, step

    def rows(self, batches: Iterable[Any]) -> Iterator[BlobRow]:
        return self.step(self.job, _rows(batches))


def _mapped(spark: Any, given: Sequence[Any], step: _GivenStage) -> Any:
    """Return a frame of the rows that a step makes of each of these, each in a task."""
    import pyarrow as pa

    blobs = pa.array(map(pickle.dumps, given), pa.binary())
    rows = spark.createDataFrame(pa.table({"number": pa.array(range(len(given)), pa.int32()), "given": blobs}))
    return rows.repartitionById(max(len(given), 1), "number").mapInArrow(step, SCHEMA)


def _stage(rows: Any, step: _ShuffledStage, tasks: int) -> Any:
    # Buckets are hashes already: their numbers divide them more evenly than hashes of these would.
    return (
        rows.repartitionById(min(tasks, step.job.buckets), "key")
        .sortWithinPartitions("key", "major", "minor")
        .mapInArrow(step, SCHEMA)
    )


def _rows(batches: Iterable[Any]) -> Iterator[BlobRow]:
    for batch in batches:
        keys, majors, minors, blobs = batch.columns
        for key, major, minor, blob in zip(
            keys.to_pylist(), majors.to_pylist(), minors.to_pylist(), blobs, strict=True
        ):
            yield BlobRow(key, major, minor, memoryview(blob.as_buffer()))


def batched(rows: Iterable[BlobRow]) -> Iterator[Any]:
    """Yield rows as Arrow batches of a few MB."""
    import pyarrow as pa

    kinds = (pa.int32(), pa.int64(), pa.int64(), pa.binary())
    names = ["key", "major", "minor", "blob"]

    def batch(held: list[BlobRow]) -> Any:
        columns = [pa.array(column, kind) for column, kind in zip(zip(*held, strict=True), kinds, strict=True)]
        return pa.record_batch(columns, names=names)

    held: list[BlobRow] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.blob)
        if size >= MOST_BYTES:
            yield batch(held)
            held, size = [], 0
    if held:
        yield batch(held)


@contextmanager
def _settings(spark: Any) -> Iterator[None]:
    """Set what the dataflow needs of a session, and put back what was set before."""
    wanted = {
        # Each stage is then a job of its own, as the progress shows it.
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    }
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        _set(spark, wanted)
        yield
    finally:
        _set(spark, before)


def _set(spark: Any, settings: dict[str, Any]) -> None:
    """Set what a session has; None unsets."""
    for name, value in settings.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)
