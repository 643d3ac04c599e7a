"""Where files of the user are, and writing them: whole or not at all, and never over one that is still needed."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, BinaryIO, NamedTuple

from .errors import UserError

FileId = tuple[int, int]
"""Device and inode, which all names of a file share."""


class Kind(NamedTuple):
    """A kind of output file, and the bytes it begins with."""

    name: str
    """With its article: "an HTML page"."""
    begin: bytes


PAGE = Kind("an HTML page", b"<!doctype html")
METRICS = Kind("metrics of mqttpub", b"# HELP mqttpub_")
JSON = Kind("a JSON object", b"{")
PARQUET = Kind("a Parquet file", b"PAR1")
ARROW = Kind("an Arrow stream", b"\xff\xff\xff\xff")
SCRIPT = Kind("a script of mqttpub", b"# a script of mqttpub")
PCAPNG = Kind("a pcapng file", b"\n\r\r\n")


def base_directory(variable: str, fallback: str) -> str:
    """Return the folder that a variable such as XDG_CONFIG_HOME names; without it `fallback`, a path from the home.

    An empty or relative path counts as none (XDG Base Directory Specification).
    """
    named = os.environ.get(variable, "")
    return named if os.path.isabs(named) else os.path.join(os.path.expanduser("~"), fallback)


def file_id(file: str | IO[Any]) -> FileId | None:
    """Return the identity of a named or open file; None for a device, a pipe or a file that does not exist."""
    with suppress(OSError, ValueError):
        found = os.stat(file if isinstance(file, str) else file.fileno())
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return None


def check_place(flag: str, path: str, kind: Kind, inputs: Iterable[FileId | None]) -> None:
    """Raise UserError if writing `path` would replace an input, or a file of another kind.

    `flag` is the flag that named the output; the message begins with it. `-`, standard output, always passes.
    """
    if path == "-":
        return
    if os.path.isdir(path):
        raise UserError(f"{flag}: '{path}' is a directory")
    place = file_id(path)
    if place is None:
        return
    if place in inputs:
        raise UserError(f"{flag}: '{path}' is an input as well; choose another name")
    try:
        with open(path, "rb") as file:
            first = file.read(len(kind.begin))
    except OSError as error:
        raise UserError(f"{flag}: cannot read the present content of '{path}': {error.strerror}") from None
    if first and first.lower() != kind.begin.lower():
        raise UserError(f"{flag}: '{path}' exists and is not {kind.name}; remove it or choose another name")


def check_standard_output(inputs: Iterable[FileId | None]) -> None:
    """Raise UserError if standard output goes to one of the inputs, which would grow while it is read."""
    place = file_id(sys.stdout)
    if place is not None and place in inputs:
        raise UserError("standard output goes to a file that is an input as well; choose another one")


@contextmanager
def drafted(path: str | os.PathLike[str], draft: str | os.PathLike[str] | None = None) -> Iterator[str]:
    """Yield the name of a draft to write, which replaces `path` if the block ends without an exception.

    The draft is `draft`, or a name in the folder of `path` that no other file has. After an exception it is removed.
    """
    folder = os.path.dirname(os.path.abspath(path))
    name = os.fspath(draft) if draft else os.path.join(folder, f".mqttpub-{os.urandom(8).hex()}")
    try:
        yield name
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def replace_whole(path: str | os.PathLike[str], data: bytes, draft: str | os.PathLike[str] | None = None) -> None:
    """Write a file so that no reader ever finds a part of it, not even after a loss of power; raises OSError.

    With `draft`, the draft of an earlier run that was killed is overwritten instead of left behind.
    """
    with drafted(path, draft) as name, open(name, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: str, *, binary: bool = False, private: bool = False) -> Iterator[Any]:
    """Yield a file that replaces `path` if the block ends without an exception; `-` is standard output.

    With `private`, only its owner may read it. Raises UserError if the folder of `path` takes no file.
    """
    mode, encoding = ("b", None) if binary else ("", "utf-8")
    if path == "-":
        out = sys.stdout.buffer if binary else sys.stdout
        yield out
        out.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe is written to; it cannot be replaced.
        with open(path, f"w{mode}", encoding=encoding) as out:
            yield out
        return
    with drafted(path) as name:
        try:
            out = open(name, f"x{mode}", encoding=encoding, opener=owners if private else None)  # noqa: SIM115
        except OSError as error:
            raise UserError(f"cannot write '{path}': {error.strerror}") from None
        with out:
            yield out


@contextmanager
def lent(content: BinaryIO, name: str) -> Iterator[str]:
    """Give the path of a file for others to read, with the bytes that are left in `content`, until the block ends.

    Only its owner may read it. It is closed here: Windows lets nobody open a file of `tempfile` that is not.
    """
    from shutil import copyfileobj
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="mqttpub-") as folder:
        path = os.path.join(folder, name)
        with open(path, "wb", opener=owners) as file:
            copyfileobj(content, file)
        yield path


def owners(path: str, flags: int) -> int:
    """Open a file that, if it is new, only its owner may read and write: an opener for `open`."""
    return os.open(path, flags, 0o600)
