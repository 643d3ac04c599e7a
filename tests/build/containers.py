"""Writers of capture containers, which note what a reader has to find in them, and where they may end."""

import gzip
import importlib
import struct
import sys
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple

from mqttpub.capture.types import BadCapture, CaptureRecord
from mqttpub.common.times import SECOND_NS

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""The module of the standard library, or what stands for it before 3.14."""
PCAP = {"micro": (0xA1B2C3D4, 1000), "nano": (0xA1B23C4D, 1), "modified": (0xA1B2CD34, 1000)}
"""Kinds of pcap: magic number, and nanoseconds of a tick."""


class Written(NamedTuple):
    """A file, its records, and the places at which it can end without being broken."""

    data: bytes
    records: list[CaptureRecord]
    ends: dict[int, int]
    """Place in the file: whole records in front of it."""


class RawRecord(NamedTuple):
    """What is to be written as one record."""

    ticks: int
    data: bytes
    more: int = 0
    """Bytes that were on the wire and not captured."""


def pcap(
    packets: Iterable[RawRecord], *, kind: str = "micro", order: str = "<", snaplen: int = 262_144, link: int = 1
) -> Written:
    """Write pcap of one of PCAP; `modified` has the longer records of Kuznetsov."""
    magic, each = PCAP[kind]
    data = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link))
    records: list[CaptureRecord] = []
    ends = {len(data): 0}
    for number, (ticks, captured, more) in enumerate(packets, 1):
        seconds, fraction = divmod(ticks * each, SECOND_NS)
        length = len(captured) + more
        data += struct.pack(order + "IIII", seconds, fraction // each, len(captured), length)
        data += struct.pack(order + "IHBB", 2, 0x0800, 4, 0) if kind == "modified" else b""
        data += captured
        records.append(CaptureRecord(number, ticks * each, link, captured, length))
        ends[len(data)] = number
    return Written(bytes(data), records, ends)


class Pcapng:
    """Writes pcapng block by block."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.records: list[CaptureRecord] = []
        self.ends: dict[int, int] = {}
        self.order = "<"
        self.interfaces: list[tuple[int, int, int, int]] = []

    def written(self) -> Written:
        """Return the file so far."""
        return Written(bytes(self.data), list(self.records), dict(self.ends))

    def block(self, kind: int, body: bytes) -> None:
        """Write any block."""
        body += bytes(-len(body) % 4)
        length = struct.pack(self.order + "I", len(body) + 12)
        self.data += struct.pack(self.order + "I", kind) + length + body + length
        self.ends[len(self.data)] = len(self.records)

    def options(self, *options: tuple[int, bytes]) -> bytes:
        """Return a list of options with its end; nothing for none."""
        if not options:
            return b""
        return b"".join(
            struct.pack(self.order + "HH", code, len(value)) + value + bytes(-len(value) % 4)
            for code, value in (*options, (0, b""))
        )

    def section(self, order: str = "<", *options: tuple[int, bytes]) -> None:
        """Write a Section Header Block, without its length."""
        self.order = order
        self.interfaces = []
        self.block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + self.options(*options))

    def interface(
        self, link: int = 1, snaplen: int = 0, resolution: int | None = None, offset: int | None = None,
        *options: tuple[int, bytes],
    ) -> None:  # fmt: skip
        """Write an Interface Description Block."""
        known = [] if resolution is None else [(9, bytes([resolution]))]
        known += [] if offset is None else [(14, struct.pack(self.order + "q", offset))]
        resolution = 6 if resolution is None else resolution
        self.block(1, struct.pack(self.order + "HHI", link, 0, snaplen) + self.options(*options, *known))
        ticks = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
        self.interfaces.append((link, snaplen, ticks, offset or 0))

    def enhanced(self, index: int, packet: RawRecord, *options: tuple[int, bytes]) -> None:
        """Write an Enhanced Packet Block."""
        head = struct.pack(self.order + "5I", index, *self._numbers(packet))
        self._packet(6, head, index, packet, self.options(*options))

    def obsolete(self, index: int, packet: RawRecord, *options: tuple[int, bytes]) -> None:
        """Write a Packet Block, which counts lost packets."""
        head = struct.pack(self.order + "HH4I", index, 3, *self._numbers(packet))
        self._packet(2, head, index, packet, self.options(*options))

    def simple(self, data: bytes) -> None:
        """Write a Simple Packet Block, cut to the snap length of the first interface."""
        link, snaplen, _, _ = self.interfaces[0]
        captured = data[: snaplen or len(data)]
        self.records.append(CaptureRecord(len(self.records) + 1, None, link, captured, len(data)))
        self.block(3, struct.pack(self.order + "I", len(data)) + captured)

    def secrets(self, kind: int, text: bytes) -> None:
        """Write a Decryption Secrets Block."""
        self.block(10, struct.pack(self.order + "II", kind, len(text)) + text)

    def _numbers(self, packet: RawRecord) -> tuple[int, int, int, int]:
        length = len(packet.data)
        return packet.ticks >> 32, packet.ticks & 0xFFFFFFFF, length, length + packet.more

    def _packet(self, kind: int, head: bytes, index: int, packet: RawRecord, options: bytes) -> None:
        link, _, ticks, offset = self.interfaces[index]
        time = packet.ticks * SECOND_NS // ticks + offset * SECOND_NS
        data, length = packet.data, len(packet.data) + packet.more
        known = time if 0 <= time < 253_402_300_800 * SECOND_NS else None
        self.records.append(CaptureRecord(len(self.records) + 1, known, link, data, length))
        self.block(kind, head + data + bytes(-len(data) % 4) + options)


