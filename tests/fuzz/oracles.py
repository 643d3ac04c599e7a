"""What must hold whatever the bytes are: of a tree, of events, and of all that is shown of them."""

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as Xml

from mqttpub.capture.types import Chunk, End, Missing, Piece
from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded, Finding
from mqttpub.common.escape import remark
from mqttpub.spec.versions import Direction
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Closed, Event, GapSeen, PacketSeen
from mqttpub.traffic.exchanges import Exchanges
from mqttpub.traffic.statistics import Statistics
from mqttpub.view.diagram.ladder import ladder
from mqttpub.view.diagram.mermaid import mermaid
from mqttpub.view.diagram.svg import ladder_svg
from mqttpub.view.export.pdml import pdml
from mqttpub.view.export.tshark_json import tshark_json
from mqttpub.view.packet.dump import annotate, headline, plain
from mqttpub.view.packet.plan import RepeatedDumps
from mqttpub.view.packet.record_json import packet_of, packet_record
from mqttpub.view.page.forms import ID
from mqttpub.view.page.page import PageWriter
from mqttpub.view.terminal.cells import Line, measure, text_of
from mqttpub.view.terminal.style import Palette
from mqttpub.view.traffic.exchanges import ExchangeLines, exchange_record
from mqttpub.view.traffic.statistics import record as counts
from mqttpub.view.traffic.statistics import screen
from mqttpub.view.traffic.summary import SummaryLines
from mqttpub.view.traffic.summary_json import JsonLines
from tests.build.pages import blocks as read_blocks

WIDTH = 80
REPEATED = RepeatedDumps(Palette(color=False), width=WIDTH, limit=256, secrets=False)


# one packet


def check_tree(decoded: Decoded) -> None:
    """The leaves cover every bit once, in order, and findings lie within."""
    at = bits = 0
    for leaf in decoded.root.leaves():
        start, stop = leaf.span
        if leaf.mask:
            assert stop == start + 1 == at + 1, leaf
            assert not bits & leaf.mask, leaf
            bits |= leaf.mask
            if bits == 0xFF:
                at, bits = stop, 0
        else:
            assert start == at <= stop, leaf
            assert not bits, leaf
            at = stop
    assert (at, bits) == (len(decoded.data), 0)
    check_findings(decoded.findings, len(decoded.data))


def check_findings(findings: Iterable[Finding], size: int) -> None:
    """Findings lie within a packet, in the order of its bytes."""
    places = [(each.span.start, each.span.stop) for each in findings]
    assert all(0 <= start <= stop <= size for start, stop in places), findings
    assert all(each.message and each.severity in ("note", "warning", "error") for each in findings)


def check_values(decoded: Decoded) -> None:
    """The fast reader agrees with the tree, and a packet without fault is written as it came."""
    assert decode_packet(decoded.data, decoded.version) == decoded.packet
    if decoded.packet is not None and not decoded.findings:
        assert encode(decoded.packet, decoded.version) == decoded.data


def check_shown(decoded: Decoded) -> None:
    """The dump obeys the width and a terminal; record, PDML and JSON can be read by others."""
    check_dump(decoded)
    line = packet_record(decoded, secrets=True)
    assert line.isprintable(), line
    read = json.loads(line)
    if decoded.packet is not None:
        assert packet_of(read) == (decoded.packet, decoded.version)
    check_for_tshark([(decoded, None)])


def check_dump(decoded: Decoded) -> None:
    """The dump obeys the width and a terminal, and is the same by plan, whatever was drawn before."""
    head, lines = headline(decoded, width=WIDTH), list(annotate(decoded, width=WIDTH))
    check_lines([head, *lines], WIDTH)
    drawn = REPEATED.draw(decoded.data, decoded.version, decoded.direction, decoded.findings)
    if drawn:
        assert drawn == plain([head, *lines, []])


def check_for_tshark(packets: Sequence[tuple[Decoded, PacketSeen | None]]) -> None:
    """PDML is XML and the other one JSON."""
    Xml.fromstring("\n".join(pdml(packets)))
    assert len(json.loads("\n".join(tshark_json(packets)))) == len(packets)


def check_lines(lines: Iterable[Line], width: int) -> None:
    """No line is too wide or holds what a terminal would obey."""
    for line in lines:
        assert measure(line) <= width, line
        assert all(text.isprintable() for text, _ in line), line


# connections


def check_pieces(made: Iterable[Piece]) -> None:
    """A side that has ended is quiet, but for a reset, and all flows end."""
    ended: dict[int, set[int]] = {}
    open: set[int] = set()
    for piece in made:
        number = piece.flow.number
        sides = ended.setdefault(number, set())
        if isinstance(piece, End) and piece.side is None:
            open.discard(number)
            sides |= {0, 1}
            continue
        assert piece.side in (0, 1)
        assert piece.side not in sides or (isinstance(piece, End) and piece.how == "RST"), piece
        open.add(number)
        if isinstance(piece, Chunk):
            assert piece.data
        elif isinstance(piece, Missing):
            assert piece.length > 0, piece
        else:
            sides.add(piece.side)
            if sides == {0, 1}:
                open.discard(number)
    assert not open


