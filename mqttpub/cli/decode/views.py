"""The views of `decode`: one object per view, from which flags, help and conflicts follow.

A view is a function that draws events, and its row in VIEWS. Modules that draw are imported when a
view is used, because `decode` reads VIEWS at every start; for the same reason these are not dataclasses,
of which four take 5 ms to define (`python -X importtime`).
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...common.files import PAGE, PCAPNG, SCRIPT
from ...common.times import Zero
from ..flags.base import FlagValues, parameter
from ..flags.types import PathWord

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import BinaryIO

    from ...codec.tree import Decoded
    from ...common.files import Kind
    from ...traffic.context import PacketInContext, TrafficItem
    from ...traffic.events import Event, PacketSeen
    from ...traffic.exchanges import Tally
    from ...traffic.handshakes import AnyExchange
    from ...traffic.runs import RunOrItem
    from ...view.export.exported import ExportedBytes
    from ...view.packet.formatted import PayloadFormat

    TableFile = Callable[[BinaryIO], AbstractContextManager[Callable[[Any], Any]]]
    """Opens a table in a binary file; gives the function that adds an Arrow batch of rows."""

MOST_HELD = 20_000
"""Events held back so that a diagram shows one connection after another."""
WRITE_SIZE = 1 << 16
"""Characters written at once."""


class ViewOptions(NamedTuple):
    """How a view draws."""

    zero: Zero
    """The time of the first packet of all inputs, also if a filter leaves it out."""
    json: bool = False
    secrets: bool = False
    """Whether to show passwords and authentication data."""
    full: bool = False
    """Whether to show every byte of a long field."""
    absolute: bool = False
    """Whether to show times of day instead of seconds since the first packet."""
    width: int = 80
    """Columns of the screen."""
    title: str = ""
    """Names of the inputs."""
    path: str = ""
    """File to write, for a view that writes one."""
    file_of: Callable[[int], str] | None = None
    """Name of the input that a connection is from, if there are several inputs."""
    payloads: "PayloadFormat | None" = None
    """The format that the dump and its records read payloads in."""
    gathers: bool = False
    """Whether the dump may write many packets at once, because it never waits for the next one."""
    runs: bool = False
    """Whether packets come in runs."""


class View:
    """One way to show inputs, with the flag that selects it. Views exclude one another."""

    def __init__(
        self, flag: str, help: str, *, json: bool = False, path: click.Path | None = None,
        conflicts: tuple[str, ...] = (), common: bool = True,
    ) -> None:  # fmt: skip
        self.flag = flag
        self.help = help
        self.common = common
        """Whether the short help has it."""
        self.json = json
        """Whether --json has a meaning for it."""
        self.path = path
        """Type of the flag's value, for a view that writes a file."""
        self.conflicts = conflicts
        """Flags of `decode` that it cannot honour."""

    @property
    def name(self) -> str:
        """The name of the flag's parameter."""
        return parameter(self.flag)


