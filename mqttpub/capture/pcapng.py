"""pcapng: blocks in sections, each section with its byte order and its interfaces.

The format is the Internet-Draft draft-ietf-opsawg-pcapng; sections below are its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from math import gcd
from struct import Struct, calcsize, unpack_from
from typing import NamedTuple

from .buffer import Buffer
from .chunks import BadCapture, Record

LARGEST = 16 << 20
"""Bytes of a block with a packet above which nothing but a broken length explains it."""
LARGEST_DESCRIPTION = 1 << 20
"""The same for the description of an interface."""
MOST_INTERFACES = 65_536
"""In one section; the oldest kind of packet block cannot name more."""
LATEST = 253_402_300_800_000_000_000
"""The year 10000 in nanoseconds since 1970; a time at or behind it, or before 1970, is none."""

ENHANCED = 6
"""Enhanced Packet Block."""
HEAD = 28
"""Bytes of it in front of those of the packet."""
_MAGIC = b"\n\r\r\n"
"""Type of a Section Header Block, the same in both byte orders."""
_ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_FRAMING = 12
"""Bytes of a block without a body: type, length, and the length again."""
_TSRESOL, _TSOFFSET = 9, 14
_SECOND = 1_000_000_000
_SECRETS = {
    0x544C534B: "TLS key log",
    0x5353484B: "SSH key log",
    0x57474B4C: "WireGuard key log",
    0x5A4E574B: "ZigBee NWK key",
    0x5A415053: "ZigBee APS key",
    0x55414B4C: "OPC UA key log",
}


def begins(first: bytes) -> bool:
    """Tell whether a file begins like pcapng; twelve bytes are enough, as four may be blank lines of a text."""
    return first[:4] == _MAGIC and first[8:12] in _ORDERS


def records(buffer: Buffer, secrets: Counter[str]) -> Iterator[Record]:
    """Yield the packets of all blocks, and count in `secrets` the lines of keys by their kind.

    Raises BadCapture where a block is cut, or contradicts itself. Blocks that hold neither a
    packet nor an interface are passed over.
    """
    blocks = Blocks(buffer, secrets)
    number, new, cls = 0, tuple.__new__, Record
    while buffer.need(1):
        # The inner loop runs once for each packet of a capture. What is not usual, and the last block that is
        # there, it leaves to `blocks`; the length at the end of a block is read along with the block behind it.
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


_Packet = tuple[int | None, int, bytes, int]
"""Time, link type, bytes, length on the wire."""


class Blocks:
    """Reads any block, however unusual, and remembers what its section says of those to come."""

    def __init__(self, buffer: Buffer, secrets: Counter[str]) -> None:
        self.buffer = buffer
        self.secrets = secrets
        self.begin = 0
        """Where in the file the block stands."""
        self._new_section("<")

    def next(self) -> _Packet | None:
        """Read one block and return its packet; None for other blocks and at the end of the file."""
        buffer, self.begin = self.buffer, self.buffer.offset
        if not buffer.need(_FRAMING):
            if buffer.left:
                raise self._bad("the file ends within the header of a block")
            return None
        if buffer.data[buffer.at : buffer.at + 4] == _MAGIC:
            self._new_section(self._byte_order())
        kind, total = self._numbers("II", buffer.data, buffer.at)
        fixed, most, reader = _READERS.get(kind, _OTHER)
        if total & 3 or not _FRAMING + fixed <= total <= most:
            raise self._bad(f"{total} bytes are no possible length of a block of type {kind}")
        return reader(self, total)

    def _new_section(self, order: str) -> None:
        self.order = order
        self.interfaces: list[_Interface] = []
        self.head = Struct(order + "7I").unpack_from
        """Reads the head of an Enhanced Packet Block."""
        self.ahead = Struct(order + "8I").unpack_from
        """Reads the end of a block, then the head of the next."""

    def shared(self, index: int, high: int) -> tuple[int, int, int]:
        """Return link type, nanoseconds of a tick and the time of `high`, the upper half of the ticks.

        A tick of 0 nanoseconds stands for a time that is not so simple, or for an unknown interface.
        """
        if index >= len(self.interfaces) or high > self.interfaces[index].latest:
            return 0, 0, 0
        interface = self.interfaces[index]
        return interface.link, interface.multiplier, (high << 32) * interface.multiplier + interface.offset

    def _numbers(self, form: str, data: bytes | memoryview, at: int = 0) -> tuple[int, ...]:
        return unpack_from(self.order + form, data, at)

    def _bad(self, message: str) -> BadCapture:
        return BadCapture(message, self.begin)

    # the frame of a block

    def _byte_order(self) -> str:
        """Return the byte order of a Section Header Block and all that follows."""
        mark = self.buffer.data[self.buffer.at + 8 : self.buffer.at + 12]
        if mark not in _ORDERS:
            raise self._bad("a section does not tell its byte order")
        return _ORDERS[mark]

    def _have(self, count: int) -> None:
        if not self.buffer.need(count):
            raise self._cut(count)

    def _cut(self, count: int) -> BadCapture:
        there = self.buffer.offset + self.buffer.left - self.begin
        return self._bad(f"a block needs {count} bytes, but the file ends after {there}")

    def _pass(self, total: int, done: int = 0) -> None:
        """Pass over a block, or what is left of it, and see that its length stands at its end, too."""
        for _ in self.buffer.skip(total - done - 4):
            pass
        if not self.buffer.need(4):
            raise self._cut(total)
        (again,) = self._numbers("I", self.buffer.data, self.buffer.at)
        if again != total:
            raise self._bad(f"a block has {total} bytes by its beginning and {again} by its end")
        self.buffer.at += 4

    def _body(self, total: int) -> memoryview:
        """Take a whole block and return what stands between the lengths."""
        self._have(total)
        data, at = self.buffer.data, self.buffer.at
        self._pass(total)
        return memoryview(data)[at + 8 : at + total - 4]

    # the kinds of blocks

    def section(self, total: int) -> None:
        """Read a Section Header Block (4.1), whose byte order is known."""
        self._have(16)
        major, minor = self._numbers("HH", self.buffer.data, self.buffer.at + 12)
        if major != 1:
            raise self._bad(f"version {major}.{minor} of pcapng is unknown")
        self._pass(total)

    def keys(self, total: int) -> None:
        """Count the lines of a Decryption Secrets Block (4.7), which may be long."""
        self._have(16)
        kind, length = self._numbers("II", self.buffer.data, self.buffer.at + 8)
        if length > total - _FRAMING - 8:
            raise self._bad(f"{length} bytes of secrets do not fit their block")
        self.buffer.at += 16
        last, lines = b"\n", 0
        for last in self.buffer.skip(length):
            lines += last.count(b"\n")
        self.secrets[_SECRETS.get(kind, "other secrets")] += lines + (not last.endswith(b"\n"))
        self._pass(total, 16 + length)

    def interface(self, total: int) -> None:
        """Read an Interface Description Block (4.2)."""
        if len(self.interfaces) == MOST_INTERFACES:
            raise self._bad(f"a section has more than {MOST_INTERFACES} interfaces")
        body = self._body(total)
        link, _, snaplen = self._numbers("HHI", body)
        options = dict(self._options(body[8:]))
        (resolution,) = self._option("B", options.get(_TSRESOL, b"\x06"))
        (seconds,) = self._option("q", options.get(_TSOFFSET, bytes(8)))
        self.interfaces.append(_Interface.of(link, snaplen, resolution, seconds))

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
            raise self._bad(f"the time of an interface is told in {len(value)} bytes")
        return self._numbers(form, value)

    def enhanced(self, total: int) -> _Packet:
        """Read an Enhanced Packet Block (4.3)."""
        body = self._body(total)
        index, high, low, captured, length = self._numbers("5I", body)
        return self._packet(index, high << 32 | low, body[20:], captured, length)

    def obsolete(self, total: int) -> _Packet:
        """Read a Packet Block (appendix A)."""
        body = self._body(total)
        index, _, high, low, captured, length = self._numbers("HH4I", body)
        return self._packet(index, high << 32 | low, body[20:], captured, length)

    def simple(self, total: int) -> _Packet:
        """Read a Simple Packet Block (4.4), which tells neither time nor the captured length."""
        body = self._body(total)
        (length,) = self._numbers("I", body)
        captured = min(length, self._interface(0).snaplen or length)
        return None, *self._packet(0, 0, body[4:], captured, length)[1:]

    def other(self, total: int) -> None:
        """Pass over any other block, piece by piece."""
        self._pass(total)

    def _interface(self, index: int) -> "_Interface":
        if index >= len(self.interfaces):
            raise self._bad(f"a packet names interface {index}, but the section has {len(self.interfaces)} so far")
        return self.interfaces[index]

    def _packet(self, index: int, ticks: int, rest: memoryview, captured: int, length: int) -> _Packet:
        interface = self._interface(index)
        if captured > len(rest):
            raise self._bad(f"a packet of {captured} bytes does not fit its block, which has {len(rest)} left")
        time = ticks * interface.multiplier // interface.divisor + interface.offset
        within = time if 0 <= time < LATEST else None
        return within, interface.link, bytes(rest[:captured]), max(length, captured)


class _Interface(NamedTuple):
    """What the packets of an interface share; their time is `ticks * multiplier // divisor + offset`."""

    link: int
    latest: int
    """Upper half of the ticks up to which times are whole nanoseconds before LATEST; -1 when none is sure to be."""
    multiplier: int
    divisor: int
    offset: int
    snaplen: int
    """0 without a limit."""

    @classmethod
    def of(cls, link: int, snaplen: int, resolution: int, seconds: int) -> "_Interface":
        """Return an interface; bit 7 of the resolution tells powers of 2 from powers of 10."""
        ticks: int = (2 if resolution & 0x80 else 10) ** (resolution & 0x7F)
        common = gcd(ticks, _SECOND)
        multiplier, divisor, offset = _SECOND // common, ticks // common, seconds * _SECOND
        sure = (LATEST - offset) // multiplier if divisor == 1 and 0 <= offset <= LATEST else 0
        return cls(link, (sure >> 32) - 1, multiplier, divisor, offset, snaplen)


_Reader = Callable[[Blocks, int], _Packet | None]
_OTHER: tuple[int, int, _Reader] = (0, 0xFFFFFFFF, Blocks.other)
_READERS: dict[int, tuple[int, int, _Reader]] = {
    int.from_bytes(_MAGIC): (16, 0xFFFFFFFF, Blocks.section),
    1: (8, LARGEST_DESCRIPTION, Blocks.interface),
    2: (20, LARGEST, Blocks.obsolete),
    3: (4, LARGEST, Blocks.simple),
    ENHANCED: (20, LARGEST, Blocks.enhanced),
    10: (8, 0xFFFFFFFF, Blocks.keys),
}
"""Type of a block: fewest bytes of its body, most bytes in all, and how it is read."""
