"""`mqttpub decode`: captures and text to packets, packets to the screen or to files."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..flags.base import Command, FlagValues, flag, together
from ..flags.reading import (
    InputRequest,
    filter_flag,
    filter_of,
    input_request,
    jobs_flag,
    payload_format,
    payload_format_flags,
    reading_flags,
)
from ..inspect.views import VIEWS, EventView, TableView, View, ViewOptions, chosen_view, dump
from ..notes import note

if TYPE_CHECKING:
    from ...codec.tree import Decoded
    from ...columns.runs.read import AllRuns
    from ...reading.input import AllEvents, AnyInput, Input
    from ...spec.versions import Version
    from ...traffic.events import PacketSeen
    from ...traffic.query import PacketFilter
    from ...view.packet.formatted import PayloadFormat
    from ..inspect.files import FileBegin

view_flags = together(
    *(
        flag(
            view.flag,
            help=view.help,
            common=view.common,
            **({"type": view.path, "metavar": "PATH"} if view.path else {"is_flag": True}),
        )
        for view in VIEWS
    ),
    group="Views",
)
filter_flags = together(
    filter_flag(
        "Only packets that match: type=PUBLISH topic=a/+/# payload=text client=ID id=42 qos=1 finding severity=error; "
        "a space means and, a comma or, ! not."
    ),
    flag(
        "--follow", metavar="CLIENT",
        help="Only the connections of this Client Identifier; * stands for any characters.",
    ),
    group="Which packets",
    common=True,
)  # fmt: skip
output_flags = together(
    flag("--absolute-time", is_flag=True, help="Show times of day in UTC, not seconds since the first packet."),
    flag("--json", "as_json", common=True, is_flag=True, help="Print one JSON record per packet, line or exchange."),
    flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data."),
    flag("--full", is_flag=True, help="Show every byte of a long field."),
    jobs_flag(
        "Read up to N files at the same time, for --summary, --json and the bytes of packets; what is shown stays the "
        "same."
    ),
    payload_format_flags(
        "--format",
        help="the values are shown with the bytes. [default: JSON and other text are recognised]",
    ),
    group="Output",
)


class DecodeRequest(NamedTuple):
    """What `decode` is to do."""

    input: InputRequest
    view: View | None
    """None shows every packet byte for byte."""
    path: str
    """The file that the view writes; empty for a view on standard output."""
    filter: "PacketFilter | None"
    """The terms of --filter, and one of --follow."""
    follow: str | None
    json: bool
    secrets: bool
    full: bool
    absolute: bool
    payloads: "PayloadFormat | None"
    """The format that payloads are read in."""
    jobs: int = 1
    """Files that are read at the same time."""

    @property
    def needs_events(self) -> bool:
        """Whether something is asked for that only events of connections have, also if the input is text."""
        return self.view is not None or self.filter is not None or self.absolute

    @property
    def takes_runs(self) -> bool:
        """Whether what is drawn takes runs of packets, which large captures in columns have."""
        return not isinstance(self.view, EventView) or self.view.runs


@click.command(
    name="decode",
    cls=Command,
    examples=(
        "mqttpub decode -V 5 '40 04 64 4a 10 00'",
        "mqttpub decode capture.pcapng --summary --filter 'topic=sensors/# finding'",
        "mqttpub decode capture.pcapng --ladder --follow pub-4",
    ),
)
@click.argument("text", nargs=-1)
@reading_flags(without_connect="both 5 and 3.1.1")
@view_flags
@filter_flags
@output_flags
def command(**given: Any) -> int:
    """Read captured bytes; every field is named and checked.

    TEXT is hex in any common notation, escaped strings, C arrays or base64, several packets in a
    row; or the names of files: pcap and pcapng, plain or compressed, transcripts, text. Without
    TEXT and -f, standard input is read.

    Exit status: 0 no error, 1 a packet has an error in every version shown, 2 unreadable input.
    """
    view = chosen_view(given)
    request = DecodeRequest(
        input=input_request(given), view=view, path=given[view.name] if view and view.path else "",
        filter=filter_of(given["filter"], given["follow"]), follow=given["follow"], json=given["as_json"],
        secrets=given["show_secrets"], full=given["full"], absolute=given["absolute_time"],
        payloads=_payloads(given, view), jobs=given["jobs"] or 1,
    )  # fmt: skip
    return decode(request)


def _payloads(given: FlagValues, view: View | None) -> "PayloadFormat | None":
    """Return the format that payloads are read in; raises UsageError."""
    name, read = payload_format(given)
    if read is None:
        return None
    if view:
        raise click.UsageError(f"{view.flag} does not read payloads; --format goes with the dump and its --json")
    from ...view.packet.formatted import PayloadFormat

    return PayloadFormat(name, read)


def decode(request: DecodeRequest) -> int:
    """Show the inputs and return the exit status; raises UsageError."""
    from ..inspect.inputs import inputs_of, use_pager

    with ExitStack() as stack:
        inputs = inputs_of(request.input, stack, "decode")
        if isinstance(request.view, TableView):
            from ..inspect.decode_table import write_table

            return write_table(request.view, request.path, request.input, inputs, stack)
        use_pager(request.input, stack)
        if request.needs_events or any(_holds_events(each, request) for each in inputs):
            return show_events(request, inputs, stack)
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
    from ..inspect.files import FileBegin
    from ..inspect.inputs import suggest_columns

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
        show: Callable[[Any, ViewOptions], None] = view.draw if view else dump
        show(traffic, options)
        return Drawn(traffic.packets, int(traffic.errors), events.faults, events.remarks)

    drawn = _draw_apart(request, inputs, draw, width) if apart else draw(inputs, FileBegin())
    sys.stdout.flush()
    progress.close()
    return _status(request, drawn)


def _events_of(
    request: DecodeRequest, inputs: "Sequence[AnyInput]", tick: "Callable[[AnyInput], None] | None", before: int
) -> "AllEvents | AllRuns":
    """Return what inputs hold, in runs if the view takes them and that is quicker."""
    from ...reading.input import AllEvents
    from ..inspect.inputs import worth_columns

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
    from ..inspect.files import results_of
    from ..inspect.jobs import print_file, printing_to

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
    from ..inspect.files import may_be_apart

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


class TextDump:
    """Shows the packets of texts byte for byte; a lone packet of unknown version in both versions."""

    def __init__(self, request: DecodeRequest) -> None:
        from ...view.packet.show import Show

        self.request = request
        self.show = Show(secrets=request.secrets, full=request.full, payloads=request.payloads)
        self.errors = False
        self.both = False
        """Whether a packet was shown in two versions."""
        self.only_in: set[Version] = set()
        """Versions in which a packet has an error that was also shown in a version without one."""
        self.guessed: set[Version] = set()
        """Guessed versions in which packets were shown that read differently in another version."""

    def run(self, inputs: "Iterable[AnyInput]") -> int:
        """Show every packet of the inputs and return the exit status; raises UsageError for bad text."""
        from ...capture.text.parse import BadText

        for source in inputs:
            try:
                for event, alone in _alone(self._packets(source)):
                    self._packet(event, alone)
            except BadText as error:
                sys.stdout.flush()
                place = f"line {error.line}, column {error.column}"
                raise click.UsageError(f"{source.name}: {place}: {error.message}") from None
            for remark in source.remarks():
                note(f"{source.name}: {remark}")
        if not self.request.json:
            self._remark()
        return 1 if self.errors else 0

    def _packets(self, source: "AnyInput") -> "Iterator[PacketSeen]":
        """Yield the packets of an input, a truncated one too, in the version of their connection."""
        from ...reading.text import text_events
        from ...traffic.events import PacketSeen

        options = self.request.input.options
        found = text_events(source.pieces(options.form), options.version, options.direction, cut=True)
        return (event for event in found if isinstance(event, PacketSeen))

    def _packet(self, event: "PacketSeen", alone: bool) -> None:
        from ...lint.packet.check import lint

        readings = self._readings(event)
        for reading in readings:
            reading.findings = lint(reading, event.direction)
        if event.guessed and readings[1:]:
            self.both = self.both or alone
            self.guessed |= set() if alone else {event.version}
        shown = readings if alone else readings[:1]
        in_error = {reading.version for reading in shown if _has_error(reading)}
        # A packet that is right in one version is right: nothing says that it was sent in the other.
        self.errors = self.errors or len(in_error) == len(shown)
        if in_error and len(in_error) < len(shown):
            self.only_in |= in_error
        if self.request.json:
            self._records(shown, known=not event.guessed or (alone and not readings[1:]))
        elif shown[1:]:
            from ...view.packet.side_by_side import side_by_side

            side_by_side(self.show, shown)
        else:
            self.show.packet(shown[0], time=f"at offset {event.offset}" if event.offset else "")

    def _readings(self, event: "PacketSeen") -> "list[Decoded]":
        """Return the packet in its version, then in each other candidate version in which it reads differently."""
        from ...codec.decode import decode
        from ...reading.version import CANDIDATES

        others = sorted(CANDIDATES - {event.version}, reverse=True) if event.guessed else []
        first, *more = (
            decode(event.data, version, direction=event.direction, offset=event.offset)
            for version in (event.version, *others)
        )
        return [first, *(each for each in more if not _same(first, each))]

    def _remark(self) -> None:
        from ...reading.version import guessed_remark

        if self.both:
            labels = " or ".join(version.label for version in sorted(self.only_in))
            disagree = f", with an error only as MQTT {labels}" if labels else ""
            self.show.remark(
                f"no CONNECT gives the version: both readings are shown{disagree}; use --mqtt-version to choose one"
            )
        for version in sorted(self.guessed):
            self.show.remark(guessed_remark(version))

    def _records(self, readings: "list[Decoded]", *, known: bool) -> None:
        from ...view.packet.record_json import packet_record

        more = "" if known else ',"version_known":false'
        for reading in readings:
            click.echo(packet_record(reading, secrets=self.request.secrets, payloads=self.request.payloads, more=more))


def _alone(events: "Iterable[PacketSeen]") -> "Iterator[tuple[PacketSeen, bool]]":
    """Yield each packet, and whether it is the only one of its connection."""
    before, several = None, False
    for event in events:
        same = before is not None and before.ends.number == event.ends.number
        if before is not None:
            yield before, not (same or several)
        before, several = event, same
    if before is not None:
        yield before, not several


def _same(first: "Decoded", second: "Decoded") -> bool:
    """Whether two readings have the same fields and agree on whether anything is wrong."""
    from ...lint.packet.check import lint

    def fields(decoded: "Decoded") -> list[tuple[Any, ...]]:
        return [(path, node.span, node.mask, node.value) for path, node in decoded.root.walk() if not node.children]

    return fields(first) == fields(second) and bool(lint(first)) == bool(lint(second))


def _has_error(decoded: "Decoded") -> bool:
    return any(finding.severity == "error" for finding in decoded.findings)
