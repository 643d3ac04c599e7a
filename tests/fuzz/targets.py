"""What is fuzzed: each target takes anything of its types and raises only when something is wrong with mqttpub."""

import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch
from xml.etree import ElementTree as Xml

from mqttpub.capture.containers.registry import RecordReader
from mqttpub.capture.logs.account import Log
from mqttpub.capture.logs.read import read_bytes, read_text
from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.protocol.detect import LONGEST, opening
from mqttpub.capture.text.source import BadText
from mqttpub.capture.text.transcript import events as transcript_events
from mqttpub.capture.text.transcript import is_transcript
from mqttpub.capture.types import BadCapture, CaptureRecord, Chunk, Flow, Missing, Piece
from mqttpub.cli.main import main
from mqttpub.codec.decode import decode
from mqttpub.codec.stream import LostSync, Stream
from mqttpub.lint.judge import Judge
from mqttpub.lint.packet.check import lint
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from mqttpub.traffic.query import PacketFilter
from mqttpub.traffic.runs import items_of
from tests.build.websocket import upgraded
from tests.fuzz.built import Step, bytewise, cut, pieces, records
from tests.fuzz.oracles import (
    check_events,
    check_findings,
    check_page,
    check_pieces,
    check_shown,
    check_tree,
    check_values,
    check_views,
    packets_in,
)

VERSIONS = (None, *Version)
DIRECTIONS = (None, *Direction)
ENDS = (("10.0.0.1:50000", "10.0.0.2:4711"), ("10.0.0.1:50000", "10.0.0.2:1883"))
MOST_SHOWN = 2000
"""Bytes of a packet above which fuzzing has better things to do than to draw it."""


def packet(version: Version | None, direction: Direction | None, raw: bytes) -> None:
    """One packet: decoded, judged and shown in every way."""
    decoded = decode(raw, version, direction=direction)
    check_tree(decoded)
    check_values(decoded)
    decoded.findings = lint(decoded, direction)
    check_findings(decoded.findings, len(raw))
    if len(raw) <= MOST_SHOWN:
        check_shown(decoded)
    if version and len(raw) > 1:
        _, found = Judge().packet(PacketSeen(Endpoints(1, "c", "s"), 0, 1, raw, 0, direction, version, False))
        check_findings(found, len(raw))


def stream(most: int, sizes: bytes, raw: bytes) -> None:
    """One direction of a connection, whole and in chunks."""
    found = [_cut_up([raw], most), _cut_up(cut(raw, sizes), most)]
    assert found[0] == found[1]
    frames, rest, lost = found[0]
    assert b"".join(frames) + rest == raw[: len(b"".join(frames)) + len(rest)]
    assert lost or b"".join(frames) + rest == raw


def _cut_up(chunks: Iterable[bytes], most: int) -> tuple[list[bytes], bytes, str]:
    made, frames = Stream(max_packet=most), list[bytes]()
    try:
        for chunk in chunks:
            for frame in made.feed(chunk):
                assert frame.offset == sum(map(len, frames))
                frames.append(frame.data)
    except LostSync as lost:
        return frames, b"", str(lost)
    return frames, made.pending, ""


def talk(version: Version, steps: Sequence[Step]) -> None:
    """Packets, gaps and ends of a few connections: judged together and shown in every way."""
    events: list[Event] = []
    offsets: dict[tuple[int, Direction | None], int] = {}
    for number, (choice, raw) in enumerate(steps, 1):
        ends = Endpoints(1 + (choice >> 5 & 1), "10.0.0.1:50000", "10.0.0.2:1883" if choice & 64 else "")
        direction, kind = DIRECTIONS[min(choice & 3, 2)], choice >> 2 & 7
        time = None if choice & 128 else number * 10**9
        at = offsets.get((ends.number, direction), 0)
        size: int | None = len(raw)
        if kind == 7:
            events.append(Closed(ends, time, number, direction, ("FIN", "RST", "end")[len(raw) % 3]))
        elif kind == 6:
            size = len(raw) * 100 or None
            events.append(GapSeen(ends, time, number, at, direction, size, raw[:64], "lost", len(raw) % 2 == 0))
        elif kind == 5:
            events.append(Remark(ends, time, number, direction, raw.decode("utf-8", "surrogateescape")))
        elif len(raw) > 1:
            events.append(PacketSeen(ends, time, number, raw, at, direction, version, kind == 4))
        offsets[ends.number, direction] = at + (size or 0)
    check_views(list(items_of(JudgedTraffic(events))))


