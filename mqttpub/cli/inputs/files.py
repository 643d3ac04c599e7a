"""Several captures read at the same time, each in a process of its own, with results in the order of files.

What is known of a file before the others are read is not enough: connections are numbered across all files, and times
count from the first packet. So all files but the last are read for these first, without being decoded.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from errno import EDQUOT, EFBIG, ENOSPC
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...common.errors import UserError
from ...reading.input import AllEvents, AnyInput, Input, InputOptions
from ..notes import note

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory


class FileBegin(NamedTuple):
    """What of earlier files the drawing of a file depends on."""

    connections: int = 0
    """The number of connections in them."""
    zero_ns: int | None = None
    """The first time; None if there is none."""

    def and_then(self, more: "FileBegin") -> "FileBegin":
        """Return the same of these files and of those after them."""
        return FileBegin(self.connections + more.connections, more.zero_ns if self.zero_ns is None else self.zero_ns)


Result = TypeVar("Result")
Work = Callable[[Input, FileBegin, str], Result]
"""What is done with a file; the name is that of a file to write to."""


def may_be_apart(inputs: Sequence[AnyInput], jobs: int) -> bool:
    """Whether inputs are read in processes of their own: several, each a capture that can be opened again by its name.

    A note says why `jobs` has no effect on several inputs.
    """
    if jobs == 1 or not inputs[1:]:
        return False
    from .jobs import available

    names = {each.name for each in inputs}
    files = all(isinstance(each, Input) and each.is_capture and os.path.isfile(each.name) for each in inputs)
    if files and len(names) == len(inputs) and available():
        return True
    note("--jobs has no effect: it works on captures in files, each named once")
    return False


def results_of(
    inputs: Sequence[AnyInput], options: InputOptions, work: Work[Result], jobs: int
) -> Iterator[tuple[Result, str]]:
    """Yield, in the order of files, what `work` returns and the file that it wrote, which is removed afterwards."""
    from .jobs import Processes

    paths = [each.name for each in inputs]
    begins, counts, results = [FileBegin()], dict[int, FileBegin](), dict[int, Result]()
    with _temporary_folder() as folder, Processes(jobs) as processes:

        def start(number: int) -> None:
            output_path = os.path.join(folder, str(number))
            processes.add((work, number), partial(_done, paths[number], work, begins[number], output_path), first=True)

        start(0)
        for number, path in enumerate(paths[:-1]):
            processes.add((_count, number), partial(_count, path, options))
        next_to_yield = 0
        for (kind, number), result in processes.done():
            (counts if kind is _count else results)[number] = result
            while (last := len(begins) - 1) in counts:
                begins.append(begins[last].and_then(counts.pop(last)))
                start(last + 1)
            while next_to_yield in results:
                output_path = os.path.join(folder, str(next_to_yield))
                yield results.pop(next_to_yield), output_path
                os.remove(output_path)
                next_to_yield += 1


def _temporary_folder() -> "TemporaryDirectory[str]":
    from tempfile import TemporaryDirectory  # loaded on use: most inputs are read in this process

    try:
        return TemporaryDirectory(prefix="mqttpub-")
    except OSError as error:
        raise UserError(f"--jobs: no folder for temporary files: {error.strerror}") from None


def _done(path: str, work: Work[Result], begin: FileBegin, output_path: str) -> Result:
    try:
        with ExitStack() as stack:
            return work(Input.opened(path, stack), begin, output_path)
    except OSError as error:
        # Without this it would look as if standard output could not be written.
        if error.errno in {ENOSPC, EFBIG, EDQUOT}:
            folder = os.path.dirname(output_path)
            raise UserError(f"--jobs: cannot write to the folder '{folder}': {error.strerror}") from None
        raise


def _count(path: str, options: InputOptions) -> FileBegin:
    connections, zero_ns = 0, None
    with ExitStack() as stack:
        for event in AllEvents([Input.opened(path, stack)], options):
            connections = max(connections, event.ends.number)
            zero_ns = event.time if zero_ns is None else zero_ns
    return FileBegin(connections, zero_ns)