def one_interface(
    packets: Iterable[RawRecord] = (), order: str = "<", *, link: int = 1, snaplen: int = 0,
    resolution: int | None = None, offset: int | None = None,
) -> Pcapng:  # fmt: skip
    """Return a pcapng with one section and one interface, and the packets of that."""
    file = Pcapng()
    file.section(order)
    file.interface(link, snaplen, resolution, offset)
    for packet in packets:
        file.enhanced(0, packet)
    return file


def up_to_damage(read: Callable[[], Iterable[CaptureRecord]]) -> tuple[list[CaptureRecord], BadCapture | None]:
    """Return the records of a file, and what is wrong with it."""
    found: list[CaptureRecord] = []
    try:
        found.extend(read())
    except BadCapture as error:
        return found, error
    return found, None


def damaged(random: Random, data: bytes, start: int = 24) -> bytes:
    """Return a file of which some bytes differ, are zeros, are gone or were put in, from a place on."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        at, size = random.randrange(start, max(len(made), start + 1)), random.choice((1, 4, 100, 512, 4096))
        kind = random.randrange(5)
        if kind == 0:
            made[at : at + size] = random.randbytes(len(made[at : at + size]))
        elif kind == 1:
            made[at : at + size] = bytes(len(made[at : at + size]))
        elif kind == 2:
            del made[at : at + size]
        elif kind == 3:
            made[at:at] = random.randbytes(size)
        elif made[at:]:
            made[at] ^= 1 << random.randrange(8)
    return bytes(made)


def zipped(data: bytes, members: int = 1) -> bytes:
    """Return data in gzip, in so many members."""
    size = -(-len(data) // members) or 1
    return b"".join(gzip.compress(data[at : at + size], mtime=0) for at in range(0, max(len(data), 1), size))


def zstd(data: bytes, frames: int = 1, *, checksum: bool = True) -> bytes:
    """Return data in Zstandard, in so many frames."""
    library: Any = importlib.import_module(ZSTD)
    options = {library.CompressionParameter.checksum_flag: checksum}
    size = -(-len(data) // frames) or 1
    pieces = (data[at : at + size] for at in range(0, max(len(data), 1), size))
    return b"".join(library.compress(piece, options=options) for piece in pieces)