def file(place: int, raw: bytes) -> None:
    """A capture file, whole, byte by byte, and cut off."""
    found, fault = _read(io.BytesIO(raw))
    slowly, same = _read(Dribble(raw))
    skipped = any("skipped" in each[0] for each in (fault, same) if each)
    if "zstd" in (fault or same or ("",))[0]:
        # What the library made in the step that fails is lost.
        assert skipped or found == slowly[: len(found)]
    else:
        assert (slowly, same) == (found, fault)
    assert all(each.length >= len(each.data) for each in found)
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert not fault or fault[1] >= 0
    start, _ = _read(io.BytesIO(raw[: place % (len(raw) + 1)]))
    # After damage fewer records prove a place where the file ends.
    assert skipped or found[: len(start)] == start
    chained(found)


class Dribble(io.BytesIO):
    """A file that gives one byte at a time."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(1)


def _read(stream: io.BytesIO) -> tuple[list[CaptureRecord], tuple[str, int] | None]:
    found: list[CaptureRecord] = []
    try:
        for record in RecordReader(stream):
            found.append(record)  # noqa: PERF402
    except BadCapture as bad:
        return found, (bad.message, bad.offset)
    return found, None


def segments(steps: Sequence[Step]) -> None:
    """Frames of a few connections, with streams that are repeated, reordered, overlapping or lost."""
    chained(records(steps))


def chained(given: Iterable[CaptureRecord]) -> None:
    """Reassemble records, and read what the connections carry."""
    reassembler = Reassembler(max_flows=3, max_held=2000, max_together=5000)
    made: list[Piece] = []
    size = 0
    for record in given:
        made += reassembler.feed(record)
        size += len(record.data)
    made += reassembler.finish()
    check_pieces(made)
    assert sum(len(each.data) for each in made if isinstance(each, Chunk)) <= size
    streams = MqttDemux()
    events = [event for piece in made for event in streams.feed(piece)]
    check_events([*events, *streams.finish()])


def connection(choice: int, steps: Sequence[Step]) -> None:
    """The pieces of one connection: the same packets whether its chunks are large or small, and all views of it."""
    flow = Flow(1, ENDS[choice & 1], (50000, 1883 if choice & 1 else 4711), bool(choice & 2))
    made = pieces(steps, flow)
    _check_opening(made)
    events = _understood(made, choice)
    check_events(events)
    if flow.opened and not any(isinstance(each, Missing) for each in made):
        assert packets_in(events) == packets_in(_understood(bytewise(made), choice))
    if sum(len(each.data) for each in made if isinstance(each, Chunk)) <= MOST_SHOWN:
        check_views(list(items_of(JudgedTraffic(events))))


def _understood(made: Iterable[Piece], choice: int) -> list[Event]:
    streams = MqttDemux(version=VERSIONS[choice >> 2 & 3], max_packet=1000 if choice & 16 else 1 << 28)
    events = [event for piece in made for event in streams.feed(piece)]
    return [*events, *streams.finish()]


def _check_opening(made: Iterable[Piece]) -> None:
    """What the first bytes of a side say is not unsaid by those behind them."""
    first = {0: b"", 1: b""}
    for each in made:
        if isinstance(each, Chunk) and len(first[each.side]) < LONGEST:
            first[each.side] += each.data[:LONGEST]
    for data in first.values():
        told = [opening(data[:size]) for size in range(min(len(data), 40) + 1)]
        decided = [kind for kind in told if kind]
        assert len(set(decided)) <= 1, told
        assert told == [None] * (len(told) - len(decided)) + decided


def websocket(choice: int, extra: tuple[bytes, bytes], steps: Sequence[Step]) -> None:
    """A connection that is upgraded, with frames of any kind."""
    made = upgraded(choice, extra, steps)
    events = _understood(made, 0)
    check_events(events)
    assert packets_in(events) == packets_in(_understood(bytewise(made), 0))
    if sum(len(each.data) for each in steps) <= MOST_SHOWN:
        check_views(list(items_of(JudgedTraffic(events))))


def text(form: str, raw: bytes) -> None:
    """Text that people paste, in every form."""
    try:
        for piece in read_bytes(raw, form, Log()):
            assert piece.data
    except BadText as bad:
        _check_place(bad)
    try:
        list(read_text(raw.decode("utf-8", "surrogateescape"), "auto", Log()))
    except BadText as bad:
        _check_place(bad)


def _check_place(bad: BadText) -> None:
    assert bad.message
    assert bad.line >= 1
    assert bad.column >= 1


def transcript(data: bytes) -> None:
    """Our own output read again."""
    is_transcript(data)
    lines = data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    found: list[Event] = []
    try:
        for event in transcript_events(lines):
            found.append(event)  # noqa: PERF402
    except BadText as bad:
        _check_place(bad)
    if len(data) <= MOST_SHOWN:
        check_views(list(items_of(JudgedTraffic(found))))


def picked(data: bytes) -> None:
    """The language of --filter."""
    with suppress(ValueError):
        made = PacketFilter.parse(data.decode("utf-8", "surrogateescape"))
        for known in _sample():
            made.matches(*known)


@cache
def _sample() -> list[PacketInContext]:
    ends = Endpoints(1, "10.0.0.1:50000", "10.0.0.2:1883")
    raws = [bytes.fromhex(each) for each in ("100d00044d5154540502003c000000", "30050001740061", "c000", "4002000a")]
    events: list[Event] = [PacketSeen(ends, 1, 1, raw, 0, Direction.CLIENT, Version.V5, False) for raw in raws]
    return [known for known in items_of(JudgedTraffic(events)) if isinstance(known, PacketInContext)]


# the program


class Shown(NamedTuple):
    """What a run of the program did."""

    status: int
    out: str
    err: str


VIEWS = (
    (), ("--json",), ("--summary",), ("--summary", "--json"), ("--flows",), ("--flows", "--json"), ("--stats",),
    ("--stats", "--json"), ("--ladder",), ("--svg",), ("--mermaid",), ("--html", "{out}"), ("--pdml",),
    ("--tshark-json",), ("--script", "{out}"), ("--pcapng", "{out}"), ("--absolute-time",),
    ("--summary", "--absolute-time"), ("--filter", "finding"), ("--ladder", "--absolute-time"), ("--full",),
    ("--form", "raw"), ("--mqtt-version", "3.1.1", "--summary"),
)  # fmt: skip
"""Arguments of `decode` beside the file."""
ENCODINGS = ("utf-8", "ascii", "latin-1")


def program(raw: bytes, view: tuple[str, ...], encoding: str = "utf-8") -> Shown:
    """The whole program on a file of any bytes: `decode`, and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "f"), Path(folder, "page.html")
        path.write_bytes(raw)
        arguments = [str(out) if each == "{out}" else each for each in view]
        shown = run(["decode", "-f", str(path), *arguments], encoding)
        page = out.read_text(encoding="utf-8") if "--html" in view and out.exists() else ""
    assert shown.status in (0, 1, 2), shown
    assert (shown.status == 2) <= bool(shown.err), shown
    for each in (shown.out, shown.err):
        assert all(line.isprintable() for line in each.split("\n")), each
    _check_form(shown.out, view)
    if page:
        check_page(page)
    return shown


def run(arguments: list[str], encoding: str = "utf-8") -> Shown:
    """Run the program in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    with patch.object(sys, "stdout", out), patch.object(sys, "stderr", err):
        status = main(arguments)
        out.flush()
        err.flush()
    return Shown(status, *(each.buffer.getvalue().decode(encoding) for each in (out, err)))


def _check_form(out: str, view: tuple[str, ...]) -> None:
    if "--json" in view:
        for line in out.splitlines():
            json.loads(line)
    elif "--tshark-json" in view:
        json.loads(out or "[]")
    elif "--pdml" in view or "--svg" in view:
        Xml.fromstring(out) if out else None


TARGETS: dict[str, Callable[..., object]] = {
    each.__name__: each
    for each in (
        packet, stream, talk, file, segments, connection, websocket, text, transcript, picked, program,
    )
}  # fmt: skip
"""All targets by name."""
