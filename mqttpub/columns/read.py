"""From capture files to control packets in columns."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import BinaryIO

from ..capture.types import BadCapture
from ..spec.versions import Version
from .reassemble.assembly import Assembly, Batch
from .reassemble.reassemble import reassemble
from .reassemble.state import State
from .scan.records import BLOCK, END, reader, records
from .scan.splits import Split

Source = BinaryIO | str | PathLike[str] | Split


def read(
    sources: Iterable[Source], *, ports: Iterable[int] = (), version: Version | None = None,
    state: State | None = None, block: int = BLOCK, bucket: tuple[int, int] = (0, 1),
    bad: Callable[[Source, BadCapture | OSError], None] | None = None,
) -> Iterator[Batch]:  # fmt: skip
    """Yield the packets of consecutive captures, such as rotated files, as if they were one.

    The packets are those of `capture.reading.events` of all records together, in the same order; a batch has about
    `block` bytes of one source. `bucket`, (k, n), selects the k-th of n parts of all connections. A `state` has ports,
    version and bucket, and holds afterwards what is open after the last record, for later captures; without a state,
    the capture ends with the last source.

    `bad` is called for each source that is broken, after its whole records, and the next source is read. Without it
    BadCapture or OSError is raised, after the packets that are complete.
    """
    goes_on = state is not None
    state = state or State(ports=ports, version=version, bucket=bucket)
    for source in sources:
        try:
            yield from _source(source, state, block)
        except (BadCapture, OSError) as error:
            if bad is None:
                if not goes_on:
                    yield finish(state)
                raise
            bad(source, error)
    if not goes_on:
        yield finish(state)


def finish(state: State) -> Batch:
    """Return the packets and events that the end of the last capture completes."""
    assembly = Assembly(END, state)
    for event in state.finish():
        assembly.add(event, 0)
    return assembly.finish()


def _source(source: Source, state: State, block: int) -> Iterator[Batch]:
    if isinstance(source, Split):
        if source.first == 1:
            state.before = state.records
        elif not state.records:
            state.records = source.first - 1
        for found in source.records(block=block):
            yield reassemble(found, state)
    elif isinstance(source, (str, PathLike)):
        with open(source, "rb") as file:
            yield from _source(file, state, block)
    else:
        state.before = state.records
        for found in records(reader(source), state.secrets, block=block):
            yield reassemble(found, state)
