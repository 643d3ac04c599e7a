"""pcap: records of one link type, in either byte order, with times in micro- or nanoseconds.

The format is the Internet-Draft draft-ietf-opsawg-pcap.
"""

import re
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ...common.times import SECOND_NS
from ..types import BadCapture, CaptureRecord
from .buffer import Buffer
from .container import Container
from .gaps import LONGEST_PROVED, FileGap, FileGaps, RecordFinder

LARGEST = 16 << 20
"""Bytes of a record, at most; above this its length is broken."""
_USUAL_LARGEST = 262_144
"""Bytes that a record may have whatever the snap length says, which is often wrong."""
FILE_HEADER = 24
"""Bytes before the first record."""
_LINK = 0xFFFF
"""The bits of the last field of the file header that are the link type; the others are about checksums."""
_DAY = 86_400
"""Seconds between two successive records of a proof, at most."""
_PROOF, _PROOF_AT_ANY_TIME = 4, 8
"""Records that prove a place: within a day of the record before the damage, or at any time."""
_FIRST_CLOCKS = 946_684_800
"""The year 2000 in seconds since 1970: no clock falls back to before it, so small numbers are not times."""
_PROOF_WITHIN = 32
"""Records that prove a place even though all of them may be inside the record before the damage."""


class _Layout(NamedTuple):
    order: str
    nanoseconds: int
    """Nanoseconds in a unit of the time fraction."""
    header: int = 16
    """Bytes of the header of a record."""

    @property
    def fractions(self) -> int:
        """Units of the time fraction in a second."""
        return SECOND_NS // self.nanoseconds


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
    """Whether a file begins like pcap; four bytes are enough."""
    return first[:4] in _LAYOUTS


def records(buffer: Buffer) -> Iterator[CaptureRecord]:
    """Yield the whole records of a file, including those after damage; then raises BadCapture if there was any."""
    file = PcapFile(buffer)
    unpack, header, nanoseconds = file.unpack, file.layout.header, file.layout.nanoseconds
    link, limit, new, cls = file.link, file.limit, tuple.__new__, CaptureRecord
    number = second = begun = 0
    before = buffer.at
    while file.fetch(number + 1, before):
        # This loop runs once for each record of a capture; most are in the same second as the one before.
        data, at = buffer.data, buffer.at
        size = len(data)
        last = size - header
        while at <= last:
            seconds, fraction, captured, length = unpack(data, at)
            start = at + header
            end = start + captured
            if end > size or captured > limit or not (length or captured or fraction or seconds):
                break
            if seconds != second:
                second, begun = seconds, seconds * SECOND_NS
            number += 1
            if length < captured:
                length = captured
            yield new(cls, (number, begun + fraction * nanoseconds, link, data[start:end], length))
            before, at = at, end
        buffer.at = at


CONTAINER = Container("pcap", (".pcap", ".cap"), begins, lambda buffer, _: records(buffer))


