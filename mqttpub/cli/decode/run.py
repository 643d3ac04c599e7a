"""What `decode` does with its request: read the inputs, draw what they hold with a view, say how it went."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..notes import note
from .request import DecodeRequest
from .views import EventView, TableView, ViewOptions, dump

if TYPE_CHECKING:
    from ...columns.runs.read import AllRuns
    from ...reading.input import AllEvents, AnyInput, Input
    from ..inputs.files import FileBegin


def decode(request: DecodeRequest) -> int:
    """Show the inputs and return the exit status; raises UsageError."""
    from ..inputs.opened import inputs_of, use_pager

    with ExitStack() as stack:
        inputs = inputs_of(request.input, stack, "decode")
        if isinstance(request.view, TableView):
            from ..decode.table import write_table

            return write_table(request.view, request.path, request.input, inputs, stack)
        use_pager(request.input, stack)
        if request.needs_events or any(_holds_events(each, request) for each in inputs):
            return show_events(request, inputs, stack)
        from .text import TextDump

        return TextDump(request).run(inputs)


def _holds_events(given: "AnyInput", request: DecodeRequest) -> bool:
    return given.is_capture or given.is_script(request.input.options.form)


class Drawn(NamedTuple):
    """What is known of inputs after they were drawn; that of several is the sum of each member."""

    packets: int = 0
    errors: int = 0
    """Inputs with an error."""
    faults: list[str] = []  # noqa: RUF012  never changed
    remarks: list[str] = []  # noqa: RUF012


def show_events(request: DecodeRequest, inputs: "Sequence[AnyInput]", stack: ExitStack) -> int:
    """Draw the events of inputs with the view of the request and return the exit status; raises UsageError."""
    import os

    from ...common.files import check_place, file_id
    from ...reading.follow import JudgedTraffic
    from ...reading.input import AllEvents, short_names
    from ...view.terminal.progress import ReadingProgress
    from ...view.terminal.width import screen_width
    from ..inputs.files import FileBegin
    from ..inputs.opened import suggest_columns

    view = request.view if isinstance(request.view, EventView) else None
    if request.path and view and view.kind:
        key_log = file_id(str(keylog)) if (keylog := request.input.options.keylog) else None
        check_place(view.flag, request.path, view.kind, [key_log, *(each.id for each in inputs)])
    names = short_names(each.name for each in inputs) if inputs[1:] else {}
    width, title = screen_width(), ", ".join(os.path.basename(each.name) for each in inputs)
    apart = _may_draw_apart(request, inputs)
    if request.takes_runs:
        suggest_columns(inputs, request.input.options)
    progress = ReadingProgress(() if apart else inputs)
    stack.callback(progress.close)

    def draw(some: "Sequence[AnyInput]", begin: FileBegin) -> Drawn:
        events = _events_of(request, some, progress.at if progress else None, begin.connections)
        traffic = JudgedTraffic(events, request.filter)
        traffic.zero.time_ns = begin.zero_ns
        options = ViewOptions(
            json=request.json, secrets=request.secrets, full=request.full, absolute=request.absolute, width=width,
            title=title, path=request.path, zero=traffic.zero, payloads=request.payloads,
            file_of=(lambda connection: names[events.names.of(connection)]) if names else None,
            gathers=all(each.size for each in inputs), runs=not isinstance(events, AllEvents),
        )  # fmt: skip
        show: Callable[[Any, ViewOptions], str | None] = view.draw if view else dump
        missing = show(traffic, options)
        faults = [*events.faults, *([missing] if missing else [])]
        return Drawn(traffic.packets, int(traffic.errors), faults, events.remarks)

    drawn = _draw_apart(request, inputs, draw, width) if apart else draw(inputs, FileBegin())
    sys.stdout.flush()
    progress.close()
    return _status(request, drawn)


def _events_of(
    request: DecodeRequest, inputs: "Sequence[AnyInput]", tick: "Callable[[AnyInput], None] | None", before: int
) -> "AllEvents | AllRuns":
    """Return what inputs hold, in runs if the view takes them and that is quicker."""
    from ...reading.input import AllEvents
    from ..inputs.opened import worth_columns

    options = request.input.options
    if request.takes_runs and (files := worth_columns(inputs, options)):
        from ...columns.runs.read import AllRuns

        return AllRuns(files, options, tick, before=before)
    return AllEvents(inputs, options, tick, before=before)


def _draw_apart(
    request: DecodeRequest, inputs: "Sequence[AnyInput]", draw: "Callable[[Sequence[AnyInput], FileBegin], Drawn]",
    width: int,
) -> Drawn:  # fmt: skip
    """Draw each file in a process of its own."""
    from ...view.terminal.style import wants_color
    from ..inputs.files import results_of
    from ..inputs.jobs import print_file, printing_to

    color = wants_color(sys.stdout)

    def to_file(file: "Input", begin: "FileBegin", path: str) -> Drawn:
        with printing_to(path, width=width, color=color):
            return draw([file], begin)

    # The dump has a blank line between packets.
    between = b"" if request.view or request.json else b"\n"
    total, begun = Drawn(), False
    for drawn, path in results_of(inputs, request.input.options, to_file, request.jobs):
        begun = print_file(path, between if begun else b"") or begun
        total = Drawn(*map(add, total, drawn))
    return total


def _may_draw_apart(request: DecodeRequest, inputs: "Sequence[AnyInput]") -> bool:
    """Whether files are drawn in processes of their own; a note says why not."""
    from ..inputs.files import may_be_apart

    view = request.view
    if request.jobs > 1 and inputs[1:] and isinstance(view, EventView) and not view.apart:
        note(f"--jobs has no effect: {view.flag} shows what belongs together in all files")
        return False
    return may_be_apart(inputs, request.jobs)


def _status(request: DecodeRequest, drawn: Drawn) -> int:
    for remark in drawn.remarks:
        note(remark)
    if not drawn.packets and not drawn.faults:
        if not request.filter:
            raise click.UsageError("no MQTT packet was found")
        note(_nothing_matched(request))
    if drawn.faults:
        for fault in drawn.faults[:-1]:
            note(fault)
        raise click.UsageError(drawn.faults[-1])
    return 1 if drawn.errors else 0


def _nothing_matched(request: DecodeRequest) -> str:
    assert request.filter
    if not request.follow:
        return "the filter matched no packet"
    client = f"client '{request.follow}'"
    if request.filter.terms > 1:
        return f"the filter matched no packet of {client}"
    return f"there is no packet of {client}; --stats lists the clients"
