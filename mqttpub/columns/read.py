"""From capture files to control packets in columns."""

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import BinaryIO

from ..capture.types import BadCapture
from ..spec.versions import Version
from .reassemble.assembly import Assembly, Batch
from .reassemble.reassemble import reassemble
from .reassemble.state import State
from .scan.records import BLOCK, END, reader, records

Source = BinaryIO | str | PathLike[str]


def read(
    sources: Iterable[Source], *, ports: Iterable[int] = (), version: Version | None = None,
    state: State | None = None, block: int = BLOCK, bucket: tuple[int, int] = (0, 1),
) -> Iterator[Batch]:  # fmt: skip
    """Yield the packets of consecutive captures, such as rotated files, as if they were one.

    The packets are those of `capture.reading.events` of all records together, in the same order; a batch has about
    `block` bytes of one source. `bucket`, (k, n), selects the k-th of n parts of all connections. A `state` has ports,
    version and bucket, and holds afterwards what is open after the last record, for later captures; without a state,
    the capture ends with the last source.

    Raises BadCapture or OSError for a source that is broken, after the packets that are complete.
    """
    known = state or State(ports=ports, version=version, bucket=bucket)
    try:
        for source in sources:
            yield from _source(source, known, block)
    except (BadCapture, OSError):
        if state is None:
            yield finish(known)
        raise
    if state is None:
        yield finish(known)


def finish(state: State) -> Batch:
    """Return the packets and events that the end of the last capture completes."""
    assembly = Assembly(END, state)
    for event in state.finish():
        assembly.add(event, 0)
    return assembly.finish()


def _source(source: Source, state: State, block: int) -> Iterator[Batch]:
    if isinstance(source, (str, PathLike)):
        with open(source, "rb") as file:
            yield from _source(file, state, block)
        return
    state.before = state.records
    for found in records(reader(source), state.secrets, block=block):
        yield reassemble(found, state)
