"""The input that a user gave, as an ordered list of files that tasks can open."""

import glob
import hashlib
import io
import os
import socket
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...capture.containers.registry import LOOK, RecordReader, is_capture
from ...capture.types import BadCapture
from ...wire.types import readable
from ..storage.files import (
    HIDDEN,
    MAGIC,
    BadLocation,
    UnsupportedLocation,
    find_files,
    is_url,
    locate,
    open_file,
    reason,
    size_bytes,
)

HEAD = 65_536
"""Bytes at the beginning of a file by which it is recognized under another name."""
AT_A_TIME = 4
"""Files on this machine that are looked at in parallel, or fetched."""
URLS_AT_A_TIME = 64
"""Files at URLs that are looked at in parallel: each waits for answers most of the time."""
WAITING = 5000
"""Files that wait to be looked at, at most: each takes as much memory as several that were."""
EMPTY = "the file is empty"
"""The problem of a file without a byte."""
MANIFEST = "_manifest.json"
"""The file that marks a folder of tables."""


FileStamp = tuple[int, ...]
"""What changes if a file does; empty if that is unknown."""


class NoSource(BadLocation):
    """An input does not exist, or cannot be listed; the message is one sentence."""


class NothingThere(NoSource):
    """No file has that name yet, or the folder is empty."""


class Source(NamedTuple):
    """One input file."""

    name: str
    """Its name in the tables: the path or URL under which it was found."""
    path: str
    """The path at which tasks open it."""
    size: int
    """Bytes."""
    capture: bool = True
    """Whether it is a capture, rather than a text."""
    stamp: int | None = None
    """Time of the first record, in nanoseconds since 1970; None if unknown."""
    head: int = 0
    """Bytes that `digest` covers."""
    digest: str = ""
    """Digest of the beginning of the file, by which it is recognized after it was renamed."""
    problem: str = ""
    """Why it cannot be read at all."""
    skip: int = 0
    """Number of records at its beginning that an earlier run has read."""
    start: int = 0
    """Where the record after these begins; 0 if it has to be found."""
    before: str = ""
    """The bytes to read before that record, in hexadecimal."""
    compressed: bool = False
    first: str = ""
    """Digest of the frame in the first record, by which a file is recognized that became shorter than `head`."""


Look = Callable[[Sequence[str]], Iterable[Source]]
"""Returns the sources for files, by their paths and URLs."""


def expand(given: Iterable[str], look: Look | None = None) -> list[Source]:
    """Return the files that paths, URLs, folders and globs name, each once, in the order of capture.

    The order is (time of the first record, name); files without times come last. A folder stands for
    all files in it and below, except hidden ones. A file that cannot be read is in the list, with its
    problem; a path or URL of nothing raises NoSource, and a URL that cannot be used BadLocation. `look` is what looks
    at the files; by default this process does.
    """
    return SourceList(given).find(look)


class SourceList:
    """The files that paths, URLs, folders and globs name, which can be looked for again and again."""

    def __init__(self, given: Iterable[str]) -> None:
        self._given = tuple(given)
        self._known: dict[str, tuple[FileStamp, Source]] = {}
        """What was found last, by path: among thousands of files, only those that changed are opened again."""

    def find(self, look: Look | None = None) -> list[Source]:
        """Return the files that are there now; errors and order are those of `expand`."""
        stamps, known = dict(_different(found for each in self._given for found in _paths(each))), self._known
        changed = [path for path, stamp in stamps.items() if not stamp or path not in known or known[path][0] != stamp]
        seen = dict(zip(changed, (look or examine_all)(changed), strict=True))
        self._known = {path: (stamp, seen.get(path) or known[path][1]) for path, stamp in stamps.items()}
        return ordered(source for _, source in self._known.values())


def opens(given: str) -> bool:
    """Return whether this machine opens a path or URL itself, rather than Hadoop; raises BadLocation."""
    try:
        return not is_url(given) or bool(locate(given))
    except UnsupportedLocation:
        return False
    except OSError as error:
        raise NoSource(f"cannot open '{given}': {reason(error)}") from None


