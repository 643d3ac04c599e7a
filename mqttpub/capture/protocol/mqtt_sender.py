"""One direction of an MQTT connection: bytes in, whole packets and gaps out."""

from collections.abc import Callable
from typing import Any

from ...codec.connect_version import answer_form, connect_layout, connect_version
from ...codec.framing import frame_length
from ...spec.packets import Connack, Connect, declared
from ...spec.versions import Direction, Version
from ...traffic.events import GAP_BYTES, Endpoints, Event, GapSeen, PacketSeen
from ...wire.cursor import Overlong
from ..types import Missing, Unreadable
from .evidence import VERSIONS
from .handler import UNCOUNTED, MemoryBudget
from .resync import FoundPackets, PacketFinder

_new = tuple.__new__
"""Builds a NamedTuple without its keyword handling, in the loop over all packets (tests/benchmarks/decode.py)."""

HEADER = 5
"""The largest fixed header in bytes (section 2.1 of the specification); packets up to this size are always read."""
_OPENING_END = Connack.code + 1 << 4
"""The first byte of a packet is below this for CONNECT and CONNACK only."""
WITHIN = "the capture begins within the connection"

FRAMING, WAITING, SKIPPING, SEEKING, STOPPED = range(5)
"""The modes: at the start of a packet; within one; skipping to the end of one; searching for one; reading no more."""
_NOTHING = bytearray()
"""The pending bytes between packets, shared by all senders; it is never changed."""


def _ignore_connect(version: Version, side: int) -> None:
    """Replace the callback of a sender that has finished."""


class StreamGap:
    """Bytes that could not be read as packets, while their end is unknown."""

    __slots__ = ("_lost", "_places", "head", "message", "start", "then")

    def __init__(self, start: int, head: bytes, message: str = "") -> None:
        self.start = start
        self.head = head
        """The first captured bytes of the gap."""
        self.message = message
        self.then = ""
        """How reading continues, once that is known."""
        self._lost = 0
        self._places = 0

    def add(self, length: int, message: str) -> None:
        """Count bytes that were not captured; `message` says why."""
        self.message = self.message if self._places else message
        self._lost += length
        self._places += 1

    @property
    def cause(self) -> str:
        """The reason of the gap, as a sentence."""
        if self._places < 2:
            return self.message
        return f"{self._lost:,} bytes are missing from the capture in {self._places} places"