class PcapFile:
    """The header of a pcap file, and where records continue after damage."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.gaps = FileGaps()
        there = buffer.need(FILE_HEADER)
        self.head = head = buffer.data[buffer.at : buffer.at + FILE_HEADER]
        self.layout = _LAYOUTS[head[:4]]
        if not there:
            message = f"the header of pcap has {FILE_HEADER} bytes, but the file ends after {len(head)}"
            raise buffer.broken or BadCapture(message, cut=True)
        major, minor, _, _, snaplen, link = Struct(self.layout.order + "HHIIII").unpack_from(head, 4)
        if major != 2:
            raise BadCapture(f"version {major}.{minor} of pcap is unknown", 4)
        self.link = link & _LINK
        self.limit = min(max(snaplen, _USUAL_LARGEST), LARGEST)
        self.unpack = Struct(self.layout.order + "IIII").unpack_from
        buffer.at += FILE_HEADER

    def fetch(self, number: int, before: int) -> bool:
        """Load the whole next record into the buffer; False at the end of the file.

        Skips damage. `before` is the index in the buffer at which the record before this one begins (this one if it
        is the first): its length may be wrong too. Raises BadCapture at the end of a file that has damage.
        """
        buffer, header = self.buffer, self.layout.header
        kept = buffer.at - before
        if not buffer.need(header, kept):
            if buffer.left and not buffer.broken:
                self._add(buffer.offset, f"the file ends within the header of record {number}", skipped=False)
            return _PcapFinder(self, kept).more(self.gaps)
        seconds, fraction, captured, length = self.unpack(buffer.data, buffer.at)
        if captured > self.limit:
            wrong = f"record {number} claims {captured} bytes, but at most {self.limit} are possible"
            return self._resume(number, wrong, kept)
        if not (length or captured or fraction or seconds):
            return self._resume(number, f"the header of record {number} consists of zeros", kept)
        if buffer.need(header + captured, kept):
            return True
        there = buffer.left - header
        wrong = f"record {number} has {captured} bytes, but the file ends after {there}"
        search = _PcapFinder(self, kept)
        if search.is_header(buffer.at, None):
            if not buffer.broken:
                self._add(buffer.offset, wrong, skipped=False)
            return search.more(self.gaps)
        return self._resume(number, wrong, kept)

    def _resume(self, number: int, wrong: str, kept: int) -> bool:
        """Advance to the next record that is proven, searching from within the record before the damage."""
        buffer, begin = self.buffer, self.buffer.offset
        search = _PcapFinder(self, kept)
        buffer.at += self.layout.header - kept if kept else 0
        found = search.find()
        if found and buffer.offset < begin:
            begin, wrong = begin - kept, f"record {number - 1} claims bytes in which other records begin"
        self._add(begin, wrong)
        return found or search.more(self.gaps)

    def _add(self, begin: int, wrong: str, *, skipped: bool = True) -> None:
        self.gaps.add(FileGap(begin, self.buffer.offset - begin, wrong, skipped, cut=not skipped))


class _PcapFinder(RecordFinder):
    """Finds records, searching from within the one before the damage."""

    def __init__(self, file: PcapFile, kept: int) -> None:
        """Set how many bytes before the buffer's place the last record begins; 0 if there is none."""
        self.layout, self.unpack = file.layout, file.unpack
        self.longest = min(file.limit, LONGEST_PROVED)
        super().__init__(file.buffer, _pattern(file.layout, self.longest), file.layout.header)
        self.beyond = self.buffer.offset
        """Bytes before this offset may be part of the last record."""
        self.last: int | None = self.unpack(self.buffer.data, self.buffer.at - kept)[0] if kept else None
        """The time of the last record, in seconds."""

    def is_header(self, at: int, before: int | None) -> bool:
        """Whether a header may be at an index of the buffer; `before` is the time of the record before, in seconds."""
        seconds, fraction, captured, length = self.unpack(self.buffer.data, at)
        possible: bool = fraction < self.layout.fractions and 0 < captured <= length <= self.longest
        return possible and (before is None or abs(seconds - before) <= _DAY)

    def proved(self) -> bool:
        """Whether enough records follow one another, or lead to the end of the file."""
        buffer, header = self.buffer, self.layout.header
        done = count = 0
        before: int | None = None
        while buffer.need(done + header):
            if not self.is_header(buffer.at + done, before):
                return False
            before, _, captured, _ = self.unpack(buffer.data, buffer.at + done)
            if not count:
                near = self.last is not None and abs(before - self.last) <= _DAY
                if before < _FIRST_CLOCKS <= (self.last or 0):
                    return False
            if not buffer.need(done + header + captured):
                # The file is cut within this record.
                break
            done, count = done + header + captured, count + 1
            within = buffer.offset + done <= self.beyond
            if count >= (_PROOF_WITHIN if within else _PROOF if near else _PROOF_AT_ANY_TIME):
                return True
        cut = buffer.left - done
        return (not cut or cut >= header) and count >= (1 if count and near else 2)


def _pattern(layout: _Layout, longest: int) -> re.Pattern[bytes]:
    """Return the pattern of places at which the header of a record may be."""
    fraction, captured, length = (_up_to(most, layout.order) for most in (layout.fractions - 1, longest, longest))
    return re.compile(b"(?s)(?=....%b(?!\\0{4})%b%b)" % (fraction, captured, length))


def _up_to(most: int, order: str) -> bytes:
    """Return a pattern for four-byte integers up to a number, and for some above it."""
    high = most.to_bytes(4)
    zeros = len(high) - len(high.lstrip(b"\0"))
    parts = [b"\\0"] * zeros + [b"[\\0-\\x%02x]" % high[zeros]] + [b"."] * (3 - zeros)
    return b"".join(parts if order == ">" else parts[::-1])
