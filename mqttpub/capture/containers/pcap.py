"""pcap: records of one link type, in either byte order, with times in micro- or nanoseconds.

The format is the Internet-Draft draft-ietf-opsawg-pcap.
"""

import re
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ..types import BadCapture, Record
from .buffer import Buffer
from .container import Container
from .gaps import LONGEST_PROVED, FileGap, FileGaps, RecordFinder

LARGEST = 16 << 20
"""Bytes of a record above which nothing but a broken length explains it."""
_USUAL_LARGEST = 262_144
"""Bytes of a record that a snap length, which is often wrong, does not forbid."""
FILE_HEADER = 24
"""Bytes in front of the first record."""
_LINK = 0xFFFF
"""What of the last field of the file header is the link type; the rest is about checksums."""
_DAY = 86_400
"""Seconds between two records that follow one another in a proof."""
_PROOF, _PROOF_AT_ANY_TIME = 4, 8
"""Records that prove a place: within a day of the record in front of the damage, or at any time."""
_FIRST_CLOCKS = 946_684_800
"""The year 2000 in seconds since 1970: no clock falls back to before it, so that small numbers are no times."""
_PROOF_WITHIN = 32
"""Records that prove a place though they may all be part of the record in front of the damage."""


class _Layout(NamedTuple):
    order: str
    nanoseconds: int
    """Of one step of the time."""
    header: int = 16
    """Bytes in front of the bytes of a record."""

    @property
    def fractions(self) -> int:
        """Steps in a second."""
        return 1_000_000_000 // self.nanoseconds


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
    """Yield the whole records of a file, those after damage too; then raises BadCapture if there was any, or a cut."""
    file = PcapFile(buffer)
    unpack, header, nanoseconds = file.unpack, file.layout.header, file.layout.nanoseconds
    link, limit, new, cls = file.link, file.limit, tuple.__new__, Record
    number = second = begun = 0
    before = buffer.at
    while file.fetch(number + 1, before):
        # This loop runs once for each record of a capture; most come in the same second as the one before.
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
                second, begun = seconds, seconds * 1_000_000_000
            number += 1
            if length < captured:
                length = captured
            yield new(cls, (number, begun + fraction * nanoseconds, link, data[start:end], length))
            before, at = at, end
        buffer.at = at


CONTAINER = Container("pcap", (".pcap", ".cap"), begins, lambda buffer, _: records(buffer))


