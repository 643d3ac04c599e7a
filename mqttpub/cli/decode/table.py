"""`decode --parquet` and `decode --arrow`: the table `packets` of captures, on one machine."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import click

from ...capture.types import BadCapture
from ...common.extras import EXTRAS, missing, needs
from ...common.files import check_place, replacing
from ...reading.follow import JudgedTraffic
from ...reading.input import AnyInput, Input
from ...traffic.runs import RunOrEvent
from ...view.terminal.progress import ReadingProgress
from ...wire.types import readable
from ..flags.reading import InputRequest
from ..notes import note
from .views import TableView


def write_table(view: TableView, path: str, request: InputRequest, inputs: Sequence[AnyInput], stack: ExitStack) -> int:
    """Write the table of captures to `path` and return the exit status: 1 if a packet or a connection has an error.

    Raises UsageError for an input that is not a capture or cannot be read completely, and for no packet.
    """
    if lacking := missing(*EXTRAS["columns"]):
        raise click.UsageError(needs(view.flag, lacking, "columns"))
    from ...columns.without_pandas import import_arrow

    import_arrow()
    write = _writer(view, path, inputs, stack)
    faults: list[str] = []
    bar = ReadingProgress(inputs, elsewhere=path != "-")
    stack.callback(bar.close)
    traffic = JudgedTraffic(_written(view, request, inputs, faults.append, bar, write))
    # The rows are written while the packets are judged, which decides the status as in the other views.
    for _ in traffic:
        pass
    bar.close()
    for fault in faults[:-1]:
        note(fault)
    if not traffic.packets and not faults:
        raise click.UsageError("no MQTT packet was found")
    if faults:
        # The rows that could be read stay in the file; the exit status says that some are missing.
        stack.close()
        raise click.UsageError(faults[-1])
    return int(traffic.errors)


def _written(
    view: TableView, request: InputRequest, inputs: Sequence[AnyInput], fault: Callable[[str], None],
    bar: ReadingProgress, write: Callable[[Any], Any],
) -> Iterator[RunOrEvent]:  # fmt: skip
    """Write the packets of captures as rows, a batch at a time, and yield them."""
    from ...columns.decode.context import Memory
    from ...columns.decode.decode import decode_coded
    from ...columns.read import finish, read
    from ...columns.reassemble.assembly import Batch
    from ...columns.reassemble.state import State
    from ...columns.runs.clean import CleanPackets
    from ...columns.runs.read import events_of

    state, memory = State(ports=request.options.ports, version=request.options.version), Memory()
    name, clean = "", CleanPackets()

    def taken(batch: Batch) -> Iterator[RunOrEvent]:
        write(decode_coded(batch, capture=name, keys=batch.keys, memory=memory))
        return events_of(batch, clean)

    for each in inputs:
        name = readable(os.path.basename(each.name))
        if not isinstance(each, Input) or not each.is_capture:
            raise click.UsageError(f"{each.name} is not a capture; {view.flag} reads captures only")
        try:
            for batch in read([each.file], state=state):
                yield from taken(batch)
                bar.at(each)
            if said := state.left_out():
                note(f"{each.name}: {said}")
        except BadCapture as error:
            fault(f"{each.name}: offset {error.offset}: {error.message}")
    yield from taken(finish(state))


def _writer(
    view: TableView, path: str, inputs: Sequence[AnyInput], stack: ExitStack
) -> Callable[[Any], Any]:  # fmt: skip
    table, kind = view.format()
    check_place(view.flag, path, kind, [each.id for each in inputs])
    if path == "-" and sys.stdout.isatty():
        raise click.UsageError("refusing to write binary data to a terminal; give a file name")
    return stack.enter_context(table(stack.enter_context(replacing(path, binary=True))))