class MqttSender:
    """Reads the packets of one direction.

    The packets and gaps that it returns follow one another without a hole from offset 0. Memory grows with the bytes
    that arrive, never with a length that they declare.
    """

    __slots__ = (
        "_budget", "_gap", "_mode", "_pending", "_until", "asked", "direction", "due", "ends", "finder", "guessed",
        "max_packet", "offset", "on_connect", "side", "version",
    )  # fmt: skip

    def __init__(
        self, side: int, max_packet: int, on_connect: Callable[[Version, int], None], budget: MemoryBudget
    ) -> None:
        self.ends = Endpoints(0, "", "")
        self.direction: Direction | None = None
        self.version = Version.V5
        self.guessed = True
        self.max_packet = max(max_packet, HEADER)
        self.on_connect = on_connect
        """Called with the version that a CONNECT announces, and the side, before `feed` returns the CONNECT."""
        self.side = side
        self.asked = False
        """Whether the first packet of this end answers a CONNECT that announces a version."""
        self.offset = 0
        """Where the next packet begins; while skipping or searching, where the next bytes do."""
        self._mode = FRAMING
        self._pending = _NOTHING
        self._budget = budget
        """Counts the pending bytes, if they are more than UNCOUNTED."""
        self.due = 2
        """How many bytes the pending ones must become before a packet or its length can be read."""
        self._gap: StreamGap | None = None
        self._until = 0
        self.finder: PacketFinder | None = None

    @property
    def begun(self) -> bytearray | None:
        """The bytes of the packet in progress, empty between packets; None while searching or skipping.

        Also None before the answer to a CONNECT, which may have another version than all packets after it.
        """
        if self.asked and not self.offset:
            return None
        return self._pending if self._mode in (FRAMING, WAITING) else None

    def leap(self, offset: int, begun: bytearray, due: int) -> None:
        """Skip packets that the columnar reader has read, up to `offset`.

        `begun` holds the bytes of the packet in progress, which must grow to `due` bytes.
        """
        self._forget_pending()
        self.offset = offset
        self._gap = None
        self._pending = begun
        self.due = due if begun else 2
        self._mode = WAITING if begun else FRAMING
        if len(begun) > UNCOUNTED:
            self._budget.hold(self, len(begun))

    def begin_within(self) -> None:
        """Search for packets, because the beginning of the stream was not captured."""
        self._seek(StreamGap(0, b"", WITHIN))

    def feed(self, data: bytes, time_ns: int | None, record: int) -> list[Event]:
        """Return the packets that the next bytes complete, and gaps."""
        # This runs once for each segment of a capture, its loop once for each packet; most have
        # a Remaining Length of one byte, and most segments end where a packet ends.
        if self._mode:
            return _MODES[self._mode](self, data, time_ns, record)  # type: ignore[no-any-return]
        size, most, offset, start = len(data), self.max_packet, self.offset, 0
        ends, direction, version, guessed = self.ends, self.direction, self.version, self.guessed
        events: list[Event] = []
        while start + 1 < size:
            # The length of the packet: the first byte, one byte of Remaining Length, and its value.
            length = data[start + 1] + 2
            if length > 0x81 and start + 2 < size and data[start + 2] < 0x80:
                # Two bytes of Remaining Length. The first one counts 0x80 too much, its continuation bit, and the
                # second one adds itself to the length of the header: -0x80 + 1 = -0x7F.
                length += (data[start + 2] << 7) - 0x7F
            elif length > 0x81:
                length = self._length(data, start)
            if not 0 < length <= most:
                self.offset = offset
                return [*events, self._lost(data[start:], time_ns, record)]
            stop = start + length
            if stop > size:
                self.due = length
                break
            packet = data[start:stop]
            if packet[0] < _OPENING_END:
                events.append(self._opening(packet, offset, time_ns, record))
                ends, direction, version, guessed = self.ends, self.direction, self.version, self.guessed
            else:
                events.append(_new(PacketSeen, (ends, time_ns, record, packet, offset, direction, version, guessed)))
            offset += length
            start = stop
        self.offset = offset
        if start < size:
            self._pending = bytearray(data[start:])
            self._mode = WAITING
            if size - start > UNCOUNTED:
                self._budget.hold(self, size - start)
        return events

    def _opening(self, data: bytes, offset: int, time_ns: int | None, record: int) -> PacketSeen:
        """Return a CONNECT, or a CONNACK, which may have the form of an older version if it is the first packet."""
        if data[0] >> 4 == Connect.code:
            return self._connect(data, offset, time_ns, record)
        version = answer_form(data, self.version) if self.asked and not offset else self.version
        return PacketSeen(self.ends, time_ns, record, data, offset, self.direction, version, self.guessed)

    def _connect(self, data: bytes, offset: int, time_ns: int | None, record: int) -> PacketSeen:
        """Return a CONNECT; the version that it announces, if any, holds for both directions from now on."""
        if announced := connect_version(data):
            self.on_connect(announced, self.side)
            return PacketSeen(self.ends, time_ns, record, data, offset, self.direction, self.version, self.guessed)
        # A level that no version has decides how this packet is read, but not how the server answers.
        layout = connect_layout(data)
        return PacketSeen(
            self.ends, time_ns, record, data, offset, self.direction, layout or self.version,
            self.guessed or layout is not None,
        )  # fmt: skip

    def missing(self, missing: Missing) -> list[Event]:
        """Skip bytes that were not captured."""
        return _MISSING[self._mode](self, missing)  # type: ignore[no-any-return]

    def finish(self, time_ns: int | None, record: int, how: str) -> list[Event]:
        """Return what is left when no more bytes will come; `how` is that of Closed."""
        mode, gap, search = self._mode, self._gap, self.finder
        self._mode = STOPPED
        # Without the reference circle the memory of a connection is free at once.
        self.on_connect = _ignore_connect
        if mode == WAITING:
            cut = self._cut_short(time_ns, record, how)
            self._forget_pending()
            return [cut]
        if mode == SKIPPING and gap:
            return [
                self._gap_seen(gap, self.offset, f"{gap.cause}{gap.then}, but the stream ends first", time_ns, record)
            ]
        if mode != SEEKING or not gap or not search:
            return []
        found = search.finish()
        if found:
            return [*self._found(found, time_ns, record), *self.finish(time_ns, record, how)]
        if search.seen == self.offset:
            return [self._gap_seen(gap, self.offset, gap.cause, time_ns, record)] if gap.cause != WITHIN else []
        text = f"{gap.cause}, and no certain start of a packet follows"
        return [self._gap_seen(gap, None, text, time_ns, record)]

    def unreadable(self, unreadable: Unreadable) -> list[Event]:
        """Read nothing more, because the layer that carries the stream cannot be read."""
        if self._mode == STOPPED:
            return []
        start = self._gap.start if self._gap else self.offset
        head = self._gap.head if self._gap else bytes(self._pending[:GAP_BYTES])
        self._mode = STOPPED
        self._forget_pending()
        shown = (head + unreadable.data)[:GAP_BYTES]
        _, _, time_ns, record, message, _, malformed = unreadable
        return [GapSeen(self.ends, time_ns, record, start, self.direction, None, shown, message, malformed)]

    def let_go(self) -> None:
        """Skip the packet in progress, because it is too large."""
        self._until = self._end()
        gap = StreamGap(self.offset, bytes(self._pending[:GAP_BYTES]))
        gap.message = self._budget.no_room(_packet(gap.head, self._until - gap.start))
        gap.then = "; reading continues at its end"
        self.offset += len(self._pending)
        self._pending = _NOTHING
        self.due = 2
        self._mode, self._gap = SKIPPING, gap

    def _forget_pending(self) -> None:
        if len(self._pending) > UNCOUNTED:
            self._budget.release(self)
        self._pending = _NOTHING

    # the modes: how they handle the next bytes

    def _wait(self, data: bytes, time_ns: int | None, record: int) -> list[Event]:
        self._pending += data
        size = len(self._pending)
        if size < self.due:
            if size > UNCOUNTED:
                self._budget.hold(self, size)
            return []
        whole = bytes(self._pending)
        self._pending = _NOTHING
        if size - len(data) > UNCOUNTED:
            self._budget.release(self)
        self.due = 2
        self._mode = FRAMING
        return self.feed(whole, time_ns, record)

    def _skip(self, data: bytes, time_ns: int | None, record: int) -> list[Event]:
        left = self._until - self.offset
        self.offset += min(len(data), left)
        if len(data) < left:
            return []
        events = self._skipped(time_ns, record)
        return events + self.feed(data[left:], time_ns, record) if len(data) > left else events

    def _look(self, data: bytes, time_ns: int | None, record: int) -> list[Event]:
        assert self.finder
        assert self._gap
        if self._gap.message == WITHIN:
            self._gap.head += data[: GAP_BYTES - len(self._gap.head)]
        found = self.finder.feed(data, time_ns, record)
        if found:
            return self._found(found, time_ns, record)
        if not self.finder.tired:
            return []
        self._mode = STOPPED
        text = f"{self._gap.cause}, and where packets begin after that cannot be determined"
        return [self._gap_seen(self._gap, None, text, time_ns, record)]

    # gaps

    def _miss(self, missing: Missing) -> list[Event]:
        """Begin a gap; its end is known if it lies within one packet."""
        gap = StreamGap(self.offset, bytes(self._pending[:GAP_BYTES]))
        gap.add(missing.length, missing.message)
        self._until = self._end()
        self.offset += len(self._pending) + missing.length
        if self._pending:
            gap.then = f", within {_packet(gap.head, self._until - gap.start)}; reading continues at its end"
        self._forget_pending()
        self.due = 2
        self._mode, self._gap = SKIPPING, gap
        return self._passed(missing.time_ns, missing.record)

    def _miss_more(self, missing: Missing) -> list[Event]:
        assert self._gap
        self._gap.add(missing.length, missing.message)
        self.offset += missing.length
        return self._passed(missing.time_ns, missing.record)

    def _passed(self, time_ns: int | None, record: int) -> list[Event]:
        """Continue after bytes that were not captured, within or beyond the packet that is being skipped."""
        assert self._gap
        if self.offset > self._until:
            self._seek(self._gap)
            return []
        return self._skipped(time_ns, record) if self.offset == self._until else []

    def _miss_in_search(self, missing: Missing) -> list[Event]:
        assert self.finder
        assert self._gap
        found = self.finder.missing(missing.length)
        if found and found.held:
            return [*self._found(found, missing.time_ns, missing.record), *self.missing(missing)]
        self._gap.add(missing.length, missing.message)
        return self._found(found, missing.time_ns, missing.record) if found else []

    def _seek(self, gap: StreamGap) -> None:
        versions = VERSIONS if self.guessed else frozenset((self.version,))
        self._mode, self._gap = SEEKING, gap
        self.finder = PacketFinder(self.offset, versions, self.direction)

    def _found(self, found: FoundPackets, time_ns: int | None, record: int) -> list[Event]:
        """Continue where packets begin."""
        assert self._gap
        self._gap.then = f"; reading continues where {found.why}"
        self.offset = self._until = found.start
        self.finder = None
        events = self._skipped(time_ns, record)
        for held in found.held:
            events += self.feed(held.data, held.time_ns, held.record)
        return events

    def _skipped(self, time_ns: int | None, record: int) -> list[Event]:
        """Continue after a gap."""
        assert self._gap
        gap, self._gap = self._gap, None
        self._mode = FRAMING
        if gap.start == self._until:
            return []
        return [self._gap_seen(gap, self._until, f"{gap.cause}{gap.then}, offset {self._until:,}", time_ns, record)]

    def _gap_seen(self, gap: StreamGap, end: int | None, message: str, time_ns: int | None, record: int) -> GapSeen:
        length = None if end is None else end - gap.start
        shown = gap.head[:length]
        return GapSeen(self.ends, time_ns, record, gap.start, self.direction, length, shown, message, False)

    def _lost(self, data: bytes, time_ns: int | None, record: int) -> GapSeen:
        """Stop reading at a packet whose length does not end, or that is too large."""
        self._mode = STOPPED
        try:
            length = frame_length(data)
        except Overlong:
            length = None
        fault = "Remaining Length does not end at its fourth byte"
        if length:
            fault = f"{_packet(data, length)}, but {self.max_packet:,} are allowed"
        text = f"{fault}; nothing after it is read"
        shown = data[:GAP_BYTES]
        return GapSeen(self.ends, time_ns, record, self.offset, self.direction, None, shown, text, not length)

    def _cut_short(self, time_ns: int | None, record: int, how: str) -> GapSeen:
        """Return the end of a stream that ends within a packet."""
        data = bytes(self._pending[:GAP_BYTES])
        size, whole = len(self._pending), self._end() - self.offset
        packet = _packet(data, whole) if whole else "a packet"
        text = f"{_HOW[how]} {size:,} bytes into {packet}" if size > 1 else f"{_HOW[how]} 1 byte into {packet}"
        return GapSeen(self.ends, time_ns, record, self.offset, self.direction, size, data, text, how == "FIN")

    def _end(self) -> int:
        """Return where the packet in progress ends; where it begins if its length is unknown."""
        return self.offset + (frame_length(self._pending) or 0)

    def _length(self, data: bytes, start: int) -> int:
        """Return the length of a packet, or of a header that is not complete; 0 if Remaining Length does not end."""
        try:
            return frame_length(data, start) or len(data) - start + 1
        except Overlong:
            return 0


_MODES: tuple[Any, ...] = (MqttSender.feed, MqttSender._wait, MqttSender._skip, MqttSender._look, lambda *_: [])
_MISSING: tuple[Any, ...] = (
    MqttSender._miss, MqttSender._miss, MqttSender._miss_more, MqttSender._miss_in_search, lambda *_: [],
)  # fmt: skip
_HOW = {
    "FIN": "the connection was closed",
    "RST": "the connection was reset",
    "end": "the capture ends",
}


def _packet(head: bytes, length: int) -> str:
    """Return words for a packet, such as `a PUBLISH of 1,000 bytes`."""
    cls = declared(head[0] >> 4, Version.V5) if head else None
    return f"a {cls.name if cls else 'packet'} of {length:,} bytes"
