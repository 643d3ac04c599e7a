"""The output of `decode` and `pub --inspect`, read again: JSON Lines and annotated dumps.

Secrets are masked in both, and a dump leaves out long fields unless `--full`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from ...codec.decode import decode
from ...codec.framing import frame_length
from ...common.strict_json import in_plain_words
from ...common.words import counted
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ...traffic.events import GAP_BYTES, Closed, Endpoints, Event, GapSeen, PacketSeen, Remark
from ...wire.cursor import Overlong
from .annotated import DumpBlock, ShownPacket, headline, is_row
from .source import BadText

LONGEST_LINE = 1 << 29
"""Bytes of a line, at most."""
_OBJECT = re.compile(r'\s*+\{\s*+"')
_RECORD = re.compile(r'\s*+\{\s*+".*"hex"\s*+:\s*+"(?:[0-9a-fA-F]{2}|\*\*)')
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}|\*\*)*+")
_OVERLONG = "Remaining Length does not end at its fourth byte"
_ENDLESS = 1 << 63
"""An offset that no stream reaches."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DIRECTIONS = {direction.value: direction for direction in Direction}


def is_transcript(first: bytes) -> bool:
    """Whether a file that begins with these bytes, some thousands, is a transcript rather than another text."""
    lines = first.decode("utf-8", "replace").splitlines()
    dump = any(headline(line) and any(map(is_row, lines[at + 1 : at + 3])) for at, line in enumerate(lines))
    return dump or any(map(_RECORD.match, lines))


def lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a file; raises BadText for one that is longer than the record of any packet."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise BadText(f"the line has more than {LONGEST_LINE:,} bytes", number)
        yield line.decode("utf-8", "surrogateescape")


def events(lines: Iterable[str]) -> Iterator[Event]:
    """Yield the packets of a transcript; what it leaves out becomes remarks and gaps.

    A CONNECT at the beginning of its stream begins a connection. Lines that are neither a record nor part of a dump
    are skipped. Raises BadText for a broken record, and for a text without packets.
    """
    events, held = _Events(), None
    for shown in _packets(lines):
        if not isinstance(shown, ShownPacket):
            yield from events.of(held) if held else ()
            held = None
            events.any = True
            yield shown
        elif held is None or not _same(held, shown):
            yield from events.of(held) if held else ()
            held = shown
        else:
            # `decode` shows each packet in both versions if the version is unknown.
            held = held._replace(guessed=True)
    if held is None and not events.any:
        raise BadText("no packets")
    yield from events.of(held) if held else ()


def _same(one: ShownPacket, other: ShownPacket) -> bool:
    """Whether two neighbours are readings of the same packet."""
    return one.version != other.version and one[2:3] + one[4:8] == other[2:3] + other[4:8]


def _packets(lines: Iterable[str]) -> Iterator[ShownPacket | GapSeen | Closed | Remark]:
    """Yield each packet as it is shown, and the other events of a capture; a blank line ends a dump."""
    block: DumpBlock | None = None
    for number, line in enumerate(lines, 1):
        found = headline(line)
        record = _OBJECT.match(line)
        if block and not (found or record) and line.strip():
            block.add(line)
            continue
        if block:
            yield block.shown()
        block = DumpBlock(number, found) if found else None
        if record:
            parsed = _Record(number, line)
            if event := parsed.shown() or parsed.event():
                yield event
    if block:
        yield block.shown()