class EventView(View):
    """A view of events: packets in context, gaps, ends of connections."""

    def __init__(
        self, flag: str, help: str, draw: "Callable[[Iterable[Any], ViewOptions], str | None]", *,
        json: bool = False, path: click.Path | None = None, kind: "Kind | None" = None, apart: bool = False,
        runs: bool = False, common: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(flag, help, json=json, path=path, common=common)
        self.draw = draw
        """Draws; returns a sentence about what the view could not hold, if there is any."""
        self.kind = kind
        """The kind of file it writes."""
        self.runs = runs
        """Whether it takes runs of packets (`traffic.runs`) among the events."""
        self.apart = apart
        """Whether it shows each file as it would without the others, but for numbers and times."""


class TableView(View):
    """A file of rows, which the columnar reader makes from captures."""

    def __init__(
        self, flag: str, help: str, format: "Callable[[], tuple[TableFile, Kind]]", *,
        path: click.Path, conflicts: tuple[str, ...],
    ) -> None:  # fmt: skip
        super().__init__(flag, help, path=path, conflicts=conflicts)
        self.format = format
        """Imports what writes the file; returns it with the kind of file it writes."""


def chosen_view(given: FlagValues) -> View | None:
    """Return the view that flags select, None for the bytes of each packet; raises UsageError for a conflict."""
    chosen = [view for view in VIEWS if given[view.name] not in (None, False)]
    if chosen[1:]:
        flags = " and ".join(view.flag for view in chosen)
        raise click.UsageError(f"{flags} are different views; give one of them")
    if not chosen:
        return None
    view = chosen[0]
    if given["as_json"] and not view.json:
        *most, last = (each.flag for each in VIEWS if each.json)
        raise click.UsageError(f"{view.flag} has no JSON form; --json goes with {', '.join(most)} and {last}")
    for flag in view.conflicts:
        if given[parameter(flag)]:
            raise click.UsageError(f"{view.flag} writes all packets as rows; {flag} does not go with it")
    return view


# every packet, byte for byte


def dump(events: "Iterable[RunOrItem]", options: ViewOptions) -> None:
    """Show every packet with all its bytes, or print a JSON record per packet and other event."""
    if options.json:
        from ...view.traffic.record_lines import RecordLines

        texts = RecordLines(secrets=options.secrets, payloads=options.payloads).texts
        _print(chain.from_iterable(map(texts, events)))
    else:
        _dump(events, options)


def _dump(events: "Iterable[RunOrItem]", options: ViewOptions) -> None:
    from ...common.times import Clock
    from ...traffic.context import PacketInContext
    from ...traffic.runs import PacketRun
    from ...view.packet.show import Show
    from ...view.traffic.places import Places
    from ...view.traffic.summary import event_words

    screen = Show(secrets=options.secrets, full=options.full, payloads=options.payloads, gathers=options.gathers)
    places = Places(Clock(absolute=options.absolute, zero=options.zero))
    place, number = places.of, 0
    try:
        for known in events:
            # Every packet of a dump passes here, so its parts are named once.
            if isinstance(known, PacketInContext):
                event, _, topic, client, findings = known
                ends, time_ns, record, data, offset, direction, version, _ = event
            else:
                ends = known.ends
            if ends.number != number:
                number = ends.number
                if ends.client or ends.server:
                    screen.remark(f"connection {number}: {ends.client} to {ends.server}")
            if isinstance(known, PacketInContext):
                where = place(time_ns, record, offset, topic, client)
                screen.judged(data, version, direction, findings or (), offset=offset, time=where)
            elif isinstance(known, PacketRun):
                version, direction = known.version, known.direction
                for event, where in zip(known.events(), places.of_run(known), strict=True):
                    screen.judged(event.data, version, direction, (), offset=event.offset, time=where)
            else:
                screen.remark(event_words(known)[1])
    finally:
        screen.flush()


def _decoded(known: "PacketInContext") -> "Decoded":
    """Return the tree of a packet with the findings of its connection."""
    from ...codec.decode import decode

    event = known.event
    decoded = decode(event.data, event.version, direction=event.direction, offset=event.offset)
    decoded.findings = list(known.findings or ())
    return decoded


# lines


def summary(events: "Iterable[RunOrItem]", options: ViewOptions) -> None:
    """Show one line per packet."""
    if options.json:
        from ...view.traffic.summary_json import JsonLines, with_files

        _print(map(JsonLines().line, events) if not options.file_of else with_files(events, options.file_of))
        return
    from ...traffic.runs import items_of
    from ...view.terminal.cells import text_of
    from ...view.terminal.style import show, show_text, wants_color
    from ...view.traffic.summary import SummaryLines, with_headings

    drawn, file_of = SummaryLines(width=options.width, absolute=options.absolute, zero=options.zero), options.file_of
    if wants_color(sys.stdout):
        lines = partial(map, drawn.line)
        each = items_of(events)
        show(with_headings(each, file_of, lines, lambda line: line) if file_of else lines(each), sys.stdout, color=True)
        return
    texts: Callable[[Iterable[RunOrItem]], Iterable[str]] = partial(map, drawn.text)
    if options.runs:
        from ...view.traffic.run_lines import RunLines

        texts = RunLines(drawn).texts
    show_text(with_headings(events, file_of, texts, text_of) if file_of else texts(events), sys.stdout)


def flows(events: "Iterable[RunOrItem]", options: ViewOptions) -> None:
    """Show one line per QoS exchange: its packets, times, re-deliveries and outcome."""
    from ...traffic.handshakes import as_exchange
    from ...view.traffic.exchanges import ExchangeLines, ExchangeRecords

    ended = exchanges_of(events)
    if options.json:
        line = ExchangeRecords().line
        _print(line(each) for together in ended for each in together)
        return
    from ...view.terminal.style import show, show_text, wants_color

    drawn = ExchangeLines(width=options.width, absolute=options.absolute, zero=options.zero)
    if wants_color(sys.stdout):
        found = (as_exchange(each) for together in ended for each in together)
        show((line for each in found for line in drawn.lines(each)), sys.stdout, color=True)
    else:
        show_text(filter(None, ("\n".join(drawn.texts(together)) for together in ended)), sys.stdout)


def stats(events: "Iterable[RunOrItem]", options: ViewOptions) -> None:
    """Show counts, sizes, overhead, latencies and re-deliveries."""
    from ...traffic.context import PacketInContext
    from ...traffic.handshakes import as_exchange
    from ...traffic.runs import PacketRun
    from ...traffic.statistics import Statistics
    from ...view.traffic.statistics import record, screen

    statistics = Statistics()

    def count(known: "RunOrItem") -> None:
        if isinstance(known, PacketRun):
            statistics.run(known)
        elif isinstance(known, PacketInContext):
            statistics.packet(*known[:4])
        else:
            statistics.event(known)

    for together in exchanges_of(events, count, statistics.messages):
        for exchange in together:
            statistics.exchange(as_exchange(exchange))
    if options.json:
        from ...view.packet.record_json import dumps

        _print([dumps(record(statistics))])
        return
    from ...view.terminal.style import show

    show(screen(statistics, width=options.width), sys.stdout)


def exchanges_of(
    events: "Iterable[RunOrItem]", each: "Callable[[RunOrItem], None] | None" = None, tally: "Tally | None" = None
) -> "Iterator[Iterable[AnyExchange]]":
    """Yield exchanges as they end, those of a run together, and at last those that did not end.

    `each` is called with every event first. The usual exchanges of runs are not yielded, only counted with `tally`, if
    there is one.
    """
    from ...traffic.closings import OpenConnections
    from ...traffic.context import PacketInContext
    from ...traffic.exchanges import Exchanges
    from ...traffic.runs import PacketRun

    exchanges, still_open = Exchanges(), OpenConnections()
    for known in events:
        if each:
            each(known)
        if isinstance(known, PacketRun):
            still_open.ended(known)
            yield exchanges.run(known, tally)
        elif isinstance(known, PacketInContext):
            event, packet, topic, client, _ = known
            still_open.ended(event)
            if ended := exchanges.packet(event, packet, topic, client):
                yield (ended,)
        elif still_open.ended(known):
            yield from ((left,) for left in exchanges.finish(known.ends))
    for ends in still_open.left():
        yield from ((left,) for left in exchanges.finish(ends))


# the sequence diagram


def ladder(events: "Iterable[TrafficItem]", options: ViewOptions) -> None:
    """Draw the sequence diagram on the screen."""
    from ...reading.follow import by_connection
    from ...view.diagram.ladder import ladder as drawn
    from ...view.terminal.style import has_box_characters, show

    lines = drawn(
        by_connection(events, MOST_HELD),
        width=options.width,
        absolute=options.absolute,
        zero=options.zero,
        ascii=not has_box_characters(),
    )
    show(lines, sys.stdout)


def svg(events: "Iterable[TrafficItem]", options: ViewOptions) -> None:
    """Write the sequence diagram as SVG."""
    from ...reading.follow import by_connection
    from ...view.diagram.svg import ladder_svg

    _print(ladder_svg(by_connection(events, MOST_HELD), absolute=options.absolute, zero=options.zero))


def mermaid(events: "Iterable[TrafficItem]", options: ViewOptions) -> None:
    """Write the sequence diagram as Mermaid."""
    from ...reading.follow import by_connection
    from ...view.diagram.mermaid import mermaid as drawn

    _print(drawn(by_connection(events, MOST_HELD), absolute=options.absolute, zero=options.zero))


# for other programs


_LEFT_OUT = (("packets", "more packets"), ("others", "other events"))


def page(events: "Iterable[TrafficItem]", options: ViewOptions) -> None:
    """Write the page to `options.path`, complete or not at all."""
    from ...common.files import replacing
    from ...view.page.page import PageWriter

    with replacing(options.path) as out:
        page = PageWriter(out, options.title, secrets=options.secrets, file_of=options.file_of)
        for known in events:
            page.add(known)
        page.close()
    if page.left_out:
        missing = [f"{page.left_out[kind]:,} {name}" for kind, name in _LEFT_OUT if page.left_out[kind]]
        _say(f"{options.path} ends after {page.rows:,} rows; {' and '.join(missing)} are not in it (see --filter)")


def script(events: "Iterable[TrafficItem]", options: ViewOptions) -> str | None:
    """Write the conversations to `options.path` as a script; return what is missing in it."""
    from ...common.files import replacing
    from ...view.export.script import HEADING, ScriptText

    text = ScriptText(secrets=options.secrets)
    with replacing(options.path, private=options.secrets) as out:
        out.write(f"{HEADING}\n")
        for known in events:
            out.writelines(f"{line}\n" for line in text.lines(_event(known)))
    return _missing(text.bytes, "script")


def pcapng(events: "Iterable[TrafficItem]", options: ViewOptions) -> str | None:
    """Write the packets to `options.path` as pcapng; return what is missing in it."""
    from ...common.files import replacing
    from ...view.export.pcapng_events import CaptureOfEvents

    with replacing(options.path, binary=True, private=options.secrets) as out:
        capture = CaptureOfEvents(out.write, secrets=options.secrets)
        for known in events:
            capture.add(known)
    return _missing(capture.bytes, "capture")


def _missing(written: "ExportedBytes", name: str) -> str | None:
    """Say that secrets are masked, and return a sentence about packets that are left out, if any are."""
    if written.masked:
        _say(f"passwords and authentication data are masked in the {name}; --show-secrets writes them")
    if not written.left_out:
        return None
    from ...common.words import counted

    packets = counted(written.left_out, "packet is", "packets are")
    return f"{packets} left out of the {name}, because the sender is not known; for a text, --direction says it"


def _event(known: "TrafficItem") -> "Event":
    from ...traffic.context import PacketInContext

    return known.event if isinstance(known, PacketInContext) else known


def _say(text: str) -> None:
    from ..notes import note

    note(text)


def pdml(events: "Iterable[TrafficItem]", options: ViewOptions) -> None:
    """Write PDML as tshark does."""
    from ...view.export.pdml import pdml as written

    _print(written(_decoded_packets(events), secrets=options.secrets, source=options.title))


def tshark_json(events: "Iterable[TrafficItem]", options: ViewOptions) -> None:
    """Write JSON as `tshark -T json -x` does."""
    from ...view.export.tshark_json import tshark_json as written

    _print(written(_decoded_packets(events), secrets=options.secrets))


def _decoded_packets(events: "Iterable[TrafficItem]") -> "Iterator[tuple[Decoded, PacketSeen | None]]":
    from ...reading.follow import packets_of

    return ((_decoded(known), known.event) for known in packets_of(events))


def _print(lines: Iterable[str]) -> None:
    """Write lines to standard output, many at once."""
    held: list[str] = []
    size = 0
    write = sys.stdout.write
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= WRITE_SIZE:
            held.append("")
            write("\n".join(held))
            held, size = [], 0
    if held:
        held.append("")
        write("\n".join(held))


def _parquet() -> "tuple[TableFile, Kind]":
    from ...columns.files import parquet
    from ...common.files import PARQUET

    return parquet, PARQUET


def _arrow() -> "tuple[TableFile, Kind]":
    from ...columns.files import arrow
    from ...common.files import ARROW

    return arrow, ARROW


_FILE = PathWord(dir_okay=False)
_FILE_OR_STDOUT = PathWord(dir_okay=False, allow_dash=True)
_NO_ROWS_BY = ("--filter", "--follow", "--key-log", "--max-connections", "--jobs")

VIEWS: tuple[View, ...] = (
    EventView("--summary", "Show one line per packet.", summary, json=True, apart=True, runs=True),
    EventView("--flows", "Show one line per QoS exchange: its packets, times, re-deliveries, outcome.", flows,
              json=True, runs=True),
    EventView("--stats", "Show counts, sizes, overhead, acknowledgement times, and the rate of DUP per client.",
              stats, json=True, runs=True),
    EventView("--ladder", "Draw the sequence diagram.", ladder),
    EventView("--svg", "Write the sequence diagram as SVG.", svg),
    EventView("--mermaid", "Write the sequence diagram as Mermaid.", mermaid, common=False),
    EventView("--html", "Write a page that shows every byte, to open in a browser.", page, path=PathWord(), kind=PAGE),
    TableView("--parquet", "Write a table, one row per packet.", _parquet, path=_FILE, conflicts=_NO_ROWS_BY),
    TableView("--arrow", "Write the same as an Arrow stream; - is standard output.", _arrow,
              path=_FILE_OR_STDOUT, conflicts=_NO_ROWS_BY),
    EventView("--script", "Write a script, which `step` plays and `decode` reads again; - is standard output.", script,
              path=_FILE_OR_STDOUT, kind=SCRIPT),
    EventView("--pcapng", "Write a capture with the findings as comments of its packets; - is standard output.", pcapng,
              path=_FILE_OR_STDOUT, kind=PCAPNG, common=False),
    EventView("--pdml", "Write PDML with tshark's field names.", pdml, common=False),
    EventView("--tshark-json", "Write JSON as `tshark -T json -x` does.", tshark_json, common=False),
)  # fmt: skip
"""All views, in the order of the help."""
