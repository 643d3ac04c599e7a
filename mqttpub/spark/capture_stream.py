"""`readStream.format("mqtt_capture")`: a folder that fills with captures, each of which goes on from the last.

What is known of all connections behind a file is kept in the folder of the option `state`, beside a
list of the files in the order in which they were found; an offset counts the files of this list.
"""

import json
import os
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ..columns.schema import PACKETS
from .capture_reader import READING, Capture, buckets, capture
from .errors import CaptureError, OptionError, told
from .fitting import arrow_schema, check, fitted
from .options import Options
from .sources import NoSource, Source, examine, expand

OPTIONS = READING | {"state", "settle", "partitions", "max_files_per_trigger"}
SETTLE = 10.0
"""Seconds that the newest file must not have changed for, lest it be read while it grows."""


class Span(InputPartition):
    """What one task reads: files of the list, and of their connections those of a bucket."""

    def __init__(self, start: int, end: int, bucket: int, buckets: int) -> None:
        self.start = start
        self.end = end
        self.bucket = bucket
        self.buckets = buckets


class Found:
    """The files that were found so far, in a file of their own."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "files.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = _lines(self._path)
        self._known = set(self.paths)

    def add(self, sources: list[Source]) -> None:
        """Add those of some captures that are new."""
        new = [each.path for each in sources if each.path not in self._known]
        if new:
            self.paths += new
            self._known.update(new)
            _replace(self._path, "".join(json.dumps(path) + "\n" for path in self.paths).encode())


def _lines(path: Path) -> list[str]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _replace(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    with open(new, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _state_path(folder: Path, count: int, bucket: int, buckets: int) -> Path:
    return folder / f"{count:09}-{bucket}of{buckets}.state"


class FolderReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the captures of a folder as they come.

    It looks at its options when it is first asked for files: what is raised before, Spark does not
    tell (seen with 4.3).
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self.schema = schema
        self._given = given
        self._last: int | None = None
        """Where a query ends that reads only what is there."""

    @cached_property
    def options(self) -> Options:
        """The options; raises OptionError."""
        return Options(self._given, OPTIONS)

    @cached_property
    def folder(self) -> Path:
        """Where it is kept what is known; raises OptionError."""
        why = "a folder for what is known of connections that go on in the next file"
        return Path(self.options.needed("state", why)).absolute()

    @cached_property
    def _found(self) -> Found:
        return Found(self.folder)

    @cached_property
    def _buckets(self) -> int:
        """Among how many tasks connections are divided, once and for all."""
        path = self.folder / "partitions"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            _replace(path, str(buckets(self.options)).encode())
        kept = int(path.read_text())
        if "partitions" in self.options and buckets(self.options) != kept:
            raise OptionError(f"option 'partitions' was {kept} when this state was begun, and stays so")
        return kept

    # offsets

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return where a new query begins: with the first file."""
        with told(CaptureError):
            if not self.options.paths():
                raise OptionError("there is nothing to read: load() takes a folder, or a glob")
            check(self.schema, PACKETS)
            capture(self.options, 0, self._buckets)
            return {"files": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how many files one batch may bring."""
        with told(CaptureError):
            if "max_files_per_trigger" in self.options:
                return ReadMaxFiles(self.options.number("max_files_per_trigger", 1, 1))
            return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Return up to which file all have been written to their end."""
        with told(CaptureError):
            if self._last is None:
                self._found.add(self._ended(self.options.seconds("settle", SETTLE)))
            end = len(self._found.paths) if self._last is None else self._last
            if start["files"] > len(self._found.paths):
                raise CaptureError(
                    f"the checkpoint of this query is at file {start['files']}, but the state '{self.folder}' "
                    f"knows {len(self._found.paths)}: give both back, or begin with a new checkpoint"
                )
            if isinstance(limit, ReadMaxFiles):
                end = min(end, start["files"] + limit.max_files)
            return {"files": max(end, start["files"])}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take all files that are there, the newest too: whoever reads only what is there knows that it is whole."""
        with told(CaptureError):
            self._found.add(self._ended(0.0))
            self._last = len(self._found.paths)

    def _ended(self, settle: float) -> list[Source]:
        """Return the captures that do not grow any more: all but the newest, and that when it has settled."""
        known = set(self._found.paths)
        try:
            sources = [each for each in expand(self.options.paths()) if each.path not in known]
        except NoSource:
            # The folder is still empty.
            return []
        return [each for each in sources[:-1] if not each.problem] + [
            each for each in sources[-1:] if not each.problem and time.time() - os.stat(each.path).st_mtime >= settle
        ]

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return what tasks read."""
        with told(CaptureError):
            if start["files"] >= end["files"]:
                return []
            return [Span(start["files"], end["files"], bucket, self._buckets) for bucket in range(self._buckets)]

    def commit(self, end: dict[str, int]) -> None:
        """Forget what was known behind files before."""
        with told(CaptureError):
            for path in self.folder.glob("*.state"):
                if int(path.name.partition("-")[0]) < end["files"]:
                    path.unlink(missing_ok=True)

    # rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files, and keep what is known behind them."""
        assert isinstance(partition, Span)
        pa.set_cpu_count(1)
        wanted = arrow_schema(self.schema)
        with told(CaptureError):
            paths = _lines(self.folder / "files.jsonl")
            made = self._known(partition, paths)
            for path in paths[partition.start : partition.end]:
                for batch in made.rows(examine(path, path)):
                    if batch.num_rows:
                        yield fitted(batch, wanted)
            _replace(self._state(partition, partition.end), pickle.dumps(made))

    def _state(self, partition: Span, count: int) -> Path:
        return _state_path(self.folder, count, partition.bucket, partition.buckets)

    def _known(self, partition: Span, paths: list[str]) -> Capture:
        """Return what is known behind the files before, from a file or, where Spark had no use for rows, anew."""
        for count in range(partition.start, -1, -1):
            path = self._state(partition, count)
            if path.exists() or not count:
                break
        made = pickle.loads(path.read_bytes()) if count else self._new(partition)
        assert isinstance(made, Capture)
        for each in paths[count : partition.start]:
            for _ in made.rows(examine(each, each)):
                continue
        return made

    def _new(self, partition: Span) -> Capture:
        return capture(self.options, partition.bucket, partition.buckets)
