"""`readStream.format("mqtt_capture")`: a growing folder of captures, each of which continues the last.

The folder of the option `state` holds the state of all connections after each file, and a list of the
files in the order in which they were found; an offset counts the files of this list.

Some rows are released only by the end of a capture, such as packets of a connection that has not yet
proved to be MQTT. A stream has no end, unless the option `idle` gives the seconds without a change
after which a folder is complete: then these rows follow, and a later file begins a new capture.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ...columns.schema import PACKETS
from ...common.files import replace_whole
from ..pipeline.checkpoint import StateError, dumps, load
from ..pipeline.sources import NoSource, Source, examine, expand
from ..storage.files import HIDDEN
from .capture_reader import READING, CaptureDecoder, buckets, capture_decoder
from .errors import CaptureError, OptionError, short_errors
from .options import Options
from .schema import arrow_schema, check, fitted

OPTIONS = READING | {"state", "settle", "idle", "partitions", "max_files_per_trigger"}
FILES, BUCKETS = "files.jsonl", "partitions"
SETTLE = 10.0
"""Seconds without a change of the newest file before it is read, since it may still grow."""
Offset = dict[str, int]
"""`files`: the number of files read; `begun`, by default 0: that number when the current capture began."""


class FileRange(InputPartition):
    """The input of one task: some files of the list, and the bucket of connections to keep."""

    def __init__(self, start: Offset, end: Offset, bucket: int, buckets: int) -> None:
        self.start, self.end = start["files"], end["files"]
        self.begun = _begun(start)
        self.ends = _begun(end) == self.end
        """Whether the last of the files ends the capture."""
        self.bucket = bucket
        self.buckets = buckets


def _begun(offset: Offset) -> int:
    return offset.get("begun", 0)


class KnownFiles:
    """The list of files found so far, which is kept in a file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILES
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = _lines(self._path, str)
        self._known = set(self.paths)

    def add(self, sources: list[Source]) -> None:
        """Add the new ones of some captures."""
        new = [each.path for each in sources if each.path not in self._known]
        if new:
            self.paths += new
            self._known.update(new)
            _write(self._path, self.paths)


def _lines(path: Path, kind: type) -> list[Any]:
    """Return the JSON values of a file, one per line, all of one type; raises CaptureError."""
    try:
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    except ValueError:
        _broken(path)
    return found if all(isinstance(each, kind) for each in found) else _broken(path)


def _broken(path: Path) -> NoReturn:
    raise CaptureError(f"'{path}' is broken; restore it, or begin with a new state and a new checkpoint")


def _write(path: Path, values: list[Any]) -> None:
    replace_whole(path, "".join(json.dumps(each) + "\n" for each in values).encode())


def _state_path(folder: Path, count: int, bucket: int, buckets: int) -> Path:
    return folder / f"{count:09}-{bucket}of{buckets}.state"


class FolderState(NamedTuple):
    """The files of the folder at one time."""

    files: int
    """The number of files in the list."""
    over: bool
    """Whether the last of them ends the capture."""


class FolderReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the captures of a folder as they arrive.

    Options are checked when Spark first asks for files, since Spark 4.3 does not report errors raised earlier.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self.schema = schema
        self._given = given
        self._last: FolderState | None = None
        """Where a query with the trigger availableNow ends."""

    @cached_property
    def options(self) -> Options:
        """The options; raises OptionError."""
        return Options(self._given, OPTIONS)

    @cached_property
    def folder(self) -> Path:
        """The folder of the option `state`; raises OptionError."""
        why = "a folder for the state of connections that continue in the next file"
        return Path(self.options.needed("state", why)).absolute()

    @cached_property
    def _found(self) -> KnownFiles:
        return KnownFiles(self.folder)

    @cached_property
    def _buckets(self) -> int:
        """The number of tasks that the connections are divided among, fixed by the first query."""
        path = self.folder / BUCKETS
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(path, [buckets(self.options)])
        kept: int = (_lines(path, int) or _broken(path))[0]
        if "partitions" in self.options and buckets(self.options) != kept:
            raise OptionError(f"option 'partitions' was {kept} when this state was begun, and cannot change")
        return kept

    # offsets

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the offset of a new query: before the first file."""
        with short_errors(CaptureError):
            if not self.options.paths():
                raise OptionError("there is nothing to read: pass a folder or a glob to load()")
            self._check_apart()
            check(self.schema, PACKETS)
            capture_decoder(self.options, 0, self._buckets)
            return {"files": 0}

    def _check_apart(self) -> None:
        """Raise OptionError for a state folder among the captures, as its files would be read, too."""
        for path in filter(os.path.isdir, self.options.paths()):
            below = os.path.relpath(os.path.realpath(self.folder), os.path.realpath(path))
            if below == os.curdir or not any(part.startswith(HIDDEN) for part in below.split(os.sep)):
                raise OptionError(f"option 'state': '{self.folder}' is in '{path}', whose files are all read")

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the maximum number of files in a batch."""
        with short_errors(CaptureError):
            if "max_files_per_trigger" in self.options:
                return ReadMaxFiles(self.options.number("max_files_per_trigger", 1, 1))
            return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return the offset after the last complete file."""
        with short_errors(CaptureError):
            last = self._last or self._folder_state(self.options.seconds("settle", SETTLE))
            if start["files"] > len(self._found.paths):
                raise CaptureError(
                    f"the checkpoint of this query is at file {start['files']}, but the state '{self.folder}' "
                    f"knows {len(self._found.paths)}: restore both, or begin with a new checkpoint"
                )
            end, over = max(last.files, start["files"]), last.over and last.files >= start["files"]
            if isinstance(limit, ReadMaxFiles) and start["files"] + limit.max_files < end:
                end, over = start["files"] + limit.max_files, False
            begun = end if over else _begun(start)
            return {"files": end, "begun": begun} if begun else {"files": end}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Include the newest file: with availableNow, the user knows that it is complete."""
        with short_errors(CaptureError):
            self._last = self._folder_state(0.0)

    def _folder_state(self, settle: float) -> FolderState:
        """Add new files to the list, and return the state of the folder."""
        idle = self.options.seconds("idle", 0.0)
        new = self._new_files()
        good = [each for each in new if not each.problem]
        settled = good if not good or good[-1] != new[-1] or _quiet([good[-1].path], settle) else good[:-1]
        self._found.add(settled)
        over = "idle" in self.options and settled == good and bool(self._found.paths)
        changing = [each.path for each in new] + self._found.paths[-1:]
        return FolderState(len(self._found.paths), over and _quiet(changing, idle))

    def _new_files(self) -> list[Source]:
        """Return the captures that are not in the list, in their order."""
        known = set(self._found.paths)
        try:
            return [each for each in expand(self.options.paths()) if each.path not in known]
        except NoSource:
            # The folder is empty so far.
            return []

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the inputs of the tasks."""
        with short_errors(CaptureError):
            if start == end:
                return []
            return [FileRange(start, end, bucket, self._buckets) for bucket in range(self._buckets)]

    def commit(self, end: Offset) -> None:
        """Remove the states that no later batch needs."""
        with short_errors(CaptureError):
            for path in self.folder.glob("*.state"):
                if int(path.name.partition("-")[0]) < end["files"] + (_begun(end) == end["files"]):
                    path.unlink(missing_ok=True)

    # rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files, and save the state after them."""
        assert isinstance(partition, FileRange)
        pa.set_cpu_count(1)
        wanted = arrow_schema(self.schema)
        with short_errors(CaptureError):
            paths = _lines(self.folder / FILES, str)
            made = self._known(partition, paths)
            for path in paths[partition.start : partition.end]:
                yield from _fitting(made.rows(examine(path, path)), wanted)
            if partition.ends:
                yield from _fitting(made.rest(), wanted)
            else:
                replace_whole(self._state(partition, partition.end), dumps(made))

    def _state(self, partition: FileRange, count: int) -> Path:
        return _state_path(self.folder, count, partition.bucket, partition.buckets)

    def _known(self, partition: FileRange, paths: list[str]) -> CaptureDecoder:
        """Return the state before some files, saved or rebuilt: Spark may have skipped the task that saves it."""
        for count in range(partition.start, partition.begun, -1):
            path = self._state(partition, count)
            if path.exists():
                made: CaptureDecoder = _loaded(path)
                break
        else:
            count, made = partition.begun, self._new(partition)
        for each in paths[count : partition.start]:
            for _ in made.rows(examine(each, each)):
                continue
        return made

    def _new(self, partition: FileRange) -> CaptureDecoder:
        return capture_decoder(self.options, partition.bucket, partition.buckets)


def _quiet(paths: list[str], seconds: float) -> bool:
    """Return whether files have not changed for some seconds; missing files do not count."""
    changed = 0.0
    for path in paths:
        with suppress(OSError):
            changed = max(changed, os.stat(path).st_mtime)
    return time.time() - changed >= seconds


def _fitting(batches: Iterator[pa.RecordBatch], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches that are not empty, with the columns that Spark asked for."""
    for batch in batches:
        if batch.num_rows:
            yield fitted(batch, wanted)


def _loaded(path: Path) -> Any:
    """Return the saved state after a file; raises CaptureError."""
    try:
        return load(path, CaptureDecoder)
    except StateError as error:
        raise CaptureError(f"{error}; remove this file to read the captures from before it again") from None
