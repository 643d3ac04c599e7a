"""What one end of a connection sends: chunks in, whole packets and gaps out."""

from collections.abc import Callable
from typing import Any

from ...codec.framing import CONNACK, CONNECT, answer_form, connect_layout, connect_version, declared, frame_length
from ...spec.versions import Direction, Version
from ...traffic.events import Endpoints, Event, GapSeen, PacketSeen
from ...wire.cursor import Overlong
from .evidence import VERSIONS
from .handler import UNCOUNTED, Held
from .resync import Found, Search

SHOWN = 64
"""Bytes of a gap that are handed on."""
_new = tuple.__new__
"""Makes an event in half the time."""

HEADER = 5
"""The largest fixed header; every packet of this size is read."""
_OPENING_END = CONNACK + 1 << 4
"""First bytes below this are those of CONNECT and CONNACK."""
WITHIN = "the capture begins within the connection"

FRAMING, WAITING, SKIPPING, SEEKING, STOPPED = range(5)
"""At the start of a packet; within one; on the way to the end of one; looking for one; no more."""
_NOTHING = bytearray()
"""What is pending between packets, in all senders; it never changes."""


def _nobody(version: Version, side: int) -> None:
    """Stand where nobody is told any longer."""


class Gap:
    """Bytes that could not be read as packets, as long as their end is not known."""

    __slots__ = ("_lost", "_places", "head", "message", "start", "then")

    def __init__(self, start: int, head: bytes, message: str = "") -> None:
        self.start = start
        self.head = head
        """The first of them that were captured."""
        self.message = message
        self.then = ""
        """How reading goes on, once that is known."""
        self._lost = 0
        self._places = 0

    def add(self, length: int, message: str) -> None:
        """Count bytes that were not captured."""
        self.message = self.message if self._places else message
        self._lost += length
        self._places += 1

    @property
    def cause(self) -> str:
        """What happened, as a sentence."""
        if self._places < 2:
            return self.message
        return f"{self._lost:,} bytes are missing from the capture in {self._places} places"


