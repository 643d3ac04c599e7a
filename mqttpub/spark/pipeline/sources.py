"""What a user names as input, as an ordered list of files that tasks can open."""

import glob
import hashlib
import os
import re
import socket
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from ...capture.containers.registry import LOOK, Reader, is_capture
from ...capture.types import BadCapture
from ...wire.types import readable

HEAD = 65_536
"""Bytes at the beginning of a file by which it is known again under another name."""
COPIES = 4
"""Files that are fetched at the same time."""
MANIFEST = "_manifest.json"
"""By which a folder of tables is known."""
HIDDEN = (".", "_")
"""How the names of files begin that no folder stands for."""
_MAGIC = "*?["
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_HERE = ("", "localhost")
"""Hosts of a `file:` URL that mean this machine."""


class NoSource(ValueError):
    """Something named as input is not there; the message is one sentence."""

    status = 2


class Source(NamedTuple):
    """One file."""

    name: str
    """As the tables call it: the path or URL under which it was found."""
    path: str
    """Where tasks open it."""
    size: int
    """Bytes."""
    capture: bool = True
    """Whether it is a capture, rather than a text."""
    stamp: int | None = None
    """Time of the first record, in nanoseconds since 1970; None when nothing tells it."""
    head: int = 0
    """Bytes that `digest` covers."""
    digest: str = ""
    """Of the beginning of the file, with which it is known again when it was renamed."""
    problem: str = ""
    """Why it cannot be read at all."""
    skip: int = 0
    """Records at its beginning that an earlier run has read."""


def is_url(given: str) -> bool:
    """Tell whether something is a URL for Hadoop's file systems, rather than a path."""
    return bool(_URL.match(given)) and ("://" in given or not os.path.lexists(given))


def as_path(given: str) -> str:
    """Return the path of a `file:` URL, and everything else as it is; raises NoSource for a file of another host."""
    if not is_url(given) or not given.lower().startswith("file:"):
        return given
    rest = given[len("file:") :]
    if not rest.startswith("//"):
        return rest
    host, slash, path = rest[2:].partition("/")
    if host.lower() not in _HERE:
        raise NoSource(f"'{given}' is a file of the host {host}; a file of this machine is file:///path")
    return slash + path


def expand(given: Iterable[str]) -> list[Source]:
    """Return the files behind paths, folders and globs, each once, in the order of their first records.

    Rotated captures come in the order (time of the first record, name); what has no times comes
    after what has. A folder stands for all files in it and below, but hidden ones. A file that
    cannot be read is in the list, with its problem; what is not there raises NoSource.
    """
    paths = dict.fromkeys(path for each in given for path in _paths(each))
    return ordered(examine(path, path) for path in _different(paths))


def _different(paths: Iterable[str]) -> Iterator[str]:
    """Yield each file once, by the first of its names."""
    seen = set()
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            # Why it cannot be read is told with the others.
            yield path
            continue
        if (file := (found.st_dev, found.st_ino)) not in seen:
            seen.add(file)
            yield path


def ordered(sources: Iterable[Source]) -> list[Source]:
    """Return sources in the order in which they were captured."""
    return sorted(sources, key=lambda each: (each.stamp is None, each.stamp or 0, each.name))


def examine(name: str, path: str) -> Source:
    """Return what is known of a file before all of it is read."""
    # A name may be any bytes, a table and a manifest hold texts.
    name = readable(name)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            # It is here only because it could not be listed; this says why.
            os.scandir(path).close()
        if not stat.S_ISREG(mode):
            return Source(name, path, 0, problem="it is no file")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(HEAD)
            file.seek(0)
            capture = is_capture(head[:LOOK])
            stamp = _first_time(file) if capture else None
    except OSError as error:
        return Source(name, path, 0, problem=error.strerror or str(error))
    return Source(name, path, size, capture, stamp, len(head), _digest(head), "" if size else "the file is empty")


def unseen(source: Source, error: OSError) -> str:
    """Return what is to be said where a task cannot open a source that was there when sources were looked at."""
    reason = error.strerror or error
    return f"{source.name} was there at the beginning, but the task on {socket.gethostname()} cannot open it: {reason}"


def same_beginning(source: Source, head: int, digest: str) -> bool:
    """Tell whether a file begins with the `head` bytes of that digest."""
    if source.head == head:
        return source.digest == digest
    if source.problem or source.size < head:
        return False
    with open(source.path, "rb") as file:
        return _digest(file.read(head)) == digest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _first_time(file: Any) -> int | None:
    try:
        record = next(iter(Reader(file)), None)
    except BadCapture:
        return None
    return record.time if record else None


def _paths(given: str) -> Iterator[str]:
    if os.path.isdir(given):
        yield from _below(given)
    elif os.path.lexists(given):
        yield given
    elif any(sign in given for sign in _MAGIC):
        found = sorted(path for path in glob.glob(given, recursive=True) if not os.path.isdir(path))
        if not found:
            raise NoSource(f"nothing matches '{given}'")
        yield from found
    else:
        raise NoSource(f"cannot read '{given}': No such file or directory")


def _below(folder: str) -> Iterator[str]:
    found: list[str] = []
    unlisted: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=unlisted.append):
        if MANIFEST in names:
            # Tables of an earlier run, which somebody put among the captures.
            folders[:] = []
            continue
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        found += [os.path.join(place, name) for name in names if not name.startswith(HIDDEN)]
    found += [error.filename for error in unlisted]
    if not found:
        raise NoSource(f"the folder '{folder}' is empty")
    yield from sorted(found)


# through Hadoop's file systems


def fetched(spark: Any, urls: Iterable[str], folder: Path) -> list[Source]:
    """Return the files behind URLs, copied into a folder that all tasks reach; raises NoSource.

    Globs and folders are resolved by the file system, as Spark does for its own sources.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise NoSource("a Spark Connect server lets nobody list URLs; give paths that it and this machine share")
    folder.mkdir(exist_ok=True)
    jvm = spark.sparkContext._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    found = [status for url in urls for status in _statuses(jvm, conf, url)]
    with ThreadPoolExecutor(COPIES) as pool:
        return list(pool.map(lambda each: _fetch(jvm, conf, each[1], folder / f"{each[0]:06}"), enumerate(found)))


def _statuses(jvm: Any, conf: Any, url: str) -> Iterator[str]:
    """Yield the URLs of the files behind a URL."""
    from ..session.session import failures, sentence

    try:
        path = jvm.org.apache.hadoop.fs.Path(url)
        system = path.getFileSystem(conf)
        matched = system.globStatus(path)
        names = [name for status in matched or () for name in _files(system, status)]
    except failures() as error:
        raise NoSource(f"cannot list '{url}': {sentence(error)}") from None
    if not names:
        raise NoSource(f"nothing is at '{url}'")
    yield from sorted(set(names))


def _files(system: Any, status: Any) -> Iterator[str]:
    if not status.isDirectory():
        yield status.getPath().toString()
        return
    for each in system.listStatus(status.getPath()):
        if not each.getPath().getName().startswith(HIDDEN):
            yield from _files(system, each)


def _fetch(jvm: Any, conf: Any, url: str, target: Path) -> Source:
    """Return one file, as it is on this machine."""
    from ..session.session import failures, sentence

    path = jvm.org.apache.hadoop.fs.Path(url)
    try:
        local = jvm.org.apache.hadoop.fs.Path(target.as_uri())
        path.getFileSystem(conf).copyToLocalFile(False, path, local, True)
    except failures() as error:
        return Source(url, str(target), 0, problem=sentence(error))
    return examine(url, str(target))
