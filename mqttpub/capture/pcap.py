"""pcap: records of one link type, in either byte order, with times in micro- or nanoseconds.

The format is the Internet-Draft draft-ietf-opsawg-pcap.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from .buffer import Buffer
from .chunks import BadCapture, Record

LARGEST = 16 << 20
"""Bytes of a record above which nothing but a broken length explains it."""
_USUAL_LARGEST = 262_144
"""Bytes of a record that a snap length, which is often wrong, does not forbid."""
FILE_HEADER = 24
"""Bytes in front of the first record."""
_LINK = 0xFFFF
"""What of the last field of the file header is the link type; the rest is about checksums."""


class _Layout(NamedTuple):
    order: str
    nanoseconds: int
    """Of one step of the time."""
    header: int = 16
    """Bytes in front of the bytes of a record."""


_LAYOUTS = {
    b"\xa1\xb2\xc3\xd4": _Layout(">", 1000),
    b"\xd4\xc3\xb2\xa1": _Layout("<", 1000),
    b"\xa1\xb2\x3c\x4d": _Layout(">", 1),
    b"\x4d\x3c\xb2\xa1": _Layout("<", 1),
    # Kuznetsov's libpcap also wrote interface, protocol and packet type into each record.
    b"\xa1\xb2\xcd\x34": _Layout(">", 1000, 24),
    b"\x34\xcd\xb2\xa1": _Layout("<", 1000, 24),
}


def begins(first: bytes) -> bool:
    """Tell whether a file begins like pcap; four bytes are enough."""
    return first[:4] in _LAYOUTS


def records(buffer: Buffer) -> Iterator[Record]:
    """Yield the records of a file; raises BadCapture where one is cut, or is longer than can be."""
    file = File(buffer)
    unpack, header, nanoseconds = file.unpack, file.layout.header, file.layout.nanoseconds
    link, limit, new, cls = file.link, file.limit, tuple.__new__, Record
    number = second = begun = 0
    while file.fetch(number + 1):
        # This loop runs once for each record of a capture; most come in the same second as the one before.
        data, at = buffer.data, buffer.at
        size = len(data)
        last = size - header
        while at <= last:
            seconds, fraction, captured, length = unpack(data, at)
            start = at + header
            end = start + captured
            if end > size or captured > limit:
                break
            if seconds != second:
                second, begun = seconds, seconds * 1_000_000_000
            number += 1
            if length < captured:
                length = captured
            yield new(cls, (number, begun + fraction * nanoseconds, link, data[start:end], length))
            at = end
        buffer.at = at


class File:
    """What the header of a file says of its records."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        buffer.need(FILE_HEADER)
        head = buffer.data[buffer.at : buffer.at + FILE_HEADER]
        self.layout = _LAYOUTS[head[:4]]
        if len(head) < FILE_HEADER:
            raise BadCapture(f"the header of pcap has {FILE_HEADER} bytes, but the file ends after {len(head)}")
        major, minor, _, _, snaplen, link = Struct(self.layout.order + "HHIIII").unpack_from(head, 4)
        if major != 2:
            raise BadCapture(f"version {major}.{minor} of pcap is unknown", 4)
        self.link = link & _LINK
        self.limit = min(max(snaplen, _USUAL_LARGEST), LARGEST)
        self.unpack = Struct(self.layout.order + "IIII").unpack_from
        buffer.at += FILE_HEADER

    def fetch(self, number: int) -> bool:
        """Have the next record in the buffer, whole; False at the end of the file."""
        buffer, header = self.buffer, self.layout.header
        if not buffer.need(header):
            if buffer.left:
                raise BadCapture(f"the file ends within the header of record {number}", buffer.offset)
            return False
        captured = self.unpack(buffer.data, buffer.at)[2]
        if captured > self.limit:
            raise BadCapture(f"record {number} claims {captured} bytes, where {self.limit} are possible", buffer.offset)
        if not buffer.need(header + captured):
            there = buffer.left - header
            raise BadCapture(f"record {number} has {captured} bytes, but the file ends after {there}", buffer.offset)
        return True