class Sender:
    """One direction of a connection.

    `feed` returns what the next bytes complete. Packets and gaps follow one another without a
    hole from offset 0 on. Memory grows with the bytes that came, never with a length that
    they declare.
    """

    __slots__ = (
        "_due", "_gap", "_held", "_mode", "_pending", "_search", "_until", "asked", "direction", "ends", "guessed",
        "max_packet", "offset", "side", "told", "version",
    )  # fmt: skip

    def __init__(self, side: int, max_packet: int, told: Callable[[Version, int], None], held: Held) -> None:
        self.ends = Endpoints(0, "", "")
        self.direction: Direction | None = None
        self.version = Version.V5
        self.guessed = True
        self.max_packet = max(max_packet, HEADER)
        self.told = told
        """Called with the version that a CONNECT tells, and the side, before the CONNECT is handed on."""
        self.side = side
        self.asked = False
        """Whether the other end sent a CONNECT that announces a version, which the first packet of this end answers."""
        self.offset = 0
        """Where the next packet begins; while skipping or seeking, where the next chunk does."""
        self._mode = FRAMING
        self._pending = _NOTHING
        self._held = held
        """Knows how much is pending, where that is more than UNCOUNTED."""
        self._due = 2
        self._gap: Gap | None = None
        self._until = 0
        self._search: Search | None = None

    @property
    def begun(self) -> bytearray | None:
        """The packet that has begun, empty between packets; None when packets do not follow one another.

        It is None before the answer to a CONNECT, too, which may have another version than all that follows.
        """
        if self.asked and not self.offset:
            return None
        return self._pending if self._mode in (FRAMING, WAITING) else None

    def leap(self, offset: int, begun: bytearray, due: int) -> None:
        """Go on behind packets that were read elsewhere, with what has begun there, and how long that has to become."""
        self._forget_pending()
        self.offset = offset
        self._gap = None
        self._pending = begun
        self._due = due if begun else 2
        self._mode = WAITING if begun else FRAMING
        if len(begun) > UNCOUNTED:
            self._held.hold(self, len(begun))

    def begin_within(self) -> None:
        """Take what comes as the middle of a stream whose beginning was not captured."""
        self._seek(Gap(0, b"", WITHIN))

    def feed(self, data: bytes, time: int | None, record: int) -> list[Event]:
        """Take the next bytes and return the packets that they complete, and gaps."""
        # This runs once for each segment of a capture, its loop once for each packet; most have
        # a Remaining Length of one byte, and most segments end where a packet ends.
        if self._mode:
            return _MODES[self._mode](self, data, time, record)  # type: ignore[no-any-return]
        size, most, offset, start = len(data), self.max_packet, self.offset, 0
        ends, direction, version, guessed = self.ends, self.direction, self.version, self.guessed
        events: list[Event] = []
        while start + 1 < size:
            length = data[start + 1] + 2
            if length > 0x81 and start + 2 < size and data[start + 2] < 0x80:
                length += (data[start + 2] << 7) - 0x7F
            elif length > 0x81:
                length = self._length(data, start)
            if not 0 < length <= most:
                self.offset = offset
                return [*events, self._lost(data[start:], time, record)]
            stop = start + length
            if stop > size:
                self._due = length
                break
            packet = data[start:stop]
            if packet[0] < _OPENING_END:
                events.append(self._opening(packet, offset, time, record))
                ends, direction, version, guessed = self.ends, self.direction, self.version, self.guessed
            else:
                events.append(_new(PacketSeen, (ends, time, record, packet, offset, direction, version, guessed)))
            offset += length
            start = stop
        self.offset = offset
        if start < size:
            self._pending = bytearray(data[start:])
            self._mode = WAITING
            if size - start > UNCOUNTED:
                self._held.hold(self, size - start)
        return events

    def _opening(self, data: bytes, offset: int, time: int | None, record: int) -> PacketSeen:
        """Return a CONNECT, or a CONNACK, which may be in the form of an older version where it is the first packet."""
        if data[0] >> 4 == CONNECT:
            return self._connect(data, offset, time, record)
        version = answer_form(data, self.version) if self.asked and not offset else self.version
        return PacketSeen(self.ends, time, record, data, offset, self.direction, version, self.guessed)

    def _connect(self, data: bytes, offset: int, time: int | None, record: int) -> PacketSeen:
        """Return a CONNECT; the version that it announces, if any, holds from now on for both directions."""
        if announced := connect_version(data):
            self.told(announced, self.side)
            return PacketSeen(self.ends, time, record, data, offset, self.direction, self.version, self.guessed)
        # A level of no version says how this packet is read, but not how the server answers.
        layout = connect_layout(data)
        return PacketSeen(
            self.ends, time, record, data, offset, self.direction, layout or self.version,
            self.guessed or layout is not None,
        )  # fmt: skip

    def missing(self, length: int, message: str, time: int | None, record: int) -> list[Event]:
        """Pass over bytes that were not captured."""
        return _MISSING[self._mode](self, length, message, time, record)  # type: ignore[no-any-return]

    def finish(self, time: int | None, record: int, how: str) -> list[Event]:
        """Return what is left when no more bytes come; `how` is that of Closed."""
        mode, gap, search = self._mode, self._gap, self._search
        self._mode = STOPPED
        # Without the circle the memory of a connection is free at once.
        self.told = _nobody
        if mode == WAITING:
            cut = self._cut_short(time, record, how)
            self._forget_pending()
            return [cut]
        if mode == SKIPPING and gap:
            return [
                self._gap_seen(gap, self.offset, f"{gap.cause}{gap.then}, but the stream ends before", time, record)
            ]
        if mode != SEEKING or not gap or not search:
            return []
        found = search.finish()
        if found:
            return [*self._found(found, time, record), *self.finish(time, record, how)]
        if search.seen == self.offset:
            return [self._gap_seen(gap, self.offset, gap.cause, time, record)] if gap.cause != WITHIN else []
        text = f"{gap.cause}, and no packet is certain to begin after that"
        return [self._gap_seen(gap, None, text, time, record)]

    def give_up(self, time: int | None, record: int, message: str, data: bytes, malformed: bool) -> list[Event]:
        """Read nothing more, as what carries the stream cannot be read."""
        if self._mode == STOPPED:
            return []
        start = self._gap.start if self._gap else self.offset
        head = self._gap.head if self._gap else bytes(self._pending[:SHOWN])
        self._mode = STOPPED
        self._forget_pending()
        shown = (head + data)[:SHOWN]
        return [GapSeen(self.ends, time, record, start, self.direction, None, shown, message, malformed)]

    def let_go(self) -> None:
        """Pass over the packet that has begun, as there is no room for it."""
        self._until = self._end()
        gap = Gap(self.offset, bytes(self._pending[:SHOWN]))
        packet = _packet(gap.head, self._until - gap.start)
        gap.message = f"no room for {packet}: more than {self._held.limit:,} bytes wait for others in all connections"
        gap.then = "; reading goes on at its end"
        self.offset += len(self._pending)
        self._pending = _NOTHING
        self._due = 2
        self._mode, self._gap = SKIPPING, gap

    def _forget_pending(self) -> None:
        if len(self._pending) > UNCOUNTED:
            self._held.release(self)
        self._pending = _NOTHING

    # how the modes take the next bytes

    def _wait(self, data: bytes, time: int | None, record: int) -> list[Event]:
        self._pending += data
        size = len(self._pending)
        if size < self._due:
            if size > UNCOUNTED:
                self._held.hold(self, size)
            return []
        whole = bytes(self._pending)
        self._pending = _NOTHING
        if size - len(data) > UNCOUNTED:
            self._held.release(self)
        self._due = 2
        self._mode = FRAMING
        return self.feed(whole, time, record)

    def _skip(self, data: bytes, time: int | None, record: int) -> list[Event]:
        left = self._until - self.offset
        self.offset += min(len(data), left)
        if len(data) < left:
            return []
        events = self._skipped(time, record)
        return events + self.feed(data[left:], time, record) if len(data) > left else events

    def _look(self, data: bytes, time: int | None, record: int) -> list[Event]:
        assert self._search
        assert self._gap
        if self._gap.message == WITHIN:
            self._gap.head += data[: SHOWN - len(self._gap.head)]
        found = self._search.feed(data, time, record)
        if found:
            return self._found(found, time, record)
        if not self._search.tired:
            return []
        self._mode = STOPPED
        text = f"{self._gap.cause}, and where packets begin after that cannot be found out"
        return [self._gap_seen(self._gap, None, text, time, record)]

    def _ignore(self, data: bytes, time: int | None, record: int) -> list[Event]:
        return []

    def _ignore_missing(self, length: int, message: str, time: int | None, record: int) -> list[Event]:
        return []

    # gaps

    def _miss(self, length: int, message: str, time: int | None, record: int) -> list[Event]:
        """Begin a gap; its end is known when it lies within one packet."""
        gap = Gap(self.offset, bytes(self._pending[:SHOWN]))
        gap.add(length, message)
        self._until = self._end()
        self.offset += len(self._pending) + length
        if self._pending:
            gap.then = f", within {_packet(gap.head, self._until - gap.start)}; reading goes on at its end"
        self._forget_pending()
        self._due = 2
        self._mode, self._gap = SKIPPING, gap
        return self._passed(time, record)

    def _miss_more(self, length: int, message: str, time: int | None, record: int) -> list[Event]:
        assert self._gap
        self._gap.add(length, message)
        self.offset += length
        return self._passed(time, record)

    def _passed(self, time: int | None, record: int) -> list[Event]:
        """Go on after bytes that were not captured, while the end of a packet is looked forward to."""
        assert self._gap
        if self.offset > self._until:
            self._seek(self._gap)
            return []
        return self._skipped(time, record) if self.offset == self._until else []

    def _miss_in_search(self, length: int, message: str, time: int | None, record: int) -> list[Event]:
        assert self._search
        assert self._gap
        found = self._search.missing(length)
        if found and found.held:
            return [*self._found(found, time, record), *self.missing(length, message, time, record)]
        self._gap.add(length, message)
        return self._found(found, time, record) if found else []

    def _seek(self, gap: Gap) -> None:
        versions = VERSIONS if self.guessed else frozenset((self.version,))
        self._mode, self._gap = SEEKING, gap
        self._search = Search(self.offset, versions, self.direction)

    def _found(self, found: Found, time: int | None, record: int) -> list[Event]:
        """Go on where packets begin."""
        assert self._gap
        self._gap.then = f"; reading goes on where {found.why}"
        self.offset = self._until = found.start
        self._search = None
        events = self._skipped(time, record)
        for held in found.held:
            events += self.feed(held.data, held.time, held.record)
        return events

    def _skipped(self, time: int | None, record: int) -> list[Event]:
        """Go on behind a gap."""
        assert self._gap
        gap, self._gap = self._gap, None
        self._mode = FRAMING
        if gap.start == self._until:
            return []
        return [self._gap_seen(gap, self._until, f"{gap.cause}{gap.then}, offset {self._until:,}", time, record)]

    def _gap_seen(self, gap: Gap, end: int | None, message: str, time: int | None, record: int) -> GapSeen:
        length = None if end is None else end - gap.start
        shown = gap.head[:length]
        return GapSeen(self.ends, time, record, gap.start, self.direction, length, shown, message, False)

    def _lost(self, data: bytes, time: int | None, record: int) -> GapSeen:
        """Give the stream up at a packet that has no end, or is too large."""
        self._mode = STOPPED
        try:
            length = frame_length(data)
        except Overlong:
            length = None
        fault = "Remaining Length does not end at its fourth byte"
        if length:
            fault = f"{_packet(data, length)}, but {self.max_packet:,} are allowed"
        text = f"{fault}; nothing behind it is read"
        shown = data[:SHOWN]
        return GapSeen(self.ends, time, record, self.offset, self.direction, None, shown, text, not length)

    def _cut_short(self, time: int | None, record: int, how: str) -> GapSeen:
        """Return the rest of a stream that ends within a packet."""
        data = bytes(self._pending[:SHOWN])
        size, whole = len(self._pending), self._end() - self.offset
        packet = _packet(data, whole) if whole else "a packet"
        text = f"{_HOW[how]} {size:,} bytes into {packet}" if size > 1 else f"{_HOW[how]} 1 byte into {packet}"
        return GapSeen(self.ends, time, record, self.offset, self.direction, size, data, text, how == "FIN")

    def _end(self) -> int:
        """Return where the packet that is begun ends; where it begins when that is not known."""
        return self.offset + (frame_length(self._pending) or 0)

    def _length(self, data: bytes, start: int) -> int:
        """Return the length of a packet, or of a header that goes on; 0 when it does not end."""
        try:
            return frame_length(data, start) or len(data) - start + 1
        except Overlong:
            return 0


_MODES: tuple[Any, ...] = (Sender.feed, Sender._wait, Sender._skip, Sender._look, Sender._ignore)
_MISSING: tuple[Any, ...] = (
    Sender._miss, Sender._miss, Sender._miss_more, Sender._miss_in_search, Sender._ignore_missing,
)  # fmt: skip
_HOW = {
    "FIN": "the connection was closed",
    "RST": "the connection was reset",
    "end": "the capture ends",
}


def _packet(head: bytes, length: int) -> str:
    """Return words for a packet."""
    cls = declared(head[0] >> 4, Version.V5) if head else None
    return f"a {cls.name if cls else 'packet'} of {length:,} bytes"