def _different(paths: Iterable[tuple[str, FileStamp]]) -> Iterator[tuple[str, FileStamp]]:
    """Yield each file once, by the first of its names, with what changes if it does."""
    seen = set()
    for path, stamp in paths:
        if is_url(path):
            yield path, stamp
            continue
        try:
            found = os.stat(path)
        except OSError:
            # `examine` finds out why it cannot be read.
            yield path, ()
            continue
        if (file := (found.st_dev, found.st_ino)) not in seen:
            seen.add(file)
            yield path, (*file, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def ordered(sources: Iterable[Source]) -> list[Source]:
    """Return sources in the order in which they were captured."""
    return sorted(sources, key=lambda each: (each.stamp is None, each.stamp or 0, each.name))


def examine_all(paths: Sequence[str]) -> list[Source]:
    """Return the sources for files, which are looked at several at a time."""
    found: list[Source] = []
    with ThreadPoolExecutor(URLS_AT_A_TIME if any(map(is_url, paths)) else AT_A_TIME) as pool:
        for begin in range(0, len(paths), WAITING):
            some = paths[begin : begin + WAITING]
            found += pool.map(examine, some, some)
    return found


def examine(name: str, path: str) -> Source:
    """Return the source for a file, from its size and its beginning alone."""
    # A file name may be any bytes, but tables and the manifest hold text.
    name = readable(name)
    try:
        if not is_url(path):
            if stat.S_ISDIR(mode := os.stat(path).st_mode):
                # A folder gets here only if it could not be listed; this raises the reason.
                os.scandir(path).close()
            if not stat.S_ISREG(mode):
                return Source(name, path, 0, problem="it is not a file")
        # Twice as much, so that the first record is in the buffer when the head has been read.
        with open_file(path, read_bytes=2 * HEAD) as file:
            size = size_bytes(file)
            file.seek(0)
            head = file.read(HEAD)
            file.seek(0)
            capture = is_capture(head[:LOOK])
            # What was read to the end is not asked for again.
            first = _first_record(file if size > len(head) else io.BytesIO(head)) if capture else FirstRecord()
    except OSError as error:
        return Source(name, path, 0, problem=reason(error))
    problem = "" if size else EMPTY
    return Source(
        name, path, size, capture, first.time_ns, len(head), _digest(head), problem, compressed=first.compressed,
        first=first.digest,
    )  # fmt: skip


def unseen(source: Source, error: OSError) -> str:
    """Return the message for a source that the driver could read and a task cannot open."""
    host = socket.gethostname()
    return f"{source.name} existed at the start, but the task on {host} cannot open it: {reason(error)}"


def same_beginning(source: Source, head: int, digest: str) -> bool:
    """Return whether the first `head` bytes of a file have that digest."""
    if source.head == head:
        return source.digest == digest
    if source.problem or source.size < head:
        return False
    with open_file(source.path, read_bytes=HEAD) as file:
        return begins_like(source._replace(head=head, digest=digest), file)


def begins_like(source: Source, file: BinaryIO) -> bool:
    """Return whether an open file begins as the source did when it was found."""
    file.seek(0)
    return _digest(file.read(source.head)) == source.digest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


class FirstRecord(NamedTuple):
    """The first record of a capture."""

    time_ns: int | None = None
    digest: str = ""
    compressed: bool = False
    """Whether the capture is."""


def _first_record(file: Any) -> FirstRecord:
    reader = RecordReader(file)
    try:
        record = next(iter(reader), None)
    except BadCapture:
        return FirstRecord()
    compressed = len(reader.container) > 1
    return FirstRecord(record.time_ns, _digest(record.data), compressed) if record else FirstRecord()


def _paths(given: str) -> Iterator[tuple[str, FileStamp]]:
    """Yield the paths and URLs of the files that an input names, the latter with what changes if the file does."""
    if is_url(given):
        yield from _at_url(given)
    else:
        yield from ((path, ()) for path in _local_paths(given))


def _local_paths(given: str) -> Iterator[str]:
    if os.path.isdir(given):
        yield from _below(given)
    elif os.path.lexists(given):
        yield given
    elif any(sign in given for sign in MAGIC):
        found = sorted(path for path in glob.glob(given, recursive=True) if not os.path.isdir(path))
        if not found:
            raise NothingThere(f"nothing matches '{given}'")
        yield from found
    else:
        raise NothingThere(f"cannot read '{given}': No such file or directory")


def _at_url(url: str) -> Iterator[tuple[str, FileStamp]]:
    try:
        found = find_files(url, MANIFEST)
    except OSError as error:
        raise NoSource(f"cannot list '{url}': {reason(error)}") from None
    if not found:
        raise NothingThere(f"there is nothing at '{url}'")
    yield from ((each.url, (each.size_bytes, each.modified_ns)) for each in found)


def _below(folder: str) -> Iterator[str]:
    found: list[str] = []
    unlisted: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=unlisted.append):
        if MANIFEST in names:
            # The output of an earlier run, which lies among the captures.
            folders[:] = []
            continue
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        found += [os.path.join(place, name) for name in names if not name.startswith(HIDDEN)]
    found += [error.filename for error in unlisted]
    if not found:
        raise NothingThere(f"the folder '{folder}' is empty")
    yield from sorted(found)


# through Hadoop's file systems


def fetched(spark: Any, urls: Iterable[str], folder: Path) -> list[Source]:
    """Return the files that URLs name, copied into a folder that all tasks reach; raises NoSource.

    The file system resolves globs and folders, as it does for Spark's own sources.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise NoSource("URLs cannot be listed through Spark Connect; give paths that the server and this machine share")
    folder.mkdir(exist_ok=True)
    jvm = spark.sparkContext._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    found = [status for url in urls for status in _statuses(jvm, conf, url)]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(lambda each: _fetch(jvm, conf, each[1], folder / f"{each[0]:06}"), enumerate(found)))


def _statuses(jvm: Any, conf: Any, url: str) -> Iterator[str]:
    """Yield the URLs of the files that a URL names."""
    from ..session.session import failures, sentence

    try:
        path = jvm.org.apache.hadoop.fs.Path(url)
        system = path.getFileSystem(conf)
        matched = system.globStatus(path)
        names = [name for status in matched or () for name in _files(system, status)]
    except failures() as error:
        raise NoSource(f"cannot list '{url}': {sentence(error)}") from None
    if not names:
        raise NoSource(f"there is nothing at '{url}'")
    yield from sorted(set(names))


def _files(system: Any, status: Any) -> Iterator[str]:
    if not status.isDirectory():
        yield status.getPath().toString()
        return
    for each in system.listStatus(status.getPath()):
        if not each.getPath().getName().startswith(HIDDEN):
            yield from _files(system, each)


def _fetch(jvm: Any, conf: Any, url: str, target: Path) -> Source:
    """Copy one file to this machine."""
    from ..session.session import failures, sentence

    path = jvm.org.apache.hadoop.fs.Path(url)
    try:
        local = jvm.org.apache.hadoop.fs.Path(target.as_uri())
        path.getFileSystem(conf).copyToLocalFile(False, path, local, True)
    except failures() as error:
        return Source(url, str(target), 0, problem=sentence(error))
    return examine(url, str(target))
