"""`readStream.format("mqtt_capture")`: a growing folder of captures, each of which continues the last.

The folder of the option `state` holds the state of all connections after each file, and a list of the
files in the order in which they were found; an offset counts the files of this list.
Spark's own state would need a shuffle and a state store: records divided among two buckets that way, with
transformWithStateInPandas and RocksDB, cost 1.6 times the processor time, and a batch of 60,000 packets took
2.5 times as long.

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
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ...columns.schema import PACKETS
from ..pipeline.checkpoint import StateError, dumps, load
from ..pipeline.sources import NothingThere, Source, examine, expand
from ..storage.files import HIDDEN, BadLocation, as_path, is_url, locate, modified_s
from ..storage.folder import StorageFolder
from .capture_reader import READING, CaptureDecoder, buckets, capture_decoder, locations
from .errors import CaptureError, OptionError, short_errors
from .options import Options
from .schema import arrow_schema, check, fitted

OPTIONS = READING | {"state", "settle", "idle", "partitions", "max_files_per_trigger"}
FILES, BUCKETS, STATE = "files.jsonl", "partitions", ".state"
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

    def __init__(self, folder: StorageFolder) -> None:
        self._folder = folder
        self.paths = _lines(folder, FILES, str)
        self._known = set(self.paths)

    def add(self, sources: list[Source]) -> None:
        """Add the new ones of some captures."""
        new = [each.path for each in sources if each.path not in self._known]
        if new:
            self.paths += new
            self._known.update(new)
            _write(self._folder, FILES, self.paths)


def _lines(folder: StorageFolder, name: str, kind: type) -> list[Any]:
    """Return the JSON values of a file, one per line, all of one type; none without the file. Raises CaptureError."""
    try:
        found = [json.loads(line) for line in folder.read(name).decode().splitlines()]
    except FileNotFoundError:
        return []
    except ValueError:
        _broken(folder, name)
    return found if all(isinstance(each, kind) for each in found) else _broken(folder, name)


def _broken(folder: StorageFolder, name: str) -> NoReturn:
    raise CaptureError(f"'{folder.place(name)}' is broken; restore it, or begin with a new state and a new checkpoint")


def _write(folder: StorageFolder, name: str, values: list[Any]) -> None:
    folder.replace(name, "".join(json.dumps(each) + "\n" for each in values).encode())


def _state_name(count: int, bucket: int, buckets: int) -> str:
    return f"{count:09}-{bucket}of{buckets}{STATE}"


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
    def folder(self) -> StorageFolder:
        """The folder of the option `state`; raises OptionError."""
        given = self.options.needed("state", "a folder for the state of connections that continue in the next file")
        try:
            place = as_path(given)
            return StorageFolder(place if is_url(place) else os.path.abspath(place))
        except BadLocation as error:
            raise OptionError(str(error)) from None

    @cached_property
    def _paths(self) -> list[str]:
        """The paths and URLs of the captures; raises OptionError."""
        return locations(self.options)

    @cached_property
    def _found(self) -> KnownFiles:
        return KnownFiles(self.folder)

    @cached_property
    def _buckets(self) -> int:
        """The number of tasks that the connections are divided among, fixed by the first query."""
        if BUCKETS not in self.folder.files():
            _write(self.folder, BUCKETS, [buckets(self.options)])
        kept: int = (_lines(self.folder, BUCKETS, int) or _broken(self.folder, BUCKETS))[0]
        if "partitions" in self.options and buckets(self.options) != kept:
            raise OptionError(f"option 'partitions' was {kept} when this state was begun, and cannot change")
        return kept

    # offsets

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return the offset of a new query: before the first file."""
        with short_errors(CaptureError):
            if not self._paths:
                raise OptionError("there is nothing to read: pass a folder or a glob to load()")
            self._check_apart()
            check(self.schema, PACKETS)
            capture_decoder(self.options, 0, self._buckets)
            return {"files": 0}

    def _check_apart(self) -> None:
        """Raise OptionError for a state folder among the captures, as its files would be read, too."""
        for path in self._paths:
            below = _below(path, self.folder)
            if below == os.curdir or (below and not any(part.startswith(HIDDEN) for part in below.split(os.sep))):
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
            return [each for each in expand(self._paths) if each.path not in known]
        except NothingThere:
            # The folder is empty so far.
            return []
        except BadLocation as error:
            raise CaptureError(str(error)) from None

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the inputs of the tasks."""
        with short_errors(CaptureError):
            if start == end:
                return []
            return [FileRange(start, end, bucket, self._buckets) for bucket in range(self._buckets)]

    def commit(self, end: Offset) -> None:
        """Remove the states that no later batch needs."""
        with short_errors(CaptureError):
            first = end["files"] + (_begun(end) == end["files"])
            states = [name for name in self.folder.files() if name.endswith(STATE) and "/" not in name]
            self.folder.remove(name for name in states if int(name.partition("-")[0]) < first)

    # rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files, and save the state after them."""
        assert isinstance(partition, FileRange)
        pa.set_cpu_count(1)
        wanted = arrow_schema(self.schema)
        with short_errors(CaptureError):
            paths = _lines(self.folder, FILES, str)
            made = self._known(partition, paths)
            for path in paths[partition.start : partition.end]:
                yield from _fitting(made.rows(examine(path, path)), wanted)
            if partition.ends:
                yield from _fitting(made.rest(), wanted)
            else:
                self.folder.replace(_state_name(partition.end, partition.bucket, partition.buckets), dumps(made))

    def _known(self, partition: FileRange, paths: list[str]) -> CaptureDecoder:
        """Return the state before some files, saved or rebuilt: Spark may have skipped the task that saves it."""
        there = self.folder.files()
        for count in range(partition.start, partition.begun, -1):
            name = _state_name(count, partition.bucket, partition.buckets)
            if name in there:
                made: CaptureDecoder = _loaded(self.folder.place(name))
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
            changed = max(changed, modified_s(path))
    return time.time() - changed >= seconds


def _fitting(batches: Iterator[pa.RecordBatch], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches that are not empty, with the columns that Spark asked for."""
    for batch in batches:
        if batch.num_rows:
            yield fitted(batch, wanted)


def _below(path: str, folder: StorageFolder) -> str | None:
    """Return the path of a folder below another, "." if they are the same, or None if it is elsewhere."""
    if is_url(path) == folder.is_local:
        return None
    if folder.is_local:
        path, place = os.path.realpath(path), os.path.realpath(folder.name)
    else:
        path, place = locate(path).path, locate(folder.name).path
    if not (place + "/").startswith(path.rstrip("/") + "/"):
        return None
    return os.path.relpath(place, path)


def _loaded(path: str) -> Any:
    """Return the saved state after a file; raises CaptureError."""
    try:
        return load(path, CaptureDecoder)
    except StateError as error:
        raise CaptureError(f"{error}; remove this file to read the captures from before it again") from None