def check_events(events: Iterable[Event]) -> None:
    """Packets and gaps of a direction follow one another without a hole, and nothing follows a gap without end."""
    places: dict[tuple[int, object], int | None] = {}
    client: dict[int, str] = {}
    for event in events:
        if not isinstance(event, PacketSeen | GapSeen) or event.direction is None:
            continue
        key = event.ends.number, event.direction
        if client.setdefault(event.ends.number, event.ends.client) != event.ends.client:
            # What came so far told that the ends are the other way round.
            client[event.ends.number] = event.ends.client
            there, back = (places.pop((key[0], end), 0) for end in Direction)
            places |= {(key[0], Direction.CLIENT): back, (key[0], Direction.SERVER): there}
        assert places.get(key, 0) == event.offset, event
        if isinstance(event, PacketSeen):
            assert len(event.data) >= 2
            places[key] = event.offset + len(event.data)
        else:
            places[key] = None if event.length is None else event.offset + event.length


def packets_in(events: Iterable[Event]) -> Counter[tuple[int, int, bytes]]:
    """Return the packets by connection, offset and bytes."""
    return Counter((each.ends.number, each.offset, each.data) for each in events if isinstance(each, PacketSeen))


def decoded_of(known: PacketInContext) -> Decoded:
    """Return the tree of a packet, with the findings that are known."""
    event = known.event
    decoded = decode(event.data, event.version, direction=event.direction, offset=event.offset)
    decoded.findings = list(known.findings or ())
    return decoded


def check_views(known: Sequence[TrafficItem]) -> None:
    """Every view of a conversation can be drawn, and holds nothing that it should not."""
    summary, lines = SummaryLines(width=WIDTH), JsonLines()
    drawn, texts = list(map(summary.line, known)), SummaryLines(width=WIDTH)
    check_lines(drawn, WIDTH)
    for each, line in zip(known, drawn, strict=True):
        assert texts.text(each).rstrip() == text_of(line).rstrip()
        written = lines.line(each)
        assert written.isprintable(), written
        json.loads(written)
    check_lines(ladder(known, width=WIDTH), WIDTH)
    Xml.fromstring("\n".join(ladder_svg(known)))
    assert all(line.isprintable() for line in mermaid(known))
    _check_exchanges(known)
    trees = [(decoded_of(each), each.event) for each in known if isinstance(each, PacketInContext)]
    for decoded, _ in trees:
        check_findings(decoded.findings, len(decoded.data))
        check_dump(decoded)
        packet_record(decoded)
    check_for_tshark(trees)
    _check_page(known)


def _check_exchanges(known: Sequence[TrafficItem]) -> None:
    exchanges, statistics, drawn = Exchanges(), Statistics(), ExchangeLines(width=WIDTH)
    ended = []
    for each in known:
        if isinstance(each, PacketInContext):
            statistics.packet(*each[:4])
            if exchange := exchanges.packet(each.event, each.packet, each.topic, each.client):
                ended.append(exchange)
        else:
            statistics.event(each)
            if isinstance(each, Closed):
                ended += exchanges.finish(each.ends)
    for exchange in ended:
        statistics.exchange(exchange)
        check_lines(drawn.lines(exchange), WIDTH)
        assert drawn.text(exchange).split("\n") == [plain([each]) for each in drawn.lines(exchange)]
        json.dumps(exchange_record(exchange), allow_nan=False)
    check_lines(screen(statistics, width=WIDTH), WIDTH)
    json.dumps(counts(statistics), allow_nan=False)


def _check_page(known: Sequence[TrafficItem]) -> None:
    out = io.StringIO()
    page = PageWriter(out, "x")
    for each in known:
        page.add(each)
    page.close()
    check_page(out.getvalue())


def check_page(text: str) -> None:
    """Scripts and comments are opened and closed by the page alone, and its data is JSON or can be unpacked."""
    blocks = text.split('<script type="application/json"')[1:]
    for block in blocks:
        data = block.partition(">")[2].partition("</script>")[0]
        assert "<" not in data, data
        for line in data.strip().splitlines():
            json.loads(line)
    for block in text.split('<script type="text/plain"')[1:]:
        assert re.fullmatch(r' class="block">[A-Za-z0-9+/=]+\n[A-Za-z0-9+/=]+', block.partition("</script>")[0])
    for columns, _ in read_blocks(text):
        assert all(remark(each.replace(ID, "")) == each.replace(ID, "") for each in columns["strings"])
    text.encode()
