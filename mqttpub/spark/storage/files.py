"""Files named by a path or a URL: opened for reading, and found by folder and glob."""

import io
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from pyarrow import fs

from ...common.errors import UserError

READ_BYTES = 4 << 20
"""Bytes that one request for a file at a URL fetches, at least."""
HIDDEN = (".", "_")
"""First characters of names that are skipped in folders."""
MAGIC = "*?["
"""Characters that make a name a glob."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/]*)/?(.*)", re.DOTALL)
_HERE = ("", "localhost")
"""The hosts of `file:` URLs that stand for this machine."""
_SAME = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Schemes of Hadoop and others, by the name that pyarrow has for them."""
_ARROW = ("s3", "gs", "hdfs", "abfs", "abfss")
"""Schemes of pyarrow."""
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AZURE_STORAGE_KEY")
"""Variables of the environment whose values no message may contain."""
_BRACES = re.compile(r"\{([^{}]*)\}")


class BadLocation(UserError):
    """A path or URL that cannot be used."""


class UnsupportedLocation(BadLocation):
    """A URL of a storage that cannot be opened on this machine."""


class FoundFile(NamedTuple):
    """A file at a URL."""

    url: str
    size_bytes: int
    modified_ns: int


def is_url(given: str) -> bool:
    """Return whether an input is a URL, rather than a path."""
    return bool(_URL.match(given)) and ("://" in given or not os.path.lexists(given))


def as_path(given: str) -> str:
    """Return the path of a `file:` URL, and any other input unchanged; raises BadLocation for a file elsewhere."""
    if not is_url(given) or not given.lower().startswith("file:"):
        return given
    rest = given[len("file:") :]
    if not rest.startswith("//"):
        return rest
    host, slash, path = rest[2:].partition("/")
    if host.lower() not in _HERE:
        raise BadLocation(f"'{given}' is a file on the host {host}; a file on this machine is file:///path")
    return slash + path


class StoredPath(NamedTuple):
    """A URL as pyarrow opens it."""

    system: fs.FileSystem
    path: str
    root: str
    """The path of what the URL's authority names, such as a bucket."""
    start: str
    """Scheme and authority of the URL, which stand for the root."""

    def url(self, path: str) -> str:
        """Return the URL of another path in the same place."""
        return f"{self.start}/{path[len(self.root) :].lstrip('/')}"


def locate(url: str) -> StoredPath:
    """Return where the file or folder of a URL is.

    Raises BadLocation for a URL with credentials, UnsupportedLocation for a storage that cannot be opened here, and
    OSError where it cannot be reached.
    """
    found = _PARTS.fullmatch(url)
    if not found:
        raise UnsupportedLocation(f"'{url}' names no host or bucket")
    given, authority, path = found.groups()
    scheme = _SAME.get(given.lower(), given.lower())
    user, _, host = authority.rpartition("@")
    if ":" in user or (user and scheme in ("s3", "gs")):
        raise BadLocation(
            f"a URL of {given}://{host} contains credentials; give them in the environment, such as AWS_ACCESS_KEY_ID "
            "and AWS_SECRET_ACCESS_KEY"
        )
    system, root = _system(scheme, authority)
    return StoredPath(system, f"{root}/{path}".rstrip("/"), root, f"{given}://{authority}")


