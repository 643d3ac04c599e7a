"""The ways in which `decode` shows a capture: each takes what is known and writes it out."""

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...codec.decode import decode
from ...codec.tree import Decoded
from ...common.times import Zero
from ...reading.follow import OpenConnections, by_connection, packets_of
from ...traffic.clients import called
from ...traffic.context import Known, KnownPacket
from ...traffic.events import Closed, GapSeen, PacketSeen, Remark
from ...traffic.exchanges import Exchange, Exchanges
from ...view.terminal.show import Show
from ...view.terminal.style import show

MOST_HELD = 20_000
"""Events that are held back so that a diagram shows one connection after another."""
WRITE = 1 << 16
"""Characters that are written at once."""


class Settings:
    """How to show: `json`, `secrets`, `full`, `absolute` times, `width` of the screen or None for a pipe."""

    def __init__(self, given: dict[str, Any]) -> None:
        from ...view.terminal.show import screen_width

        self.json: bool = given["as_json"]
        self.secrets: bool = given["show_secrets"]
        self.full: bool = given["full"]
        self.absolute: bool = given["absolute_time"]
        self.width = screen_width()
        self.title: str = given["title"]
        self.zero = Zero()
        self.file_of: Callable[[int], str] | None = None
        """The name of the file that a connection is from, where there are several."""


def decoded_of(known: KnownPacket) -> Decoded:
    """Return the tree of a packet, with the findings that are known."""
    event = known.event
    decoded = decode(event.data, event.version, direction=event.direction, offset=event.offset)
    decoded.findings = list(known.findings or ())
    return decoded


def text(lines: Iterable[str]) -> None:
    """Write lines as they come, many at once."""
    held: list[str] = []
    size = 0
    write = sys.stdout.write
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= WRITE:
            held.append("")
            write("\n".join(held))
            held, size = [], 0
    if held:
        held.append("")
        write("\n".join(held))


# every packet, byte for byte


def annotated(events: Iterable[Known], settings: Settings) -> None:
    """Show every packet with all its bytes."""
    from ...common.times import Clock

    screen = Show(secrets=settings.secrets, full=settings.full)
    clock, connection = Clock(absolute=settings.absolute, zero=settings.zero), 0
    for known in events:
        event = known.event if isinstance(known, KnownPacket) else known
        if event.ends.number != connection:
            connection = event.ends.number
            if event.ends.client or event.ends.server:
                screen.remark(f"connection {connection}: {event.ends.client} to {event.ends.server}")
        if isinstance(known, KnownPacket):
            screen.packet(decoded_of(known), time=_place(known, clock))
        else:
            screen.remark(_told(known))


def _place(known: KnownPacket, clock: Any) -> str:
    from ...common.escape import escape

    event = known.event
    parts = [] if event.time is None else [f"at {clock.show(event.time).strip()}"]
    parts += [f"record {event.record}"] if event.record else []
    parts += [f"offset {event.offset}"] if event.offset else []
    if known.topic and known.topic.alias and known.topic.name:
        parts.append(f"topic {escape(known.topic.name)}")
    parts += [escape(known.client)] if known.client else []
    return ", ".join(parts)


def _told(event: GapSeen | Closed | Remark) -> str:
    from ...view.traffic.summary import told

    return told(event)[1]


def records(events: Iterable[Known], settings: Settings) -> None:
    """Print a JSON record for every packet, and one for every other event."""
    from ...view.packet.record_json import dumps, record
    from ...view.traffic.summary_json import JsonLines

    others = JsonLines()

    def lines() -> Iterator[str]:
        for known in events:
            if not isinstance(known, KnownPacket):
                yield others.line(known)
                continue
            event = known.event
            time = None if event.time is None else event.time / 1e9
            entry = record(decoded_of(known), time=time, secrets=settings.secrets)
            yield dumps({**entry, **_context(known)})

    text(lines())


def _context(known: KnownPacket) -> dict[str, Any]:
    from ...common.escape import json_text

    event, topic = known.event, known.topic
    context: dict[str, Any] = {
        "record": event.record,
        "connection": event.ends.number,
        "client": json_text(known.client) or None,
        "address": event.ends.client or None,
        "server": event.ends.server or None,
    }
    if topic and topic.alias:
        context["topic"] = json_text(topic.name or "") or None
    return {**context, "version_known": False} if event.guessed else context


# one line for each packet


