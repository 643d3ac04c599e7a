"""The packets in log lines: runs of bytes between words, with direction and time from the words."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from ...codec.framing import frame_length
from ...common.words import counted
from ...wire.cursor import Overlong
from .digits import begins_packet
from .literals import unescape
from .source import BadText, TextPiece, TextSpan

_TIMES = re.compile(
    r"""\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|\s?[+-]\d\d:?\d\d)?
    |\[?\d\d:\d\d:\d\d(?:[.,]\d+)*\]?                   # 12:00:00.123   [00:00:01.234,567]
    |(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![:0-9A-Fa-f])  # a MAC address
    |\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?""",  # an IPv4 address
    re.VERBOSE,
)
_WHEN = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?\s?(Z|[+-]\d\d:?\d\d)")
_COLUMN = re.compile(r"(?<!\s)\s++\|.*$")
"""The text column after bytes: `|0...a/bhello|`."""
_GAP = r"(?:[ \t]{1,3}|[ \t]*[,:;-][ \t]*)"
_HEX = r"(?:0[xX][0-9A-Fa-f]{1,2}(?:_?u8)?|\\x[0-9A-Fa-f]{2}|[0-9A-Fa-f]{2})"
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_BYTES = re.compile(rf"(?<![\w.]){_HEX}(?:{_GAP}{_HEX})+(?![\w.]|{_GAP}?\.\.)")
_JOINED = re.compile(r"(?<![\w.])(?:0[xX])?((?:[0-9A-Fa-f]{2}){2,})(?![\w.])")
_NUMBERS = re.compile(rf"(?<![\w.])[0-9A-Fa-f]{{1,3}}(?:{_GAP}[0-9A-Fa-f]{{1,3}})+(?![\w.])")
_PAIR = re.compile(r"(?:[ \t]|[ \t]*[,:;-][ \t]*)([^\W_]{2})(?!\w)")
"""Two characters that follow a run of bytes as one more byte would."""
_END = re.compile(r"[\s\]})\"'.]*+$|\s{2}")
_ONE = re.compile(r"(?:0[xX]|\\x)?([0-9A-Fa-f]{1,2})(?:_?u8)?")
_LEFT_OUT = re.compile(r"\.\.|\u2026")
_WORD = re.compile(r"(?<![0-9A-Za-z])[A-Za-z_]*[G-Zg-z_][A-Za-z_]*|[^\W\d_\x00-\x7f]")
"""A word that is not hex: a log line has one, mistyped hex has none."""
_SENT = r"\b(?:tx|sen[dt]|sending|write|wrote|writing|out(?:going|bound)?|publishing)\b|[-=]>|>>|\u2192"
_RECEIVED = r"\b(?:rx|recv|receive[ds]?|receiving|read|in(?:coming|bound)?)\b|<[-=]|<<|\u2190"
_DIRECTION = re.compile(rf"(?P<sent>{_SENT})|(?P<received>{_RECEIVED})", re.IGNORECASE)
_END_NAMES = re.compile(r"\b(?:(server|broker)|client)\b", re.IGNORECASE)
_CALL = re.compile(
    r"\b(?P<call>write|send|sendto|read|recv|recvfrom)\((?P<fd>\d+)(?:<[^>]*>)?, "
    r'"(?P<text>(?:\\.|[^"\\])*)"(?P<cut>\.\.\.)?,'
)
_TLS = re.compile(r"(?:>>>|<<<) (?:TLS|SSL|DTLS) ?[\d.]+,? ")
_READS = ("read", "recv", "recvfrom")
_FROM_CLIENT, _FROM_SERVER = (1, 8, 10, 12), (2, 9, 11, 13)
_OTHER = {"": "", ">": "<", "<": ">"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LogEntry(NamedTuple):
    """The bytes in a line."""

    line: TextSpan
    data: bytes
    mark: str
    time_ns: int | None


class Log:
    """Reads lines that hold more than bytes, and counts those without any bytes."""

    def __init__(self) -> None:
        self.taken = 0
        """Lines with bytes."""
        self.passed = 0
        """Lines without bytes."""
        self.first = 0
        """The number of the first line without bytes, counted from 1."""
        self.swapped = False
        """Whether a server wrote the log."""
        self.marked = False
        self.cut = 0
        """Lines with more bytes after those that were read."""
        self.first_cut = 0
        """The number of the first such line, counted from 1."""
        self.frames = 0
        """Dumps of Ethernet frames."""

    def pieces(self, lines: Sequence[TextSpan]) -> list[TextPiece]:
        """Return the packets of lines; nothing for lines that are not a log, or hold no whole packet."""
        for line in lines:
            if _TLS.match(line.text):
                raise line.error(0, "a TLS message of openssl -msg holds no MQTT that can be read")
        used: set[int] = set()
        entries = _calls(lines, used) or list(_entries(lines, used))
        passed = [line for at, line in enumerate(lines) if at not in used and line.text.strip()]
        if not entries or (passed and not any(_WORD.search(line.text) for line in lines)):
            return []
        for entry in entries:
            self._check_rest(entry)
        self._turn(entries)
        self.taken += len(used)
        self.pass_over(passed)
        return [self._piece(*entry) for entry in entries]

    def unwrapped(self, piece: TextPiece) -> TextPiece:
        """Return the MQTT bytes of a dump, if it is that of an Ethernet frame, as `tshark -x` prints it."""
        if piece.kind != "dump" or whole_packets(piece.data) or not (found := _segment(piece.data)):
            return piece
        self.frames += 1
        return piece._replace(data=found[0], mark=found[1])

    def has_words(self, lines: Sequence[TextSpan]) -> bool:
        """Whether every line that is not blank holds a word: then mistyped hex is not the cause."""
        return all(_WORD.search(line.text) for line in lines if line.text.strip())

    def _check_rest(self, entry: LogEntry) -> None:
        """Count a line with bytes after those that were read; raises BadText if a mistyped byte separates them."""
        text = _bare(entry.line.text)
        for found in _BYTES.finditer(text):
            if _bytes(found[0]) != entry.data:
                continue
            pair = _PAIR.match(text, found.end()) if not text[: found.start()].strip() else None
            for at in range(*pair.span(1)) if pair else ():
                if text[at] not in _HEX_DIGITS:
                    raise entry.line.error(at, f"'{text[at]}' is not a hex digit")
            if _BYTES.search(text, found.end()):
                self.first_cut = self.first_cut or entry.line.source.line(entry.line.start)
                self.cut += 1
            return

    def pass_over(self, lines: Sequence[TextSpan]) -> None:
        """Count lines without bytes."""
        if lines:
            self.first = self.first or lines[0].source.line(lines[0].start)
            self.passed += len(lines)

    def _piece(self, line: TextSpan, data: bytes, mark: str, time_ns: int | None) -> TextPiece:
        mark = _OTHER[mark] if self.swapped else mark
        return TextPiece(data, line.source.line(line.start), "log", mark, time_ns=time_ns)

    def remarks(self) -> Iterator[str]:
        """Yield sentences about the lines with and without bytes."""
        if self.frames:
            frames = f"{self.frames:,} dump{'s are Ethernet frames' if self.frames > 1 else ' is an Ethernet frame'}"
            yield f"{frames}, of which the TCP payload is read; what spans several needs the capture itself"
        if not self.taken:
            return
        lines = f"bytes were read from {counted(self.taken, 'line')} of a log"
        passed = f", {counted(self.passed, 'line')} skipped (the first is line {self.first})"
        yield lines + (passed if self.passed else "")
        if self.cut:
            lines = counted(self.cut, "line has", "lines have")
            skipped = f"they were skipped (the first is line {self.first_cut})"
            yield f"{lines} more bytes after those that were read; {skipped}"
        if self.marked:
            end = "server" if self.swapped else "client"
            yield f"the log is read as one written by a {end}: TX, send, write and -> mean sent by the {end}"

    def _turn(self, entries: Sequence[LogEntry]) -> None:
        """Find out whose log it is, from packets that only one end sends."""
        self.marked = self.marked or any(each.mark for each in entries)
        for each in entries:
            kind = each.data[0] >> 4
            if each.mark and kind in _FROM_CLIENT + _FROM_SERVER:
                self.swapped = (kind in _FROM_SERVER) == (each.mark == ">")
                return


def _segment(data: bytes) -> tuple[bytes, str] | None:
    """Return the TCP payload of an Ethernet frame, and its direction if a port is 1883."""
    from collections import Counter

    from ..network.ip import IpReassembler
    from ..network.link import NotTcp
    from ..types import CaptureRecord

    if len(data) < _LEAST_FRAME:
        return None
    try:
        packet = IpReassembler(Counter()).packet(CaptureRecord(1, None, _ETHERNET, data, len(data)))
    except NotTcp:
        return None
    if packet is None or packet.start + 20 > len(packet.data):
        return None
    header = packet.data[packet.start : packet.start + 20]
    start = packet.start + (header[12] >> 4) * 4
    marks = {header[0:2]: "<", header[2:4]: ">"}
    return packet.data[start : packet.end], marks.get(_PORT, "")


_LEAST_FRAME = 54
"""Bytes of the headers of Ethernet, IPv4 and TCP."""
_ETHERNET = 1
_PORT = (1883).to_bytes(2, "big")


# the output of strace


def _calls(lines: Sequence[TextSpan], used: set[int]) -> list[LogEntry]:
    """Return the bytes written to and read from the descriptors of a CONNECT, from the CONNECT on."""
    found = [(at, line, call) for at, line in enumerate(lines) if (call := _CALL.search(line.text))]
    spoken: set[str] = set()
    entries: list[LogEntry] = []
    for at, line, call in found:
        # Before its CONNECT a descriptor may have been that of any other file.
        if _connects(line, call):
            spoken.add(call["fd"])
        if call["fd"] not in spoken:
            continue
        if call["cut"]:
            raise line.error(call.start("cut"), "'...' stands for bytes that were left out (strace -s shows more)")
        used.add(at)
        mark = "<" if call["call"] in _READS else ">"
        data = unescape(line, *call.span("text"))
        if entries and entries[-1].mark == mark and not whole_packets(entries[-1].data):
            entries[-1] = entries[-1]._replace(data=entries[-1].data + data)
        elif data:
            entries.append(LogEntry(line, data, mark, _time_ns(line.text)))
    return entries


def _connects(line: TextSpan, call: re.Match[str]) -> bool:
    try:
        data = unescape(line, *call.span("text"))
    except BadText:
        return False
    return data[:1] == b"\x10" and (b"\0\4MQTT" in data[:12] or b"\0\6MQIsdp" in data[:14])


# other lines


def _entries(lines: Sequence[TextSpan], used: set[int]) -> Iterator[LogEntry]:
    """Yield the whole packets of lines; a packet may continue in the lines after its first one."""
    at, rows = 0, _Rows(lines)
    while at < len(lines):
        found = _longest(lines, at, rows)
        if found:
            entry, count = found
            used.update(range(at, at + count))
            yield entry
        at += found[1] if found else 1


def _longest(lines: Sequence[TextSpan], at: int, rows: "_Rows") -> tuple[LogEntry, int] | None:
    line = lines[at]
    text = _bare(line.text)
    if _LEFT_OUT.search(text):
        return None
    worded = "u8" in text or _WORD.search(_without_bytes(text)) is not None
    # A line of nothing but bytes belongs to the words above it.
    above = _bare(lines[at - 1].text) if at and not worded else ""
    mark, time_ns = line.mark or _mark(text) or _mark(above), _time_ns(line.text) or _time_ns(above)
    for data in _readings(text, worded):
        if whole_packets(data):
            return LogEntry(line, data, mark, time_ns), 1
    data, count = rows.packets(at) if worded or line.text[:1].isspace() else (b"", 0)
    if not data and not rows.continues(at):
        data, count = _unfinished(text, worded), 1
    return (LogEntry(line, data, mark, time_ns), count) if data else None


class _LineBytes(NamedTuple):
    """The bytes of lines that follow one another."""

    data: bytearray
    ends: dict[int, int]
    """Lines by where their bytes end."""


class _Rows:
    """The last run of bytes in each of some lines."""

    def __init__(self, lines: Sequence[TextSpan]) -> None:
        self._places: list[tuple[_LineBytes, int] | None] = []
        block = _LineBytes(bytearray(), {})
        for at, line in enumerate(lines):
            run = _last_run(_bare(line.text))
            self._places.append((block, len(block.data)) if run else None)
            block.data.extend(run)
            block.ends[len(block.data)] = at
            if not run:
                block = _LineBytes(bytearray(), {})

    def continues(self, at: int) -> bool:
        """Whether the next line has bytes too."""
        return at + 1 < len(self._places) and self._places[at + 1] is not None

    def packets(self, at: int) -> tuple[bytes, int]:
        """Return the packets that begin in a line and end at the end of a later one, and the number of lines."""
        block, start = self._places[at] or (_LineBytes(bytearray(), {}), 0)
        for pos in islice(_packet_ends(block.data, start), _MOST_PACKETS):
            if block.ends.get(pos, at) > at:
                return bytes(block.data[start:pos]), block.ends[pos] - at + 1
        return b"", 0


_MOST_PACKETS = 64
"""Packets in lines that belong together, at most."""


def _unfinished(text: str, worded: bool) -> bytes:
    """Return the bytes of a packet cut short, if nothing else is at the end of a line."""
    runs = [_bytes(found[0]) for found in _BYTES.finditer(text) if _END.match(text, found.end())] if worded else []
    for data in runs or ([] if worded else _unpadded(text.strip())):
        if len(data) >= _LEAST_CUT and begins_packet(data[0]):
            return data
    return b""


def _unpadded(run: str) -> list[bytes]:
    """Return bytes in hex without leading zeros, as Arduino prints them; nothing if one of them has a leading zero."""
    numbers = re.findall(r"[0-9A-Fa-f]+", run)
    single = any(len(each) == 1 for each in numbers)
    good = len(numbers) >= _LEAST_CUT and not any(len(each) > 2 or (each[0] == "0" and each[1:]) for each in numbers)
    return [bytes(int(each, 16) for each in numbers)] if single and good and _NUMBERS.fullmatch(run) else []


_LEAST_CUT = 4
"""Bytes that are needed to recognize a packet cut short."""


def _last_run(text: str) -> bytes:
    found = list(_BYTES.finditer(text)) or list(re.finditer(rf"(?<![\w.]){_HEX}(?=\s*$)", text))
    return _bytes(found[-1][0]) if found else b""


def _bare(text: str) -> str:
    """Return a line without its times, addresses and text column."""
    return _COLUMN.sub("", _TIMES.sub(lambda found: " " * len(found[0]), text))


def _without_bytes(text: str) -> str:
    return _BYTES.sub(" ", text)


def _readings(text: str, worded: bool) -> Iterator[bytes]:
    """Yield the possible bytes of a line, the most certain first."""
    if worded:
        for found in _BYTES.finditer(text):
            yield _bytes(found[0])
        for found in _JOINED.finditer(text):
            if len(found[1]) >= 8 or _DIRECTION.search(text):
                yield bytes.fromhex(found[1])
    for found in _NUMBERS.finditer(text):
        numbers = re.findall(r"[0-9A-Fa-f]+", found[0])
        if worded and len(numbers) < 3:
            continue
        yield from _unpadded(found[0])
        if {*map(len, numbers)} == {2}:
            yield bytes(int(each, 16) for each in numbers)
        if all(each.isdigit() and int(each) < 256 for each in numbers):
            yield bytes(map(int, numbers))


def whole_packets(data: bytes | bytearray) -> bool:
    """Whether bytes are whole packets, from the first to the last."""
    return any(end == len(data) for end in _packet_ends(data))


def _packet_ends(data: bytes | bytearray, at: int = 0) -> Iterator[int]:
    """Yield where each of the whole packets ends that follow one another from a place on."""
    while at < len(data):
        try:
            length = frame_length(data, at)
        except Overlong:
            return
        if length is None or not begins_packet(data[at]) or length > len(data) - at:
            return
        at += length
        yield at


def _bytes(run: str) -> bytes:
    return bytes(int(found[1], 16) for found in _ONE.finditer(run))


def _mark(text: str) -> str:
    """Return the direction that the words of a line name."""
    found = _DIRECTION.search(_without_bytes(text))
    if not found:
        return ""
    ends = [name[1] is not None for name in _END_NAMES.finditer(text)]
    server_first = True in ends and False in ends and ends.index(True) < ends.index(False)
    return ">" if (found["sent"] is not None) != server_first else "<"


def _time_ns(text: str) -> int | None:
    """Return a time with its date and zone, in nanoseconds since 1970."""
    found = _WHEN.search(text)
    if not found:
        return None
    zone = "+00:00" if found[4] == "Z" else found[4]
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{zone}")
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(seconds=1) * 10**9 + int((found[3] or "").ljust(9, "0"))