class PcapFile:
    """What the header of a file says of its records, and where these go on after damage."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.gaps = FileGaps()
        self.proved = 0
        """Where in the file the last proof ends; a part of the file that ends in front of it is read differently."""
        there = buffer.need(FILE_HEADER)
        head = buffer.data[buffer.at : buffer.at + FILE_HEADER]
        self.layout = _LAYOUTS[head[:4]]
        if not there:
            message = f"the header of pcap has {FILE_HEADER} bytes, but the file ends after {len(head)}"
            raise buffer.broken or BadCapture(message)
        major, minor, _, _, snaplen, link = Struct(self.layout.order + "HHIIII").unpack_from(head, 4)
        if major != 2:
            raise BadCapture(f"version {major}.{minor} of pcap is unknown", 4)
        self.link = link & _LINK
        self.limit = min(max(snaplen, _USUAL_LARGEST), LARGEST)
        self.unpack = Struct(self.layout.order + "IIII").unpack_from
        buffer.at += FILE_HEADER

    def fetch(self, number: int, before: int) -> bool:
        """Have the next record in the buffer, whole; False at the end of the file.

        Damage is passed over. `before` is where in the buffer the record before this one begins, or this one if it is
        the first: that one may be longer than it says, or shorter. Raises BadCapture at the end of a file in which
        not everything could be read.
        """
        buffer, header = self.buffer, self.layout.header
        kept = buffer.at - before
        if not buffer.need(header, kept):
            if buffer.left and not buffer.broken:
                self._add(buffer.offset, f"the file ends within the header of record {number}", skipped=False)
            return self._over(_Search(self, kept))
        seconds, fraction, captured, length = self.unpack(buffer.data, buffer.at)
        if captured > self.limit:
            wrong = f"record {number} claims {captured} bytes, where {self.limit} are possible"
            return self._resume(number, wrong, kept)
        if not (length or captured or fraction or seconds):
            return self._resume(number, f"the header of record {number} is nothing but zeros", kept)
        if buffer.need(header + captured, kept):
            return True
        there = buffer.left - header
        wrong = f"record {number} has {captured} bytes, but the file ends after {there}"
        search = _Search(self, kept)
        if search.is_header(buffer.at, None):
            if not buffer.broken:
                self._add(buffer.offset, wrong, skipped=False)
            return self._over(search)
        return self._resume(number, wrong, kept)

    def _resume(self, number: int, wrong: str, kept: int) -> bool:
        """Move on to the next record that is certainly one, from within the record before on."""
        buffer, begin = self.buffer, self.buffer.offset
        search = _Search(self, kept)
        buffer.at += self.layout.header - kept if kept else 0
        found = search.find()
        if found and buffer.offset < begin:
            begin, wrong = begin - kept, f"record {number - 1} claims bytes in which other records begin"
        self._add(begin, wrong)
        self.proved = max(search.end, search.beyond)
        return found or self._over(search)

    def _add(self, begin: int, wrong: str, *, skipped: bool = True) -> None:
        self.gaps.add(FileGap(begin, self.buffer.offset - begin, wrong, skipped))

    def _over(self, search: "_Search") -> bool:
        """Go on after a break; return False at the end of a file of which everything could be read."""
        if search.find_after_break(self.gaps):
            return True
        if error := self.gaps.error():
            raise error
        return False


class _Search(RecordFinder):
    """Looks for records, from within the one before the damage on."""

    def __init__(self, file: PcapFile, kept: int) -> None:
        """Take how many bytes before the place in the buffer the last record begins; 0 when there is none."""
        self.layout, self.unpack = file.layout, file.unpack
        self.longest = min(file.limit, LONGEST_PROVED)
        super().__init__(file.buffer, _pattern(file.layout, self.longest), file.layout.header)
        self.beyond = self.buffer.offset
        """Up to there all may be part of the last record."""
        self.last: int | None = self.unpack(self.buffer.data, self.buffer.at - kept)[0] if kept else None
        """Seconds of the last record."""
        self.end = 0
        """Where in the file the last proof ends."""

    def is_header(self, at: int, before: int | None) -> bool:
        """Tell whether a header may stand at a place in the buffer, `before` being the seconds of the one before it."""
        seconds, fraction, captured, length = self.unpack(self.buffer.data, at)
        possible: bool = fraction < self.layout.fractions and 0 < captured <= length <= self.longest
        return possible and (before is None or abs(seconds - before) <= _DAY)

    def proved(self) -> bool:
        """Tell whether so many records follow one another, or lead to the end of the file."""
        buffer, header = self.buffer, self.layout.header
        behind = count = 0
        before: int | None = None
        while buffer.need(behind + header):
            if not self.is_header(buffer.at + behind, before):
                return False
            before, _, captured, _ = self.unpack(buffer.data, buffer.at + behind)
            if not count:
                near = self.last is not None and abs(before - self.last) <= _DAY
                if before < _FIRST_CLOCKS <= (self.last or 0):
                    return False
            if not buffer.need(behind + header + captured):
                # The file is cut within this one.
                break
            behind, count = behind + header + captured, count + 1
            self.end = buffer.offset + behind
            within = self.end <= self.beyond
            if count >= (_PROOF_WITHIN if within else _PROOF if near else _PROOF_AT_ANY_TIME):
                return True
        cut = buffer.left - behind
        return (not cut or cut >= header) and count >= (1 if count and near else 2)


def _pattern(layout: _Layout, longest: int) -> re.Pattern[bytes]:
    """Return what matches where the header of a record may stand."""
    fraction, captured, length = (_up_to(most, layout.order) for most in (layout.fractions - 1, longest, longest))
    return re.compile(b"(?s)(?=....%b(?!\\0{4})%b%b)" % (fraction, captured, length))


def _up_to(most: int, order: str) -> bytes:
    """Return what matches integers of four bytes up to a number, and some beyond it."""
    high = most.to_bytes(4)
    zeros = len(high) - len(high.lstrip(b"\0"))
    parts = [b"\\0"] * zeros + [b"[\\0-\\x%02x]" % high[zeros]] + [b"."] * (3 - zeros)
    return b"".join(parts if order == ">" else parts[::-1])
