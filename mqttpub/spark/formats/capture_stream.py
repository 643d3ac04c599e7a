"""`readStream.format("mqtt_capture")`: a folder that fills with captures, each of which goes on from the last.

What is known of all connections behind a file is kept in the folder of the option `state`, beside a
list of the files in the order in which they were found; an offset counts the files of this list.

Some rows only the end of a capture releases, such as packets of a connection of which it is open
whether it is MQTT at all. A stream has no end, unless the option `idle` says after how many seconds
without a change a folder is at its end: then these rows come too, and a file that comes still later
begins a capture of its own.
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
from ..pipeline.sources import HIDDEN, NoSource, Source, examine, expand
from .capture_reader import READING, CaptureDecoder, buckets, capture_decoder
from .errors import CaptureError, OptionError, short_errors
from .options import Options
from .schema import arrow_schema, check, fitted

OPTIONS = READING | {"state", "settle", "idle", "partitions", "max_files_per_trigger"}
FILES, BUCKETS = "files.jsonl", "partitions"
SETTLE = 10.0
"""Seconds that the newest file must not have changed for, lest it be read while it grows."""
Offset = dict[str, int]
"""`files` counts those of the list; `begun`, 0 where it is missing, those behind which the present capture began."""


class FileRange(InputPartition):
    """What one task reads: files of the list, and of their connections those of a bucket."""

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
    """The files that were found so far, in a file of their own."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILES
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = _lines(self._path, str)
        self._known = set(self.paths)

    def add(self, sources: list[Source]) -> None:
        """Add those of some captures that are new."""
        new = [each.path for each in sources if each.path not in self._known]
        if new:
            self.paths += new
            self._known.update(new)
            _write(self._path, self.paths)


def _lines(path: Path, kind: type) -> list[Any]:
    """Return the values of a kind in a file, one in each line; raises CaptureError."""
    try:
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    except ValueError:
        _broken(path)
    return found if all(isinstance(each, kind) for each in found) else _broken(path)


def _broken(path: Path) -> NoReturn:
    raise CaptureError(f"'{path}' is broken; give it back, or begin with a new state and a new checkpoint")


def _write(path: Path, values: list[Any]) -> None:
    replace_whole(path, "".join(json.dumps(each) + "\n" for each in values).encode())


def _state_path(folder: Path, count: int, bucket: int, buckets: int) -> Path:
    return folder / f"{count:09}-{bucket}of{buckets}.state"


class FolderState(NamedTuple):
    """What is in the folder."""

    files: int
    """How many files are in the list."""
    over: bool
    """Whether the capture is over behind them."""


class FolderReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the captures of a folder as they come.

    It looks at its options when it is first asked for files: what is raised before, Spark does not
    tell (seen with 4.3).
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        self.schema = schema
        self._given = given
        self._last: FolderState | None = None
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
    def _found(self) -> KnownFiles:
        return KnownFiles(self.folder)

    @cached_property
    def _buckets(self) -> int:
        """Among how many tasks connections are divided, once and for all."""
        path = self.folder / BUCKETS
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(path, [buckets(self.options)])
        kept: int = (_lines(path, int) or _broken(path))[0]
        if "partitions" in self.options and buckets(self.options) != kept:
            raise OptionError(f"option 'partitions' was {kept} when this state was begun, and stays so")
        return kept

    # offsets

    def initialOffset(self) -> Offset:  # noqa: N802
        """Return where a new query begins: with the first file."""
        with short_errors(CaptureError):
            if not self.options.paths():
                raise OptionError("there is nothing to read: load() takes a folder, or a glob")
            self._check_apart()
            check(self.schema, PACKETS)
            capture_decoder(self.options, 0, self._buckets)
            return {"files": 0}

    def _check_apart(self) -> None:
        """Raise OptionError for a state among the captures, as its files would be read with them."""
        for path in filter(os.path.isdir, self.options.paths()):
            below = os.path.relpath(os.path.realpath(self.folder), os.path.realpath(path))
            if below == os.curdir or not any(part.startswith(HIDDEN) for part in below.split(os.sep)):
                raise OptionError(f"option 'state': '{self.folder}' lies in '{path}', whose files are all read")

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return how many files one batch may bring."""
        with short_errors(CaptureError):
            if "max_files_per_trigger" in self.options:
                return ReadMaxFiles(self.options.number("max_files_per_trigger", 1, 1))
            return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return up to which file all have been written to their end."""
        with short_errors(CaptureError):
            last = self._last or self._folder_state(self.options.seconds("settle", SETTLE))
            if start["files"] > len(self._found.paths):
                raise CaptureError(
                    f"the checkpoint of this query is at file {start['files']}, but the state '{self.folder}' "
                    f"knows {len(self._found.paths)}: give both back, or begin with a new checkpoint"
                )
            end, over = max(last.files, start["files"]), last.over and last.files >= start["files"]
            if isinstance(limit, ReadMaxFiles) and start["files"] + limit.max_files < end:
                end, over = start["files"] + limit.max_files, False
            begun = end if over else _begun(start)
            return {"files": end, "begun": begun} if begun else {"files": end}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Take all files that are there, the newest too: whoever reads only what is there knows that it is whole."""
        with short_errors(CaptureError):
            self._last = self._folder_state(0.0)

    def _folder_state(self, settle: float) -> FolderState:
        """Add to the list what came, and return where it ends."""
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
            # The folder is still empty.
            return []

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return what tasks read."""
        with short_errors(CaptureError):
            if start == end:
                return []
            return [FileRange(start, end, bucket, self._buckets) for bucket in range(self._buckets)]

    def commit(self, end: Offset) -> None:
        """Forget what was known behind files before."""
        with short_errors(CaptureError):
            for path in self.folder.glob("*.state"):
                if int(path.name.partition("-")[0]) < end["files"] + (_begun(end) == end["files"]):
                    path.unlink(missing_ok=True)

    # rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files, and keep what is known behind them."""
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
        """Return what is known behind the files before, from a file or, where Spark had no use for rows, anew."""
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
    """Tell whether files have not changed for a time; what is not there does not."""
    changed = 0.0
    for path in paths:
        with suppress(OSError):
            changed = max(changed, os.stat(path).st_mtime)
    return time.time() - changed >= seconds


def _fitting(batches: Iterator[pa.RecordBatch], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield what Spark takes: the columns that it wants, and nothing that is empty."""
    for batch in batches:
        if batch.num_rows:
            yield fitted(batch, wanted)


def _loaded(path: Path) -> Any:
    """Return what is known behind a file; raises CaptureError."""
    try:
        return load(path, CaptureDecoder)
    except StateError as error:
        raise CaptureError(f"{error}; without this file, the captures before are read again") from None
