"""Writing a file that is whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


@contextmanager
def replacing(path: str, *, binary: bool = False) -> Iterator[Any]:
    """Give a file to write that takes the place of `path` once all went well; `-` is standard output."""
    mode, encoding = ("wb", None) if binary else ("w", "utf-8")
    if path == "-":
        import sys

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