@lru_cache(maxsize=64)
def _system(scheme: str, authority: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a bucket or host, and the path of its root without a slash at the end."""
    url = f"{scheme}://{authority}/"
    try:
        if scheme in _ARROW:
            system, root = fs.FileSystem.from_uri(url)
        else:
            from fsspec.core import url_to_fs

            inner, root = url_to_fs(url)
            system = fs.PyFileSystem(fs.FSSpecHandler(inner))
    except (ImportError, ValueError) as error:
        raise UnsupportedLocation(f"{scheme}:// cannot be opened here: {reason(error)}") from None
    except OSError as error:
        if scheme == "hdfs":
            # The library of Hadoop, which pyarrow needs for it, is missing.
            raise UnsupportedLocation(f"hdfs:// cannot be opened here: {reason(error)}") from None
        raise
    return system, root.rstrip("/")


def reason(error: BaseException) -> str:
    """Return why an operation on a file failed, as a part of a sentence without secrets."""
    text = getattr(error, "strerror", None) or str(error)
    # pyarrow begins with the operation and the name, which the caller's sentence has already.
    text = text.partition("AWS Error ")[2] or text
    text = " ".join(text.partition("Detail:")[0].split()).rstrip(". ")
    for name in _SECRETS:
        if secret := os.environ.get(name):
            text = text.replace(secret, "***")
    return text


def open_file(place: str, *, read_bytes: int = READ_BYTES) -> BinaryIO:
    """Open a file for reading from any offset; raises OSError, and BadLocation for a URL that cannot be used."""
    if not is_url(place):
        return open(place, "rb")
    at = locate(place)
    # Each read of pyarrow is a request, so many small ones are made one large one.
    return io.BufferedReader(at.system.open_input_file(at.path), read_bytes)


def modified_s(place: str) -> float:
    """Return when a file was written, in seconds since 1970 by the clock of the storage; raises OSError."""
    if not is_url(place):
        return os.stat(place).st_mtime
    at = locate(place)
    info = at.system.get_file_info(at.path)
    if info.type != fs.FileType.File:
        raise FileNotFoundError(f"there is no {place}")
    return (info.mtime_ns or 0) / 1e9


def size_bytes(file: BinaryIO) -> int:
    """Return the size of an open file, whose place it moves to the end."""
    return file.seek(0, os.SEEK_END)


def find_files(url: str, marker: str = "") -> list[FoundFile]:
    """Return the files that a URL names, in the order of their URLs.

    A URL may name a file, a folder (all files in it and below, except hidden ones and those of a folder
    that has a file `marker`), or be a glob of both with `*`, `?`, `[...]`, `{a,b}` and `**`. Returns
    an empty list for nothing; raises OSError and BadLocation.
    """
    at = locate(url)
    matched = [at.system.get_file_info(at.path)]
    if matched[0].type == fs.FileType.NotFound and any(sign in at.path for sign in (*MAGIC, "{")):
        matched = [each for one in _alternatives(at.path) for each in _matching(at.system, one)]
    found = {each.path: each for one in matched for each in _below(at.system, one, marker)}
    return [FoundFile(at.url(path), each.size or 0, each.mtime_ns or 0) for path, each in sorted(found.items())]


def _below(system: fs.FileSystem, info: fs.FileInfo, marker: str) -> Iterator[fs.FileInfo]:
    """Yield a file, or the files in a folder and below."""
    if info.type == fs.FileType.File:
        yield info
    elif info.type == fs.FileType.Directory:
        found = system.get_file_info(fs.FileSelector(info.path, recursive=True))
        files = [each for each in found if each.type == fs.FileType.File]
        outputs = tuple(each.path[: -len(marker)] for each in files if marker and each.base_name == marker)
        for each in files:
            inner = each.path[len(info.path.rstrip("/")) + 1 :].split("/")
            # A file of no bytes whose name ends in a slash stands for a folder.
            if inner[-1] and not any(part.startswith(HIDDEN) for part in inner) and not each.path.startswith(outputs):
                yield each


def _alternatives(glob: str) -> Iterator[str]:
    """Yield the globs without braces that one with braces stands for."""
    found = _BRACES.search(glob)
    if not found:
        yield glob
        return
    for choice in found[1].split(","):
        yield from _alternatives(glob[: found.start()] + choice + glob[found.end() :])


def _matching(system: fs.FileSystem, glob: str) -> Iterator[fs.FileInfo]:
    """Yield the files and folders that match a glob without braces."""
    if not any(sign in glob for sign in MAGIC):
        yield system.get_file_info(glob)
        return
    parts = glob.split("/")
    first = next(index for index, part in enumerate(parts) if any(sign in part for sign in MAGIC))
    folder, rest = "/".join(parts[:first]), parts[first + 1 :]
    selector = fs.FileSelector(folder or "/", recursive=parts[first] == "**", allow_not_found=True)
    found = system.get_file_info(selector)
    if parts[first] == "**":
        yield from (each for each in found if _ends_like(each.path[len(folder) :].strip("/").split("/"), rest))
        return
    for each in found:
        if fnmatchcase(each.base_name, parts[first]) and not (each.base_name[0] == "." != parts[first][0]):
            if not rest:
                yield each
            elif each.type == fs.FileType.Directory:
                yield from _matching(system, "/".join((each.path, *rest)))


def _ends_like(parts: list[str], globs: list[str]) -> bool:
    """Return whether the last parts of a path that is not hidden match globs, one each."""
    if any(part.startswith(HIDDEN) for part in parts):
        return False
    return len(parts) >= len(globs) and all(map(fnmatchcase, parts[len(parts) - len(globs) :], globs))