class _Record:
    """A line that holds a JSON object."""

    def __init__(self, number: int, line: str) -> None:
        self.number = number
        self.line = line.rstrip("\r\n")
        try:
            self.members: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError as error:
            raise self._bad(in_plain_words(error), error.colno) from None
        except (ValueError, RecursionError) as error:
            raise self._bad(f"not readable JSON ({error})") from None

    def _bad(self, message: str, column: int = 1) -> BadText:
        return BadText(message, self.number, column, self.line)

    def shown(self) -> ShownPacket | None:
        """Return the packet; None for an event of another kind."""
        members = self.members
        if members.get("event", "packet") != "packet":
            return None
        hex = members.get("hex")
        if not isinstance(hex, str) or not _HEX.fullmatch(hex):
            raise self._bad("a packet needs `hex`, two digits or asterisks for each byte")
        data = bytes.fromhex(hex.replace("**", "2a"))
        masked = tuple(at for at in range(len(data)) if hex[2 * at] == "*") if "*" in hex else ()
        guessed = members.get("version_known") is False
        offset = self._whole("offset")
        length = self._whole("length")
        if length not in (None, len(data)):
            raise self._bad(f"`length` is {length}, but `hex` has {len(data)} bytes")
        return ShownPacket(
            self.number, self._time(), self._direction(), self._version(), offset, data, masked, len(data), guessed,
            self._ends(), self._whole("record") or 0,
        )  # fmt: skip

    def event(self) -> GapSeen | Closed | Remark | None:
        """Return an event of a capture that is not a packet; None for an event of a live connection."""
        ends = self._ends()
        if ends is None:
            return None
        kind, members = self.members.get("event"), self.members
        begun = ends, self._time(), self._whole("record") or 0
        message, direction = str(members.get("message", "")), self._direction()
        if kind == "closed":
            return Closed(*begun, direction, str(members.get("how", "end")))
        if kind == "remark":
            return Remark(*begun, direction, message)
        if kind != "gap":
            return None
        malformed = members.get("malformed") is True
        return GapSeen(*begun, self._whole("offset") or 0, direction, self._whole("length"), b"", message, malformed)

    def _ends(self) -> Endpoints | None:
        number = self._whole("connection")
        if number is None:
            return None
        return Endpoints(number, str(self.members.get("address") or ""), str(self.members.get("server") or ""))

    def _whole(self, name: str) -> int | None:
        value = self.members.get(name)
        if value is not None and (not isinstance(value, int) or not 0 <= value < _ENDLESS):
            raise self._bad(f"`{name}` is not a number of bytes")
        return value

    def _direction(self) -> Direction | None:
        named = self.members.get("direction")
        if named is None:
            return None
        if not isinstance(named, str) or named not in _DIRECTIONS:
            raise self._bad("`direction` is neither `client` nor `server`")
        return _DIRECTIONS[named]

    def _version(self) -> Version:
        try:
            return Version.named(str(self.members.get("version")))
        except ValueError:
            raise self._bad("`version` is not 3.1, 3.1.1 or 5.0") from None

    def _time(self) -> int | None:
        text = self.members.get("time")
        if text is None:
            return None
        try:
            return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND * 1000
        except (TypeError, ValueError, OverflowError):
            raise self._bad("`time` is not a date and time with a zone") from None


class _Events:
    """Assigns packets their connection and offset."""

    def __init__(self) -> None:
        self.ends = Endpoints(1, "", "")
        self.any = False
        self.next: dict[Direction | None, int] = {}
        """Where the next packet of each direction begins."""

    def of(self, shown: ShownPacket) -> Iterator[Event]:
        """Yield the events of one packet."""
        self.any = True
        if shown.ends:
            self.ends, self.next = shown.ends, {}
        elif self.next and not shown.offset and shown.data[:1] and shown.data[0] >> 4 == Connect.code:
            self.ends = self.ends._replace(number=self.ends.number + 1)
            self.next = {}
        offset = self.next.get(shown.direction, 0) if shown.offset is None else shown.offset
        self.next[shown.direction] = offset + shown.length
        if fault := _fault(shown):
            message = f"{fault} (line {shown.line})"
            # Bytes that the transcript leaves out or masks were valid once.
            malformed = shown.length == len(shown.data) and not shown.masked
            data = shown.data[:GAP_BYTES]
            yield GapSeen(
                self.ends, shown.time_ns, shown.record, offset, shown.direction, shown.length, data, message, malformed
            )
            return
        if shown.masked:
            masked = counted(len(shown.masked), "byte is", "bytes are")
            message = f"{masked} masked in the transcript and read as asterisks"
            yield Remark(self.ends, shown.time_ns, shown.record, shown.direction, message)
        yield PacketSeen(
            self.ends, shown.time_ns, shown.record, shown.data, offset, shown.direction, shown.version, shown.guessed
        )


def _fault(shown: ShownPacket) -> str:
    """Return why the bytes are not a packet whose meaning is certain; empty if they are."""
    missing = shown.length - len(shown.data)
    if missing:
        return f"{counted(missing, 'byte is', 'bytes are')} not shown in the transcript, of {shown.length:,}"
    try:
        length = frame_length(shown.data)
    except Overlong:
        return _OVERLONG
    if length != shown.length:
        bytes_are = counted(shown.length, "byte is", "bytes are")
        return f"{bytes_are} in the transcript where a packet has {length or 'more'}"
    if shown.masked and not _only_values(shown):
        bytes_are = counted(len(shown.masked), "byte is", "bytes are")
        return f"{bytes_are} masked in the transcript, and they may hold more than a value"
    return ""


def _only_values(shown: ShownPacket) -> bool:
    """Whether only values are masked, whose bytes do not affect any other field."""
    decoded = decode(shown.data, shown.version, direction=shown.direction)
    secret = (leaf for leaf in decoded.root.leaves() if leaf.kind == "secret")
    return set(shown.masked) <= {at for leaf in secret for at in range(leaf.span.start + leaf.prefix, leaf.span.stop)}