def summary(events: Iterable[Known], settings: Settings) -> None:
    """Show one line for each packet."""
    if settings.json:
        from ...view.traffic.summary_json import JsonLines, with_files

        lines = map(JsonLines().line, events) if not settings.file_of else with_files(events, settings.file_of)
        text(lines)
        return
    from ...view.traffic.summary import SummaryLines, with_headings

    line = SummaryLines(width=settings.width, absolute=settings.absolute, zero=settings.zero).line
    show(map(line, events) if not settings.file_of else with_headings(events, settings.file_of, line), sys.stdout)


# exchanges


def exchanges_of(events: Iterable[Known], each: Callable[[Known], None] = lambda known: None) -> Iterator[Exchange]:
    """Yield exchanges as they end, and at last those that did not; `each` gets every event as well."""
    exchanges, still = Exchanges(), OpenConnections()
    for known in events:
        each(known)
        if isinstance(known, KnownPacket):
            event, packet, topic, client, _ = known
            still.ended(event)
            if ended := exchanges.packet(event, packet, topic, client):
                yield ended
        elif still.ended(known):
            yield from exchanges.finish(known.ends)
    for ends in still.left():
        yield from exchanges.finish(ends)


def flows(events: Iterable[Known], settings: Settings) -> None:
    """Show each exchange as one line, with its legs, times, re-deliveries and outcome."""
    from ...view.traffic.exchanges import ExchangeLines, exchange_record

    found = exchanges_of(events)
    if settings.json:
        from ...view.packet.record_json import dumps

        text(dumps(exchange_record(each)) for each in found)
        return
    lines = ExchangeLines(width=settings.width, absolute=settings.absolute, zero=settings.zero)
    show((line for each in found for line in lines.lines(each)), sys.stdout)


def stats(events: Iterable[Known], settings: Settings) -> None:
    """Show counts, sizes, overhead, latencies, re-deliveries."""
    from ...traffic.statistics import Statistics
    from ...view.traffic.statistics import record, screen

    statistics = Statistics()

    def count(known: Known) -> None:
        if isinstance(known, KnownPacket):
            statistics.packet(*known[:4])
        else:
            statistics.event(known)

    for exchange in exchanges_of(events, count):
        statistics.exchange(exchange)
    if settings.json:
        from ...view.packet.record_json import dumps

        text([dumps(record(statistics))])
        return
    show(screen(statistics, width=settings.width), sys.stdout)


# the sequence diagram


def ladder(events: Iterable[Known], settings: Settings) -> None:
    """Draw the sequence diagram."""
    from ...view.diagram.ladder import ladder as drawn

    lines = drawn(
        by_connection(events, MOST_HELD),
        width=settings.width,
        absolute=settings.absolute,
        zero=settings.zero,
        ascii=not _boxes(),
    )
    show(lines, sys.stdout)


def svg(events: Iterable[Known], settings: Settings) -> None:
    """Write the sequence diagram as SVG."""
    from ...view.diagram.svg import ladder_svg

    text(ladder_svg(by_connection(events, MOST_HELD), absolute=settings.absolute, zero=settings.zero))


def mermaid(events: Iterable[Known], settings: Settings) -> None:
    """Write the sequence diagram as Mermaid."""
    from ...view.diagram.mermaid import mermaid as drawn

    text(drawn(by_connection(events, MOST_HELD), absolute=settings.absolute, zero=settings.zero))


def _boxes() -> bool:
    try:
        "│─▶◀┄×".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


# for other programs


def pdml(events: Iterable[Known], settings: Settings) -> None:
    """Write PDML in tshark's shape."""
    from ...view.export.pdml import pdml as written

    text(written(_pairs(events), secrets=settings.secrets, source=settings.title))


def tshark_json(events: Iterable[Known], settings: Settings) -> None:
    """Write JSON in tshark's shape."""
    from ...view.export.tshark_json import tshark_json as written

    text(written(_pairs(events), secrets=settings.secrets))


def _pairs(events: Iterable[Known]) -> Iterator[tuple[Decoded, PacketSeen | None]]:
    return ((decoded_of(known), known.event) for known in packets_of(events))


def page(events: Iterable[Known], settings: Settings, path: str) -> None:
    """Write the page to a file, whole or not at all."""
    from ...common.files import replacing
    from ...view.page.page import Page

    with replacing(path) as out:
        made = Page(out, settings.title, secrets=settings.secrets, file_of=settings.file_of)
        for known in events:
            if isinstance(known, KnownPacket):
                event, _, topic, client, _ = known
                name = topic.name if topic else None
                made.packet(event, decoded_of(known), client=called(client, event.ends), topic=name)
            elif isinstance(known, GapSeen):
                made.gap(known)
            elif isinstance(known, Closed):
                made.closed(known)
            else:
                made.remark(known)
        made.close()
