"""A folder on any storage, for files that tasks write and small objects that are replaced as a whole."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyarrow import fs

from ...common.files import replace_whole
from .files import StoredPath, is_url, locate, modified_s
from .objects import SCHEMES, ConditionalObjects, ObjectChanged, StoredObject

AT_A_TIME = 8
"""Files that are removed in parallel."""


class StorageFolder:
    """A folder, named by a path or a URL; names of files are relative to it, with slashes.

    All methods raise OSError where the storage refuses, and making one BadLocation for a URL that
    cannot be used. It pickles as its name; each process opens the storage itself.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.name = os.fspath(place)
        self.is_local = not is_url(self.name)
        if not self.is_local:
            self.name = self.name.rstrip("/")
            locate(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return StorageFolder, (self.name,)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def at(self) -> StoredPath:
        """The folder as pyarrow opens it."""
        if not self.is_local:
            return locate(self.name)
        path = os.path.abspath(self.name)
        return StoredPath(fs.LocalFileSystem(), path, path, path)

    def place(self, name: str) -> str:
        """Return the path or URL of a file."""
        return os.path.join(self.name, name) if self.is_local else f"{self.name}/{name}"

    def is_there(self) -> bool:
        """Return whether tasks can write to it; at a URL, folders need not exist for that."""
        return not self.is_local or os.path.isdir(self.name)

    def files(self) -> dict[str, int]:
        """Return the names of all files in the folder and below, with their sizes in bytes."""
        at = self.at
        found = at.system.get_file_info(fs.FileSelector(at.path, recursive=True, allow_not_found=True))
        start = len(at.path.rstrip("/")) + 1
        return {each.path[start:]: each.size or 0 for each in found if each.type == fs.FileType.File}

    def create(self, name: str) -> Any:
        """Return a stream that writes a new file; what is written may be visible before the stream is closed."""
        path = f"{self.at.path}/{name}"
        if self.is_local:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        # A name like x.csv.gz would otherwise be compressed.
        return self.at.system.open_output_stream(path, compression=None)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self.at.system.open_input_stream(f"{self.at.path}/{name}", compression=None) as file:
            data: bytes = file.read()
        return data

    def replace(self, name: str, data: bytes) -> None:
        """Write a file as a whole, whether or not it is there; a storage that cannot rename may show a part of it."""
        if self.is_local:
            os.makedirs(self.name, exist_ok=True)
            replace_whole(self.place(name), data)
            return
        with self.create(name) as file:
            file.write(data)

    def modified_s(self, name: str) -> float:
        """Return when a file was written, in seconds since 1970 by the clock of the storage."""
        return modified_s(self.place(name))

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, whether or not they are there."""
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            list(pool.map(self._remove, names))

    def _remove(self, name: str) -> None:
        try:
            self.at.system.delete_file(f"{self.at.path}/{name}")
        except FileNotFoundError:
            return
        except OSError:
            # Storages differ in how they say that it is not there.
            if self.at.system.get_file_info(f"{self.at.path}/{name}").type == fs.FileType.File:
                raise

    def stored(self, name: str) -> StoredObject | None:
        """Return a small object and its version; None if there is none."""
        if self._conditional:
            return self._conditional.get(name)
        try:
            data = self.read(name)
        except FileNotFoundError:
            return None
        return StoredObject(data, _digest(data))

    def swap(self, name: str, data: bytes, seen: StoredObject | None) -> StoredObject:
        """Replace a small object, as a whole, if it still is what was seen; raises ObjectChanged.

        With `seen` None there must not be one. On S3, Google Cloud Storage and Azure only one of several writers
        succeeds. Elsewhere that holds as long as the writers keep one another out with a lock.
        """
        if self._conditional:
            return self._conditional.put(name, data, seen)
        if self.stored(name) != seen:
            raise ObjectChanged(self.place(name))
        self.replace(name, data)
        return StoredObject(data, _digest(data))

    @cached_property
    def _conditional(self) -> ConditionalObjects | None:
        return ConditionalObjects(self.at) if self.at.system.type_name in SCHEMES else None


def _digest(data: bytes) -> dict[str, str]:
    return {"digest": sha256(data).hexdigest()}
