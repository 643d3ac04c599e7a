"""pcapng: blocks in sections, each section with its byte order and its interfaces.

The format is the Internet-Draft draft-ietf-opsawg-pcapng; sections below are its own.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from math import gcd
from struct import Struct, calcsize, pack, unpack_from
from typing import NamedTuple

from ...common.times import SECOND_NS
from ..types import BadCapture, CaptureRecord
from .buffer import Buffer
from .container import Container
from .gaps import LONGEST_PROVED, FileGap, FileGaps, RecordFinder

LARGEST = 16 << 20
"""Bytes of a block with a packet, at most; above this its length is broken."""
LARGEST_DESCRIPTION = 1 << 20
"""The same for an interface description."""
MOST_INTERFACES = 65_536
"""Interfaces of one section, at most; the oldest kind of packet block cannot name more."""
LATEST = 253_402_300_800_000_000_000
"""The year 10000 in nanoseconds since 1970; times from then on, and before 1970, count as unknown."""

ENHANCED = 6
"""Enhanced Packet Block."""
HEAD = 28
"""Bytes of an Enhanced Packet Block before those of the packet."""
SECRETS = 10
"""Decryption Secrets Block."""
_MAGIC = b"\n\r\r\n"
"""Type of a Section Header Block, the same in both byte orders."""
_ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_FRAMING = 12
"""Bytes of a block without a body: type, length, and the length again at the end."""
_HELD = 1 << 16
"""Bytes of a block without a packet that is read whole, at most; a longer one is skipped piece by piece."""
_PROOF = 3
"""Blocks that prove a place."""
_TSRESOL, _TSOFFSET = 9, 14
_SECRETS = {
    0x544C534B: "TLS key log",
    0x5353484B: "SSH key log",
    0x57474B4C: "WireGuard key log",
    0x5A4E574B: "ZigBee NWK key",
    0x5A415053: "ZigBee APS key",
    0x55414B4C: "OPC UA key log",
}
_OTHER_SECRETS = "other secrets"


def begins(first: bytes) -> bool:
    """Whether a file begins like pcapng; this needs twelve bytes, because the first four may be blank lines."""
    return first[:4] == _MAGIC and first[8:12] in _ORDERS


def records(buffer: Buffer, secrets: Counter[str]) -> Iterator[CaptureRecord]:
    """Yield the packets of all blocks, and count the lines of keys in `secrets`, by kind.

    Skips blocks without a packet or an interface, and blocks that contradict themselves; after one of the latter it
    raises BadCapture at the end of the file.
    """
    blocks = Blocks(buffer, secrets)
    number, new, cls = 0, tuple.__new__, CaptureRecord
    while blocks.more():
        # The inner loop runs once for each packet of a capture. It leaves unusual blocks, and the last one in the
        # buffer, to `blocks`; the length at the end of a block is read along with the next block.
        data, at, ahead = buffer.data, buffer.at, blocks.ahead
        last = len(data) - HEAD
        current = upper = -1
        kind, total, index, high, low, captured, length = blocks.head(data, at) if at <= last else (0,) * 7
        while kind == ENHANCED:
            end = at + total
            if end > last or captured > total - 32 or captured > length or total & 3:
                break
            if high != upper or index != current:
                link, multiplier, begun = blocks.shared(index, high)
                if not multiplier:
                    break
                upper, current = high, index
            record = new(cls, (number + 1, begun + low * multiplier, link, data[at + 28 : at + 28 + captured], length))
            again, kind, following, index, high, low, captured, length = ahead(data, end - 4)
            if again != total:
                break
            number += 1
            yield record
            at, total = end, following
        buffer.at = at
        if packet := blocks.next():
            number += 1
            yield new(cls, (number, *packet))


CONTAINER = Container("pcapng", (".pcapng",), begins, records)

_Packet = tuple[int | None, int, bytes, int]
"""Time, link type, bytes, length on the wire."""


class Blocks:
    """Reads any block, and keeps what its section says about later blocks."""

    def __init__(self, buffer: Buffer, secrets: Counter[str], *, describe: bool = False) -> None:
        """Set `describe` if `description` is needed."""
        self.buffer = buffer
        self.secrets = secrets
        self.gaps = FileGaps()
        self.begin = 0
        """Offset of the block in the file."""
        self.description = bytearray()
        """Blocks that describe the section and its interfaces so far."""
        self._describe = describe
        self._framed = self._cut_short = False
        self._new_section("<")

    def more(self) -> bool:
        """Whether there are more bytes; raises BadCapture at the end of a file that has damage."""
        return self.buffer.need(1) or self.search.more(self.gaps)

    def next(self) -> _Packet | None:
        """Read one block and return its packet; None for other blocks, after damage and at the end of the file."""
        self.begin = self.buffer.offset
        self._framed = self._cut_short = False
        try:
            return self._next()
        except BadCapture as bad:
            self._resume(bad.message)
            return None

    def _next(self) -> _Packet | None:
        buffer = self.buffer
        if not buffer.need(_FRAMING):
            if not buffer.left:
                return None
            self._cut_short = True
            raise self._bad("the file ends within the header of a block")
        order = self._byte_order() if buffer.data.startswith(_MAGIC, buffer.at) else self.order
        kind, total = unpack_from(order + "II", buffer.data, buffer.at)
        fixed, most, reader = _READERS.get(kind, _OTHER)
        if total & 3 or not _FRAMING + fixed <= total <= most:
            raise self._bad(f"{total} bytes are not a possible length of a block of type {kind}")
        if most > LARGEST and total > _HELD:
            self._long(kind, total, order)
            return None
        self._have(total)
        data, at = buffer.data, buffer.at
        self._see_end(total, order, at + total - 4)
        # Whatever is wrong from here on, the next block begins where this one ends.
        self._framed = True
        buffer.at += total
        return reader(self, memoryview(data)[at + 8 : at + total - 4], order)

    def _resume(self, message: str) -> None:
        """Advance to the next place at which blocks certainly begin, or to the end of the file."""
        buffer = self.buffer
        found = self._framed
        if not found:
            # A block that is skipped piece by piece has been searched up to here.
            buffer.at += buffer.offset == self.begin
            found = self.search.find()
        if found or not (self._cut_short and buffer.broken):
            length, cut = buffer.offset - self.begin, self._cut_short and not found
            self.gaps.add(FileGap(self.begin, length, message, skipped=not cut, cut=cut))

    def _new_section(self, order: str) -> None:
        self.order = order
        self.interfaces: list[_Interface] = []
        self.head = Struct(order + "7I").unpack_from
        """Unpacks the head of an Enhanced Packet Block."""
        self.ahead = Struct(order + "8I").unpack_from
        """Unpacks the end of a block and the head of the next."""
        self.search = _BlockFinder(self)
        if self._describe:
            magic = int.from_bytes(_MAGIC)
            self.description = bytearray(pack(order + "IIIHHqI", magic, 28, 0x1A2B3C4D, 1, 0, -1, 28))

    def shared(self, index: int, high: int) -> tuple[int, int, int]:
        """Return link type, nanoseconds of a tick and the time of `high`, the upper half of the ticks.

        A tick of 0 nanoseconds means that the time needs more than this, or that the interface is unknown.
        """
        if index >= len(self.interfaces) or high > self.interfaces[index].latest:
            return 0, 0, 0
        interface = self.interfaces[index]
        return interface.link, interface.multiplier, (high << 32) * interface.multiplier + interface.offset

    def _numbers(self, form: str, data: bytes | memoryview) -> tuple[int, ...]:
        return unpack_from(self.order + form, data)

    def _bad(self, message: str) -> BadCapture:
        return BadCapture(message, self.begin)

    # the framing of a block

    def _byte_order(self) -> str:
        """Return the byte order of a Section Header Block and all that follows."""
        mark = self.buffer.data[self.buffer.at + 8 : self.buffer.at + 12]
        if mark not in _ORDERS:
            raise self._bad("a section does not give its byte order")
        return _ORDERS[mark]

    def _have(self, count: int) -> None:
        if not self.buffer.need(count):
            raise self._cut(count)

    def _cut(self, count: int) -> BadCapture:
        self._cut_short = True
        there = self.buffer.offset + self.buffer.left - self.begin
        return self._bad(f"a block needs {count} bytes, but the file ends after {there}")

    def _see_end(self, total: int, order: str, at: int) -> None:
        (again,) = unpack_from(order + "I", self.buffer.data, at)
        if again != total:
            raise self._bad(f"the lengths of a block differ: {total} at its start, {again} at its end")

    def _long(self, kind: int, total: int, order: str) -> None:
        """Skip a long block piece by piece; raises BadCapture if other blocks begin within it."""
        buffer = self.buffer
        self._have(20)
        data = memoryview(buffer.data)[buffer.at + 8 : buffer.at + 20]
        if kind == int.from_bytes(_MAGIC):
            self._see_version(data, order)
        secret, length = self._secrets(data, total - _FRAMING) if kind == SECRETS else (0, 0)
        lines = _LineCounter()
        buffer.at += 16
        for count, passed in ((length, lines.add), (total - 20 - length, len)):
            if self.search.find(count, passed):
                raise self._bad(f"a block of type {kind} claims {total} bytes, in which other blocks begin")
        if not buffer.need(4):
            raise self._cut(total)
        self._see_end(total, order, buffer.at)
        buffer.at += 4
        if kind == int.from_bytes(_MAGIC):
            self._new_section(order)
        if kind == SECRETS:
            self.secrets[_SECRETS.get(secret, _OTHER_SECRETS)] += lines.count

    # the kinds of blocks

    def section(self, body: memoryview, order: str) -> None:
        """Read a Section Header Block (4.1)."""
        # Whatever its version, the section before ends here.
        self._new_section(order)
        self._see_version(body, order)

    def _see_version(self, body: memoryview, order: str) -> None:
        major, minor = unpack_from(order + "HH", body, 4)
        if major != 1:
            raise self._bad(f"version {major}.{minor} of pcapng is unknown")

    def keys(self, body: memoryview, order: str) -> None:
        """Count the lines of a Decryption Secrets Block (4.7)."""
        kind, length = self._secrets(body, len(body))
        lines = _LineCounter()
        lines.add(bytes(body[8 : 8 + length]))
        self.secrets[_SECRETS.get(kind, _OTHER_SECRETS)] += lines.count

    def _secrets(self, body: memoryview, size: int) -> tuple[int, ...]:
        """Return the kind and the length of secrets."""
        kind, length = self._numbers("II", body)
        if length > size - 8:
            raise self._bad(f"{length} bytes of secrets do not fit their block")
        return kind, length

    def interface(self, body: memoryview, order: str) -> None:
        """Read an Interface Description Block (4.2)."""
        if len(self.interfaces) == MOST_INTERFACES:
            raise self._bad(f"a section has more than {MOST_INTERFACES} interfaces")
        if self._describe:
            frame = pack(order + "I", len(body) + _FRAMING)
            self.description += pack(order + "I", 1) + frame + body + frame
        # Later interfaces keep their numbers, whatever is wrong with this one.
        self.interfaces.append(_UNREADABLE)
        link, _, snaplen = self._numbers("HHI", body)
        options = dict(self._options(body[8:]))
        (resolution,) = self._option("B", options.get(_TSRESOL, b"\x06"))
        (seconds,) = self._option("q", options.get(_TSOFFSET, bytes(8)))
        self.interfaces[-1] = _Interface.of(link, snaplen, resolution, seconds)

    def _options(self, rest: memoryview) -> Iterator[tuple[int, memoryview]]:
        while len(rest) >= 4:
            code, length = self._numbers("HH", rest)
            if code == 0:
                return
            if length > len(rest) - 4:
                raise self._bad(f"option {code} has {length} bytes, but its block has only {len(rest) - 4} left")
            yield code, rest[4 : 4 + length]
            rest = rest[4 + (length + 3 & ~3) :]

    def _option(self, form: str, value: bytes | memoryview) -> tuple[int, ...]:
        if len(value) != calcsize(self.order + form):
            raise self._bad(f"the time of an interface has {len(value)} bytes")
        return self._numbers(form, value)

    def enhanced(self, body: memoryview, order: str) -> _Packet:
        """Read an Enhanced Packet Block (4.3)."""
        index, high, low, captured, length = self._numbers("5I", body)
        return self._packet(index, high << 32 | low, body[20:], captured, length)

    def obsolete(self, body: memoryview, order: str) -> _Packet:
        """Read a Packet Block (appendix A)."""
        index, _, high, low, captured, length = self._numbers("HH4I", body)
        return self._packet(index, high << 32 | low, body[20:], captured, length)

    def simple(self, body: memoryview, order: str) -> _Packet:
        """Read a Simple Packet Block (4.4), which has neither a time nor the captured length."""
        (length,) = self._numbers("I", body)
        captured = min(length, self._interface(0).snaplen or length)
        return None, *self._packet(0, 0, body[4:], captured, length)[1:]

    def other(self, body: memoryview, order: str) -> None:
        """Skip any other block."""

    def _interface(self, index: int) -> "_Interface":
        if index >= len(self.interfaces):
            raise self._bad(f"a packet names interface {index}, but the section has {len(self.interfaces)} so far")
        if self.interfaces[index] is _UNREADABLE:
            raise self._bad(f"a packet names interface {index}, whose description cannot be read")
        return self.interfaces[index]

    def _packet(self, index: int, ticks: int, rest: memoryview, captured: int, length: int) -> _Packet:
        interface = self._interface(index)
        if captured > len(rest):
            raise self._bad(f"a packet of {captured} bytes does not fit its block, which has {len(rest)} left")
        time = ticks * interface.multiplier // interface.divisor + interface.offset
        within = time if 0 <= time < LATEST else None
        return within, interface.link, bytes(rest[:captured]), max(length, captured)


class _Interface(NamedTuple):
    """What the packets of an interface share; their time in ns is `ticks * multiplier // divisor + offset`."""

    link: int
    latest: int
    """The largest upper half of ticks whose times are whole nanoseconds before LATEST; -1 if there is none."""
    multiplier: int
    divisor: int
    offset: int
    snaplen: int
    """In bytes; 0 without a limit."""

    @classmethod
    def of(cls, link: int, snaplen: int, resolution: int, seconds: int) -> "_Interface":
        """Return an interface; bit 7 of the resolution means a power of 2 instead of 10 (if_tsresol)."""
        ticks: int = (2 if resolution & 0x80 else 10) ** (resolution & 0x7F)
        common = gcd(ticks, SECOND_NS)
        multiplier, divisor, offset = SECOND_NS // common, ticks // common, seconds * SECOND_NS
        sure = (LATEST - offset) // multiplier if divisor == 1 and 0 <= offset <= LATEST else 0
        return cls(link, (sure >> 32) - 1, multiplier, divisor, offset, snaplen)


_UNREADABLE = _Interface(-1, -1, 0, 1, 0, 0)
"""Replaces an interface whose description is damaged."""


class _LineCounter:
    """Counts lines; the last one need not have an end."""

    def __init__(self) -> None:
        self._ended = 0
        self._last = b"\n"

    def add(self, piece: bytes) -> None:
        """Count the lines of the next bytes."""
        self._ended += piece.count(b"\n")
        self._last = piece[-1:] or self._last

    @property
    def count(self) -> int:
        """Lines so far."""
        return self._ended + (self._last != b"\n")


class _BlockFinder(RecordFinder):
    """Finds blocks; a packet block has to name a known interface."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__(blocks.buffer, _STARTS[blocks.order], _FRAMING)
        self.blocks = blocks

    def proved(self) -> bool:
        """Whether enough blocks follow one another, or lead to the end of the file."""
        buffer, order = self.buffer, self.blocks.order
        done = 0
        for count in range(_PROOF):
            if not buffer.need(done + _FRAMING):
                return count > 0 and buffer.left == done
            head = buffer.data[buffer.at + done : buffer.at + done + _FRAMING]
            if head.startswith(_MAGIC):
                order = _ORDERS.get(head[8:], "")
            if not order:
                return False
            kind, total = unpack_from(order + "II", head)
            if total & 3 or not _FRAMING + _READERS.get(kind, _OTHER)[0] <= total <= LONGEST_PROVED:
                return False
            if not buffer.need(done + total):
                # The file is cut within this block.
                return count > 0 and kind in _READERS
            data, at = buffer.data, buffer.at + done
            if data[at + 4 : at + 8] != data[at + total - 4 : at + total] or not (count or self._fits(kind, total)):
                return False
            done += total
        return True

    def _fits(self, kind: int, total: int) -> bool:
        """Whether the block at the buffer's place fits the section."""
        count, data, at = len(self.blocks.interfaces), self.buffer.data, self.buffer.at
        index, captured = 0, 0
        if kind == ENHANCED:
            index, _, _, captured = unpack_from(self.blocks.order + "4I", data, at + 8)
        elif kind == _OBSOLETE:
            index, _, _, _, captured = unpack_from(self.blocks.order + "HH3I", data, at + 8)
        return kind not in (ENHANCED, _OBSOLETE, _SIMPLE) or (index < count and captured <= total - HEAD - 4)


_OBSOLETE, _SIMPLE = 2, 3
_STARTS = {
    "<": re.compile(rb"(?s)(?=[\1-\6\n]\0\0\0...\0|\n\r\r\n)"),
    ">": re.compile(rb"(?s)(?=\0\0\0[\1-\6\n]\0...|\n\r\r\n)"),
}
"""How blocks begin that a search looks for: those with packets, and those that later packets need."""
_Reader = Callable[[Blocks, memoryview, str], _Packet | None]
_OTHER: tuple[int, int, _Reader] = (0, 0xFFFFFFFF, Blocks.other)
_READERS: dict[int, tuple[int, int, _Reader]] = {
    int.from_bytes(_MAGIC): (16, 0xFFFFFFFF, Blocks.section),
    1: (8, LARGEST_DESCRIPTION, Blocks.interface),
    _OBSOLETE: (20, LARGEST, Blocks.obsolete),
    _SIMPLE: (4, LARGEST, Blocks.simple),
    ENHANCED: (20, LARGEST, Blocks.enhanced),
    SECRETS: (8, 0xFFFFFFFF, Blocks.keys),
}
"""Type of a block: fewest bytes of its body, most bytes in all, and how its body is read."""
