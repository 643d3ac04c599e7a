"""Writing a file that is whole or not there, and never in the place of what the user still needs."""

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, NamedTuple

import click

FileId = tuple[int, int]
"""Device and inode: what all names of a file have in common."""


class Kind(NamedTuple):
    """What is written, and how such a file begins."""

    name: str
    begin: bytes


PAGE = Kind("page", b"<!doctype html")
PARQUET = Kind("Parquet file", b"PAR1")
ARROW = Kind("Arrow stream", b"\xff\xff\xff\xff")


def file_id(file: str | IO[Any]) -> FileId | None:
    """Return the identity of a file, which is open or named; None for a device, a pipe, and what is not there."""
    with suppress(OSError, ValueError):
        found = os.stat(file if isinstance(file, str) else file.fileno())
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return None


def check_place(flag: str, path: str, kind: Kind, inputs: Iterable[FileId | None]) -> None:
    """Raise UsageError for an output that would take the place of an input, or of a file of another kind."""
    if path == "-":
        return
    if os.path.isdir(path):
        raise click.UsageError(f"{flag}: '{path}' is a directory")
    place = file_id(path)
    if place is None:
        return
    if place in inputs:
        raise click.UsageError(f"{flag}: '{path}' is an input as well; choose another name")
    try:
        with open(path, "rb") as file:
            first = file.read(len(kind.begin))
    except OSError as error:
        raise click.UsageError(f"{flag}: cannot read what '{path}' holds now: {error.strerror}") from None
    if first and first.lower() != kind.begin.lower():
        raise click.UsageError(f"{flag}: '{path}' exists and is no {kind.name}; remove it, or choose another name")


def check_standard_output(inputs: Iterable[FileId | None]) -> None:
    """Raise UsageError where standard output goes to an input, which would be read while it grows."""
    place = file_id(sys.stdout)
    if place is not None and place in inputs:
        raise click.UsageError("standard output goes to a file that is an input as well; choose another one")


@contextmanager
def replacing(path: str, *, binary: bool = False) -> Iterator[Any]:
    """Give a file to write that takes the place of `path` once all went well; `-` is standard output."""
    mode, encoding = ("wb", None) if binary else ("w", "utf-8")
    if path == "-":
        out = sys.stdout.buffer if binary else sys.stdout
        yield out
        out.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe has no place to be taken.
        with open(path, mode, encoding=encoding) as out:
            yield out
        return
    try:
        folder = os.path.dirname(os.path.abspath(path))
        handle, name = tempfile.mkstemp(prefix=".mqttpub-", dir=folder)
    except OSError as error:
        raise click.UsageError(f"cannot write '{path}': {error.strerror}") from None
    try:
        with open(handle, mode, encoding=encoding) as out:
            yield out
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
